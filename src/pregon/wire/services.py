"""PGS/1, the protocol of the service broker: one head frame, then the body's frames.

    0        3   4      5                              13
    +--------+---+------+------------------------------+---------------------------
    |  PGS   | 1 | kind |  id, 8 bytes                 |  tail, by kind
    +--------+---+------+------------------------------+---------------------------

The kind is a letter. The id is chosen by who asks and comes back in the answer; where nothing is asked it is
eight zero bytes. A tail is text (UTF-8): a job type, a load, or JSON; after a job type there may be a line feed
and then JSON with options. Every byte is drawn in docs/reference/services-wire.md, with the documents' plain
form, which has no head at all.

Bytes in, structures out, and back: no sockets here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from pregon.errors import BadRequest, PregonError, error_from_code
from pregon.limits import SERVICE_HEAD_BYTES_MAX, SERVICE_SLOTS_MAX, SERVICE_TYPES_MAX, SERVICE_WAIT_MS_MAX

MAGIC = b"PGS1"
NO_ID = bytes(8)
HEAD_BYTES_MIN = 13

# Kinds, as the byte that they are in a head.
REQUEST, CANCEL, COLLECT, QUERY = b"RCLQ"
ANSWER, ERROR, ACCEPTED = b"AEY"
HELLO, WELCOME, BEAT, GOODBYE, GIVE_BACK, DROP = b"HWBGNX"

PRIORITY_MAX = 9
PRIORITY_DEFAULT = 5
LOAD_MAX = 1e9

Priority = Annotated[int, Meta(ge=0, le=PRIORITY_MAX)]
WaitMs = Annotated[int, Meta(ge=0, le=SERVICE_WAIT_MS_MAX)]
Load = Annotated[float, Meta(ge=0, le=LOAD_MAX)]
Text = Annotated[str, Meta(max_length=200)]


class RequestOptions(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a client may say of a request, after its type."""

    version: Text = ""
    """The version of the service that is wanted; empty for any."""
    priority: Priority = PRIORITY_DEFAULT
    """The higher goes first."""
    deadline_ms: Annotated[int, Meta(ge=1, le=SERVICE_WAIT_MS_MAX)] | None = None
    """The answer is of no use after this long."""
    durable: bool = False
    """Store it, say yes, keep the result until it is collected."""
    key: Text = ""
    """The id of a durable request, so that sending it again stores nothing; empty for one that the hub makes."""


class CollectOptions(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a client may say when it collects a result."""

    wait_ms: WaitMs = 0
    """How long to wait for a result that is not there yet."""


class Hello(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A worker offers itself."""

    types: Annotated[list[Text], Meta(min_length=1, max_length=SERVICE_TYPES_MAX)]
    """What it serves: `sqrt`, or `sqrt@2` with a version."""
    name: Text = ""
    """For people; empty for its identity."""
    slots: Annotated[int, Meta(ge=1, le=SERVICE_SLOTS_MAX)] = 1
    """Requests that it takes at once."""
    load: Load = 0.0
    """How busy its machine is, in whatever unit all its fellows use."""


class Welcome(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The broker takes a worker in."""

    beat_ms: int = 0
    """How often the broker listens for it; 0 for never."""
    patience_ms: int = 0
    """Silent for so long, it is given up."""


class Failure(msgspec.Struct, kw_only=True):
    """Why there is no answer."""

    code: str = "service_failed"
    message: str = ""
    retryable: bool = False
    load: Load | UnsetType | None = UNSET
    """Of the worker that failed, if it says."""


class Head(NamedTuple):
    """A head frame, taken apart; its tail is not believed yet."""

    kind: int
    id: bytes
    tail: bytes


T = TypeVar("T")
_json = msgspec.json.Encoder()
_request_options = msgspec.json.Decoder(RequestOptions)
_collect_options = msgspec.json.Decoder(CollectOptions)
_hello = msgspec.json.Decoder(Hello)
_welcome = msgspec.json.Decoder(Welcome)
_failure = msgspec.json.Decoder(Failure)
_PLAIN_REQUEST = RequestOptions()
_PLAIN_COLLECT = CollectOptions()


def encode_head(kind: int, id: bytes = NO_ID, tail: bytes = b"") -> bytes:
    """A head frame."""
    return b"PGS1%c%b%b" % (kind, id, tail)


def is_head(frame: bytes) -> bool:
    """Whether a frame begins like a head of this protocol."""
    return frame[:4] == MAGIC


def decode_head(frame: bytes) -> Head:
    """The parts of a head from outside; raises BadRequest."""
    if frame[:4] != MAGIC or not HEAD_BYTES_MIN <= len(frame) <= SERVICE_HEAD_BYTES_MAX:
        raise BadRequest(
            f"a head is PGS1, a kind, 8 bytes of id and a tail, {HEAD_BYTES_MIN} to {SERVICE_HEAD_BYTES_MAX} bytes"
        )
    return Head(frame[4], frame[5:13], frame[13:])


def encode_options(name: str, options: msgspec.Struct) -> bytes:
    """The tail of a request: the job type, and its options unless all are as usual."""
    written = _json.encode(options)
    return name.encode() if written == b"{}" else name.encode() + b"\n" + written


def decode_request(tail: bytes) -> tuple[str, RequestOptions]:
    """The job type and the options in a request's tail; raises BadRequest."""
    name, _, options = tail.partition(b"\n")
    return _text(name), _decode(_request_options, options, "the options of a request", _PLAIN_REQUEST)


def decode_collect(tail: bytes) -> tuple[str, CollectOptions]:
    """The id of the durable request whose result is wanted, and how; raises BadRequest."""
    name, _, options = tail.partition(b"\n")
    return _text(name), _decode(_collect_options, options, "the options of a collection", _PLAIN_COLLECT)


def decode_hello(tail: bytes) -> Hello:
    """What a worker says of itself; raises BadRequest."""
    return _decode(_hello, tail or b"null", "a worker's hello", None)


def decode_welcome(tail: bytes) -> Welcome:
    """What the broker says to a worker; raises BadRequest."""
    return _decode(_welcome, tail, "a broker's welcome", Welcome())


def decode_failure(tail: bytes) -> Failure:
    """What is said in the tail of an error; raises BadRequest."""
    return _decode(_failure, tail, "the tail of an error", Failure())


def encode_json(value: Any) -> bytes:
    """A tail or a frame of JSON."""
    return _json.encode(value)


def encode_failure(error: PregonError) -> bytes:
    """The tail that carries an error."""
    return _json.encode(Failure(code=error.code, message=str(error), retryable=error.is_retryable))


def error_of(failure: Failure) -> PregonError:
    """An error that has travelled."""
    return error_from_code(failure.code, failure.message)


def decode_load(tail: bytes) -> float | None:
    """The load in the tail of an answer or a beat; None where there is none, or nonsense."""
    if not tail or len(tail) > 32:
        return None
    try:
        load = float(tail)
    except ValueError:
        return None
    return load if 0 <= load <= LOAD_MAX else None


def body_bytes(body: Sequence[bytes]) -> int:
    """The size of a body of several frames."""
    return sum(map(len, body))


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise BadRequest("a job type or an id is text in UTF-8") from error


def _decode(decoder: msgspec.json.Decoder[T], raw: bytes, what: str, otherwise: T | None) -> T:
    if not raw and otherwise is not None:
        return otherwise
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(f"{what} cannot be read: {str(error)[:200]}") from error
