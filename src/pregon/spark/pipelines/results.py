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
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from pregon.clock import wall_us
from pregon.errors import BadRequest
from pregon.spark.pipelines.figures import (
    FIGURES_BYTES_MAX,
    STEPS,
    Count,
    Figures,
    Text,
    decode_figures,
    encode_figures,
)

LATEST_FILE = "latest.json"
FIGURES_FILE = "figures.json"
_LATEST_BYTES_MAX = 1024 * 1024
_KEPT = 2
_FOLDER = r"^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}$"


class Source(Struct, frozen=True, kw_only=True):
    """What a step was made of: a table, and from which to which of its numbers."""

    table: Text
    topic: Text = ""
    first: Count | None = None
    last: Count | None = None
    rows: Count = 0


SOURCES_MAX = 1_000
"""Topics that are told one by one; the others are left out of `sources`."""


class Made(Struct, frozen=True, kw_only=True):
    """What `latest.json` says: which folder, when it was made, how long it took, and of what."""

    step: Text
    folder: Annotated[str, Meta(pattern=_FOLDER)]
    made_at: Text
    took_ms: Count
    rows: dict[Text, Count]
    """The Parquet tables in the folder, and their rows."""
    hub: Text
    archive: Text = ""
    sources: Annotated[list[Source], Meta(max_length=SOURCES_MAX)] = []
    version: Text = ""


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
        text = _find_text(self.root / step / LATEST_FILE, _LATEST_BYTES_MAX)
        if text is None:
            return None
        try:
            made = msgspec.json.decode(text, type=Made)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BadRequest(
                f"{self.root / step / LATEST_FILE} cannot be read ({error}): run `pregon pipeline run {step}` again"
            ) from error
        if made.step != step:
            raise BadRequest(
                f"{self.root / step / LATEST_FILE} is of {made.step[:40]!r}: run `pregon pipeline run {step}` again"
            )
        return made

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
        folders = sorted(one.name for one in (self.root / step).iterdir() if re.match(_FOLDER, one.name))
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
