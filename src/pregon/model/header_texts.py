"""Texts of a message as the values of HTTP headers, the same at the door and in a push.

Pure. Promise: what comes out is printable ASCII, whatever went in: nothing can end a header or begin another.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote

from pregon.model.message import DEFAULT_CONTENT_TYPE

PRINTABLE = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) != "%")
_PRINTABLE_ONLY = re.compile(r"[!-$&-~]([ -$&-~]*[!-$&-~])?", re.ASCII)


def header_text(text: str) -> str:
    """A text as the value of a header: percent-encoded where it is not printable ASCII."""
    if (text.isalnum() and text.isascii()) or _PRINTABLE_ONLY.fullmatch(text):
        return text
    encoded = quote(text, safe=PRINTABLE, errors="replace")
    # White space around a value is not part of it: whoever reads the header takes it away.
    inner = encoded.strip(" ")
    before = len(encoded) - len(encoded.lstrip(" "))
    return "%20" * before + inner + "%20" * (len(encoded) - len(inner) - before)


@lru_cache(maxsize=1_024)
def header_content_type(content_type: str) -> str:
    """A message's content type, if a header can have it."""
    return content_type if _PRINTABLE_ONLY.fullmatch(content_type.replace("%", "")) else DEFAULT_CONTENT_TYPE
