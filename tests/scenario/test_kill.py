"""The hub is killed fifty times while everybody works on, and nobody notices but by the delay.

Producers, single publications, a follower and a clerk that parks keep going by themselves with plain clients;
only the hub dies, at random moments, also while it starts. At the end the log must be what a hub that never died
would have: everything acknowledged, once, where it was said to be, in each producer's order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from random import Random

from pregon.client import Client
from pregon.client.outbox import ProducerOptions, Receipt
from pregon.model.message import Message
from pregon.model.subscription import Accounting

from . import audit
from .conftest import MakeHub
from .hub_process import HubProcess, open_hub, wait_until

KILLS = 50
TOPIC = "novedades"
LAST_ID = "no more"
_PACE_S = 0.002
"""A breath between sends, so that the log stays short enough to be read whole at the end."""


@dataclass
class Worker:
    """A thread that uses a hub until it is told to stop, and what it remembers."""

    name: str
    sent: list[str] = field(default_factory=list)
    """Ids, in the order in which they were given to the client."""
    receipts: list[Receipt] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    """The number that the hub told for a message published alone."""
    received: list[Message] = field(default_factory=list)
    parked: list[int] = field(default_factory=list)

    @property
    def progress(self) -> int:
        """How much was acknowledged to it, or received by it."""
        return len(self.receipts) + len(self.numbers) + len(self.received) + len(self.parked)

    def next_id(self) -> str:
        """The id of its next message."""
        self.sent.append(f"{self.name}-{len(self.sent)}")
        return self.sent[-1]


Job = Callable[[Worker, Client, threading.Event], None]


def produce(worker: Worker, client: Client, stopping: threading.Event) -> None:
    """Send in small batches, in one session."""
    options = ProducerOptions(batch_messages=20, linger_ms=5, in_flight_max=4, on_receipt=worker.receipts.append)
    with client.producer(TOPIC, options) as out:
        while not stopping.wait(_PACE_S):
            for _ in range(7):
                out.send(worker.name, id=worker.next_id())


def produce_in_short_sessions(worker: Worker, client: Client, stopping: threading.Event) -> None:
    """Send in small batches, in a new session for every few: many kills then meet with a session's first batch."""
    options = ProducerOptions(batch_messages=5, linger_ms=5, on_receipt=worker.receipts.append)
    while not stopping.wait(_PACE_S):
        with client.producer(TOPIC, options) as out:
            for _ in range(33):
                out.send(worker.name, id=worker.next_id())


def publish(worker: Worker, client: Client, stopping: threading.Event) -> None:
    """Publish one by one."""
    while not stopping.wait(_PACE_S):
        message_id = worker.next_id()
        worker.numbers[message_id] = client.publish(TOPIC, worker.name, id=message_id).seq


def follow(worker: Worker, client: Client, _stopping: threading.Event) -> None:
    """Receive everything up to the last message, dropping what was seen before, as a subscriber should."""
    for message in client.follow(TOPIC, worker.name, max=300, wait_ms=100):
        if message.seq > len(worker.received):
            worker.received.append(message)
        if message.id == LAST_ID:
            return


def park_some(worker: Worker, client: Client, stopping: threading.Event) -> None:
    """Set one message of each pull aside, and acknowledge the rest."""
    ack = None
    while not stopping.wait(_PACE_S):
        pulled = client.pull(TOPIC, worker.name, ack=ack, max=200, wait_ms=50)
        ack = pulled.last_seq
        if ack is not None and len(worker.parked) < 900:
            client.park(TOPIC, worker.name, [ack], "kept for later")
            worker.parked.append(ack)
    if ack is not None:
        client.ack(TOPIC, worker.name, ack)


@contextmanager
def working(hub: HubProcess, jobs: dict[str, Job]) -> Iterator[dict[str, Worker]]:
    """Workers at their jobs, who are stopped one after another at the end, before a last message is published."""
    workers = {name: Worker(name) for name in jobs}
    failures: list[BaseException] = []
    stopping = {name: threading.Event() for name in jobs}

    def work(name: str) -> None:
        try:
            with hub.client(producer=name, timeout_ms=30_000) as client:
                jobs[name](workers[name], client, stopping[name])
        except BaseException as error:  # Whatever it is, it is the test's to report, not the thread's to lose.
            failures.append(error)

    threads = {name: threading.Thread(target=work, args=(name,), name=name) for name in jobs}
    for thread in threads.values():
        thread.start()
    try:
        yield workers
    finally:
        for name, thread in threads.items():
            stopping[name].set()
            thread.join(60 if jobs[name] is not follow else 0)
        with hub.client(producer="nobody") as client:
            client.publish(TOPIC, "", id=LAST_ID)
        for thread in threads.values():
            thread.join(60)
    assert not failures, failures
    assert not any(thread.is_alive() for thread in threads.values())


def kill_again_and_again(hub: HubProcess, workers: dict[str, Worker], rng: Random) -> Iterator[int]:
    """Kill and restart; after each, how much was done since the one before."""
    before = 0

    def done() -> int:
        return sum(worker.progress for worker in workers.values())

    for kill in range(KILLS):
        if kill % 5 == 4:
            # In the middle of a start, while it recovers, migrates or binds.
            threading.Event().wait(rng.uniform(0.05, 0.8))
        else:
            hub.wait_until_ready()
            ready = done()
            wait_until(lambda ready=ready: done() > ready, "the hub works again")  # type: ignore[misc]
            threading.Event().wait(rng.uniform(0, 0.25))
        hub.kill()
        yield done() - before
        before = done()
        hub.launch()
    hub.wait_until_ready()


def test_fifty_kills_under_load_lose_nothing_and_repeat_nothing(make_hub: MakeHub) -> None:
    hub = make_hub(maintenance_every_ms="100").start()
    jobs: dict[str, Job] = {
        "ministry": produce,
        "registry": produce_in_short_sessions,
        "hospital": publish,
        "notary": publish,
        "clerk": park_some,
        "follower": follow,
    }

    with working(hub, jobs) as workers:
        progress = list(kill_again_and_again(hub, workers, Random(20)))
    with hub.client() as client:
        accounts = {name: client.account(TOPIC, name) for name in ("clerk", "follower")}
    assert hub.stop() == 0

    assert len(progress) == KILLS
    assert sum(done > 0 for done in progress) >= KILLS * 3 // 4, "most kills came under load"
    with open_hub(hub.data) as opened:
        assert audit.find_problems(opened) == []
        check_against_log(workers, audit.read_topic(opened, TOPIC))
    assert audit.check_integrity(hub.data) == []
    check_accounts(workers, accounts)


def check_against_log(workers: dict[str, Worker], log: list[Message]) -> None:
    """Each worker was told the truth, and what it sent is there, in order, once."""
    ids = [message.id for message in log]
    for worker in workers.values():
        stored = [message.id for message in log if message.producer == worker.name]
        assert stored == worker.sent, f"{worker.name}: all of it, in order, once"
        for receipt in worker.receipts:
            part = ids[receipt.first_seq - 1 : receipt.first_seq - 1 + receipt.count]
            assert (part[0], part[-1]) == (receipt.first_id, receipt.last_id)
        assert sum(receipt.count for receipt in worker.receipts) in (0, len(worker.sent)), "all was acknowledged"
        assert all(ids[seq - 1] == message_id for message_id, seq in worker.numbers.items())
    received = workers["follower"].received
    assert [message.seq for message in received] == list(range(1, len(log) + 1)), "once each, in order"
    assert all(got.id == kept.id and got.body == kept.body for got, kept in zip(received, log, strict=True))


def check_accounts(workers: dict[str, Worker], accounts: dict[str, Accounting]) -> None:
    """The accounting, asked of the hub while it ran, is what the subscribers remember."""
    clerk, follower = accounts["clerk"], accounts["follower"]
    assert clerk.parked == len(workers["clerk"].parked) > 0
    assert clerk.acknowledged == clerk.acked_seq - clerk.parked
    assert (follower.acknowledged, follower.pending, follower.parked) == (follower.accepted - 1, 1, 0), "but the last"


def test_the_data_directory_is_free_as_soon_as_its_hub_was_killed(make_hub: MakeHub) -> None:
    hub = make_hub()

    for number in count(1):
        hub.start()
        with hub.client() as client:
            published = client.publish(TOPIC, "hello")
        hub.kill()
        if number == 2:
            break

    assert published.seq == 2
    assert (hub.data / "pregon.lock").read_text().strip().isdigit()
