"""A pull that finds nothing may wait: it wakes when something comes, and nobody misses a message."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from pregon import limits
from pregon.clock import monotonic_ms
from pregon.errors import HubBusy
from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.hub.pull import Pulled
from pregon.store.ticket import Ticket

from .site import Site
from .verbs import TOPIC, ack, ask, bodies, fill, park, pull, replay, say, seqs, subscribe, unpark

LONG_MS = 30_000
SOON_S = 5.0


def wait_until(is_true: Callable[[], bool]) -> None:
    """Give other threads time to get there."""
    for _ in range(1_000):
        if is_true():
            return
        time.sleep(0.002)
    raise AssertionError("it did not happen in 2 s")


def waiting_pull(hub: Hub, **options: Any) -> Ticket[Pulled]:
    """A pull that has found nothing and waits."""
    before = hub.waiting.count
    ticket = ask(hub, wait_ms=LONG_MS, **options)
    wait_until(lambda: hub.waiting.count == before + 1)
    return ticket


def test_a_waiting_pull_wakes_when_something_is_published(hub: Hub) -> None:
    subscribe(hub)
    ticket = waiting_pull(hub)

    say(hub, "news")

    assert bodies(ticket.result(SOON_S)) == ["news"]
    assert hub.waiting.count == 0


def test_everybody_who_waits_wakes(hub: Hub) -> None:
    subscribe(hub)
    tickets = [waiting_pull(hub) for _ in range(5)]

    say(hub, "news")

    assert [bodies(ticket.result(SOON_S)) for ticket in tickets] == [["news"]] * 5


def test_a_publication_to_another_topic_wakes_nobody(hub: Hub) -> None:
    subscribe(hub)
    ticket = waiting_pull(hub)

    say(hub, "news", topic="deaths")

    assert not ticket.is_done
    assert hub.waiting.count == 1


def test_a_pull_whose_time_is_up_is_answered_with_nothing(hub: Hub) -> None:
    subscribe(hub)
    began_ms = monotonic_ms()

    pulled = ask(hub, wait_ms=40).result(SOON_S)

    assert (seqs(pulled), pulled.head_seq) == ([], 0)
    assert monotonic_ms() - began_ms >= 40
    assert hub.waiting.count == 0


def test_who_waits_less_is_answered_first(hub: Hub) -> None:
    subscribe(hub)
    long = waiting_pull(hub)

    short = ask(hub, wait_ms=20).result(SOON_S)

    assert seqs(short) == []
    assert not long.is_done
    assert hub.waiting.count == 1


def test_a_pull_that_finds_something_does_not_wait(hub: Hub) -> None:
    fill(hub, 2)

    pulled = ask(hub, wait_ms=LONG_MS).result(SOON_S)

    assert seqs(pulled) == [1, 2]


def test_a_waiting_pull_acknowledges_before_it_waits(hub: Hub) -> None:
    fill(hub, 2)
    pull(hub)
    ticket = waiting_pull(hub, ack=2)

    cursor = ack(hub, 0)
    say(hub, "3")

    assert cursor == 2
    assert bodies(ticket.result(SOON_S)) == ["3"]


def test_a_waiting_pull_wakes_when_something_is_unparked(hub: Hub) -> None:
    fill(hub, 2)
    subscribe(hub)
    park(hub, 1)
    ack(hub, 2)
    ticket = waiting_pull(hub)

    unpark(hub, 1)

    assert seqs(ticket.result(SOON_S)) == [1]


def test_a_waiting_pull_wakes_when_something_after_the_cursor_is_unparked(hub: Hub) -> None:
    fill(hub, 2)
    subscribe(hub)
    park(hub, 1, 2)
    ticket = waiting_pull(hub)

    unpark(hub, 2)

    assert seqs(ticket.result(SOON_S)) == [2]


def test_a_waiting_pull_wakes_when_its_subscription_is_replayed(hub: Hub) -> None:
    fill(hub, 3)
    subscribe(hub)
    ack(hub, 3)
    ticket = waiting_pull(hub)

    replay(hub, from_seq=2)

    assert seqs(ticket.result(SOON_S)) == [2, 3]


def test_a_waiting_pull_that_acknowledged_wakes_when_its_subscription_is_replayed(hub: Hub) -> None:
    fill(hub, 3)
    pull(hub)
    ticket = waiting_pull(hub, ack=3)

    replay(hub, from_seq=2)

    assert seqs(ticket.result(SOON_S)) == [2, 3]


class BeforeWaiting:
    """Does something between the moment when a pull has read and the moment when it begins to wait."""

    def __init__(self, hub: Hub, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
        self._wait = hub.waiting.wait
        self._act: Callable[[], object] | None = act
        monkeypatch.setattr(hub.waiting, "wait", self.wait)

    def wait(self, *arguments: object) -> None:
        """Act, the first time, then wait."""
        act, self._act = self._act, None
        if act is not None:
            act()
        self._wait(*arguments)  # type: ignore[arg-type]


def test_a_publication_between_reading_and_waiting_is_not_missed(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    subscribe(hub)
    BeforeWaiting(hub, monkeypatch, lambda: say(hub, "news"))

    pulled = ask(hub, wait_ms=LONG_MS).result(SOON_S)

    assert bodies(pulled) == ["news"]


def test_an_unparking_between_reading_and_waiting_is_not_missed(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(hub, 2)
    subscribe(hub)
    park(hub, 1, 2)
    BeforeWaiting(hub, monkeypatch, lambda: unpark(hub, 1))

    pulled = ask(hub, wait_ms=LONG_MS).result(SOON_S)

    assert seqs(pulled) == [1]


def test_a_replay_between_reading_and_waiting_is_not_missed(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(hub, 2)
    subscribe(hub)
    ack(hub, 2)
    BeforeWaiting(hub, monkeypatch, lambda: replay(hub, from_seq=1))

    pulled = ask(hub, wait_ms=LONG_MS).result(SOON_S)

    assert seqs(pulled) == [1, 2]


def test_nobody_misses_a_message_in_many_races(hub: Hub) -> None:
    subscribe(hub)
    rounds, received = 300, []

    def receive() -> None:
        last = 0
        while last < rounds:
            got = seqs(ask(hub, ack=last, wait_ms=LONG_MS).result(SOON_S))
            received.extend(got)
            last = got[-1]

    receiver = threading.Thread(target=receive)
    receiver.start()
    for number in range(rounds):
        say(hub, str(number))
    receiver.join(20)

    assert received == list(range(1, rounds + 1))


def test_a_topic_made_again_with_its_old_name_does_not_wake_those_who_wait(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(hub, 50)
    hub.delete("topic", (TOPIC,)).result()
    subscribe(hub)
    reads = 0
    submit = hub._readers.submit

    def counted(*arguments: object, **options: bool) -> None:
        nonlocal reads
        reads += 1
        submit(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(hub._readers, "submit", counted)
    pulled = ask(hub, wait_ms=100).result(SOON_S)

    assert seqs(pulled) == []
    assert reads <= 2


def test_one_waiting_pull_too_many_is_told_that_the_hub_is_busy(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WAITERS_MAX", 2)
    subscribe(hub)
    tickets = [waiting_pull(hub) for _ in range(2)]

    with pytest.raises(HubBusy):
        ask(hub, wait_ms=LONG_MS).result(SOON_S)

    say(hub, "news")
    assert [bodies(ticket.result(SOON_S)) for ticket in tickets] == [["news"]] * 2


def test_those_who_wait_are_answered_when_the_hub_stops(site: Site) -> None:
    subscribe(site.hub)
    ticket = waiting_pull(site.hub)

    site.stop()

    assert seqs(ticket.result(SOON_S)) == []


def test_a_pull_that_begins_to_wait_while_the_hub_stops_is_answered(site: Site) -> None:
    hub = site.restart(HubOptions(reader_threads=1))
    subscribe(hub)
    may_read = threading.Event()
    hub.read(lambda _connection: may_read.wait(10))
    ticket = ask(hub, wait_ms=LONG_MS)
    stopping = threading.Thread(target=site.stop)

    stopping.start()
    wait_until(lambda: not hub.waiting._thread.is_alive())
    may_read.set()
    stopping.join()

    assert seqs(ticket.result(SOON_S)) == []
