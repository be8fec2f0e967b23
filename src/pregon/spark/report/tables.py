"""Tables of the report: headings, cells and bars as HTML.

A column names the field of a row that it shows, or has a function that finds it, and its heading in English and
Spanish.

Promises:
- Every cell is escaped: names of topics, details and whatever else strangers wrote stay text.
- A table that does not show everything says how many rows more there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from operator import attrgetter
from typing import Any

from pregon.spark.report.words import CLASSES, NONE, Both, both, instant, number, size_bytes, span_ms, word_of

_BAR_WIDTH, _BAR_HEIGHT = 120, 14
_NUMBER, _LONG, _WHEN = "number", "long", "when"
Field = str | Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, what of a row is in it, and how that is shown."""

    heading: Both
    of: Callable[[Any], Any]
    show: Callable[[Any], str]
    kind: str = ""
    """How the style treats it: numbers stand under each other, and long texts need room."""

    def cell(self, row: Any) -> str:
        """The cell of a row."""
        return self.show(self.of(row))

    def side(self) -> str:
        """The attribute that tells the style what kind of column it is."""
        return f' class="{self.kind}"' if self.kind else ""


def _column(field: Field, heading: Both, show: Callable[[Any], str], kind: str = "") -> Column:
    of = attrgetter(field) if isinstance(field, str) else field
    return Column(heading, of, show, kind)


def text(field: Field, english: str, spanish: str) -> Column:
    """A column of texts from a table."""
    return _column(field, (english, spanish), lambda value: escape(str(value)) or NONE)


def worded(field: Field, words: dict[str, Both], english: str, spanish: str) -> Column:
    """A column of names that have words in both languages."""
    return _column(field, (english, spanish), lambda name: both(word_of(words, name)))


def spoken(field: Field, english: str, spanish: str) -> Column:
    """A column of texts that are there in both languages."""
    return _column(field, (english, spanish), both, _LONG)


def counted(field: Field, english: str, spanish: str) -> Column:
    """A column of numbers."""
    return _column(field, (english, spanish), number, _NUMBER)


def written(field: Field, english: str, spanish: str) -> Column:
    """A column of numbers that are written out already."""
    return _column(field, (english, spanish), escape, _NUMBER)


def timed(field: Field, english: str, spanish: str) -> Column:
    """A column of times that something took, in milliseconds."""
    return _column(field, (english, spanish), span_ms, _NUMBER)


def sized(field: Field, english: str, spanish: str) -> Column:
    """A column of sizes in bytes."""
    return _column(field, (english, spanish), size_bytes, _NUMBER)


def dated(field: Field, english: str, spanish: str) -> Column:
    """A column of instants."""
    return _column(field, (english, spanish), lambda at: escape(instant(str(at))), _WHEN)


def classed(field: Field, english: str, spanish: str) -> Column:
    """A column of classes of service: a colour, and the word that says the same."""
    return _column(field, (english, spanish), badge)


def bars(field: Field, english: str, spanish: str) -> Column:
    """A column of two numbers as bars, the first over the second, the longer one as long as the cell."""
    return _column(field, (english, spanish), _bars)


def badge(name: str) -> str:
    """A class of service."""
    kind = name if name and name in CLASSES else "none"
    return f'<span class="badge {kind}">{both(word_of(CLASSES, name))}</span>'


def _bars(pair: tuple[float, float]) -> str:
    most = max(*pair, 1e-9)
    drawn = "".join(
        f'<rect class="{name}" x="0" y="{top}" width="{_BAR_WIDTH * value / most:.1f}" height="6"/>'
        for name, value, top in zip(("ours", "other"), pair, (0, 8), strict=True)
    )
    return f'<svg class="bars" width="{_BAR_WIDTH}" height="{_BAR_HEIGHT}" aria-hidden="true">{drawn}</svg>'


def table(caption: Both, columns: Sequence[Column], rows: Sequence[Any], *, count: int = 0) -> str:
    """A table, or nothing when it has no rows; `count` is how many rows there would be if all were shown."""
    if not rows:
        return ""
    heads = "".join(f'<th scope="col"{column.side()}>{both(column.heading)}</th>' for column in columns)
    body = "\n".join(_row(columns, row) for row in rows)
    rest = count - len(rows)
    more = (f"and {number(rest)} more", f"y {number(rest)} más")
    note = f'\n<p class="more">{both(more)}</p>' if rest > 0 else ""
    # A region that scrolls must be reached by the keyboard, and then it needs a name.
    name = escape(f"{caption[0]} / {caption[1]}", quote=True)
    return (
        f'<div class="sheet" role="region" tabindex="0" aria-label="{name}">\n'
        f"<table>\n<caption>{both(caption)}</caption>\n<thead><tr>{heads}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody>\n</table></div>{note}"
    )


def _row(columns: Sequence[Column], row: Any) -> str:
    """What names a row is its heading, so that a reader who cannot see the table knows where they are."""
    first, *others = columns
    cells = "".join(f"<td{column.side()}>{column.cell(row)}</td>" for column in others)
    return f'<tr><th scope="row"{first.side()}>{first.cell(row)}</th>{cells}</tr>'
