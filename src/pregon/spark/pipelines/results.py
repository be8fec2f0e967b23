"""Where the results of the steps are: a folder for each step, and in it one for each time that it ran.

    OUTPUT/service-levels/20261116T200102Z-5f3a9c21/by_hour/part-….parquet
    OUTPUT/service-levels/20261116T200102Z-5f3a9c21/figures.json
    OUTPUT/service-levels/latest.json      the name of the newest folder, when it was made, and of what

A step writes a new folder and then replaces `latest.json`: who reads sees the old result or the new one, never half
of one. OUTPUT is a folder of this machine's file system; on a cluster it is one that all its machines have mounted.

Promises:
- A step that fails, or is killed, leaves the result that there was.
- The result before the newest one stays, for those who are reading it; older ones are removed.
- `latest.json` is checked when it is read: it names a folder beside it, and no other place.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from pregon.clock import wall_us
from pregon.errors import BadRequest
from pregon.model.pipeline_figures import FIGURES_BYTES_MAX, STEPS, Figures, decode_figures, encode_figures
from pregon.model.pipeline_results import (
    FIGURES_FILE,
    FOLDER_PATTERN,
    LATEST_BYTES_MAX,
    LATEST_FILE,
    Made,
    decode_latest,
)

_KEPT = 2


@dataclass(frozen=True, slots=True)
class Results:
    """The results under a folder."""

    root: Path

    def begin(self, step: str) -> Path:
        """A new, empty folder for a step; raises BadRequest."""
        stamp = datetime.fromtimestamp(wall_us() // 1_000_000, UTC).strftime("%Y%m%dT%H%M%SZ")
        folder = self.root / step / f"{stamp}-{secrets.token_hex(4)}"
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise BadRequest(
                f"results cannot be written to {self.root}: {error.strerror or error}; choose another --output"
            ) from error
        return folder

    def publish(self, folder: Path, made: Made, figures: Figures) -> None:
        """Make a folder the step's newest result."""
        _write(folder / FIGURES_FILE, encode_figures(figures))
        text = msgspec.json.format(msgspec.json.encode(made), indent=2) + b"\n"
        _write(folder.parent / LATEST_FILE, text)
        self._remove_old(made.step, made.folder)

    def abandon(self, folder: Path) -> None:
        """Remove a folder that will not be published."""
        shutil.rmtree(folder, ignore_errors=True)

    def find_latest(self, step: str) -> Made | None:
        """What the newest result of a step is, if there is one; raises BadRequest for one that cannot be read."""
        path = self.root / step / LATEST_FILE
        text = _find_text(path, LATEST_BYTES_MAX)
        return None if text is None else decode_latest(step, text, str(path))

    def find_figures(self, step: str) -> tuple[Made, Figures] | None:
        """The newest figures of a step, if there are some; raises BadRequest for what cannot be read."""
        made = self.find_latest(step)
        if made is None:
            return None
        text = _find_text(self.folder_of(made) / FIGURES_FILE, FIGURES_BYTES_MAX)
        if text is None:
            raise BadRequest(f"the result of {step} is incomplete: run `pregon pipeline run {step}` again")
        return made, decode_figures(step, text)

    def folder_of(self, made: Made) -> Path:
        """Where the tables of a result are."""
        return self.root / made.step / made.folder

    def _remove_old(self, step: str, newest: str) -> None:
        folders = sorted(one.name for one in (self.root / step).iterdir() if re.match(FOLDER_PATTERN, one.name))
        # By their names they are in the order of the time; one of a run that goes on beside this one is newer.
        older = [name for name in folders if name < newest]
        for name in older[: max(0, len(older) - (_KEPT - 1))]:
            shutil.rmtree(self.root / step / name, ignore_errors=True)


def read_all(results: Results) -> dict[str, tuple[Made, Figures]]:
    """The newest figures of every step that ran."""
    found = {step: results.find_figures(step) for step in STEPS}
    return {step: one for step, one in found.items() if one is not None}


def write_whole(path: Path, text: bytes) -> None:
    """Replace a file in one move; raises BadRequest."""
    try:
        _write(path, text)
    except OSError as error:
        raise BadRequest(f"{path} cannot be written: {error.strerror or error}") from error


def _write(path: Path, text: bytes) -> None:
    """Replace a file in one move: on disk before it is in its place."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with beside.open("xb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def _find_text(path: Path, bytes_max: int) -> bytes | None:
    """The bytes of a file, one more than may be at most; None if there is no such file."""
    try:
        with path.open("rb") as file:
            return file.read(bytes_max + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadRequest(f"{path} cannot be read: {error.strerror or error}") from error
