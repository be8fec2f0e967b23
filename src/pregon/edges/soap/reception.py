"""Reception: the first message that a subscriber has not acknowledged, with the acknowledgement of the last one.

Promises:
- A message goes out with its producer and its number, and if the subscription has a filter with why that wants it; an
  empty body without them says that nothing is pending.
- Who asks for it `wrapped` gets the same inside ps:notification, for clients that are made from a WSDL.
- Asking again without acknowledging gives the same message again.
- A wsa:MessageID of an answer is the same whenever that message is given, so that a repeated one can be dropped.
"""

from __future__ import annotations

from typing import Any

from pregon import limits
from pregon.edges.soap import answers
from pregon.edges.soap.exchange import SoapHttpAnswer
from pregon.edges.soap.records import FLAG, NAME, NUMBER_OR_NOTHING, Field, decode_fields
from pregon.edges.soap.services import Desk, sole_element
from pregon.edges.soap.wsdl import reception_wsdl
from pregon.errors import BadRequest
from pregon.hub.pull import PullRequest
from pregon.model.names import check_name
from pregon.soap.content import put_content
from pregon.soap.envelope import Envelope
from pregon.soap.texts import escape, message_urn
from pregon.soap.vocabulary import PS

ACTION = f"{PS}/recepcion/ReceiveNotification"
_REQUEST = f"{{{PS}}}NotificationRequest"
_FIELDS = (
    Field("subscriber", "subscriber", NAME),
    Field("topic", "topic", NAME, is_required=True),
    Field("ackNotificationId", "ack", NUMBER_OR_NOTHING),
    Field("waitMs", "wait_ms", NUMBER_OR_NOTHING),
    Field("wrapped", "wrapped", FLAG),
)


class Reception:
    """`/soap/recepcion`."""

    request_bytes_max = limits.REQUEST_JSON_BYTES_MAX

    async def carry_out(self, desk: Desk, envelope: Envelope, soap_action: str) -> SoapHttpAnswer:
        """Give the next message."""
        element = sole_element(envelope)
        if element.tag != _REQUEST:
            raise BadRequest(f"the Body holds ps:NotificationRequest, not {str(element.tag)[:200]}")
        values = decode_fields(_FIELDS, element, PS)
        request = _pull_request(values, envelope.username)
        wrap = _wrapped if values.get("wrapped") else bytes
        if request.ack:
            desk.bridge.burst_after_answer()
        pulled = await desk.answer(desk.gate.pull(desk.caller, request))
        addressing = envelope.addressing
        if not pulled.batches:
            entries = answers.addressing_entries(addressing, f"{ACTION}Response")
            return answers.answer(envelope.version, entries, wrap(b""))
        message = pulled.batches[0].messages(request.topic)[0]
        own_id = message_urn(message)
        entries = (
            f"{answers.addressing_entries(addressing, f'{ACTION}Response', own_id)}"
            f"<ps:producer>{escape(message.producer)}</ps:producer>"
            f"<ps:notificationId>{message.seq}</ps:notificationId>"
        )
        if pulled.matches:
            entries += f"<ps:matched>{escape(pulled.matches[0].reason)}</ps:matched>"
        return answers.answer(envelope.version, entries, wrap(put_content(message.body, message.content_type)))

    def describe(self, address: str) -> bytes:
        """The WSDL."""
        return reception_wsdl(address)


def _wrapped(body: bytes) -> bytes:
    """What a client made from the WSDL expects: one element that it knows, around one that it may not."""
    return b"<ps:notification>%b</ps:notification>" % body


def _pull_request(values: dict[str, Any], username: str) -> PullRequest:
    named = values.get("subscriber", "")
    if named and username and named != username:
        raise BadRequest("subscriber and wsse:Username name two subscribers: say one")
    return PullRequest(
        topic=check_name("topic", values["topic"]),
        subscriber=check_name("subscriber", named or username),
        ack=values.get("ack"),
        messages_max=1,
        wait_ms=values.get("wait_ms") or 0,
    )
