"""The commands of PREGON/1: a number, the header of the request, the header of the answer.

Headers are MessagePack maps. A field that is left out has its default; a field that is not known is
ignored, so that a newer client can talk to an older hub.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import msgspec

from pregon.errors import PregonError, error_from_code
from pregon.limits import PULL_BYTES_MAX
from pregon.model.message import DEFAULT_CONTENT_TYPE
from pregon.wire import groups
from pregon.wire.headers import Header, Number, Request


class Command(IntEnum):
    """What a request asks for."""

    PING = 1
    PUBLISH = 2
    PUBLISH_BATCH = 3
    PULL = 4
    ACK = 5
    READ = 6
    PARK = 7
    UNPARK = 8
    PARKED = 9
    REPLAY = 10
    ACCOUNT = 11
    TRACES = 12
    CREATE = 13
    UPDATE = 14
    DELETE = 15
    SHOW = 16
    LIST = 17
    STATUS = 18
    CANCEL = 19
    STORY = 20
    GROUP_JOIN = 21
    GROUP_LEAVE = 22
    GROUP_SEND = 23
    GROUP_READ = 24
    GROUP_REPORT = 25
    GROUP_MINE = 26
    GROUP_PRIVATE = 27
    AUDIT = 28


class Ping(Request):
    """Are you there? Answered with Pong."""


class Pong(Header):
    """The hub is there."""

    version: str = ""
    now_us: Number = 0


class Publish(Request):
    """Store one message; the payload is its body. Answered with Published."""

    topic: str
    producer: str
    id: str
    key: str | None = None
    content_type: str = DEFAULT_CONTENT_TYPE
    headers: dict[str, str] = {}
    published_us: Number = 0


class PublishBatch(Request):
    """Store a batch; the payload is an Arrow record batch message of version 1. Answered with Published."""

    topic: str
    producer: str
    session: str = ""
    number: Number = 0


class Published(Header):
    """It is on disk: the number of the first message, how many, and whether they were there already."""

    seq: Number
    count: Number = 1
    duplicate: bool = False


class Pull(Request):
    """What is pending. Answered with Messages."""

    topic: str
    subscriber: str
    ack: Number | None = None
    epoch: Number | None = None
    after: Number | None = None
    max: Number = 500
    bytes_max: Number = PULL_BYTES_MAX
    wait_ms: Number = 0


class Read(Request):
    """Messages by number, whoever subscribed. Answered with Messages."""

    topic: str
    first_seq: Number = 1
    last_seq: Number | None = None
    max: Number = 500
    bytes_max: Number = PULL_BYTES_MAX


class Match(msgspec.Struct, frozen=True, array_like=True):
    """Why the subscription's filter wants messages first..last."""

    first_seq: Number
    last_seq: Number
    reason: str


class Messages(Header):
    """Messages: payload frame i is a stored Arrow batch whose first number is base_seqs[i]."""

    base_seqs: list[Number] = []
    counts: list[Number] = []
    epoch: Number = 0
    acked_seq: Number = 0
    head_seq: Number = 0
    tail_seq: Number = 0
    matches: list[Match] = []


class Ack(Request):
    """Acknowledge everything up to seq. Answered with Acked."""

    topic: str
    subscriber: str
    seq: Number
    epoch: Number | None = None


class Acked(Header):
    """Everything up to here is settled."""

    acked_seq: Number


class Park(Request):
    """Set pending messages aside. Answered with Count."""

    topic: str
    subscriber: str
    seqs: list[Number]
    reason: str = ""


class Unpark(Request):
    """Deliver parked messages again; no numbers means all. Answered with Count."""

    topic: str
    subscriber: str
    seqs: list[Number] = []


class Cancel(Request):
    """Give pending or parked messages up: never delivered. Answered with Count."""

    topic: str
    subscriber: str
    seqs: list[Number]
    reason: str = ""


class Parked(Request):
    """What is set aside, after a number. Answered with Rows."""

    topic: str
    subscriber: str
    after_seq: Number = 0


class Replay(Request):
    """Move the cursor back to a number or to a time. Answered with Cursor."""

    topic: str
    subscriber: str
    from_seq: Number | None = None
    from_us: Number | None = None


class Account(Request):
    """Where every message of a subscription is. Answered with Rows of one."""

    topic: str
    subscriber: str


class Cursor(Header):
    """Where a subscription stands."""

    acked_seq: Number
    epoch: Number = 0


class Count(Header):
    """How many were changed."""

    count: Number


class Traces(Request):
    """Search the traces. Answered with TraceRows."""

    query: dict[str, Any] = {}


class Audit(Traces):
    """Search the audit. Answered with TraceRows, whose rows are entries of the audit."""


class Story(Request):
    """All that is known of one message. Answered with Rows of one."""

    topic: str
    seq: Number


class Create(Request):
    """Register an entry of a kind. Answered with Rows of one."""

    kind: str
    entry: dict[str, Any]


class Update(Request):
    """Change some fields of an entry. Answered with Rows of one."""

    kind: str
    names: list[str]
    values: dict[str, Any]


class Delete(Request):
    """Delete an entry. Answered with Count."""

    kind: str
    names: list[str]


class Show(Request):
    """One entry. Answered with Rows of one."""

    kind: str
    names: list[str]


class List(Request):
    """Entries of a kind, by name, after a name. Answered with Rows."""

    kind: str
    after: list[str] = []
    names: list[str] = []
    max: Number = 100


class Status(Request):
    """How the hub is. Answered with Rows of one."""


class Rows(Header):
    """Rows as maps; what is in them depends on the command."""

    rows: list[dict[str, Any]] = []


class TraceRows(Rows):
    """A page of traces; `next` is `before` of the next one, 0 if there is none, however many rows this one has."""

    next: Number = 0


class Error(Header):
    """It was not done: a stable code, a sentence for people, and whether to try again."""

    code: str
    message: str
    retryable: bool = False


REQUESTS: dict[Command, tuple[type[Header], type[Header]]] = {
    Command.PING: (Ping, Pong),
    Command.PUBLISH: (Publish, Published),
    Command.PUBLISH_BATCH: (PublishBatch, Published),
    Command.PULL: (Pull, Messages),
    Command.ACK: (Ack, Acked),
    Command.READ: (Read, Messages),
    Command.PARK: (Park, Count),
    Command.UNPARK: (Unpark, Count),
    Command.PARKED: (Parked, Rows),
    Command.REPLAY: (Replay, Cursor),
    Command.ACCOUNT: (Account, Rows),
    Command.TRACES: (Traces, TraceRows),
    Command.CREATE: (Create, Rows),
    Command.UPDATE: (Update, Rows),
    Command.DELETE: (Delete, Count),
    Command.SHOW: (Show, Rows),
    Command.LIST: (List, Rows),
    Command.STATUS: (Status, Rows),
    Command.CANCEL: (Cancel, Count),
    Command.STORY: (Story, Rows),
    Command.GROUP_JOIN: (groups.Join, groups.Joined),
    Command.GROUP_LEAVE: (groups.Leave, groups.Sent),
    Command.GROUP_SEND: (groups.Send, groups.Sent),
    Command.GROUP_READ: (groups.Read, Messages),
    Command.GROUP_REPORT: (groups.Report, Count),
    Command.GROUP_MINE: (groups.Mine, groups.Memberships),
    Command.GROUP_PRIVATE: (groups.Private, groups.Joined),
    Command.AUDIT: (Audit, TraceRows),
}
COMMAND_OF = {request: int(command) for command, (request, _) in REQUESTS.items()}

# By plain numbers: looking an enum member up costs more than decoding a header.
REQUEST_DECODERS: dict[int, msgspec.msgpack.Decoder[Any]] = {
    int(command): msgspec.msgpack.Decoder(types[0]) for command, types in REQUESTS.items()
}
ANSWER_DECODERS: dict[int, msgspec.msgpack.Decoder[Any]] = {
    int(command): msgspec.msgpack.Decoder(types[1]) for command, types in REQUESTS.items()
}
ERROR_DECODER = msgspec.msgpack.Decoder(Error)
_encoder = msgspec.msgpack.Encoder()


def encode_header(header: Header) -> bytes:
    """A header as MessagePack."""
    return _encoder.encode(header)


def header_of_error(error: PregonError) -> Error:
    """An error as it travels."""
    return Error(code=error.code, message=str(error), retryable=error.is_retryable)


def error_of_header(header: bytes) -> PregonError:
    """An error that has travelled."""
    decoded = ERROR_DECODER.decode(header)
    return error_from_code(decoded.code, decoded.message)
