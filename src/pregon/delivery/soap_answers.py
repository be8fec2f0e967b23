"""Whether the answer to a pushed envelope is a fault.

An answer that is no envelope is none: a subscriber may answer what it likes, as long as its status is good. So is one
that came compressed, which nobody asked it for.

Promises: never raises, whatever the bytes; an answer without the word costs one search.
"""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE

from lxml import etree

from pregon.errors import BadXml, MediaTypeUnknown, PregonError
from pregon.schemas.xml import parse_xml_text
from pregon.soap.envelope import open_envelope, read_content_type
from pregon.soap.vocabulary import SOAP_11, SOAP_12, SoapVersion

_UTF_16 = (BOM_UTF16_LE, BOM_UTF16_BE)


def find_fault(answer: bytes, content_type: str) -> str | None:
    """What the fault in an answer says, empty if it says nothing; None if there is no fault."""
    if b"Fault" not in answer and not answer.startswith(_UTF_16):
        return None
    opened = _open(answer, content_type)
    if opened is None:
        return None
    version, root = opened
    fault = root.find(f"{version.body}/{{{version.namespace}}}Fault")
    if fault is None:
        return None
    path = "faultstring" if version is SOAP_11 else f"{{{SOAP_12.namespace}}}Reason/{{{SOAP_12.namespace}}}Text"
    return fault.findtext(path) or ""


def _open(answer: bytes, content_type: str) -> tuple[SoapVersion, etree._Element] | None:
    try:
        charset = read_content_type(content_type).charset
    except MediaTypeUnknown:
        charset = ""
    try:
        return open_envelope(answer, charset)
    except BadXml:
        return _open_western(answer)
    except PregonError:
        return None


def _open_western(answer: bytes) -> tuple[SoapVersion, etree._Element] | None:
    """The same for bytes that do not say that they are ISO 8859-1: accents must not make a fault a delivery."""
    try:
        root = parse_xml_text(answer.decode("iso-8859-1"))
    except PregonError:
        return None
    version = next((one for one in (SOAP_11, SOAP_12) if root.tag == one.envelope), None)
    return None if version is None else (version, root)
