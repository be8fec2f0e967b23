"""What a message says in a group without a hub, and how it is shown.

The body of a causal message is a MessagePack array: when it was sent (microseconds since 1970), content type, headers,
the message that it answers (`3:17`, or nothing), and the bytes themselves. A body that is something else, because
another program sent it, is shown as the bytes that it is.
"""

from __future__ import annotations

import msgspec

from pregon.causal.message import CausalMessage, Delivery
from pregon.causal.peer_outputs import Delivered, Forgotten, Gone, Joined, Missed, Passed, Shown
from pregon.causal.stamps import Stamp, decode_stamp
from pregon.client.groups.events import (
    Event,
    GroupMessage,
    MemberGone,
    MemberJoined,
    MemberLeft,
    MessagesMissed,
    Order,
)
from pregon.client.groups.sending import Words
from pregon.clock import INSTANT_US_MAX
from pregon.errors import BadRequest
from pregon.model.message import DEFAULT_CONTENT_TYPE


class Parcel(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One message, without who says it and after what."""

    sent_us: int
    content_type: str
    headers: dict[str, str]
    answers: str
    body: bytes


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Parcel)


def encode_parcel(words: Words, sent_us: int) -> bytes:
    """The body of a causal message."""
    return _encoder.encode(Parcel(sent_us, words.content_type, dict(words.headers), words.answers, words.body))


def decode_parcel(data: bytes) -> Parcel:
    """What such a body says; any bytes are something."""
    try:
        parcel = _decoder.decode(data)
    except msgspec.DecodeError:
        return Parcel(0, DEFAULT_CONTENT_TYPE, {}, "", data)
    if not 0 <= parcel.sent_us <= INSTANT_US_MAX:
        return Parcel(0, DEFAULT_CONTENT_TYPE, {}, "", data)
    return parcel


def as_event(shown: Shown, name: str, order: Order) -> Event | None:
    """What the application sees of it; None for what it need not see."""
    if isinstance(shown, Forgotten | Passed):
        return None
    if isinstance(shown, Missed):
        return MessagesMissed(shown.member, shown.first, shown.last)
    if isinstance(shown, Delivered):
        return _message(shown.delivery, name, order)
    message = shown.message if shown.message is not None else CausalMessage(Stamp(shown.member, 1))
    kind = MemberJoined if isinstance(shown, Joined) else MemberGone if isinstance(shown, Gone) else MemberLeft
    return kind(stamp=message.stamp, member=shown.member, name=shown.name, after=message.after, order=order)


def _message(delivery: Delivery, name: str, order: Order) -> GroupMessage:
    message = delivery.message
    parcel = decode_parcel(message.body)
    return GroupMessage(
        stamp=message.stamp,
        member=message.stamp.member,
        name=name,
        after=message.after,
        at_us=parcel.sent_us,
        waited_for=delivery.waited_for,
        order=order,
        body=parcel.body,
        content_type=parcel.content_type,
        headers=parcel.headers,
        answers=_answered(parcel.answers),
        sent_us=parcel.sent_us,
    )


def _answered(text: str) -> Stamp | None:
    try:
        return decode_stamp(text) if text else None
    except BadRequest:
        return None
