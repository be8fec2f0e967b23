"""The trace of which a publication is a part: `traceparent` and `tracestate`, as the W3C's Trace Context has them.

An HTTP request that publishes may carry them. They become headers of its messages, so that whoever gets a message, by
push or by pull, can tell of which trace it is. What tracers do with that is theirs.

Promises:
- What is not a trace context as the specification has it is left out, whatever it is: it is no error, and not stored.
- A message that says its trace itself, in a header or as an event, keeps what it says.
- No message is refused, nor a batch, because of what is added here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import pyarrow as pa

from pregon import limits
from pregon.model.message import NO_HEADERS, Outgoing

PARENT, STATE = "traceparent", "tracestate"
_SAID = (PARENT, f"ce-{PARENT}")
_PARENT = re.compile(
    rb"(00|(?!ff|00)[0-9a-f]{2})-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?P<more>-[!-~]{1,100})?"
)
_MEMBER = re.compile(rb"[a-z0-9][a-z0-9_*/@-]{0,255}=[ -+\--<>-~]{0,255}[!-+\--<>-~]")
_STATE_BYTES_MAX = 512
_MEMBERS_MAX = 32
_MESSAGE_BYTES_MAX = 1_024
"""What the two take of a message at most, names included."""


def find_trace(headers: Iterable[tuple[bytes, bytes]]) -> Mapping[str, str]:
    """The trace context of a request, as headers of a message; empty if it has none that is valid."""
    parents: list[bytes] = []
    states: list[bytes] = []
    for name, value in headers:
        if name == b"traceparent":
            parents.append(value.strip())
        elif name == b"tracestate":
            states.append(value)
    if len(parents) != 1:
        return NO_HEADERS
    match = _PARENT.fullmatch(parents[0])
    if match is None or (match[1] == b"00" and match["more"]):
        return NO_HEADERS
    trace = {PARENT: parents[0].decode("ascii")}
    state = _read_state(states)
    return {**trace, STATE: state} if state else trace


def _read_state(states: Sequence[bytes]) -> str:
    """Several headers are one list; one that is wrong or too long is left out, without its traceparent."""
    if sum(map(len, states)) > 2 * _STATE_BYTES_MAX:
        return ""
    members = [member for state in states for one in state.split(b",") if (member := one.strip())]
    joined = b",".join(members)
    if len(joined) > _STATE_BYTES_MAX or len(members) > _MEMBERS_MAX or not all(map(_MEMBER.fullmatch, members)):
        return ""
    return joined.decode("ascii")


def with_trace(message: Outgoing, trace: Mapping[str, str]) -> Outgoing:
    """The message as a part of the trace, unless it says of which it is, or has no room for it."""
    headers = message.headers
    if not trace or not _has_room(headers):
        return message
    return msgspec.structs.replace(message, headers={**headers, **trace})


def _has_room(headers: Mapping[str, str]) -> bool:
    if not headers:
        return True
    if any(name in headers for name in _SAID) or len(headers) > limits.HEADERS_MAX - 2:
        return False
    # At most four bytes a character; counting them exactly is not worth it.
    size = 4 * sum(len(name) + len(value) for name, value in headers.items())
    return size <= limits.HEADERS_BYTES_MAX - _MESSAGE_BYTES_MAX


def with_trace_in_all(messages: list[Outgoing], trace: Mapping[str, str], bytes_max: int) -> list[Outgoing]:
    """The same for many, unless they would take more together than they may."""
    if not trace or sum(one.size_bytes for one in messages) + _MESSAGE_BYTES_MAX * len(messages) > bytes_max:
        return messages
    return [with_trace(message, trace) for message in messages]


def with_trace_in_batch(batch: pa.RecordBatch, trace: Mapping[str, str], bytes_max: int) -> pa.RecordBatch:
    """The same for a batch that is not stored yet."""
    if not trace or batch.nbytes + _MESSAGE_BYTES_MAX * batch.num_rows > bytes_max:
        return batch
    place = batch.schema.get_field_index("headers")
    headers = [
        pairs if pairs is None or not _has_room(dict(pairs)) else [*pairs, *trace.items()]
        for pairs in batch.column(place).to_pylist()
    ]
    field = batch.schema.field(place)
    return batch.set_column(place, field, pa.array(headers, field.type))
