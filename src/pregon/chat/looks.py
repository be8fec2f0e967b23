"""How texts and names from outside look on a terminal: harmless, on one line, and each name in its own colour.

Promises:
- What comes out has no control character, no terminal escape and no mark that reorders text, whatever came in.
- The same name has the same colour everywhere and always.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

from pregon.model.group import fold_nick

COLOURS = (
    "#e06c75", "#e5a15c", "#c8a13a", "#98b13e", "#4fb86a", "#3fb5a3", "#3fa9d4",
    "#6a9bf4", "#9a86f0", "#c678dd", "#e067b4", "#d3836a", "#7fae8f", "#a3a3d1",
)  # fmt: skip
"""Told apart, and read on dark and on light."""

NEW_LINE = " ⏎ "
"""What shows where a message has a line's end: one message is one line, or it could look like two."""

_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)|[ -/]*[0-~])|\x9b[0-?]*[ -/]*[@-~]"
)
_LINE_END = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_JOINERS = "\u200c\u200d"
"""Format characters that letters and pictures are made with, and that move nothing."""
_MARKS_MAX = 4
"""Marks on one letter: more would climb over the lines above."""


def clean(text: str) -> str:
    """A text from outside as it may be shown."""
    found: list[str] = []
    marks = 0
    for one in _LINE_END.sub(NEW_LINE, _ESCAPE.sub("", text).strip()):
        kind = unicodedata.category(one)
        if one == "\t":
            found.append(" ")
        elif kind in ("Mn", "Me"):
            marks += 1
            if marks <= _MARKS_MAX:
                found.append(one)
            continue
        elif not kind.startswith("C") or one in _JOINERS:
            found.append(one)
        marks = 0
    return "".join(found).strip()


def colour_of(name: str) -> str:
    """The colour of a name."""
    digest = hashlib.blake2b(fold_nick(name).encode(), digest_size=4).digest()
    return COLOURS[int.from_bytes(digest, "big") % len(COLOURS)]


def beginning(text: str, most: int = 40) -> str:
    """The beginning of a text, to quote it."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
