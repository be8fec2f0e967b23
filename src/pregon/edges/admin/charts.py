"""Charts of what flowed over time, as SVG in the page: no script and no style; colours come from the style sheet.

    Chart(label="Messages a second", lines=[Series("In", "first", [...])], times_us=[...], zone=zone)

Promises:
- Every text is escaped; every number is finite and rounded.
- A chart is read without seeing it: its label says what it is, and each moment has a title with its values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from markupsafe import Markup, escape

from pregon.edges.admin.formats import instant, short_number
from pregon.plots import even_ticks

_WIDTH, _HEIGHT = 460.0, 190.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 8.0, 10.0, 24.0
_TIME_LABEL_WIDTH = 75.0


@dataclass(frozen=True, slots=True)
class Series:
    """One line: its name, the class that colours it, and a value for each time; None where there is none."""

    name: str
    look: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over the same times."""

    label: str
    lines: Sequence[Series]
    times_us: Sequence[int]
    zone: ZoneInfo
    write: Callable[[float | None], str] = short_number
    """How a value is written."""
    is_filled: bool = True

    def __html__(self) -> str:
        """The chart where a template names it."""
        return str(self.draw())

    def draw(self) -> Markup:
        """The chart as SVG."""
        most = max((value for line in self.lines for value in line.values if value is not None), default=0.0)
        ticks = even_ticks(0.0, max(most, 1e-6) if most else 1.0, 4)
        top = ticks[-1] or 1.0
        parts = [
            f'<svg class="chart" viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img" aria-label="{escape(self.label)}">'
        ]
        parts += [self._tick(value, top) for value in ticks]
        parts += [self._time(index) for index in self._labelled()]
        for line in self.lines:
            parts += self._line(line, top)
        parts += self._touched()
        return Markup("".join([*parts, "</svg>"]))

    def _x(self, index: int) -> float:
        return _LEFT + index * (_WIDTH - _LEFT - _RIGHT) / max(1, len(self.times_us) - 1)

    def _y(self, value: float, top: float) -> float:
        return _HEIGHT - _BOTTOM - value / top * (_HEIGHT - _BOTTOM - _TOP)

    def _tick(self, value: float, top: float) -> str:
        y = self._y(value, top)
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

    def _line(self, line: Series, top: float) -> list[str]:
        """A line, broken where there is no value, and what is under it."""
        drawn = []
        for run in _runs(line.values):
            places = [(self._x(index), self._y(value, top)) for index, value in run]
            path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
            if len(places) == 1:
                path += "h0.1"
            if self.is_filled:
                floor = _HEIGHT - _BOTTOM
                around = f"{path}L{places[-1][0]:.1f} {floor}L{places[0][0]:.1f} {floor}Z"
                drawn.append(f'<path class="area {line.look}" d="{around}"/>')
            drawn.append(f'<path class="line {line.look}" d="{path}"/>')
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
