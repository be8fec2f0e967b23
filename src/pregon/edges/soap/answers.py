"""Answers: envelopes and faults as bytes.

Written by formatting, not by building a tree: whatever is put in has been escaped by `escape`, or is XML that
`content` has checked.

Promises:
- What comes out is a well-formed envelope, whatever the values were.
- The usual answers to publication and reception are those of the figures: nothing more in them unless it was asked for.
- A fault says the error's code, its sentence and whether it is worth trying again, and nothing of the program.
"""

from __future__ import annotations

import re
import uuid

from pregon.edges.soap.envelope import Addressing, Envelope
from pregon.edges.soap.exchange import SoapHttpAnswer
from pregon.edges.soap.vocabulary import PS, SOAP_11, SOAP_12, WSA, SoapVersion, split_tag
from pregon.errors import PregonError, Rejected, VersionUnknown

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MUST_UNDERSTAND = "MustUnderstand"
_VERSION_MISMATCH = "VersionMismatch"
FAULT_ACTION = f"{WSA}/soap/fault"

_OPENINGS = {
    version: f'<soapenv:Envelope xmlns:ps="{PS}" xmlns:soapenv="{version.namespace}">' for version in (SOAP_11, SOAP_12)
}
_CONTENT_TYPES = {version: f"{version.media_type}; charset=utf-8" for version in (SOAP_11, SOAP_12)}


def escape(text: str) -> str:
    """A text as the content of an element or of an attribute in double quotes; what XML cannot carry is replaced."""
    if text.isalnum():
        return text
    text = _NOT_XML.sub("\ufffd", text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    # A parser would turn a carriage return into a line feed.
    return text.replace("\r", "&#13;")


def may_be_written(text: str) -> bool:
    """Whether XML can carry a text as it is."""
    return _NOT_XML.search(text) is None


def escape_attribute(text: str) -> str:
    """The same for an attribute, where a parser would turn any white space into blanks."""
    return escape(text).replace("\n", "&#10;").replace("\t", "&#9;")


def answer(version: SoapVersion, header: str, body: bytes, status: int = 200) -> SoapHttpAnswer:
    """An envelope with these header entries and this body."""
    opening = f"{_OPENINGS[version]}<soapenv:Header>{header}</soapenv:Header>" if header else _OPENINGS[version]
    if body:
        data = b"%b<soapenv:Body>%b</soapenv:Body></soapenv:Envelope>" % (opening.encode(), body)
    else:
        data = b"%b<soapenv:Body/></soapenv:Envelope>" % opening.encode()
    return SoapHttpAnswer(status, _CONTENT_TYPES[version], data)


def addressing_entries(addressing: Addressing | None, action: str, message_id: str = "") -> str:
    """The WS-Addressing entries of an answer: none unless the request had some."""
    if addressing is None:
        return ""
    own_id = message_id or f"urn:uuid:{uuid.uuid4()}"
    entries = [("MessageID", own_id), ("Action", action)]
    if addressing.message_id is not None:
        entries.append(("RelatesTo", addressing.message_id))
    return "".join(
        f'<wsa:{name} xmlns:wsa="{addressing.namespace}">{escape(value)}</wsa:{name}>' for name, value in entries
    )


def fault(
    version: SoapVersion, error: PregonError, *, addressing: Addressing | None = None, status: int | None = None
) -> SoapHttpAnswer:
    """The fault that an error becomes."""
    if isinstance(error, VersionUnknown):
        code = _VERSION_MISMATCH
    else:
        code = version.sender if isinstance(error, Rejected) else version.receiver
    return _fault(version, code, error, addressing_entries(addressing, FAULT_ACTION), status)


def fault_not_understood(envelope: Envelope, error: PregonError) -> SoapHttpAnswer:
    """The fault for header entries that had to be understood and were not."""
    entries = addressing_entries(envelope.addressing, FAULT_ACTION)
    if envelope.version is SOAP_12:
        for tag in envelope.not_understood:
            namespace, name = split_tag(tag)
            space = f' xmlns:q="{escape_attribute(namespace)}"' if namespace else ""
            prefix = "q:" if namespace else ""
            entries += f'<soapenv:NotUnderstood qname="{prefix}{escape_attribute(name)}"{space}/>'
    return _fault(envelope.version, _MUST_UNDERSTAND, error, entries, None)


def _fault(version: SoapVersion, code: str, error: PregonError, header: str, status: int | None) -> SoapHttpAnswer:
    sentence = escape(str(error))
    detail = (
        f"<ps:error><ps:code>{error.code}</ps:code><ps:message>{sentence}</ps:message>"
        f"<ps:retryable>{'true' if error.is_retryable else 'false'}</ps:retryable></ps:error>"
    )
    if version is SOAP_11:
        inside = f"<faultcode>soapenv:{code}</faultcode><faultstring>{sentence}</faultstring><detail>{detail}</detail>"
    else:
        inside = (
            f"<soapenv:Code><soapenv:Value>soapenv:{code}</soapenv:Value></soapenv:Code>"
            f'<soapenv:Reason><soapenv:Text xml:lang="en">{sentence}</soapenv:Text></soapenv:Reason>'
            f"<soapenv:Detail>{detail}</soapenv:Detail>"
        )
    if status is None:
        status = 400 if code == SOAP_12.sender else 500
    return answer(version, header, f"<soapenv:Fault>{inside}</soapenv:Fault>".encode(), status)
