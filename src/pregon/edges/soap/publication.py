"""Publication: any SOAP body, with producer and topic in the header, becomes a message of the topic.

Promises:
- The answer leaves when the message is on disk; its notificationId is the message's number in the topic.
- A wsa:MessageID is the message's id: repeated by the same producer it stores nothing, and gets the same answer.
- What the header says besides (wsa:To and the like) is not kept, but for the SOAPAction, if one was given, and the
  traceparent and tracestate of HTTP.
"""

from __future__ import annotations

from pregon import limits
from pregon.edges.soap import answers
from pregon.edges.soap.exchange import SoapHttpAnswer
from pregon.edges.soap.services import Desk
from pregon.edges.soap.wsdl import publication_wsdl
from pregon.errors import BadRequest
from pregon.model.message import NO_HEADERS, Outgoing
from pregon.model.names import check_name
from pregon.model.trace_context import with_trace
from pregon.soap.content import take_content
from pregon.soap.envelope import Envelope
from pregon.soap.vocabulary import PS, SOAP_ACTION_HEADER

ACTION = f"{PS}/novedades/PublishNotification"


class Publication:
    """`/soap/novedades`."""

    def __init__(self, body_bytes_max: int) -> None:
        # Base64 takes a third more than what it holds, and a header its share; text that needs more has few letters.
        wanted = 2 * body_bytes_max + limits.REQUEST_JSON_BYTES_MAX
        self.request_bytes_max = min(wanted, limits.REQUEST_BYTES_MAX)

    async def carry_out(self, desk: Desk, envelope: Envelope, soap_action: str) -> SoapHttpAnswer:
        """Publish."""
        said, addressing = envelope.said, envelope.addressing
        topic = said.get("topic")
        if not topic:
            raise BadRequest("the header has no ps:topic: say to which topic this is published")
        check_name("topic", topic)
        named = said.get("producer", "")
        if named and envelope.username and named != envelope.username:
            raise BadRequest("ps:producer and wsse:Username name two producers: say one")
        producer = check_name("producer", desk.gate.producer_of(desk.caller, named or envelope.username))
        body, content_type = take_content(envelope.body)
        message = Outgoing(
            body,
            addressing.message_id if addressing else None,
            said.get("key") or None,
            content_type,
            {SOAP_ACTION_HEADER: soap_action} if soap_action else NO_HEADERS,
        )
        desk.bridge.burst()
        ticket = desk.gate.publish(desk.caller, topic, producer, with_trace(message, desk.trace))
        published = await desk.answer(ticket)
        entries = f"<ps:notificationId>{published.seq}</ps:notificationId>"
        if addressing is not None and addressing.message_id is not None:
            entries = answers.addressing_entries(addressing, f"{ACTION}Response") + entries
        return answers.answer(envelope.version, entries, b"")

    def describe(self, address: str) -> bytes:
        """The WSDL."""
        return publication_wsdl(address)
