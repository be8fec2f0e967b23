"""Durations and sizes as people write them: `30d`, `500MiB`; on the command line and in the forms of pages."""

from __future__ import annotations

import re

from pregon.errors import BadRequest

_DURATION = re.compile(r"(\d+)(ms|s|m|h|d)", re.ASCII)
_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_SIZE = re.compile(r"(\d+)(B|KiB|MiB|GiB)?", re.ASCII)
_BYTES = {None: 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_TEXT_CHARACTERS_MAX = 24


def parse_duration_ms(text: str | None) -> int | None:
    """`30d`, `12h`, `90s`, `500ms` as milliseconds; raises BadRequest."""
    if text is None:
        return None
    match = _DURATION.fullmatch(text) if len(text) <= _TEXT_CHARACTERS_MAX else None
    if match is None:
        raise BadRequest(f"{text[:40]!r} is not a duration: write 500ms, 90s, 15m, 12h or 30d")
    return int(match[1]) * _MS[match[2]]


def parse_bytes(text: str | None) -> int | None:
    """`500MiB`, `10GiB` as bytes; raises BadRequest."""
    if text is None:
        return None
    match = _SIZE.fullmatch(text) if len(text) <= _TEXT_CHARACTERS_MAX else None
    if match is None:
        raise BadRequest(f"{text[:40]!r} is not a size: write 1000, 64KiB, 500MiB or 10GiB")
    return int(match[1]) * _BYTES[match[2]]


def write_duration(ms: int | None) -> str:
    """A duration as `parse_duration_ms` reads it, in the largest unit that says it exactly; empty for none."""
    if ms is None:
        return ""
    unit = next(unit for unit in ("d", "h", "m", "s", "ms") if ms % _MS[unit] == 0)
    return f"{ms // _MS[unit]}{unit}"


def write_bytes(size: int | None) -> str:
    """A size as `parse_bytes` reads it; empty for none."""
    if size is None:
        return ""
    unit = next(unit for unit in ("GiB", "MiB", "KiB", "B") if size % _BYTES[unit] == 0 and (size or unit == "B"))
    return f"{size // _BYTES[unit]}{unit}" if unit != "B" else str(size)
