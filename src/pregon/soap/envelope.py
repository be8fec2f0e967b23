"""From bytes to an envelope: which version of SOAP, what its header says, and its body.

What the body means is left to the services. Every value of the header comes out as text without the white space
around it; names, keys and ids are checked by the hub.

Promises:
- One parse and one pass over the header.
- Bytes that are no envelope raise BadXml, BadRequest, TooLarge, MediaTypeUnknown or VersionUnknown.
- A header entry that says mustUnderstand, is for us, and that we do not know is in `not_understood`.
- The HTTP charset, the XML declaration and the bytes agree, or it is refused: nobody guesses an encoding.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from email.message import Message as MimeHeader
from functools import lru_cache

from lxml import etree

from pregon import limits
from pregon.clock import parse_us, wall_us
from pregon.errors import BadRequest, BadXml, MediaTypeUnknown, Unauthorized, VersionUnknown
from pregon.schemas.xml import parse_xml
from pregon.soap.vocabulary import (
    ADDRESSING_NAMES,
    HEADER_NAMES,
    MESSAGE_ID,
    PASSWORD_TEXT,
    PS,
    SOAP_11,
    SOAP_12,
    WSA,
    WSA_2004,
    WSSE,
    WSU,
    SoapVersion,
    split_tag,
)

_VERSIONS = {version.envelope: version for version in (SOAP_11, SOAP_12)}
_SAID = {f"{{{PS}}}{name}": name for name in HEADER_NAMES}
_ADDRESSING = {f"{{{space}}}{name}": (space, name) for space in (WSA, WSA_2004) for name in ADDRESSING_NAMES}
_ANONYMOUS = {WSA: f"{WSA}/anonymous", WSA_2004: f"{WSA_2004}/role/anonymous"}
_SECURITY = f"{{{WSSE}}}Security"
_TRUE = ("1", "true")
_SPACE = " \t\r\n"
"""What is white space to XML; a no-break space is not."""

_MEDIA_TYPES = ("", "text/xml", "application/xml", SOAP_12.media_type)
_CODECS = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "us-ascii": "utf-8",
    "iso-8859-1": "iso-8859-1",
    "iso-8859-15": "iso-8859-15",
    "windows-1252": "windows-1252",
}
_DECLARED = re.compile(rb"(?:\xef\xbb\xbf)?<\?xml\s[^<>]{0,200}?\sencoding\s*=\s*[\"']([^\"'<>]{0,60})[\"']")


@dataclass(frozen=True, slots=True)
class Addressing:
    """What the header says by WS-Addressing, and in which of its namespaces."""

    namespace: str
    message_id: str | None


@dataclass(frozen=True, slots=True)
class Envelope:
    """An envelope that was read."""

    version: SoapVersion
    body: etree._Element
    said: dict[str, str] = field(default_factory=dict, repr=False)
    """What our own header entries say: producer, topic, accessKey, key."""
    addressing: Addressing | None = None
    username: str = ""
    password: str = field(default="", repr=False)
    not_understood: tuple[str, ...] = ()
    """Tags of the header entries that must be understood and are not."""

    def presented(self, bearer: str) -> str:
        """The key or token that was presented: in the header of ours, in that of WS-Security, or in that of HTTP."""
        return self.said.get("accessKey") or self.password or bearer


@dataclass(frozen=True, slots=True)
class ContentType:
    """What the HTTP header Content-Type says of an envelope."""

    version: SoapVersion
    charset: str
    action: str


@lru_cache(maxsize=256)
def read_content_type(text: str) -> ContentType:
    """What it says; raises MediaTypeUnknown for what holds no envelope that we read."""
    if len(text) > limits.CONTENT_TYPE_BYTES_MAX:
        raise MediaTypeUnknown(f"a Content-Type has at most {limits.CONTENT_TYPE_BYTES_MAX} bytes")
    header = MimeHeader()
    try:
        header["Content-Type"] = text.replace("\r", " ").replace("\n", " ")
        media_type = text.partition(";")[0].strip().lower()
        charset, action = header.get_param("charset"), header.get_param("action")
    except (ValueError, IndexError, TypeError) as error:
        raise MediaTypeUnknown("the Content-Type cannot be read: send text/xml; charset=utf-8") from error
    if media_type.startswith("multipart/"):
        raise MediaTypeUnknown(
            "attachments (MTOM, SwA) are not taken: send one envelope, with binary content as base64 in ps:content"
        )
    if media_type not in _MEDIA_TYPES:
        raise MediaTypeUnknown(
            f"{media_type[:100]!r} holds no envelope: send text/xml (SOAP 1.1) or application/soap+xml (SOAP 1.2)"
        )
    charset = charset.strip().lower() if isinstance(charset, str) else ""
    if charset not in _CODECS and charset not in ("", "utf-16"):
        raise MediaTypeUnknown(f"the charset {charset[:60]!r} is not read here: send UTF-8")
    version = SOAP_12 if media_type == SOAP_12.media_type else SOAP_11
    return ContentType(version, charset, action if isinstance(action, str) else "")


def open_envelope(data: bytes, charset: str = "") -> tuple[SoapVersion, etree._Element]:
    """Which version of SOAP these bytes are, and their root; raises as the module says."""
    root = parse_xml(_in_one_encoding(data, charset))
    version = _VERSIONS.get(root.tag)
    if version is None:
        raise _no_envelope(root)
    return version, root


def read_envelope(version: SoapVersion, root: etree._Element) -> Envelope:
    """What is in an envelope that was opened; raises BadRequest or Unauthorized."""
    header = body = None
    for child in root:
        tag = child.tag
        if tag == version.body and body is None:
            body = child
        elif tag == version.header and header is None and body is None:
            header = child
        elif isinstance(tag, str):
            raise BadRequest("an envelope has one Header at most, then one Body, and nothing else")
    if body is None:
        raise BadRequest("the envelope has no Body")
    if header is None or len(header) == 0:
        return Envelope(version, body)
    return _read_header(version, header, body)


def text_of(element: etree._Element) -> str:
    """The text of an element that has no others inside, without white space around; raises BadRequest."""
    return raw_text_of(element).strip(_SPACE)


def raw_text_of(element: etree._Element) -> str:
    """The same with its white space."""
    if len(element) == 0:
        return element.text or ""
    parts = [element.text or ""]
    for child in element:
        if isinstance(child.tag, str):
            raise BadRequest(f"{_shown(element)} holds text only, no elements")
        parts.append(child.tail or "")
    return "".join(parts)


def elements_of(element: etree._Element) -> list[etree._Element]:
    """The elements directly inside one that holds nothing but elements; raises BadRequest for text between them."""
    elements: list[etree._Element] = []
    texts = [element.text]
    for child in element:
        if isinstance(child.tag, str):
            elements.append(child)
        texts.append(child.tail)
    if any(text and text.strip(_SPACE) for text in texts):
        raise BadRequest(f"{_shown(element)} holds elements only: there is text between them")
    return elements


def _shown(element: etree._Element) -> str:
    """The name of an element for a sentence."""
    return split_tag(element.tag)[1][:100]


def _in_one_encoding(data: bytes, charset: str) -> bytes:
    """The bytes, with the charset of HTTP said in a way that the XML parser cannot take for another."""
    if charset in ("", "utf-16"):
        # The parser asks for the mark of UTF-16, and for a declaration of whatever is not UTF-8.
        return data
    codec = _CODECS[charset]
    found = _DECLARED.match(data)
    if found is not None:
        declared = found.group(1).decode("ascii", "replace").lower()
        if _CODECS.get(declared) != codec:
            raise BadXml(f"the Content-Type says {charset} and the XML declaration {declared[:60]!r}: say one of them")
        return data
    if codec == "utf-8":
        return data
    try:
        return data.decode(codec).encode()
    except UnicodeError as error:
        raise BadXml(f"the bytes are not {charset}, as the Content-Type says") from error


def _no_envelope(root: etree._Element) -> BadRequest | VersionUnknown:
    namespace, name = split_tag(root.tag)
    if name == "Envelope":
        return VersionUnknown(
            f"the envelope is of the namespace {namespace[:200]!r}: "
            f"use {SOAP_11.namespace} (SOAP 1.1) or {SOAP_12.namespace} (SOAP 1.2)"
        )
    return BadRequest(f"this is {name[:100]!r}, not a SOAP envelope")


def _read_header(version: SoapVersion, header: etree._Element, body: etree._Element) -> Envelope:
    said: dict[str, str] = {}
    not_understood: list[str] = []
    namespace, message_id = "", None
    username = password = ""
    for entry in header:
        tag = entry.tag
        name = _SAID.get(tag)
        if name is not None:
            if name in said:
                raise BadRequest(f"the header has ps:{name} twice")
            said[name] = text_of(entry)
        elif tag in _ADDRESSING:
            namespace, name = _ADDRESSING[tag]
            if name == MESSAGE_ID:
                if message_id is not None:
                    raise BadRequest("the header has wsa:MessageID twice")
                message_id = _message_id(entry)
            elif name in ("ReplyTo", "FaultTo") and _must_understand(version, entry) and not _is_here(namespace, entry):
                not_understood.append(tag)
        elif isinstance(tag, str) and _is_ours(version, entry):
            if tag == _SECURITY and not password:
                username, password, is_all = _read_security(entry)
                if not is_all and _must_understand(version, entry):
                    not_understood.append(tag)
            elif _must_understand(version, entry):
                not_understood.append(tag)
    addressing = Addressing(namespace, message_id) if namespace else None
    return Envelope(version, body, said, addressing, username, password, tuple(not_understood))


def _message_id(entry: etree._Element) -> str:
    text = text_of(entry)
    if not text or len(text) > limits.MESSAGE_ID_BYTES_MAX:
        raise BadRequest(f"a wsa:MessageID has 1 to {limits.MESSAGE_ID_BYTES_MAX} bytes")
    return text


def _is_ours(version: SoapVersion, entry: etree._Element) -> bool:
    return (entry.get(version.role) or "").strip() in version.own_roles


def _must_understand(version: SoapVersion, entry: etree._Element) -> bool:
    return (entry.get(version.must_understand) or "").strip() in _TRUE


def _is_here(namespace: str, entry: etree._Element) -> bool:
    """Whether an endpoint reference is the connection itself: answers go nowhere else."""
    address = entry.findtext(f"{{{namespace}}}Address")
    return (address or "").strip() == _ANONYMOUS[namespace]


def _read_security(entry: etree._Element) -> tuple[str, str, bool]:
    """The name and the key of a UsernameToken, and whether that was all there is to understand."""
    username = password = ""
    is_all = True
    for child in entry:
        if child.tag == f"{{{WSSE}}}UsernameToken":
            username = (child.findtext(f"{{{WSSE}}}Username") or "").strip()
            found = child.find(f"{{{WSSE}}}Password")
            if found is not None:
                if found.get("Type", PASSWORD_TEXT) != PASSWORD_TEXT:
                    raise Unauthorized("a digest cannot be checked, because the hub keeps no key: send a PasswordText")
                password = text_of(found)
        elif child.tag == f"{{{WSU}}}Timestamp":
            _require_fresh(child.findtext(f"{{{WSU}}}Expires"))
        elif isinstance(child.tag, str):
            is_all = False
    return username, password, is_all


def _require_fresh(expires: str | None) -> None:
    if expires is None:
        return
    try:
        expires_us = parse_us(expires.strip())
    except (ValueError, OverflowError) as error:
        raise BadRequest("wsu:Expires is no time") from error
    if expires_us < wall_us():
        raise BadRequest("the WS-Security header has expired: check the clock of the machine that sent it")
