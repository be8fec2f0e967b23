"""How long a reason may be.

What libxml2, msgspec and jsonschema-rs say can carry a whole body or schema with it; what we answer does not.
"""

from __future__ import annotations

REASON_CHARACTERS_MAX = 300
"""Characters of a reason why a schema or a body was refused."""


def shorten(text: str) -> str:
    """The text in one line and at most `REASON_CHARACTERS_MAX` characters, with dots where it was cut."""
    line = " ".join(text[: 4 * REASON_CHARACTERS_MAX].split())
    if len(line) <= REASON_CHARACTERS_MAX:
        return line
    return line[: REASON_CHARACTERS_MAX - 1] + "…"
