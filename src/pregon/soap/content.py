"""What a SOAP body holds, and what is stored for it; and back.

    in the body                                     is stored as
    one element                                     that element, application/xml
    nothing                                         nothing, application/xml
    several elements                                one after the other, application/xml-external-parsed-entity
    <ps:content contentType="…" encoding="…">       what it holds, decoded, with that content type
    <ps:notification> around any of these           the same as what is inside

and a stored message goes out as it is if it is well-formed XML, else as ps:content.

Promises:
- An element that came in goes out canonically equal: its namespaces travel with it, also those that only its text uses.
- What is put into an envelope was parsed first, so that no message can end our Body or add to our header.
"""

from __future__ import annotations

import base64
import binascii
import re

from lxml import etree

from pregon.errors import BadRequest, BadXml, TooLarge
from pregon.model.message import DEFAULT_CONTENT_TYPE
from pregon.schemas.xml import parse_xml
from pregon.soap.envelope import elements_of, raw_text_of
from pregon.soap.texts import escape, escape_attribute, may_be_written
from pregon.soap.vocabulary import PS

XML = "application/xml"
XML_SEVERAL = "application/xml-external-parsed-entity"
TEXT = "text/plain; charset=utf-8"
ENCODING_TEXT, ENCODING_BASE64 = "text", "base64"

_CONTENT = f"{{{PS}}}content"
_NOTIFICATION = f"{{{PS}}}notification"
_IS_TEXT = re.compile(r"\s*(text/|application/json|[\w.+-]+/[\w.+-]+\+json)", re.IGNORECASE)
_NOT_BARE = (b"<?", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
"""How a document begins that cannot be put inside another as it is: a declaration, or a byte order mark."""


def take_content(holder: etree._Element) -> tuple[bytes, str]:
    """The body to store and its content type, of a Body or of what stands for it; raises BadRequest."""
    elements = elements_of(holder)
    if len(elements) == 1:
        (only,) = elements
        if only.tag == _NOTIFICATION and holder.tag != _NOTIFICATION:
            return take_content(only)
        if only.tag == _CONTENT:
            return _decode_content(only)
        return _write(only), XML
    if not elements:
        return b"", XML
    return b"".join(_write(one) for one in elements), XML_SEVERAL


def put_content(body: bytes, content_type: str) -> bytes:
    """What to put into a Body for a stored message."""
    if not body and content_type in (XML, XML_SEVERAL):
        return b""
    return _as_xml(body, content_type) or _encode_content(body, content_type)


def _write(element: etree._Element) -> bytes:
    return etree.tostring(element, encoding="UTF-8", xml_declaration=False, with_tail=False)


def _decode_content(element: etree._Element) -> tuple[bytes, str]:
    encoding = element.get("encoding", ENCODING_TEXT).strip().lower()
    content_type = element.get("contentType", "").strip()
    text = raw_text_of(element)
    if encoding == ENCODING_TEXT:
        return text.encode(), content_type or TEXT
    if encoding != ENCODING_BASE64:
        raise BadRequest(f"the encoding of ps:content is {ENCODING_TEXT} or {ENCODING_BASE64}, not {encoding[:40]!r}")
    try:
        return base64.b64decode("".join(text.split()), validate=True), content_type or DEFAULT_CONTENT_TYPE
    except (binascii.Error, ValueError) as error:
        raise BadRequest("ps:content says that it is base64, and is not") from error


def _as_xml(body: bytes, content_type: str) -> bytes | None:
    """The XML that a body is, ready to stand inside another; None if it is none."""
    if b"<" not in body:
        return None
    try:
        if content_type == XML_SEVERAL:
            # Well-formed inside an element of ours: nothing in it can close that element and go on.
            parse_xml(b"<several>%b</several>" % body)
            return body
        root = parse_xml(body)
    except (BadXml, TooLarge):
        return None
    return _write(root) if body.startswith(_NOT_BARE) else body


def _encode_content(body: bytes, content_type: str) -> bytes:
    encoding = ENCODING_BASE64
    text = ""
    if _IS_TEXT.match(content_type):
        try:
            text = body.decode()
        except UnicodeDecodeError:
            pass
        else:
            encoding = ENCODING_TEXT if may_be_written(text) else ENCODING_BASE64
    inside = escape(text) if encoding == ENCODING_TEXT else base64.b64encode(body).decode()
    attributes = f'contentType="{escape_attribute(content_type)}" encoding="{encoding}"'
    return f"<ps:content {attributes}>{inside}</ps:content>".encode()
