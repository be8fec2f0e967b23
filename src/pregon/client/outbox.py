"""The batching producer's memory: what is being packed, what is in flight, what must be sent again.

Pure: no sockets, no clock of its own, no waiting. The loops around it (`sync`, `aio`) send what `due`
returns, tell it what came back, and wait while it `is_full`.

Promises:
- Messages are stored in the order in which they were added, each once: batches carry the session and a number,
  the hub recognises a repeated one and refuses one that comes before its predecessor.
- At most `in_flight_max` batches wait for their acknowledgement; beyond that `is_full` holds the caller back.
- After an error that sending again cannot mend, nothing more is sent and `failure` says why.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pregon import limits
from pregon.client.calls import Call, busy_delay_ms
from pregon.errors import BatchOutOfOrder, PregonError, Rejected, SessionUnknown, Unavailable
from pregon.model.batch import Packing, encode
from pregon.model.ids import new_id
from pregon.model.message import Outgoing, check_outgoing
from pregon.wire import commands as c
from pregon.wire.frames import Answer

IN_FLIGHT_MAX = limits.SESSION_BATCHES_REMEMBERED // 2
"""Well below what the hub remembers, so that a batch sent again is always recognised."""
_BATCH_BYTES_TARGET = limits.BATCH_BYTES_MAX // 4
"""Beyond this a batch gains nothing; a message that is larger by itself goes alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerOptions:
    """How a producer packs and sends."""

    batch_messages: int = 500
    """A batch is sent when it has this many messages, or enough bytes."""
    linger_ms: float = 20.0
    """A batch that is not full is sent after this long."""
    in_flight_max: int = 32
    """Batches sent and not yet acknowledged; beyond that `send` waits."""
    timeout_ms: float = 30_000.0
    """How long to go without any acknowledgement before giving up."""
    on_receipt: Callable[[Receipt], None] | None = None
    """Called for every acknowledged batch."""

    def __post_init__(self) -> None:
        if not 1 <= self.batch_messages <= limits.BATCH_MESSAGES_MAX:
            raise Rejected(f"batch_messages is 1 to {limits.BATCH_MESSAGES_MAX}")
        if not 1 <= self.in_flight_max <= IN_FLIGHT_MAX:
            raise Rejected(f"in_flight_max is 1 to {IN_FLIGHT_MAX}")


@dataclass(frozen=True, slots=True)
class Receipt:
    """A batch is on disk: `count` messages from `first_seq` on, ids `first_id` to `last_id`."""

    first_seq: int
    count: int
    duplicate: bool
    first_id: str
    last_id: str


@dataclass(slots=True)
class _Sealed:
    number: int
    call: Call[Any]
    count: int
    first_id: str
    last_id: str
    request_id: int = 0
    """The request of its last sending; answers to earlier ones do not count. 0 when it must be sent."""


class Outbox:
    """One producer session."""

    def __init__(self, topic: str, producer: str, options: ProducerOptions) -> None:
        self.topic = topic
        self.producer = producer
        self.options = options
        self.session = new_id()
        self.sent = 0
        self.acknowledged = 0
        self.failure: PregonError | None = None
        """Why nothing more is sent."""
        self.refusal: PregonError | None = None
        """Why the hub last refused what is being sent again."""
        self._packing = Packing()
        self._batch_messages = options.batch_messages
        self._unsealed_since_ms: float | None = None
        """When `linger` first saw the batch that is being packed."""
        self._sealed: OrderedDict[int, _Sealed] = OrderedDict()
        self._numbers = 0
        self._refusals = 0
        self._retry_at_ms: float | None = None

    @property
    def is_full(self) -> bool:
        """Whether the caller must wait before adding more."""
        return len(self._sealed) >= self.options.in_flight_max

    @property
    def is_empty(self) -> bool:
        """Whether everything that was added is on disk."""
        return not self._sealed and not len(self._packing)

    @property
    def has_unsealed(self) -> bool:
        """Whether messages wait for their batch to fill."""
        return len(self._packing) > 0

    @property
    def unacknowledged(self) -> int:
        """Messages added and not yet known to be on disk."""
        return len(self._packing) + sum(one.count for one in self._sealed.values())

    def add(self, message: Outgoing, published_us: int) -> bool:
        """One more message; whether a batch is complete. Raises TooLarge or BadRequest for one past a limit."""
        check_outgoing(message)
        is_sealed = self._seal_if_crowded(message.size_bytes)
        self._packing.add(message, published_us)
        return self._seal_if_full() or is_sealed

    def add_body(self, body: bytes, published_us: int) -> bool:
        """One more message that is only a body: the short way through `add`."""
        if len(body) > limits.BODY_BYTES_MAX:
            return self.add(Outgoing(body), published_us)
        packing = self._packing
        if packing.size_bytes + len(body) > _BATCH_BYTES_TARGET:
            return self.add(Outgoing(body), published_us)
        packing.add_body(body, published_us)
        if len(packing.bodies) < self._batch_messages:
            return False
        return self._seal_if_full()

    def add_bodies(self, bodies: Sequence[bytes], published_us: int) -> int:
        """As many of the bodies as the batch being packed has room for; how many. It is sealed when it is full."""
        packing = self._packing
        some = bodies[: self._batch_messages - len(packing.bodies)]
        if sum(map(len, some)) + packing.size_bytes > _BATCH_BYTES_TARGET:
            # Large ones go one by one, which stops at the right place and names the one that is too large.
            some = some[:1]
            self.add_body(some[0], published_us)
            return 1
        packing.add_bodies(some, published_us)
        self._seal_if_full()
        return len(some)

    def _seal_if_crowded(self, size_bytes: int) -> bool:
        """Send what there is first, if a large message would make the batch too large."""
        is_crowded = bool(self._packing.bodies) and self._packing.size_bytes + size_bytes > _BATCH_BYTES_TARGET
        if is_crowded:
            self.seal()
        return is_crowded

    def _seal_if_full(self) -> bool:
        packing = self._packing
        if len(packing.bodies) < self._batch_messages and packing.size_bytes < _BATCH_BYTES_TARGET:
            return False
        self.seal()
        return True

    def linger(self, now_ms: float) -> None:
        """Seal a batch that does not fill by itself; called twice in every `linger_ms`."""
        if self._unsealed_since_ms is None:
            self._unsealed_since_ms = now_ms if self.has_unsealed else None
        elif now_ms - self._unsealed_since_ms >= self.options.linger_ms and not self.is_full:
            self.seal()

    def seal(self) -> None:
        """Make a batch of what has been added."""
        self._unsealed_since_ms = None
        packing, self._packing = self._packing, Packing()
        if not len(packing):
            return
        self._numbers += 1
        batch = packing.pack(f"{self.session}-{self._numbers}-")
        ids = batch.column("id")
        header = c.PublishBatch(topic=self.topic, producer=self.producer, session=self.session, number=self._numbers)
        call: Call[Any] = Call(header, (encode(batch),), lambda answer, _: answer)
        self._sealed[self._numbers] = _Sealed(self._numbers, call, len(packing), ids[0].as_py(), ids[-1].as_py())
        self.sent += len(packing)

    def due(self, now_ms: float, next_request_id: Callable[[], int]) -> list[list[Any]]:
        """The frames to send now, in order."""
        if self.failure is not None or (self._retry_at_ms is not None and now_ms < self._retry_at_ms):
            return []
        self._retry_at_ms = None
        frames = []
        for one in self._sealed.values():
            if not one.request_id:
                one.request_id = next_request_id()
                frames.append(one.call.frames(one.request_id))
        return frames

    def retry_in_ms(self, now_ms: float) -> float | None:
        """How long until `due` has something again because of a pause, None if it does not wait for that."""
        return None if self._retry_at_ms is None else max(0.0, self._retry_at_ms - now_ms)

    def reconnected(self) -> None:
        """The connection was lost and is there again: whatever was in flight goes again, in order."""
        for one in self._sealed.values():
            one.request_id = 0

    def answered(self, answer: Answer, now_ms: float) -> Receipt | None:
        """Take an answer of the hub; the receipt, if it acknowledges a batch."""
        one = next((one for one in self._sealed.values() if one.request_id == answer.id), None)
        if one is None:
            return None
        try:
            published = one.call.finish(answer)
        except PregonError as error:
            self._refused(one, error, now_ms)
            return None
        self._refusals = 0
        self.refusal = None
        del self._sealed[one.number]
        self.acknowledged += one.count
        receipt = Receipt(published.seq, one.count, published.duplicate, one.first_id, one.last_id)
        if self.options.on_receipt is not None:
            self.options.on_receipt(receipt)
        return receipt

    def _refused(self, one: _Sealed, error: PregonError, now_ms: float) -> None:
        """A busy hub refuses one batch and then, rightly, the ones after it: all of them go again after a pause."""
        is_oldest = next(iter(self._sealed)) == one.number
        if isinstance(error, BatchOutOfOrder) or (isinstance(error, SessionUnknown) and not is_oldest):
            # The ones before it were lost on the way, all of the session's perhaps.
            delay_ms = 0.0
        elif isinstance(error, Unavailable):
            # A full disk may have room again before the producer's time is up.
            delay_ms = busy_delay_ms(self._refusals)
            self._refusals += 1
            self.refusal = error
        else:
            self.failure = error
            return
        self._retry_at_ms = max(self._retry_at_ms or 0.0, now_ms + delay_ms)
        self.reconnected()
