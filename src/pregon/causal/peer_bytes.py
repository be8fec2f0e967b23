"""What members of a group without a hub say to each other, in bytes.

    byte 0   what it is                  then (numbers are varints, texts are their length in bytes and UTF-8)
    1  MESSAGE   a causal message        control information (`encoding`), then its body to the end
    2  JOIN      let me in               member, group (0: any), name, address, clock (empty unless it comes back)
    3  START     you may                 from, group, to, clock, how many cards, cards
    4  REFUSED   you may not             from, to, code, reason
    5  REPORT    what I have             from, group, 1 if it is all of it or 0 if it is what changed, clock
    6  ASK       send me that again      from, member, first, last
    7  REPAIR    here it is              the MESSAGE, to the end
    8  LOST      I no longer have that   from, member, first, last, how many cards (0 or 1), the member's card
    9  NEVER     I never sent that       from, the last that I sent
    10 LEAVING   I am about to leave     from

    clock    how many, then for each: member less the one before it less 1 (the first: less 1), number
    card     member, state, member and number of the message that brought it there (0 0: none), name, address

The kind of a MESSAGE (six bits of its control information) says what its body is: 0 the application's, 1 JOINED (group,
name, address), 2 LEFT (nothing), 3 GONE (member, its last number here), 4 BACK (group, name, address). A member's first
message is its JOINED, and no other is.

Promises:
- Any bytes give a frame within the limits, or BadRequest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pregon.causal.encoding import append_varint, decode_control, encode_control, read_varint
from pregon.causal.message import CausalMessage
from pregon.causal.peer_frames import (
    ADDRESS_BYTES_MAX,
    BACK,
    CLOCK_MEMBERS_MAX,
    GONE,
    IS_GONE,
    JOINED,
    LEFT,
    ORDINARY,
    AskFrame,
    Card,
    Frame,
    Introduction,
    JoinFrame,
    LeavingFrame,
    LostFrame,
    MessageFrame,
    NeverFrame,
    RefusedFrame,
    ReportFrame,
    Sealed,
    StartFrame,
)
from pregon.causal.stamps import Stamp
from pregon.errors import BadRequest
from pregon.limits import BODY_BYTES_MAX, GROUP_NUMBER_MAX, NICK_CHARACTERS_MAX

MESSAGE, JOIN, START, REFUSED, REPORT, ASK, REPAIR, LOST, NEVER, LEAVING = range(1, 11)

_REASON_BYTES_MAX = 500
_CODE_BYTES_MAX = 40

_Append = Callable[[bytearray, Any], None]
_Take = Callable[[bytes, int], tuple[Any, int]]


def encode_message(message: CausalMessage, kind: int, body: bytes) -> bytes:
    """A causal message as its sender sends it."""
    return bytes((MESSAGE,)) + encode_control(message.stamp, message.after, kind) + body


def encode_repair(frame: bytes) -> bytes:
    """A causal message, repeated for who lacks it."""
    return bytes((REPAIR,)) + frame


def encode_frame(frame: Frame) -> bytes:
    """Any other frame."""
    code, fields = _LAYOUTS[type(frame)]
    return bytes((code,)) + _encode_fields(frame, fields)


def encode_introduction(introduction: Introduction) -> bytes:
    """The body of JOINED and of BACK."""
    return _encode_fields(introduction, _INTRODUCTION)


def encode_gone(member: int, last: int) -> bytes:
    """The body of GONE."""
    out = bytearray()
    append_varint(out, member)
    append_varint(out, last)
    return bytes(out)


def decode_frame(data: bytes) -> MessageFrame | Frame:
    """What somebody said; raises BadRequest."""
    if not data:
        raise BadRequest("the frame is empty")
    if data[0] == MESSAGE:
        return _decode_message(data, is_repair=False)
    if data[0] == REPAIR:
        return _decode_message(data[1:], is_repair=True)
    kind = _BY_CODE.get(data[0])
    if kind is None:
        raise BadRequest(f"{data[0]} is no frame of a group: there are {MESSAGE} to {LEAVING}")
    frame: Frame = _decode_fields(data, 1, kind, _LAYOUTS[kind][1])
    return frame


def decode_introduction(body: bytes) -> Introduction:
    """Who comes in, or comes back; raises BadRequest."""
    introduction: Introduction = _decode_fields(body, 0, Introduction, _INTRODUCTION)
    return introduction


def decode_gone(body: bytes) -> tuple[int, int]:
    """Who is gone, and its last message where this was noticed; raises BadRequest."""
    member, at = _take_number(body, 0)
    last, at = read_varint(body, at)
    if at != len(body):
        raise BadRequest("GONE has more bytes than a member and a number")
    return member, last


def _decode_message(data: bytes, *, is_repair: bool) -> MessageFrame:
    if not data or data[0] != MESSAGE:
        raise BadRequest("only a causal message is repeated for others")
    kind, stamp, after, at = decode_control(data, 1)
    body = data[at:]
    if len(body) > BODY_BYTES_MAX:
        raise BadRequest(f"the body of a message has at most {BODY_BYTES_MAX} bytes")
    if (kind == JOINED) is not (stamp.number == 1):
        raise BadRequest("the first message of a member says that it joined, and no other does")
    if kind in (JOINED, BACK):
        decode_introduction(body)
    elif kind == GONE:
        decode_gone(body)
    elif kind not in (ORDINARY, LEFT):
        raise BadRequest(f"{kind} is no kind of message: there are {ORDINARY} to {BACK}")
    return MessageFrame(CausalMessage(stamp, after, Sealed(kind, body, data)), is_repair)


def _encode_fields(record: Any, fields: Sequence[tuple[_Append, _Take]]) -> bytes:
    out = bytearray()
    for name, (append, _) in zip(record.__struct_fields__, fields, strict=True):
        append(out, getattr(record, name))
    return bytes(out)


def _decode_fields(data: bytes, at: int, kind: type[Any], fields: Sequence[tuple[_Append, _Take]]) -> Any:
    values = []
    for _, take in fields:
        value, at = take(data, at)
        values.append(value)
    if at != len(data):
        raise BadRequest("the frame has more bytes than it should")
    return kind(*values)


def _take_number(data: bytes, at: int) -> tuple[int, int]:
    value, at = read_varint(data, at)
    if not 1 <= value <= GROUP_NUMBER_MAX:
        raise BadRequest(f"{value} is out of range: numbers go from 1 to {GROUP_NUMBER_MAX}")
    return value, at


def _take_flag(data: bytes, at: int) -> tuple[bool, int]:
    value, at = read_varint(data, at)
    if value > 1:
        raise BadRequest(f"{value} is neither yes (1) nor no (0)")
    return value == 1, at


def _append_text(out: bytearray, text: str) -> None:
    data = text.encode()
    append_varint(out, len(data))
    out += data


def _text(bytes_max: int) -> tuple[_Append, _Take]:
    def take(data: bytes, at: int) -> tuple[str, int]:
        length, at = read_varint(data, at)
        if length > bytes_max or at + length > len(data):
            raise BadRequest(f"a text is cut off, or has more than {bytes_max} bytes")
        try:
            return data[at : at + length].decode(), at + length
        except UnicodeDecodeError as error:
            raise BadRequest("a text is not UTF-8") from error

    return _append_text, take


def _append_clock(out: bytearray, clock: Mapping[int, int]) -> None:
    append_varint(out, len(clock))
    before = 0
    for member in sorted(clock):
        append_varint(out, member - before - 1)
        append_varint(out, clock[member])
        before = member


def _take_clock(data: bytes, at: int) -> tuple[dict[int, int], int]:
    count, at = read_varint(data, at)
    if count > CLOCK_MEMBERS_MAX:
        raise BadRequest(f"a clock has at most {CLOCK_MEMBERS_MAX} members")
    clock: dict[int, int] = {}
    member = 0
    for _ in range(count):
        step, at = read_varint(data, at)
        number, at = _take_number(data, at)
        member += step + 1
        clock[member] = number
    if member > GROUP_NUMBER_MAX:
        raise BadRequest(f"{member} is no member: numbers go from 1 to {GROUP_NUMBER_MAX}")
    return clock, at


def _append_card(out: bytearray, card: Card) -> None:
    append_varint(out, card.member)
    append_varint(out, card.state)
    for number in card.event or (0, 0):
        append_varint(out, number)
    _append_text(out, card.name)
    _append_text(out, card.address)


def _take_card(data: bytes, at: int) -> tuple[Card, int]:
    member, at = _take_number(data, at)
    state, at = read_varint(data, at)
    by, at = read_varint(data, at)
    number, at = read_varint(data, at)
    name, at = _NAME[1](data, at)
    address, at = _ADDRESS[1](data, at)
    if state > IS_GONE or max(by, number) > GROUP_NUMBER_MAX or (by == 0) is not (number == 0):
        raise BadRequest(f"what is said of member {member} is no state of a member")
    return Card(member, state, Stamp(by, number) if by else None, name, address), at


def _append_cards(out: bytearray, cards: Sequence[Card]) -> None:
    append_varint(out, len(cards))
    for card in cards:
        _append_card(out, card)


def _take_cards(data: bytes, at: int) -> tuple[tuple[Card, ...], int]:
    count, at = read_varint(data, at)
    if count > CLOCK_MEMBERS_MAX:
        raise BadRequest(f"a member tells of at most {CLOCK_MEMBERS_MAX} others")
    cards: list[Card] = []
    for _ in range(count):
        card, at = _take_card(data, at)
        cards.append(card)
    return tuple(cards), at


_NUMBER = (append_varint, _take_number)
_FROM_ZERO = (append_varint, read_varint)
_FLAG = (append_varint, _take_flag)
_NAME = _text(4 * NICK_CHARACTERS_MAX)
_ADDRESS = _text(ADDRESS_BYTES_MAX)
_CLOCK = (_append_clock, _take_clock)
_CARDS = (_append_cards, _take_cards)

_INTRODUCTION: tuple[tuple[_Append, _Take], ...] = (_FROM_ZERO, _NAME, _ADDRESS)
_LAYOUTS: dict[type[Any], tuple[int, tuple[tuple[_Append, _Take], ...]]] = {
    JoinFrame: (JOIN, (_NUMBER, _FROM_ZERO, _NAME, _ADDRESS, _CLOCK)),
    StartFrame: (START, (_NUMBER, _NUMBER, _NUMBER, _CLOCK, _CARDS)),
    RefusedFrame: (REFUSED, (_NUMBER, _NUMBER, _text(_CODE_BYTES_MAX), _text(_REASON_BYTES_MAX))),
    ReportFrame: (REPORT, (_NUMBER, _NUMBER, _FLAG, _CLOCK)),
    AskFrame: (ASK, (_NUMBER, _NUMBER, _NUMBER, _NUMBER)),
    LostFrame: (LOST, (_NUMBER, _NUMBER, _NUMBER, _NUMBER, _CARDS)),
    NeverFrame: (NEVER, (_NUMBER, _FROM_ZERO)),
    LeavingFrame: (LEAVING, (_NUMBER,)),
}
_BY_CODE: dict[int, type[Any]] = {code: kind for kind, (code, _) in _LAYOUTS.items()}
