"""What a member keeps to come back as the same one, as bytes.

It has the tokens, which are secrets: keep it where you would keep a password. It grows with the number of members, and
with what the member has sent and the hub has not acknowledged.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from pregon.causal.member import MemberState
from pregon.causal.message import CausalMessage, check_control
from pregon.causal.stamps import Stamp
from pregon.client.groups.sending import OwnMessage, Words
from pregon.errors import BadRequest

VERSION = 1
STATE_BYTES_MAX = 32 * 1024 * 1024


class PathState(msgspec.Struct, frozen=True, array_like=True):
    """One hub: how to be known there, and up to where its log was shown."""

    token: str
    member: int
    seq: int
    stride: int = 1
    offset: int = 0


class UnsentState(msgspec.Struct, frozen=True, array_like=True):
    """A message that the hub had not acknowledged."""

    number: int
    after: tuple[tuple[int, int], ...]
    kind: str
    body: bytes
    content_type: str
    headers: Mapping[str, str]
    answers: str
    published_us: int

    @classmethod
    def of(cls, own: OwnMessage) -> UnsentState:
        """As it is kept."""
        words = own.words
        return cls(
            own.stamp.number,
            tuple((before, number) for before, number in own.message.after),
            words.kind,
            words.body,
            words.content_type,
            dict(words.headers),
            words.answers,
            own.published_us,
        )

    def message(self, member: int) -> CausalMessage:
        """Its control information; raises BadRequest."""
        stamp, after = Stamp(member, self.number), tuple(Stamp(*one) for one in self.after)
        check_control(stamp, after)
        return CausalMessage(stamp, after)

    def words(self) -> Words:
        """What it says."""
        return Words(
            body=self.body,
            content_type=self.content_type,
            headers=self.headers,
            answers=self.answers,
            kind=self.kind,
        )


class GroupState(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    version: int = VERSION
    group: str
    name: str
    paths: list[PathState]
    member: MemberState
    members: list[tuple[int, str]]
    """Who was in the group."""
    unsent: list[UnsentState]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(GroupState)


def encode_state(state: GroupState) -> bytes:
    """As bytes."""
    return _encoder.encode(state)


def decode_state(data: bytes) -> GroupState:
    """What the bytes are; raises BadRequest."""
    if len(data) > STATE_BYTES_MAX:
        raise BadRequest(f"the state of a member has at most {STATE_BYTES_MAX} bytes")
    try:
        state = _decoder.decode(data)
    except msgspec.DecodeError as error:
        raise BadRequest(f"this is no state of a member (give what `state()` returned): {error}") from error
    if state.version != VERSION or not state.paths:
        raise BadRequest(f"this state is of version {state.version}, and {VERSION} is known: join without it")
    return state
