"""Charts of what flowed over time, as SVG in the page: no script and no style; colours come from the style sheet.

    Chart(label="Messages a second", lines=[Series("In", "first", [...])], times_us=[...], zone=zone)

Promises:
- Every text is escaped; every number is finite and rounded.
- A chart is read without seeing it: its label says what it is, and each moment has a title with its values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from markupsafe import Markup, escape

from pregon.edges.admin.formats import instant, short_number
from pregon.plots import even_ticks

_WIDTH, _HEIGHT = 460.0, 190.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 8.0, 10.0, 24.0
_TIME_LABEL_WIDTH = 75.0
DURATION_TICKS = (1.0, 10.0, 100.0, 1e3, 1e4, 6e4, 6e5, 3.6e6, 3.6e7, 8.64e7, 8.64e8)
"""Milliseconds: from one to a second, a minute, an hour and a day."""


@dataclass(frozen=True, slots=True)
class Series:
    """One line: its name, the class that colours it, and a value for each time; None where there is none."""

    name: str
    look: str
    values: Sequence[float | None]


class _Scale:
    """Values to places on the chart."""

    def __init__(self, values: Sequence[float], steps: Sequence[float]) -> None:
        most, least = max(values, default=0.0), min(values, default=0.0)
        self._is_even = not steps
        if self._is_even:
            self.ticks = even_ticks(0.0, most or 1.0, 4)
            self._low, self._high = 0.0, self.ticks[-1] or 1.0
            return
        below = max((index for index, step in enumerate(steps) if step <= least), default=0)
        above = min((index for index, step in enumerate(steps) if step >= most), default=len(steps) - 1)
        self.ticks = list(steps[below : max(above, below + 1) + 1])
        self._low, self._high = math.log(self.ticks[0]), math.log(self.ticks[-1])

    def place(self, value: float) -> float:
        """Where a value is, from the top."""
        at = value if self._is_even else math.log(max(value, self.ticks[0]))
        return _HEIGHT - _BOTTOM - (at - self._low) / (self._high - self._low) * (_HEIGHT - _BOTTOM - _TOP)


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over the same times."""

    label: str
    lines: Sequence[Series]
    times_us: Sequence[int]
    zone: ZoneInfo
    write: Callable[[float | None], str] = short_number
    """How a value is written."""
    ticks: Sequence[float] = ()
    """Of a scale that grows by factors: where it may have marks. Empty: an even scale from zero."""

    def __html__(self) -> str:
        """The chart where a template names it."""
        return str(self.draw())

    def draw(self) -> Markup:
        """The chart as SVG."""
        scale = _Scale([value for line in self.lines for value in line.values if value is not None], self.ticks)
        parts = [
            f'<svg class="chart" viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img" aria-label="{escape(self.label)}">'
        ]
        parts += [self._tick(value, scale) for value in scale.ticks]
        parts += [self._time(index) for index in self._labelled()]
        for line in self.lines:
            parts += self._line(line, scale)
        parts += self._touched()
        return Markup("".join([*parts, "</svg>"]))

    def _x(self, index: int) -> float:
        return _LEFT + index * (_WIDTH - _LEFT - _RIGHT) / max(1, len(self.times_us) - 1)

    def _tick(self, value: float, scale: _Scale) -> str:
        y = scale.place(value)
        return (
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{_LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{escape(self.write(value))}</text>'
        )

    def _labelled(self) -> list[int]:
        count = len(self.times_us)
        step = max(1, round(count * _TIME_LABEL_WIDTH / _WIDTH))
        return list(range(step // 2, count, step)) if count > 1 else []

    def _time(self, index: int) -> str:
        at = instant(self.times_us[index], self.zone)
        return f'<text x="{self._x(index):.1f}" y="{_HEIGHT - 6}" text-anchor="middle">{at:%H:%M}</text>'

    def _line(self, line: Series, scale: _Scale) -> list[str]:
        """A line, broken where there is no value, and what is under it."""
        drawn = []
        for run in _runs(line.values):
            places = [(self._x(index), scale.place(value)) for index, value in run]
            path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
            is_lone = len(places) == 1
            path += "h0.1" if is_lone else ""
            if not self.ticks:
                floor = _HEIGHT - _BOTTOM
                around = f"{path}L{places[-1][0]:.1f} {floor}L{places[0][0]:.1f} {floor}Z"
                drawn.append(f'<path class="area {line.look}" d="{around}"/>')
            look = f"{line.look} lone" if is_lone else line.look
            drawn.append(f'<path class="line {look}" d="{path}"/>')
        return drawn

    def _touched(self) -> list[str]:
        """Over each moment something to point at, which says what was then."""
        width = (_WIDTH - _LEFT - _RIGHT) / max(1, len(self.times_us) - 1)
        found = []
        for index, us in enumerate(self.times_us):
            values = ", ".join(f"{line.name}: {self.write(line.values[index])}" for line in self.lines)
            said = escape(f"{instant(us, self.zone):%Y-%m-%d %H:%M} · {values}")
            found.append(
                f'<rect class="touch" x="{self._x(index) - width / 2:.1f}" y="{_TOP}" width="{width:.1f}" '
                f'height="{_HEIGHT - _TOP - _BOTTOM}"><title>{said}</title></rect>'
            )
        return found


def _runs(values: Sequence[float | None]) -> list[list[tuple[int, float]]]:
    """The stretches of values between places where there is none."""
    runs: list[list[tuple[int, float]]] = [[]]
    for index, value in enumerate(values):
        if value is None:
            runs.append([])
        else:
            runs[-1].append((index, value))
    return [run for run in runs if run]
