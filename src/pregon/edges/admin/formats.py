"""How numbers, sizes, durations and times look on the pages: the same in both languages, times in the viewer's zone.

Pure: what time it is comes in.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from markupsafe import Markup

from pregon.edges.admin.words import Words
from pregon.errors import BadRequest

NONE = "–"
_NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_SECOND_MS, _MINUTE_MS, _HOUR_MS, _DAY_MS = 1_000, 60_000, 3_600_000, 86_400_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def number(value: float | None) -> str:
    """A number with small spaces between its thousands; few decimals, and only where it is small."""
    if value is None:
        return NONE
    if isinstance(value, float) and value < 100 and value != int(value):
        return f"{value:.2g}" if value < 1 else f"{value:.1f}"
    return f"{value:,.0f}".replace(",", _NARROW_SPACE)


def short_number(value: float | None) -> str:
    """A number in at most five characters: 950, 12.4k, 3.1M."""
    if value is None:
        return NONE
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size * 0.9995:
            return f"{value / size:.3g}{unit}"
    return number(value)


def size(count: float | None) -> str:
    """Bytes in the unit that suits them."""
    if count is None:
        return NONE
    value, unit = float(count), 0
    while value >= 1_024 and unit < len(_UNITS) - 1:
        value, unit = value / 1_024, unit + 1
    text = f"{value:.0f}" if value >= 100 or unit == 0 else f"{value:.1f}"
    return f"{text} {_UNITS[unit]}"


def duration(ms: float | None) -> str:
    """A duration in its two largest units."""
    if ms is None:
        return NONE
    if ms < _SECOND_MS:
        return f"{ms:.0f} ms"
    if ms < _MINUTE_MS:
        return f"{ms / _SECOND_MS:.3g} s"
    whole = int(ms)
    for large, large_ms, small, small_ms in (
        ("d", _DAY_MS, "h", _HOUR_MS),
        ("h", _HOUR_MS, "min", _MINUTE_MS),
        ("min", _MINUTE_MS, "s", _SECOND_MS),
    ):
        if whole >= large_ms:
            rest = whole % large_ms // small_ms
            return f"{whole // large_ms} {large}" + (f" {rest} {small}" if rest else "")
    return NONE


@lru_cache(maxsize=64)
def find_zone(name: str) -> ZoneInfo | None:
    """The zone that a browser names, or None for what is none."""
    try:
        return ZoneInfo(name) if name and len(name) <= 64 else None
    except (ValueError, OSError, LookupError):
        return None


def instant(us: int, zone: ZoneInfo) -> datetime:
    """A time in a zone."""
    return (_EPOCH + timedelta(microseconds=us)).astimezone(zone)


def when(us: int | None, zone: ZoneInfo) -> Markup:
    """A time for people, to the second, with all of it in its title."""
    if not us:
        return Markup(NONE)
    at = instant(us, zone)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        at.isoformat(), f"{at.isoformat(sep=' ')} {zone.key}", f"{at:%Y-%m-%d %H:%M:%S}"
    )


def ago(us: int | None, now_us: int, say: Words) -> str:
    """How long ago something was, or in how long it will be."""
    if not us:
        return NONE
    distance_ms = (now_us - us) / 1_000
    if abs(distance_ms) < _SECOND_MS:
        return say("just now")
    if distance_ms > 0:
        return say("{duration} ago", duration=_rough(distance_ms))
    return say("in {duration}", duration=_rough(-distance_ms))


def _rough(ms: float) -> str:
    """A duration in its largest unit."""
    for unit, unit_ms in (("d", _DAY_MS), ("h", _HOUR_MS), ("min", _MINUTE_MS)):
        if ms >= unit_ms:
            return f"{ms / unit_ms:.0f} {unit}"
    return f"{ms / _SECOND_MS:.0f} s"


def parse_local(text: str, zone: ZoneInfo) -> int:
    """What a date field of a form says, in the viewer's zone, in microseconds since 1970; raises BadRequest."""
    try:
        at = datetime.fromisoformat(text[:40])
    except ValueError as error:
        raise BadRequest(f"{text[:40]!r} is not a date and time, such as 2026-11-15T10:00") from error
    if at.tzinfo is None:
        at = at.replace(tzinfo=zone)
    return max(1, (at - _EPOCH) // timedelta(microseconds=1))
