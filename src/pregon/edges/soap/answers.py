"""Answers: envelopes and faults as bytes.

How an envelope is written is in `pregon.soap.texts`; here is what the door puts into one.

Promises:
- What comes out is a well-formed envelope, whatever the values were.
- The usual answers to publication and reception are those of the figures: nothing more in them unless it was asked for.
- A fault says the error's code, its sentence and whether it is worth trying again, and nothing of the program.
"""

from __future__ import annotations

import uuid

from pregon.edges.soap.exchange import SoapHttpAnswer
from pregon.errors import PregonError, Rejected, VersionUnknown
from pregon.soap.envelope import Addressing, Envelope
from pregon.soap.texts import CONTENT_TYPES, escape, escape_attribute, write_envelope
from pregon.soap.vocabulary import SOAP_11, SOAP_12, WSA, SoapVersion, split_tag

_MUST_UNDERSTAND = "MustUnderstand"
_VERSION_MISMATCH = "VersionMismatch"
FAULT_ACTION = f"{WSA}/soap/fault"


def answer(version: SoapVersion, header: str, body: bytes, status: int = 200) -> SoapHttpAnswer:
    """An envelope with these header entries and this body."""
    return SoapHttpAnswer(status, CONTENT_TYPES[version], write_envelope(version, header, body))


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
