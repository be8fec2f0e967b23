"""Messages of a group's log as a member reads them: their control information out of their headers.

The hub writes its own headers in one order, so that in the usual batch, whose messages have no others, they stand at
even distances in one column and are read all at once (0.5 µs a message in place of 3). What is unusual is read message
by message.

Promises:
- What is given has passed `check_control`; a record that has not is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, repeat

import msgspec
import pyarrow as pa

from pregon.causal.message import CausalMessage, check_control
from pregon.causal.stamps import Stamp, decode_stamp, decode_stamps
from pregon.client.calls import Pulled
from pregon.errors import PregonError
from pregon.limits import GROUP_NUMBER_MAX
from pregon.model.batch import StoredBatch
from pregon.model.group import AFTER_HEADER, HEADER_PREFIX, KIND_HEADER, MESSAGE, STAMP_HEADER
from pregon.model.message import Message

_read_stamp = lru_cache(maxsize=16_384)(decode_stamp)
"""One name is in many messages: it is read once, and all of them have the same object."""
_OURS = 3
"""Headers of the group that every message has."""


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """The body of a causal message that came from a log: what is there, by which path it came, and when."""

    message: Message
    kind: str
    path: int
    received_us: int
    tick: int = 0
    """Which of the member's reads brought it, counted over all paths."""


def read_records(pulled: Pulled, path: int, received_us: int, tick: int = 0) -> Iterator[CausalMessage]:
    """The causal messages of an answer, in their order."""
    return chain.from_iterable(_records_of(batch, pulled.topic, (path, received_us, tick)) for batch in pulled.batches)


def _records_of(batch: StoredBatch, topic: str, how: tuple[int, int, int]) -> Iterable[CausalMessage]:
    messages = list(batch.messages(topic))
    headers = batch.rows().column("headers")
    if headers.keys.equals(_usual_names(batch.count)):
        values: list[str] = headers.items.to_pylist()
        found = _read_together(values[1::3], values[2::3])
        if found is not None:
            arrivals = map(Arrival, messages, values[0::3], *map(repeat, how))
            return map(CausalMessage, *found, arrivals)
    return [record for message in messages if (record := read_record(message, *how)) is not None]


@lru_cache(maxsize=1_024)
def _usual_names(count: int) -> pa.Array:
    """The names of the headers of so many messages."""
    return pa.array([KIND_HEADER, STAMP_HEADER, AFTER_HEADER] * count, pa.string())


def _read_together(names: Sequence[str], afters: Sequence[str]) -> tuple[list[Stamp], list[tuple[Stamp, ...]]] | None:
    """Names and dependencies of the messages of a batch; None if one of them is not as it should be."""
    try:
        # Messages that were sent at once depend on the same ones: each text is read once.
        decoded = {text: _decode_after(text) for text in set(afters)}
        after = [decoded[text] for text in afters]
        stamps = [_read_stamp(name) for name in names]
    except PregonError:
        return None
    # The sender itself is not among them: checked by its number, since each may be in a thousand texts.
    members = {text: {one.member for one in found} for text, found in decoded.items()}
    if any(stamp.member in members[text] for stamp, text in zip(stamps, afters, strict=True)):
        return None
    return stamps, after


def _decode_after(text: str) -> tuple[Stamp, ...]:
    found = tuple(map(_read_stamp, text.split(" "))) if text else ()
    # The highest of all senders: whether the real one is among them is looked at for each message.
    check_control(Stamp(GROUP_NUMBER_MAX, 1), found)
    return found


def read_record(message: Message, path: int, received_us: int, tick: int = 0) -> CausalMessage | None:
    """The causal message in a record of a group's log; None if it is none."""
    headers = message.headers
    try:
        stamp, after = decode_stamp(headers[STAMP_HEADER]), decode_stamps(headers.get(AFTER_HEADER, ""))
        check_control(stamp, after)
    except (KeyError, PregonError):
        return None
    kind = headers.get(KIND_HEADER, MESSAGE)
    return CausalMessage(stamp, after, Arrival(message, kind, path, received_us, tick))


def own_headers(message: Message) -> dict[str, str]:
    """The headers that the sender gave, without those of the group."""
    if len(message.headers) == _OURS:
        return {}
    return {name: value for name, value in message.headers.items() if not name.startswith(HEADER_PREFIX)}
