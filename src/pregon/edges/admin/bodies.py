"""A message's body as a person may look at it: laid out if it is JSON or XML, as text, or byte by byte.

Nothing of it is ever carried out: what comes back is text, and whoever puts it on a page escapes it. How it is read is
chosen by its content type; a body whose type says nothing is looked at, and shown as text if it is some.

Promises:
- Whatever the bytes, something to show comes back; nothing is raised.
- Of whatever size, `ADMIN_BODY_SHOWN_CHARACTERS_MAX` characters are shown at most, and no more than those are laid out.
- Numbers and texts of JSON stand as they were written. Of XML, no entity is resolved and nothing is fetched.
- Characters that cannot be seen, or that turn the order of others around, are shown by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

import msgspec
from lxml import etree

from pregon.errors import PregonError
from pregon.limits import ADMIN_BODY_SHOWN_CHARACTERS_MAX as SHOWN_MAX
from pregon.schemas.json import DEPTH_MAX
from pregon.schemas.xml import parse_xml

JSON, XML, TEXT, HEX, EMPTY = "json", "xml", "text", "hex", "empty"
KINDS = (JSON, XML, TEXT, HEX, EMPTY)

_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([A-Za-z0-9._-]{1,40})", re.IGNORECASE)
_CODECS = {
    "": "utf-8",
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "us-ascii": "utf-8",
    "utf-16": "utf-16",
    "iso-8859-1": "iso-8859-1",
    "iso-8859-15": "iso-8859-15",
    "windows-1252": "windows-1252",
}
_SILENT = ("", "application/octet-stream", "binary/octet-stream")
"""Types that say nothing."""
_TEXTS = ("application/x-www-form-urlencoded", "application/csv", "application/yaml", "application/javascript")
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^\s\[\]{}:,"]+|[\[\]{}:,]')
_OUTSIDE_TEXT = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f]"
)
_PICTURES_END, _DELETE, _PICTURES = 0x20, 0x7F, 0x2400
_STEP = "  "
_ELEMENTS_SHOWN_MAX = SHOWN_MAX // 4
"""An element has four characters at least: those after so many are not shown."""
_HEX_ROW, _HEX_ROW_CHARACTERS = 16, 79


@dataclass(frozen=True, slots=True)
class ShownBody:
    """What there is to look at."""

    kind: str
    """One of `KINDS`: what it was taken for, which may be less than what its type says."""
    text: str
    """Not escaped."""
    is_cut: bool
    """Whether there is more than is shown."""
    size: int
    """Bytes of the whole body."""


def show_body(content_type: str, body: bytes) -> ShownBody:
    """The body, or its beginning, in the form that suits it."""
    if not body:
        return ShownBody(EMPTY, "", False, 0)
    kind, text = _read(content_type, body)
    if text is None:
        return _dump(body)
    cut = text[: SHOWN_MAX + 1]
    shown = _UNSEEN.sub(_name_unseen, cut.replace("\r\n", "\n"))
    return ShownBody(kind, shown[:SHOWN_MAX], len(shown) > SHOWN_MAX or len(cut) < len(text), len(body))


def _read(content_type: str, body: bytes) -> tuple[str, str | None]:
    """What the body is, and its text; None if it has none."""
    media_type = content_type.partition(";")[0].strip().lower()
    is_silent = media_type in _SILENT
    if is_silent and _OUTSIDE_TEXT.search(body):
        return HEX, None
    start = body.lstrip()[:1] if is_silent else b""
    if start in (b"{", b"[") or media_type == "application/json" or media_type.endswith("+json"):
        laid_out = _lay_out_json(body)
        if laid_out is not None:
            return JSON, laid_out
    elif start == b"<" or media_type in ("text/xml", "application/xml") or media_type.endswith("+xml"):
        laid_out = _lay_out_xml(body)
        if laid_out is not None:
            return XML, laid_out
    elif not is_silent and not media_type.startswith("text/") and media_type not in _TEXTS:
        return HEX, None
    return TEXT, _decode(content_type, body)


def _decode(content_type: str, body: bytes) -> str | None:
    found = _CHARSET.search(content_type)
    codec = _CODECS.get(found.group(1).lower() if found else "")
    try:
        return body.decode(codec) if codec else None
    except UnicodeError:
        return None


def _lay_out_json(body: bytes) -> str | None:
    """JSON with a line for each value, as far as it is shown; None for what is none, or too deep."""
    try:
        text = body.decode()
        # Only looked through, not built: numbers stay what they are.
        msgspec.json.decode(body, type=msgspec.Raw)
    except (UnicodeError, msgspec.MsgspecError, RecursionError):
        return None
    pieces: list[str] = []
    length = depth = 0
    before = ""
    for found in _TOKEN.finditer(text):
        token = found.group()
        if token in "]}":
            depth -= 1
        piece = token
        if token == ":":
            piece = ": "
        elif token != "," and before not in ("", ": ") and not (before in "[{" and token in "]}"):
            piece = f"\n{_STEP * depth}{token}"
        if token in "[{":
            depth += 1
        if depth > DEPTH_MAX:
            return None
        pieces.append(piece)
        length += len(piece)
        if length > SHOWN_MAX:
            break
        before = piece if token == ":" else token
    return "".join(pieces)


def _lay_out_xml(body: bytes) -> str | None:
    """XML with a line for each element, as far as it is shown; None for what is none, or says more than data."""
    try:
        root = parse_xml(body)
    except PregonError:
        return None
    for element in list(islice(root.iter(), _ELEMENTS_SHOWN_MAX, None)):
        parent = element.getparent()
        if parent is not None:
            parent.remove(element)
    etree.indent(root, _STEP)
    return etree.tostring(root.getroottree(), encoding="unicode")


def _name_unseen(found: re.Match[str]) -> str:
    """A picture for a control character, the number for another one."""
    code = ord(found.group())
    if code < _PICTURES_END:
        return chr(_PICTURES + code)
    return "\N{SYMBOL FOR DELETE}" if code == _DELETE else f"⟨U+{code:04X}⟩"


def _dump(body: bytes) -> ShownBody:
    """Sixteen bytes a line: where they are, what they are, and what they would be as ASCII."""
    shown = body[: SHOWN_MAX // _HEX_ROW_CHARACTERS * _HEX_ROW]
    lines = []
    for at in range(0, len(shown), _HEX_ROW):
        row = shown[at : at + _HEX_ROW]
        digits = f"{row[:8].hex(' ')}  {row[8:].hex(' ')}"
        seen = "".join(chr(byte) if _PICTURES_END <= byte < _DELETE else "." for byte in row)
        lines.append(f"{at:08x}  {digits:<48}  |{seen}|")
    return ShownBody(HEX, "\n".join(lines), len(shown) < len(body), len(body))
