"""How a member of a group without a hub is set up, and what it keeps to come back as the same one."""

from __future__ import annotations

import secrets
from typing import Annotated

import msgspec
from msgspec import Meta

from pregon.causal.peer_outputs import Delivered, Forgotten, Gone, Joined, Left, Missed, Passed, PeerOptions, PeerState
from pregon.clock import wall_us
from pregon.errors import BadRequest

VERSION = 1
STATE_BYTES_MAX = 128 * 1024 * 1024


class PeerGroupOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a member takes part, besides the name and the places."""

    number: int | None = None
    """Its number, which no other member may ever have had; unless it is said, one is made of the time and at random."""
    founds: bool | None = None
    """Whether it is the first member of a new group; unless it is said, it is if no other member was named."""
    publish: str = ""
    """Where it says things to all; unless it is said, beside the place where it listens, at any port."""
    advertise: str = ""
    """The name or address under which others reach it, if that is not where it listens."""
    timeout_s: Annotated[float, Meta(gt=0)] = 10.0
    """How long getting in may take, and sending when too much waits to be sent."""
    queue_max: Annotated[int, Meta(ge=1)] = 10_000
    """Messages that ZeroMQ keeps for each other member, in each direction; what is beyond is lost, and repaired."""
    events_max: Annotated[int, Meta(ge=1)] = 10_000
    """Things that wait to be looked at; what comes then is lost, and asked for again when there is room."""
    window: Annotated[int, Meta(ge=1)] = 5_000
    """Own messages that some member has not reported yet; with more, sending is slowed down."""
    peer: PeerOptions = PeerOptions()
    """Times and limits of the member itself; all members should have the same times."""


class PeerGroupState(msgspec.Struct, frozen=True, kw_only=True):
    """All that is kept."""

    version: int = VERSION
    group: str
    peer: PeerState
    pending: list[Delivered | Joined | Left | Gone | Missed | Forgotten | Passed]
    """What was delivered and not shown yet."""


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(PeerGroupState)


def encode_state(state: PeerGroupState) -> bytes:
    """As bytes."""
    return _encoder.encode(state)


def decode_state(data: bytes, group: str) -> PeerGroupState:
    """What the bytes are; raises BadRequest."""
    if len(data) > STATE_BYTES_MAX:
        raise BadRequest(f"the state of a member has at most {STATE_BYTES_MAX} bytes")
    try:
        state = _decoder.decode(data)
    except msgspec.DecodeError as error:
        raise BadRequest(f"this is no state of a member (give what `state()` returned): {error}") from error
    if state.version != VERSION:
        raise BadRequest(f"this state is of version {state.version}, and {VERSION} is known: join without it")
    if state.group != group:
        raise BadRequest(f"this is the state of a member of {state.group!r}, not of {group!r}")
    return state


def new_number() -> int:
    """A number that no other member has had, almost surely: 32 bits of seconds and 16 at random."""
    return (wall_us() // 1_000_000 & 0xFFFF_FFFF) << 16 | secrets.randbits(16)
