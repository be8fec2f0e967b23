"""Envelopes as text: what is written into one, so that it is well-formed whatever the values are.

Written by formatting, not by building a tree: whatever is put in has been escaped by `escape`, or is XML that
`content` has checked.

Promises:
- What comes out is a well-formed envelope, whatever the values were.
- The same message has the same `message_urn` always, wherever and however often it is given.
"""

from __future__ import annotations

import re

from pregon.model.message import Message
from pregon.soap.vocabulary import PS, SOAP_11, SOAP_12, SoapVersion

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_OPENINGS = {
    version: f'<soapenv:Envelope xmlns:ps="{PS}" xmlns:soapenv="{version.namespace}">' for version in (SOAP_11, SOAP_12)
}
CONTENT_TYPES = {version: f"{version.media_type}; charset=utf-8" for version in (SOAP_11, SOAP_12)}
"""What an envelope of each version says that it is, over HTTP."""


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


def write_envelope(version: SoapVersion, header: str, body: bytes) -> bytes:
    """An envelope with these header entries and this body, both XML already."""
    opening = f"{_OPENINGS[version]}<soapenv:Header>{header}</soapenv:Header>" if header else _OPENINGS[version]
    if body:
        return b"%b<soapenv:Body>%b</soapenv:Body></soapenv:Envelope>" % (opening.encode(), body)
    return b"%b<soapenv:Body/></soapenv:Envelope>" % opening.encode()


def message_urn(message: Message) -> str:
    """The wsa:MessageID of a message that the hub gives or sends: the same each time, so that repetitions are known."""
    return f"urn:pregon:{message.topic}:{message.seq}:{message.accepted_us}"
