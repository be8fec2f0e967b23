"""The results of the pipeline, read from the folder where `pregon pipeline` leaves them. Spark is not needed for it.

What is in the folder was written by another program, perhaps on another machine: it is checked before it is shown.

Promises:
- No more than so many bytes of a file are read, and only of what is a plain file.
- A result that cannot be read is told as such, and hides none of the others.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pregon.errors import BadRequest
from pregon.model.pipeline_figures import FIGURES_BYTES_MAX, STEPS, Figures, decode_figures
from pregon.model.pipeline_results import (
    FIGURES_FILE,
    LATEST_BYTES_MAX,
    LATEST_FILE,
    REPORT_BYTES_MAX,
    REPORT_FILE,
    Made,
    decode_latest,
)


@dataclass(frozen=True, slots=True)
class Result:
    """What a step left: its figures, or why they cannot be shown, or nothing."""

    step: str
    made: Made | None = None
    figures: Figures | None = None
    problem: str = ""

    @property
    def made_us(self) -> int:
        """When it ran; 0 if that cannot be told."""
        return parse_instant(self.made.made_at) if self.made else 0


def read_results(root: Path) -> dict[str, Result]:
    """The newest result of every step."""
    return {step: _read(root, step) for step in STEPS}


def _read(root: Path, step: str) -> Result:
    try:
        path = root / step / LATEST_FILE
        text = _find_bytes(path, LATEST_BYTES_MAX)
        if text is None:
            return Result(step)
        made = decode_latest(step, text, str(path))
        figures = _find_bytes(root / step / made.folder / FIGURES_FILE, FIGURES_BYTES_MAX)
        if figures is None:
            raise BadRequest(f"the result of {step} is incomplete: run `pregon pipeline run {step}` again")
        return Result(step, made, decode_figures(step, figures))
    except BadRequest as error:
        return Result(step, problem=str(error))


def read_report(root: Path) -> bytes | None:
    """The page that `pregon pipeline report` wrote, if there is one; raises BadRequest for one that cannot be read."""
    found = _find_bytes(root / REPORT_FILE, REPORT_BYTES_MAX)
    if found is not None and len(found) > REPORT_BYTES_MAX:
        raise BadRequest(f"{root / REPORT_FILE} has more than {REPORT_BYTES_MAX} bytes: it is no report of ours")
    return found


def has_report(root: Path) -> bool:
    """Whether there is one."""
    try:
        return stat.S_ISREG((root / REPORT_FILE).stat().st_mode)
    except OSError:
        return False


def _find_bytes(path: Path, bytes_max: int) -> bytes | None:
    """The bytes of a file, one more than may be at most; None if there is no such file."""
    try:
        # Whoever opens a pipe waits for its writer.
        if not stat.S_ISREG(path.stat().st_mode):
            raise BadRequest(f"{path} is no file")
        with path.open("rb") as file:
            return file.read(bytes_max + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BadRequest(f"{path} cannot be read: {error.strerror or error}") from error


def parse_instant(text: str) -> int:
    """An instant of a result in microseconds since 1970; 0 for what is none."""
    try:
        at = datetime.fromisoformat(text)
        return max(0, int(at.timestamp() * 1_000_000)) if at.tzinfo is not None else 0
    except (ValueError, OverflowError):
        return 0
