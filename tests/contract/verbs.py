"""The verbs as tests say them: short, with the usual names, and waiting for the answer."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from sqlalchemy import func, select

from pregon.hub.hub import Hub
from pregon.hub.pull import Pulled, PullRequest
from pregon.hub.way import Published
from pregon.model.batch import StoredBatch, decode_sent, encode, pack
from pregon.model.catalog import Subscription
from pregon.model.message import Message, Outgoing
from pregon.model.subscription import Accounting
from pregon.model.trace import Trace, TraceQuery
from pregon.store.schema import batch as batch_table
from pregon.store.ticket import Ticket

from .site import settle

TOPIC = "births"
PRODUCER = "registry"
SUBSCRIBER = "bank"


def say(hub: Hub, *bodies: str, topic: str = TOPIC, producer: str = PRODUCER) -> list[int]:
    """Publish each body alone, all at once; their numbers."""
    tickets = [hub.publish(topic, producer, Outgoing(body.encode())) for body in bodies]
    return [ticket.result().seq for ticket in tickets]


def say_as(hub: Hub, id: str, body: str = "", *, topic: str = TOPIC, producer: str = PRODUCER) -> Published:
    """Publish one message with an id."""
    return hub.publish(topic, producer, Outgoing(body.encode(), id)).result()


def batch_of(*bodies: str | bytes) -> pa.RecordBatch:
    """The bodies as a batch that came from outside and was checked."""
    contents = [body.encode() if isinstance(body, str) else body for body in bodies]
    named = [Outgoing(content, f"in-a-batch-{row}") for row, content in enumerate(contents)]
    return decode_sent(encode(pack(named, [1] * len(named))))


def send(hub: Hub, batch: pa.RecordBatch, session: str = "", number: int = 0) -> Ticket[Published]:
    """Publish a batch, without waiting."""
    return hub.publish_batch(TOPIC, PRODUCER, batch, session, number)


def say_batch(hub: Hub, *bodies: str | bytes) -> Published:
    """Publish the bodies as one batch."""
    return send(hub, batch_of(*bodies)).result()


def fill(hub: Hub, count: int) -> None:
    """Publish the bodies 1, 2, 3 … as one batch: in an empty topic each is its own number."""
    say_batch(hub, *(str(number) for number in range(1, count + 1)))


def subscribe(hub: Hub, subscriber: str = SUBSCRIBER, *, topic: str = TOPIC, **options: Any) -> Subscription:
    """Subscribe, from the earliest message unless told."""
    made = hub.create(Subscription(topic=topic, subscriber=subscriber, **options)).result()
    assert isinstance(made, Subscription)
    return made


def ask(hub: Hub, subscriber: str = SUBSCRIBER, *, topic: str = TOPIC, **options: Any) -> Ticket[Pulled]:
    """Pull, without waiting."""
    return hub.pull(PullRequest(topic=topic, subscriber=subscriber, **options))


def pull(hub: Hub, subscriber: str = SUBSCRIBER, **options: Any) -> Pulled:
    """Pull; what it acknowledged is committed when this returns."""
    pulled = ask(hub, subscriber, **options).result()
    settle(hub)
    return pulled


def ack(hub: Hub, seq: int, subscriber: str = SUBSCRIBER, *, epoch: int | None = None) -> int:
    """Acknowledge up to a number; the cursor after it."""
    return hub.ack(TOPIC, subscriber, seq, epoch).result()


def park(hub: Hub, *seqs: int, subscriber: str = SUBSCRIBER, reason: str = "") -> int:
    """Set messages aside; how many."""
    return hub.park(TOPIC, subscriber, seqs, reason).result()


def unpark(hub: Hub, *seqs: int, subscriber: str = SUBSCRIBER) -> int:
    """Deliver parked messages again, all of them if none is named; how many."""
    return hub.unpark(TOPIC, subscriber, seqs).result()


def replay(hub: Hub, *, from_seq: int | None = None, from_us: int | None = None, subscriber: str = SUBSCRIBER) -> int:
    """Move the cursor back; where it stands then."""
    return hub.replay(TOPIC, subscriber, from_seq=from_seq, from_us=from_us).result().acked_seq


def account(hub: Hub, subscriber: str = SUBSCRIBER) -> Accounting:
    """Where every message of the subscription is; the identity is checked every time."""
    found = hub.account(TOPIC, subscriber).result()
    assert found.accepted == found.acknowledged + found.pending + found.parked + found.expired
    assert min(found.accepted, found.acknowledged, found.pending, found.parked, found.expired) >= 0
    return found


def tally(hub: Hub, subscriber: str = SUBSCRIBER) -> dict[str, int]:
    """The accounting, as what people read."""
    found = account(hub, subscriber)
    return {
        "acknowledged": found.acknowledged,
        "pending": found.pending,
        "parked": found.parked,
        "expired": found.expired,
    }


def pending(hub: Hub, subscriber: str = SUBSCRIBER) -> list[int]:
    """What a pull gives, as numbers."""
    return seqs(pull(hub, subscriber, messages_max=10_000))


def drain(hub: Hub, subscriber: str = SUBSCRIBER) -> list[int]:
    """Pull and acknowledge until nothing is left; the numbers, in the order in which they came."""
    got: list[int] = []
    pulled = pull(hub, subscriber)
    while found := seqs(pulled):
        got += found
        pulled = pull(hub, subscriber, ack=found[-1], epoch=pulled.epoch)
    return got


def messages(batches: Sequence[StoredBatch]) -> list[Message]:
    """The messages of an answer, in order."""
    return [message for batch in batches for message in batch.messages(TOPIC)]


def seqs(pulled: Pulled) -> list[int]:
    """The numbers of an answer, in order."""
    return [message.seq for message in messages(pulled.batches)]


def bodies(pulled: Pulled) -> list[str]:
    """The bodies of an answer, in order."""
    return [message.text for message in messages(pulled.batches)]


def read(hub: Hub, topic: str = TOPIC) -> list[Message]:
    """The whole log, whoever subscribed."""
    found = hub.read_log(topic, 1, None, 10_000, 8 * 1024 * 1024).result()
    return messages(found.batches)


def tail_of(hub: Hub) -> int:
    """The oldest number still in the log."""
    return hub.read_log(TOPIC, 1, None, 1, 1).result().tail_seq


def traces(hub: Hub, **query: Any) -> list[Trace]:
    """Traces of the usual topic, oldest first."""
    found = hub.traces(TraceQuery(**{"topic": TOPIC, "max": 1_000, **query})).result()
    return found[::-1]


def ranges(hub: Hub, kind: str, **query: Any) -> list[tuple[int, int]]:
    """The ranges of the traces of one kind, oldest first."""
    return [(trace.first_seq, trace.last_seq) for trace in traces(hub, kind=kind, **query)]


def count_batches(hub: Hub) -> int:
    """Rows of the log, of all topics."""
    return hub.read(lambda c: c.execute(select(func.count()).select_from(batch_table)).scalar_one()).result()
