"""Who hangs, drips, closes at once or never stops talking is slow alone: two hundred others see no difference."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from pregon.bench.receivers import CLOSE, DRIP, ENDLESS, HANG, HOSTILE, Receivers
from pregon.hub.hub import Hub
from pregon.model.catalog import PUSH, RAW, SOAP, PushOptions, Subscriber, Subscription
from pregon.model.message import Outgoing
from pregon.testing import run_hub

from .hub_process import wait_until

HEALTHY = 200
TOPICS = tuple(f"topic-{number}" for number in range(10))
EACH = 10
DEADLINE_S = 100.0
LONGER_THAN_ANY_TEST_MS = 120_000
"""If anybody waited for the one that hangs, no deadline here would be met."""
SHORT_MS = 1_000


@pytest.fixture(scope="module")
def receivers() -> Iterator[Receivers]:
    with Receivers(HEALTHY, HOSTILE) as started:
        yield started


@pytest.fixture
def hub(receivers: Receivers) -> Iterator[Hub]:
    """A hub in which everybody is registered: a topic for each of the healthy, all topics for the hostile."""
    with ExitStack() as stack:
        running = stack.enter_context(run_hub(push_allow="127.0.0.1", feed="", ingest="", http=""))
        hub = running.server.hub
        tickets = []
        for number, endpoint in enumerate(receivers.endpoints):
            tickets.append(hub.create(Subscriber(name=f"s{number}", mode=PUSH, endpoint=endpoint, format=RAW)))
            tickets.append(hub.create(Subscription(topic=topic_of(number), subscriber=f"s{number}")))
        for kind, endpoint in zip(HOSTILE, receivers.hostile_endpoints, strict=True):
            limit_ms = LONGER_THAN_ANY_TEST_MS if kind == HANG else SHORT_MS
            # An envelope is delivered when its answer is there as a whole, which an endless one never is.
            entry = Subscriber(
                name=kind, mode=PUSH, endpoint=endpoint, format=SOAP, push=PushOptions(time_limit_ms=limit_ms)
            )
            tickets.append(hub.create(entry))
            tickets += [hub.create(Subscription(topic=topic, subscriber=kind)) for topic in TOPICS]
        for ticket in tickets:
            ticket.result()
        receivers.begin(keeps=True)
        yield hub


def topic_of(number: int) -> str:
    return TOPICS[number % len(TOPICS)]


def publish(hub: Hub, count: int) -> None:
    for ticket in [hub.publish(topic, "dgrec", Outgoing(b"%d" % n)) for n in range(count) for topic in TOPICS]:
        ticket.result()


def has_failed(hub: Hub, subscriber: str) -> bool:
    return any(hub.push_state(topic, subscriber).result().attempts for topic in TOPICS)


def wait_for(receivers: Receivers, count: int) -> list[list[int]]:
    """The numbers that each of the healthy got, in the order in which they came."""
    wait_until(lambda: receivers.count() >= count, f"{count} pushes came", DEADLINE_S)
    got: list[list[int]] = [[] for _ in range(HEALTHY)]
    for push in receivers.report():
        got[push.service].append(push.seq)
    return got


def test_the_healthy_get_everything_in_order_while_the_hostile_are_stuck(hub: Hub, receivers: Receivers) -> None:
    publish(hub, 1)
    for kind in (DRIP, CLOSE, ENDLESS):
        wait_until(lambda kind=kind: has_failed(hub, kind), f"{kind} has failed")  # type: ignore[misc]

    publish(hub, EACH - 1)
    got = wait_for(receivers, HEALTHY * EACH)

    assert got == [list(range(1, EACH + 1))] * HEALTHY
    for kind in HOSTILE:
        assert [hub.account(topic, kind).result().pending for topic in TOPICS] == [EACH] * len(TOPICS)


def test_every_account_adds_up_beside_the_hostile(hub: Hub, receivers: Receivers) -> None:
    publish(hub, EACH)
    wait_for(receivers, HEALTHY * EACH)

    def healthy_pending() -> int:
        return sum(hub.account(topic_of(number), f"s{number}").result().pending for number in range(HEALTHY))

    wait_until(lambda: healthy_pending() == 0, "all is written down", DEADLINE_S)
    places = [(topic_of(number), f"s{number}") for number in range(HEALTHY)]
    places += [(topic, kind) for topic in TOPICS for kind in HOSTILE]

    accounts = [hub.account(*names).result() for names in places]

    assert {one.accepted for one in accounts} == {EACH}
    assert all(one.accepted == one.acknowledged + one.pending + one.parked + one.expired for one in accounts)
    assert {one.acknowledged for one in accounts[:HEALTHY]} == {EACH}
    assert {one.acknowledged for one in accounts[HEALTHY:]} == {0}


def test_a_hub_stops_in_time_while_they_hang(receivers: Receivers) -> None:
    with run_hub(push_allow="127.0.0.1", feed="", ingest="", http="") as running:
        hub = running.server.hub
        for kind, endpoint in zip(HOSTILE, receivers.hostile_endpoints, strict=True):
            options = PushOptions(time_limit_ms=LONGER_THAN_ANY_TEST_MS)
            hub.create(Subscriber(name=kind, mode=PUSH, endpoint=endpoint, format=SOAP, push=options)).result()
            hub.create(Subscription(topic=TOPICS[0], subscriber=kind)).result()
        hub.publish(TOPICS[0], "dgrec", Outgoing(b"x")).result()
        wait_until(lambda: hub.push_state(TOPICS[0], CLOSE).result().attempts, "one of them has been tried")

        started_s = time.monotonic()
        running.server.pusher.stop()

        assert time.monotonic() - started_s < DEADLINE_S / 2
        assert [hub.account(TOPICS[0], kind).result().pending for kind in HOSTILE] == [1] * len(HOSTILE)
