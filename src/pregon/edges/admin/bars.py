"""Bars side by side, as SVG in the page: like `charts`, without script and style.

Promises:
- Every text is escaped; every bar is finite, and says its value in writing too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from pregon.edges.admin.formats import number

_WIDTH, _ROW, _BAR = 460.0, 44.0, 12.0
_NAME_CHARACTERS_MAX = 48
_VALUE_ROOM = 90.0


@dataclass(frozen=True, slots=True)
class Bar:
    """What is compared, and its values: each with the class that colours it."""

    name: str
    values: Sequence[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class Bars:
    """Several, to the same scale."""

    label: str
    bars: Sequence[Bar]
    keys: Sequence[tuple[str, str]] = ()
    """What the colours mean: class and name."""
    write: Callable[[float | None], str] = number

    def __html__(self) -> str:
        """The bars where a template names them."""
        return str(self.draw())

    def draw(self) -> Markup:
        """The bars as SVG."""
        most = max((value for bar in self.bars for _, value in bar.values), default=0.0) or 1.0
        parts, y = [], 0.0
        for bar in self.bars:
            name = bar.name if len(bar.name) <= _NAME_CHARACTERS_MAX else bar.name[: _NAME_CHARACTERS_MAX - 1] + "…"
            parts.append(f'<text x="0" y="{y + 13:.0f}">{escape(name)}</text>')
            for row, (look, value) in enumerate(bar.values):
                top = y + 19 + row * (_BAR + 3)
                wide = max(1.0, value / most * (_WIDTH - _VALUE_ROOM))
                parts.append(
                    f'<rect class="block {escape(look)}" x="0" y="{top:.0f}" width="{wide:.1f}" height="{_BAR:.0f}" '
                    f'rx="3"/><text x="{wide + 6:.1f}" y="{top + 10:.0f}">{escape(self.write(value))}</text>'
                )
            y += _ROW - _BAR + len(bar.values) * (_BAR + 3) - 3
        head = f'<svg class="chart" viewBox="0 0 {_WIDTH:.0f} {max(y, 1):.0f}" role="img" '
        return Markup("".join([head, f'aria-label="{escape(self.label)}">', *parts, "</svg>"]))
