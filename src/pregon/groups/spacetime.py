"""The space-time diagram of a group: members as lines, messages as arrows, what was held back and why.

`render_svg` makes a picture, `render_page` a page with the picture, the reasons and the same as a table. Each is one
text that needs nothing else: style and script are inside it. Both are always the same, so a door that serves it lets
in those two and nothing else by their hashes (`POLICY`).

Promises:
- Pure: a trace and options in, a text out; the same for the same.
- Nothing that a member wrote becomes markup or script.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from pathlib import Path

from pregon.errors import BadRequest
from pregon.groups.spacetime_layout import Layout, Mark, lay_out
from pregon.groups.spacetime_svg import draw
from pregon.groups.spacetime_why import explain_held
from pregon.groups.spacetime_words import check_language, say, say_what, write_date, write_span, write_time
from pregon.groups.trace import GroupTrace

THEMES = ("auto", "light", "dark")
WIDTH_MIN, WIDTH_MAX = 400, 20_000
_REASONS_MAX = 200
_SHOWN_MAX = 12
_MOVE_US_TOLD = 10_000
"""Clocks of one machine differ by less, because an instant is read a little before or after what it is said of."""
_COLUMNS = ("seq", "at", "who", "stamp", "text", "after", "shown")

STYLE = (Path(__file__).parent / "spacetime.css").read_text(encoding="utf-8")
SCRIPT = (Path(__file__).parent / "spacetime.js").read_text(encoding="utf-8")


def _hash_of(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


POLICY = (
    f"default-src 'none'; style-src {_hash_of(STYLE)}; script-src {_hash_of(SCRIPT)}; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""The Content-Security-Policy with which a picture or a page may be served."""


@dataclass(frozen=True, slots=True)
class DiagramOptions:
    """How to draw; raises BadRequest for what cannot be."""

    lang: str = "en"
    is_logical: bool = False
    """Only the order, instead of real time."""
    width: int = 1_200
    """At least so wide, in pixels; wider if what happened could not be seen otherwise."""
    theme: str = "auto"
    """light, dark, or as the reader's system says."""

    def __post_init__(self) -> None:
        check_language(self.lang)
        if self.theme not in THEMES:
            raise BadRequest(f"the theme is {', '.join(THEMES[:-1])} or {THEMES[-1]}, not {self.theme[:20]!r}")
        if not WIDTH_MIN <= self.width <= WIDTH_MAX:
            raise BadRequest(f"the width is {WIDTH_MIN} to {WIDTH_MAX}, not {self.width}")


def render_svg(trace: GroupTrace, options: DiagramOptions | None = None) -> str:
    """The diagram as a picture."""
    options = options or DiagramOptions()
    layout = lay_out(trace, options.width, is_logical=options.is_logical)
    told = " ".join([_describe_lines(options), *_notes(trace, layout, options.lang)])
    within = (f"<style>{STYLE}</style>", f"<script>{SCRIPT}</script>")
    return draw(layout, (_title(trace, options.lang), told), options.lang, options.theme, within) + "\n"


def render_page(trace: GroupTrace, options: DiagramOptions | None = None) -> str:
    """The diagram as a page: the picture, why messages waited, and a table that says the same."""
    options = options or DiagramOptions()
    lang, title = options.lang, escape(_title(trace, options.lang))
    layout = lay_out(trace, options.width, is_logical=options.is_logical)
    told = _describe_lines(options)
    reasons = [f"<li>{escape(reason)}</li>" for reason in explain_held(trace, _REASONS_MAX, lang)]
    parts = [
        f'<!DOCTYPE html>\n<html lang="{lang}">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>",
        f'<body class="spacetime {options.theme}">\n<main>\n<h1>{title}</h1>',
        f"<p>{told}</p>\n<p>{say(lang, 'hint')}</p>",
        *(f'<p class="note">{escape(note)}</p>' for note in _notes(trace, layout, lang)),
        f'<div class="paper-roll">{draw(layout, (_title(trace, lang), told), lang, options.theme)}</div>',
        f"<h2>{say(lang, 'waited')}</h2>",
        f"<ul>{''.join(reasons)}</ul>" if reasons else f"<p>{say(lang, 'nothing_waited')}</p>",
        f"<h2>{say(lang, 'table')}</h2>",
        f'<div class="sheet">{_table(layout, lang)}</div>',
        f"</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
    ]
    return "\n".join(parts)


def _title(trace: GroupTrace, lang: str) -> str:
    named = say(lang, "title", group=trace.group)
    if not trace.messages:
        return f"{named}: {say(lang, 'empty')}"
    if trace.hubs_here > 1:
        return f"{named}: {say(lang, 'count', count=len(trace.messages), hubs=trace.hubs_here)}"
    return f"{named}: {say(lang, 'range', first=trace.messages[0].seq, last=trace.messages[-1].seq)}"


def _describe_lines(options: DiagramOptions) -> str:
    return say(options.lang, "lines_logical" if options.is_logical else "lines")


def _notes(trace: GroupTrace, layout: Layout, lang: str) -> Iterator[str]:
    """What a reader must know so as not to take the drawing for more than it is."""
    if not layout.is_whole:
        yield say(lang, "part", shown=len(layout.marks), count=len(trace.messages))
    elif not trace.is_whole:
        yield say(lang, "cut")
    if trace.hubs_here < trace.hubs:
        yield say(lang, "elsewhere", hubs=trace.hubs, here=trace.hubs_here)
    if trace.messages and not trace.deliveries:
        yield say(lang, "silent")
    names = dict(trace.members)
    for member, moved_us in sorted(layout.moved_us.items()):
        if abs(moved_us) < _MOVE_US_TOLD:
            continue
        word = "clock_behind" if moved_us > 0 else "clock_ahead"
        yield say(lang, word, name=names.get(member, member), span=write_span(abs(moved_us)))


def _table(layout: Layout, lang: str) -> str:
    heads = "".join(f'<th scope="col">{say(lang, f"column_{column}")}</th>' for column in _COLUMNS)
    names = {line.member: line.name for line in layout.lines}
    rows = "\n".join(_row(mark, names, lang) for mark in layout.marks)
    return f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"


def _row(mark: Mark, names: dict[int, str], lang: str) -> str:
    message = mark.message
    what = escape(say_what(lang, message.kind, message.name, message.text))
    answers = f" ({escape(say(lang, 'answers', stamp=message.answers))})" if message.answers else ""
    cells = (
        f'<td class="count">{message.seq}</td>',
        f"<td>{write_date(mark.sent_us)} {write_time(mark.sent_us)}</td>",
        f"<td>{escape(message.name)}</td>",
        f"<td>{escape(message.stamp)}</td>",
        f"<td>{what}{answers}</td>",
        f"<td>{escape(', '.join(message.after))}</td>",
        f"<td>{'; '.join(_shown(mark, names, lang))}</td>",
    )
    return f'<tr data-stamp="{escape(message.stamp)}">{"".join(cells)}</tr>'


def _shown(mark: Mark, names: dict[int, str], lang: str) -> Iterator[str]:
    """To whom a message was shown, how long after it was sent, and what it waited for."""
    # Those that waited are told first, so that none of them is among the rest.
    arrows = sorted(mark.arrows, key=lambda one: not one.is_held)
    for arrow in arrows[:_SHOWN_MAX]:
        told = f"{escape(names[arrow.delivery.member])} +{write_span(arrow.shown_us - mark.sent_us)}"
        if arrow.is_held:
            told += f" <mark>{escape(say(lang, 'waited_for', stamp=arrow.delivery.waited_for))}</mark>"
        yield told
    if arrows[_SHOWN_MAX:]:
        yield say(lang, "and_more", count=len(arrows) - _SHOWN_MAX)
