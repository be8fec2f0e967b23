"""The space-time diagram as SVG.

Promises:
- Everything that came from outside is escaped; the drawing fetches nothing from anywhere.
- What is seen when pointing at a message is also its title, for who reads with ears or without a script.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from math import hypot

from pregon.groups.spacetime_layout import Arrow, Layout, Line, Mark
from pregon.groups.spacetime_words import say, say_what, write_date, write_span, write_time
from pregon.model import group as g

_HEAD_LENGTH, _HEAD_WIDTH = 7.0, 3.0
_CHARACTER_WIDTH = 6.1
_SPAN_WIDTH = 64.0
_SAID_CHARACTERS_MIN, _SAID_CHARACTERS_MAX = 4, 28
_NAME_CHARACTERS_MAX = 24
_CUT = "…"
_LEGEND_LEFT, _LEGEND_ROW, _SIGN_WIDTH = 16.0, 20.0, 32.0
_LEGEND = (
    ("legend_sent", '<circle class="s k0" cx="8" cy="-4" r="5"/>'),
    ("legend_shown", '<path class="a k0" d="M0,-10L15,-1M8,-2L15,-1L11,-7"/>'),
    (
        "legend_held",
        '<circle class="came" cx="4" cy="-4" r="4"/><path class="wait" d="M8,-4H20"/>'
        '<circle class="held" cx="24" cy="-4" r="4"/>',
    ),
    ("legend_came", '<path class="end k0" d="M4,-11V3M4,-4H16"/>'),
    ("legend_gone", '<path class="end k0" d="M2,-4H14M9,-9L19,1M9,1L19,-9"/>'),
    ("legend_hub", '<rect class="s hub" x="3" y="-9" width="10" height="10"/>'),
    ("legend_break", '<path class="gap" d="M6,4l4,-5l-4,-5l4,-5M12,4l4,-5l-4,-5l4,-5"/>'),
)


def draw(layout: Layout, heading: tuple[str, str], lang: str, theme: str, within: tuple[str, str] = ("", "")) -> str:
    """The drawing with its title and what it tells; `within` is put inside it, at its beginning and its end."""
    title, told = map(escape, heading)
    names = {line.member: line.name for line in layout.lines}
    legend, height = _draw_legend(layout, lang)
    size = f'width="{layout.width:g}" height="{height:g}" viewBox="0 0 {layout.width:g} {height:g}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="spacetime {theme}" lang="{lang}" {size} '
        f'role="graphics-document" aria-label="{title}">',
        f"<title>{title}</title><desc>{told}</desc>",
        within[0],
        '<rect class="paper" width="100%" height="100%"/>',
        f'<text class="head" x="16" y="26">{title}</text>',
        *_draw_axis(layout, lang),
        *(_draw_line(line, layout) for line in layout.lines),
        *(_draw_mark(mark, room, names, lang) for mark, room in zip(layout.marks, _find_room(layout), strict=True)),
        legend,
        within[1],
        "</svg>",
    ]
    return "\n".join(part for part in parts if part)


def _draw_axis(layout: Layout, lang: str) -> Iterator[str]:
    if not layout.lines:
        return
    top, bottom = layout.lines[0].y - 30, layout.lines[-1].y + 14
    if layout.ticks:
        yield f'<text class="small" x="16" y="{top - 22:g}">{write_date(layout.ticks[0].at_us)} UTC</text>'
    for tick in layout.ticks:
        yield f'<path class="rule" d="M{tick.x:g},{top:g}V{bottom:g}"/>'
        yield f'<text class="small" x="{tick.x + 3:g}" y="{top - 6:g}">{write_time(tick.at_us)}</text>'
    labelled_x = 0.0
    for silence in layout.silences:
        span = write_span(silence.span_us)
        is_room = silence.x - labelled_x >= _SPAN_WIDTH
        labelled_x = silence.x if is_room else labelled_x
        zigzag = "l4,-5l-4,-5l4,-5l-4,-5l4,-5"
        yield (
            f"<g><title>{say(lang, 'silence', span=span)}</title>"
            f'<path class="gap" d="M{silence.x - 5:g},{bottom:g}V{top + 25:g}{zigzag}M{silence.x + 1:g},{bottom:g}'
            f'V{top + 25:g}{zigzag}"/><text class="small" text-anchor="middle" x="{silence.x:g}" y="{bottom + 12:g}">'
            f"{span if is_room else ''}</text></g>"
        )


def _draw_line(line: Line, layout: Layout) -> str:
    y, colour = line.y, "hub" if line.is_hub else f"k{line.colour}"
    right = layout.width - 16
    name = line.name if len(line.name) <= _NAME_CHARACTERS_MAX else line.name[: _NAME_CHARACTERS_MAX - 1] + _CUT
    parts = [
        f'<g class="{colour}"><text class="name" x="16" y="{y + 4:g}">{escape(name)}'
        f"<title>{line.member}: {escape(line.name)}</title></text>",
        f'<path class="absent" d="M{layout.left - 8:g},{y:g}H{right:g}"/>',
        f'<path class="line" d="M{(line.begin if line.came else layout.left - 8):g},{y:g}'
        f'H{(line.end if line.went else right):g}"/>',
    ]
    if line.came:
        parts.append(f'<path class="end" d="M{line.begin:g},{y - 11:g}V{y + 11:g}"/>')
    if line.went:
        x, arm = line.end, 8
        cross = f"M{x - arm:g},{y - arm:g}L{x + arm:g},{y + arm:g}M{x - arm:g},{y + arm:g}L{x + arm:g},{y - arm:g}"
        parts.append(f'<path class="end" d="{cross}"/>')
    return "".join([*parts, "</g>"])


def _draw_mark(mark: Mark, room: float, names: dict[int, str], lang: str) -> str:
    message = mark.message
    colour = "hub" if mark.is_hub else f"k{mark.colour}"
    parts = [
        f'<g class="m {colour}" tabindex="0" role="graphics-symbol" data-stamp="{escape(message.stamp)}" '
        f'data-after="{escape(" ".join(mark.causes))}">',
        f"<title>{escape(describe(mark, lang))}</title>",
        *(_draw_arrow(arrow, names[arrow.delivery.member], mark, lang) for arrow in mark.arrows),
        _draw_sender(mark),
        _draw_said(mark, room, lang),
        "</g>",
    ]
    return "".join(parts)


def describe(mark: Mark, lang: str) -> str:
    """All that there is to say of a message, a line for each thing."""
    message = mark.message
    what = say_what(lang, message.kind, message.name, message.text)
    lines = [f"{message.stamp}  {message.name}: {what}" if what else f"{message.stamp}  {message.name}"]
    lines.append(say(lang, "sent_at", at=write_time(mark.sent_us)))
    lines.append(say(lang, "accepted_at", at=write_time(message.accepted_us)))
    if message.after:
        lines.append(say(lang, "after", stamps=", ".join(message.after[:20]) + (_CUT if message.after[20:] else "")))
    if message.answers:
        lines.append(say(lang, "answers", stamp=message.answers))
    return "\n".join(lines)


def _draw_sender(mark: Mark) -> str:
    x, y = mark.x, mark.y
    if mark.is_hub:
        return f'<rect class="s" x="{x - 4:g}" y="{y - 4:g}" width="8" height="8"/>'
    radius = 5 if mark.message.kind == g.MESSAGE else 4
    return f'<circle class="s" cx="{x:g}" cy="{y:g}" r="{radius}"/>'


def _draw_arrow(arrow: Arrow, name: str, mark: Mark, lang: str) -> str:
    x, y = arrow.came_x, arrow.end_y
    length = hypot(x - arrow.x, y - arrow.y) or 1.0
    along, across = (x - arrow.x) / length, (y - arrow.y) / length
    # Where a message was held back, the head touches the ring around the place where it came.
    x, y = (x - along * 5, y - across * 5) if arrow.is_held else (x, y)
    back, aside = (x - along * _HEAD_LENGTH, y - across * _HEAD_LENGTH), (across * _HEAD_WIDTH, along * _HEAD_WIDTH)
    path = (
        f"M{arrow.x:g},{arrow.y:g}L{x:.1f},{y:.1f}M{back[0] + aside[0]:.1f},{back[1] - aside[1]:.1f}"
        f"L{x:.1f},{y:.1f}L{back[0] - aside[0]:.1f},{back[1] + aside[1]:.1f}"
    )
    title = f"{mark.message.stamp}  {mark.message.name}: {mark.message.text}\n{_tell_arrow(arrow, name, mark, lang)}"
    drawn = [f'<g><title>{escape(title)}</title><path class="a" d="{path}"/>']
    if arrow.is_held:
        drawn.append(
            f'<path class="wait" d="M{arrow.came_x:g},{arrow.end_y:g}H{arrow.shown_x:g}"/>'
            f'<circle class="came" cx="{arrow.came_x:g}" cy="{arrow.end_y:g}" r="4"/>'
            f'<circle class="held" cx="{arrow.shown_x:g}" cy="{arrow.end_y:g}" r="4"/>'
        )
    return "".join([*drawn, "</g>"])


def _tell_arrow(arrow: Arrow, name: str, mark: Mark, lang: str) -> str:
    at = write_time(arrow.shown_us)
    if arrow.is_held:
        span, came = write_span(arrow.shown_us - arrow.came_us), write_time(arrow.came_us)
        return say(lang, "held", name=name, came=came, at=at, span=span, stamp=arrow.delivery.waited_for)
    return say(lang, "shown", name=name, at=at, span=write_span(arrow.shown_us - mark.sent_us))


def _find_room(layout: Layout) -> list[float]:
    """How much room there is to write at each mark, before the next one on its line."""
    found = [0.0] * len(layout.marks)
    next_x: dict[float, float] = {}
    for place in sorted(range(len(found)), key=lambda place: layout.marks[place].x, reverse=True):
        mark = layout.marks[place]
        found[place] = next_x.get(mark.y, layout.width - 8) - mark.x
        next_x[mark.y] = mark.x
    return found


def _draw_said(mark: Mark, room: float, lang: str) -> str:
    """The message's name and as much of what it says as there is room for."""
    characters = min(int(room / _CHARACTER_WIDTH) - 1, _SAID_CHARACTERS_MAX)
    message = mark.message
    if characters < max(len(message.stamp), _SAID_CHARACTERS_MIN):
        return ""
    said = f"{message.stamp} {say_what(lang, message.kind, message.name, message.text)}".strip()
    if len(said) > characters:
        said = said[: characters - 1].rstrip() + _CUT
    return f'<text class="said" x="{mark.x - 4:g}" y="{mark.y - 9:g}">{escape(said)}</text>'


def _draw_legend(layout: Layout, lang: str) -> tuple[str, float]:
    """What the signs mean, in as many rows as they need; and the height of the drawing with them."""
    x, y = _LEGEND_LEFT, layout.height
    parts = [f'<g role="list" aria-label="{say(lang, "legend")}">']
    for word, sign in _LEGEND:
        text = say(lang, word)
        width = _SIGN_WIDTH + len(text) * _CHARACTER_WIDTH + 18
        if x + width > layout.width and x > _LEGEND_LEFT:
            x, y = _LEGEND_LEFT, y + _LEGEND_ROW
        parts.append(
            f'<g role="listitem" transform="translate({x:g} {y:g})">{sign}'
            f'<text class="small" x="{_SIGN_WIDTH:g}" y="0">{text}</text></g>'
        )
        x += width
    return "".join([*parts, "</g>"]), y + _LEGEND_ROW
