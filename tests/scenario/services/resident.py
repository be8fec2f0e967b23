"""How much memory a process has."""

from __future__ import annotations

import re
from pathlib import Path


def resident_mib(pid: int) -> float:
    """What of it is in memory now."""
    return _read(pid, "VmRSS")


def peak_mib(pid: int) -> float:
    """The most that it had there since it was started, or since its peak was forgotten."""
    return _read(pid, "VmHWM")


def forget_peak(pid: int) -> None:
    """Count the peak from now on."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def _read(pid: int, line: str) -> float:
    found = re.search(rf"{line}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1_024
