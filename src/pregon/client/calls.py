"""What a client asks of a hub: each verb as a request to send and a way to read its answer.

Pure: no sockets and no waiting. A call may be sent again whenever its answer was lost; every one of them is
idempotent, because a publication carries its id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Generic, TypeVar, overload

import msgspec

from pregon.clock import wall_us
from pregon.errors import (
    AnswerMalformed,
    BadRequest,
    HubBusy,
    HubStopping,
    HubUnreachable,
    PregonError,
    RateLimited,
)
from pregon.limits import PULL_BYTES_MAX
from pregon.model.administration import AuditEntry, AuditPage, AuditQuery
from pregon.model.batch import StoredBatch
from pregon.model.ids import new_id
from pregon.model.message import DEFAULT_CONTENT_TYPE, NO_HEADERS, Message, Outgoing, check_outgoing, with_reasons
from pregon.model.subscription import Accounting
from pregon.model.trace import Story, Trace, TracePage, TraceQuery
from pregon.wire import commands as c
from pregon.wire.commands import COMMAND_OF, REQUESTS
from pregon.wire.frames import Answer, encode_prelude
from pregon.wire.headers import Header

T = TypeVar("T")
TEXT_CONTENT_TYPE = "text/plain; charset=utf-8"
_BUSY_DELAY_MS_FIRST = 5.0
_BUSY_DELAY_MS_MAX = 500.0


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A request, and how to read its answer."""

    header: Header
    payload: tuple[Any, ...]
    read: Callable[[Any, Sequence[Any]], T]
    wait_ms: float = 0
    """How long the hub itself may wait before it answers."""

    def frames(self, request_id: int) -> list[Any]:
        """What to send."""
        return [
            encode_prelude(COMMAND_OF[type(self.header)], request_id),
            c.encode_header(self.header),
            *self.payload,
        ]

    def finish(self, answer: Answer) -> T:
        """What the answer says; raises the error that it carries, or AnswerMalformed."""
        try:
            if answer.is_error:
                raise c.error_of_header(answer.header)
            decoder = c.ANSWER_DECODERS[COMMAND_OF[type(self.header)]]
            return self.read(decoder.decode(answer.header), answer.payload)
        except msgspec.DecodeError as error:
            raise AnswerMalformed(f"the hub's answer cannot be read: {error}") from error


def retry_delay_ms(error: PregonError, attempt: int) -> float | None:
    """How long to wait before sending again what a busy, stopping or absent hub did not take; None otherwise."""
    return busy_delay_ms(attempt) if isinstance(error, HubBusy | HubStopping | HubUnreachable | RateLimited) else None


def busy_delay_ms(attempt: int) -> float:
    """Ever longer, up to a limit."""
    return min(_BUSY_DELAY_MS_MAX, _BUSY_DELAY_MS_FIRST * 2.0 ** min(attempt, 10))


@dataclass(frozen=True, slots=True)
class Published:
    """Where a message was stored: its number, and whether it was there already."""

    seq: int
    duplicate: bool = False


@dataclass(frozen=True, slots=True)
class HubVersion:
    """What answered a ping."""

    version: str
    now_us: int


class Pulled(Sequence[Message]):
    """The messages of one answer, in order. `last_seq` is what to acknowledge when all are dealt with."""

    def __init__(self, topic: str, header: c.Messages, payload: Sequence[Any]) -> None:
        if not len(payload) == len(header.base_seqs) == len(header.counts):
            raise AnswerMalformed("the hub's answer has not as many batches as it says")
        self.topic = topic
        self.epoch = header.epoch
        self.acked_seq = header.acked_seq
        self.head_seq = header.head_seq
        self.tail_seq = header.tail_seq
        self.batches = [
            StoredBatch(base_seq, count, arrow)
            for base_seq, count, arrow in zip(header.base_seqs, header.counts, payload, strict=True)
        ]
        self.last_seq = self.batches[-1].last_seq if self.batches else None
        self._matches = header.matches
        self._messages: list[Message] | None = None

    @property
    def messages(self) -> list[Message]:
        """All of them as a list."""
        if self._messages is None:
            self._messages = list(self._each())
        return self._messages

    def __len__(self) -> int:
        return sum(batch.count for batch in self.batches)

    def __iter__(self) -> Iterator[Message]:
        if self._messages is not None:
            return iter(self._messages)
        return self._each()

    def _each(self) -> Iterator[Message]:
        # Batch by batch, so that a long answer is turned into objects as they are asked for.
        messages = chain.from_iterable(batch.messages(self.topic) for batch in self.batches)
        return with_reasons(messages, self._matches) if self._matches else messages

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        return self.messages[index]


def _rows(header: c.Rows, _payload: Sequence[Any]) -> list[dict[str, Any]]:
    return header.rows


def _row(header: c.Rows, _payload: Sequence[Any]) -> dict[str, Any]:
    if len(header.rows) != 1:
        raise AnswerMalformed(f"the hub answered with {len(header.rows)} rows, not one")
    return header.rows[0]


def _count(header: c.Count, _payload: Sequence[Any]) -> int:
    return header.count


def ping() -> Call[HubVersion]:
    """Is the hub there?"""
    return Call(c.Ping(), (), lambda header, _: HubVersion(header.version, header.now_us))


def status() -> Call[dict[str, Any]]:
    """How the hub is."""
    return Call(c.Status(), (), _row)


def publish(topic: str, producer: str, message: Outgoing) -> Call[Published]:
    """Publish one message."""
    check_outgoing(message)
    header = c.Publish(
        topic=topic,
        producer=producer,
        id=message.id or new_id(),
        key=message.key,
        content_type=message.content_type,
        headers=dict(message.headers),
        published_us=wall_us(),
    )
    return Call(header, (message.body,), lambda answer, _: Published(answer.seq, answer.duplicate))


def as_outgoing(
    body: bytes | str | Outgoing,
    id: str | None = None,
    key: str | None = None,
    content_type: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Outgoing:
    """What people pass as a message, as one: text is sent as UTF-8."""
    if isinstance(body, bytes):
        return Outgoing(body, id, key, content_type or DEFAULT_CONTENT_TYPE, headers or NO_HEADERS)
    if isinstance(body, str):
        try:
            encoded = body.encode()
        except UnicodeEncodeError as error:
            raise BadRequest("the text is not Unicode that UTF-8 can write: send bytes") from error
        return Outgoing(encoded, id, key, content_type or TEXT_CONTENT_TYPE, headers or NO_HEADERS)
    if isinstance(body, Outgoing):
        return body
    return Outgoing(bytes(body), id, key, content_type or DEFAULT_CONTENT_TYPE, headers or NO_HEADERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class PullOptions:
    """How much to pull, and how long to wait for it."""

    max: int = 500
    bytes_max: int = PULL_BYTES_MAX
    wait_ms: int = 0


def pull(
    topic: str,
    subscriber: str,
    ack: int | None,
    epoch: int | None,
    options: PullOptions,
    *,
    after: int | None = None,
) -> Call[Pulled]:
    """Pull what is pending, or ahead of what is not acknowledged yet."""
    header = c.Pull(
        topic=topic,
        subscriber=subscriber,
        ack=ack,
        epoch=epoch,
        after=after,
        max=options.max,
        bytes_max=options.bytes_max,
        wait_ms=options.wait_ms,
    )
    return Call(header, (), lambda answer, payload: Pulled(topic, answer, payload), options.wait_ms)


def read(topic: str, first_seq: int, last_seq: int | None, options: PullOptions) -> Call[Pulled]:
    """Messages by number."""
    header = c.Read(topic=topic, first_seq=first_seq, last_seq=last_seq, max=options.max, bytes_max=options.bytes_max)
    return Call(header, (), lambda answer, payload: Pulled(topic, answer, payload))


def ack(topic: str, subscriber: str, seq: int, epoch: int | None) -> Call[int]:
    """Acknowledge everything up to a number; the cursor after it."""
    header = c.Ack(topic=topic, subscriber=subscriber, seq=seq, epoch=epoch)
    return Call(header, (), lambda answer, _: int(answer.acked_seq))


def park(topic: str, subscriber: str, seqs: Sequence[int], reason: str) -> Call[int]:
    """Set pending messages aside."""
    return Call(c.Park(topic=topic, subscriber=subscriber, seqs=list(seqs), reason=reason), (), _count)


def unpark(topic: str, subscriber: str, seqs: Sequence[int]) -> Call[int]:
    """Deliver parked messages again."""
    return Call(c.Unpark(topic=topic, subscriber=subscriber, seqs=list(seqs)), (), _count)


def cancel(topic: str, subscriber: str, seqs: Sequence[int], reason: str) -> Call[int]:
    """Give pending or parked messages up."""
    return Call(c.Cancel(topic=topic, subscriber=subscriber, seqs=list(seqs), reason=reason), (), _count)


def parked(topic: str, subscriber: str, after_seq: int) -> Call[list[dict[str, Any]]]:
    """What is set aside."""
    return Call(c.Parked(topic=topic, subscriber=subscriber, after_seq=after_seq), (), _rows)


def replay(topic: str, subscriber: str, from_seq: int | None, from_us: int | None) -> Call[int]:
    """Move a cursor back; the cursor after it."""
    header = c.Replay(topic=topic, subscriber=subscriber, from_seq=from_seq, from_us=from_us)
    return Call(header, (), lambda answer, _: int(answer.acked_seq))


def account(topic: str, subscriber: str) -> Call[Accounting]:
    """Where every message of a subscription is."""
    header = c.Account(topic=topic, subscriber=subscriber)
    return Call(header, (), lambda answer, payload: msgspec.convert(_row(answer, payload), Accounting))


def traces(query: TraceQuery) -> Call[TracePage]:
    """A page of the traces that match, newest first."""

    def read(answer: c.TraceRows, _payload: Sequence[Any]) -> TracePage:
        return TracePage([msgspec.convert(row, Trace) for row in answer.rows], next=answer.next)

    return Call(c.Traces(query=msgspec.to_builtins(query)), (), read)


def audit(query: AuditQuery) -> Call[AuditPage]:
    """A page of who changed what, newest first."""

    def read(answer: c.TraceRows, _payload: Sequence[Any]) -> AuditPage:
        return AuditPage([msgspec.convert(row, AuditEntry) for row in answer.rows], next=answer.next)

    return Call(c.Audit(query=msgspec.to_builtins(query)), (), read)


def story(topic: str, seq: int) -> Call[Story]:
    """All that is known of one message."""
    header = c.Story(topic=topic, seq=seq)
    return Call(header, (), lambda answer, payload: msgspec.convert(_row(answer, payload), Story))


def create(kind: str, entry: Mapping[str, Any]) -> Call[dict[str, Any]]:
    """Register an entry of the catalogue."""
    return Call(c.Create(kind=kind, entry=dict(entry)), (), _row)


def rehearse(subscriber: str, trial: Mapping[str, Any], wait_ms: int) -> Call[dict[str, Any]]:
    """Send a test to a subscriber's web service; when the answer is lost on its way here, it is sent once more."""
    return Call(c.Create(kind="rehearsal", entry={"subscriber": subscriber, **trial}), (), _row, wait_ms)


def update(kind: str, names: Sequence[str], values: Mapping[str, Any]) -> Call[dict[str, Any]]:
    """Change some fields of an entry."""
    return Call(c.Update(kind=kind, names=list(names), values=dict(values)), (), _row)


def delete(kind: str, names: Sequence[str]) -> Call[bool]:
    """Delete an entry; whether there was one."""
    return Call(c.Delete(kind=kind, names=list(names)), (), lambda answer, _: answer.count > 0)


def show(kind: str, names: Sequence[str]) -> Call[dict[str, Any]]:
    """One entry."""
    return Call(c.Show(kind=kind, names=list(names)), (), _row)


def list_entries(kind: str, names: Sequence[str], after: Sequence[str], rows_max: int) -> Call[list[dict[str, Any]]]:
    """A page of entries."""
    return Call(c.List(kind=kind, names=list(names), after=list(after), max=rows_max), (), _rows)


assert all(request in COMMAND_OF for request, _ in REQUESTS.values())
