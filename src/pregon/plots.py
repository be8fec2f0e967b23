"""Line plots as small SVG files, written by hand: readable on a light page and on a dark one, and without scripts.

    plot = Plot("what is shown", Axis("members", is_log=True), Axis("bytes"), [Line("ours", [(2, 5.0), (10, 5.5)])])
    path.write_text(draw(plot))

Text and axes are of a grey that both kinds of page bear, and lines differ by colour, dashes and markers. An axis of
time has seconds since 1970 as its values and says days and hours, in UTC.

Promises:
- Same plot, same bytes: no clock, no randomness, and numbers are rounded.
- Every text is escaped; a plot with nothing to show, or with a value that its axis cannot have, is refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from xml.sax.saxutils import escape

from pregon.errors import BadRequest

WIDTH, HEIGHT = 760, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 32, 44, 52
_LEGEND_ROW = 18
_GREY, _FAINT = "#7d7d7d", "#7d7d7d"
_COLOURS = ("#2f7fc1", "#d9772b", "#2f9a68", "#a2529f", "#8a7a1f", "#c2474d")
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "", "7 3")
_TICKS_MAX = 8
_MARKERS_MAX = 48
"""A line of more points has no markers: they would run into each other."""
_STEPS = (1, 2, 2.5, 5, 10)
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3_600, 86_400
_TIME_STEPS_S = (
    *(1, 2, 5, 10, 30),
    *(minutes * _MINUTE_S for minutes in (1, 2, 5, 10, 30)),
    *(hours * _HOUR_S for hours in (1, 2, 3, 6, 12)),
    *(days * _DAY_S for days in (1, 2, 7, 14, 30, 90, 365)),
)
LINES_MAX = len(_COLOURS)


@dataclass(frozen=True, slots=True)
class Axis:
    """What is counted along it; a logarithmic one has no zero."""

    label: str
    is_log: bool = False
    least: float | None = None
    """Where it begins; None: at the least value, or at zero if it is not logarithmic."""
    most: float | None = None
    is_time: bool = False
    """Its values are seconds since 1970; it begins with the first of them."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line, and what the legend calls it."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Mark:
    """A limit to be seen: a thin horizontal line with its name."""

    name: str
    y: float


@dataclass(frozen=True, slots=True)
class Plot:
    """All of it."""

    title: str
    x: Axis
    y: Axis
    lines: Sequence[Line]
    marks: Sequence[Mark] = field(default_factory=tuple)


class _Scale:
    """Values of an axis to places on the page."""

    def __init__(self, axis: Axis, values: Sequence[float], places: tuple[float, float]) -> None:
        begins_at_zero = not (axis.is_log or axis.is_time)
        least = axis.least if axis.least is not None else min(0.0 if begins_at_zero else values[0], *values)
        most = axis.most if axis.most is not None else max(values)
        if not all(map(math.isfinite, (*values, least, most))) or (axis.is_log and min(least, *values) <= 0):
            raise BadRequest(f"the axis {axis.label!r} has a value that cannot be drawn on it")
        self.is_log = axis.is_log
        if self.is_log:
            self.ticks = _log_ticks(least, most)
            self._low, self._high = math.log10(min(least, self.ticks[0])), math.log10(max(most, self.ticks[-1]))
        elif axis.is_time:
            self.ticks, self._low, self._high = _time_ticks(least, most), least, most
        else:
            self.ticks = even_ticks(least, most)
            self._low, self._high = min(least, self.ticks[0]), max(most, self.ticks[-1])
        if self._high <= self._low:
            self._high = self._low + 1
        self._begin, self._end = places
        self._step_s = _time_step_s(least, most) if axis.is_time else None

    def place(self, value: float) -> float:
        """Where a value is."""
        at = math.log10(value) if self.is_log else value
        return self._begin + (at - self._low) / (self._high - self._low) * (self._end - self._begin)

    def label(self, value: float) -> str:
        """What is written at a tick."""
        return _number(value) if self._step_s is None else _instant(value, self._step_s)


def even_ticks(least: float, most: float, count_max: int = _TICKS_MAX) -> list[float]:
    """Round values from one to another, and about so many at most."""
    span = max(most - least, 1e-9)
    rough = span / (count_max - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(one * power for one in _STEPS if one * power >= rough * 0.999)
    first, last = math.floor(least / step + 1e-9), math.ceil(most / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def _log_ticks(least: float, most: float) -> list[float]:
    """Powers of ten, with 2 and 5 between them where there are few."""
    first, last = math.floor(math.log10(least) + 1e-9), math.ceil(math.log10(most) - 1e-9)
    steps = (1, 2, 5) if last - first <= 3 else (1,)
    ticks = [one * 10.0**power for power in range(first, last + 1) for one in steps]
    low = max((one for one in ticks if one <= least * 1.001), default=ticks[0])
    high = min((one for one in ticks if one >= most * 0.999), default=ticks[-1])
    return [one for one in ticks if low <= one <= high]


def _time_step_s(least: float, most: float) -> float:
    rough = (most - least) / (_TICKS_MAX - 1)
    whole = math.ceil(rough / _TIME_STEPS_S[-1]) * _TIME_STEPS_S[-1]
    return next((step for step in _TIME_STEPS_S if step >= rough), float(whole))


def _time_ticks(least: float, most: float) -> list[float]:
    """Whole minutes, hours or days within the axis; its beginning if there is none."""
    step = _time_step_s(least, most)
    first, last = math.ceil(least / step), math.floor(most / step)
    return [number * step for number in range(first, last + 1)] or [least]


def _instant(value: float, step_s: float) -> str:
    """As much of an instant as tells it from the ticks beside it; the day where it begins."""
    at = datetime.fromtimestamp(value, UTC)
    if step_s >= _DAY_S or (at.hour, at.minute, at.second) == (0, 0, 0):
        return f"{at:%m-%d}"
    return f"{at:%H:%M:%S}" if step_s < _MINUTE_S else f"{at:%H:%M}"


def _number(value: float) -> str:
    """A number as short as it can be: there is room for seven characters beside the axis."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:.4g}M"
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"


def draw(plot: Plot) -> str:
    """The plot as the text of an SVG file; raises BadRequest for one that cannot be drawn."""
    points = [point for line in plot.lines for point in line.points]
    if not points or len(plot.lines) > LINES_MAX:
        raise BadRequest(f"a plot has 1 to {LINES_MAX} lines, and at least one point: {plot.title!r} has not")
    top = _TOP + _LEGEND_ROW * ((len(plot.lines) + 2) // 3)
    x = _Scale(plot.x, [point[0] for point in points], (_LEFT, WIDTH - _RIGHT))
    levels = [point[1] for point in points] + [mark.y for mark in plot.marks]
    y = _Scale(plot.y, levels, (HEIGHT - _BOTTOM, top))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{_attribute(plot.title)}" font-family="system-ui, sans-serif" font-size="13">',
        f"<title>{escape(plot.title)}</title>",
        f'<text x="{_LEFT}" y="22" fill="{_GREY}" font-size="15" font-weight="600">{escape(plot.title)}</text>',
        *_axes(plot, x, y, top),
        *(_mark(mark, y) for mark in plot.marks),
    ]
    for index, line in enumerate(plot.lines):
        parts += _line(line, index, x, y)
        parts += _legend(line, index)
    # Names of limits go over the lines, where a page that gives its text a halo keeps them readable.
    parts += [_mark_name(mark, y) for mark in plot.marks]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _axes(plot: Plot, x: _Scale, y: _Scale, top: float) -> list[str]:
    bottom, right = HEIGHT - _BOTTOM, WIDTH - _RIGHT
    parts = []
    for tick in y.ticks:
        at = y.place(tick)
        parts.append(
            f'<line x1="{_LEFT}" y1="{at:.1f}" x2="{right}" y2="{at:.1f}" stroke="{_FAINT}" stroke-opacity="0.25"/>'
            f'<text x="{_LEFT - 8}" y="{at + 4:.1f}" fill="{_GREY}" text-anchor="end">{y.label(tick)}</text>'
        )
    for tick in x.ticks:
        at = x.place(tick)
        parts.append(
            f'<line x1="{at:.1f}" y1="{bottom}" x2="{at:.1f}" y2="{bottom + 5}" stroke="{_GREY}"/>'
            f'<text x="{at:.1f}" y="{bottom + 20}" fill="{_GREY}" text-anchor="middle">{x.label(tick)}</text>'
        )
    middle_x, middle_y = (_LEFT + right) / 2, (top + bottom) / 2
    return [
        *parts,
        f'<path d="M{_LEFT} {top}V{bottom}H{right}" fill="none" stroke="{_GREY}"/>',
        f'<text x="{middle_x:.1f}" y="{HEIGHT - 10}" fill="{_GREY}" text-anchor="middle">{escape(plot.x.label)}</text>',
        f'<text transform="translate(16 {middle_y:.1f}) rotate(-90)" fill="{_GREY}" text-anchor="middle">'
        f"{escape(plot.y.label)}</text>",
    ]


def _line(line: Line, index: int, x: _Scale, y: _Scale) -> list[str]:
    places = [(x.place(one), y.place(other)) for one, other in line.points]
    path = "M" + "L".join(f"{left:.1f} {down:.1f}" for left, down in places)
    drawn = [f'<path d="{path}" fill="none" stroke-width="2" {_stroke(index)}/>']
    if len(places) > _MARKERS_MAX:
        return drawn
    return drawn + [_marker(index, left, down) for left, down in places]


def _stroke(index: int) -> str:
    dash = f' stroke-dasharray="{_DASHES[index]}"' if _DASHES[index] else ""
    return f'stroke="{_COLOURS[index]}"{dash}'


def _marker(index: int, left: float, down: float) -> str:
    """A dot or a square, in turns."""
    if index % 2 == 0:
        return f'<circle cx="{left:.1f}" cy="{down:.1f}" r="3" fill="{_COLOURS[index]}"/>'
    return f'<rect x="{left - 2.7:.1f}" y="{down - 2.7:.1f}" width="5.4" height="5.4" fill="{_COLOURS[index]}"/>'


def _mark(mark: Mark, y: _Scale) -> str:
    at, right = y.place(mark.y), WIDTH - _RIGHT
    return f'<line x1="{_LEFT}" y1="{at:.1f}" x2="{right}" y2="{at:.1f}" stroke="{_GREY}" stroke-dasharray="3 4"/>'


def _mark_name(mark: Mark, y: _Scale) -> str:
    return (
        f'<text x="{WIDTH - _RIGHT - 4}" y="{y.place(mark.y) - 5:.1f}" fill="{_GREY}" text-anchor="end" '
        f'font-size="12">{escape(mark.name)}</text>'
    )


def _legend(line: Line, index: int) -> list[str]:
    """Three to a row, under the title."""
    left = _LEFT + (index % 3) * (WIDTH - _LEFT - _RIGHT) / 3
    down = _TOP + (index // 3) * _LEGEND_ROW
    return [
        f'<path d="M{left:.1f} {down - 4}h26" fill="none" stroke-width="2" {_stroke(index)}/>',
        _marker(index, left + 13, down - 4),
        f'<text x="{left + 33:.1f}" y="{down}" fill="{_GREY}">{escape(line.name)}</text>',
    ]


def _attribute(text: str) -> str:
    return escape(text, {'"': "&quot;"})
