"""A door that reads a burst of requests may have them committed in its own thread; nothing else changes."""

import logging
import threading

import pytest

from pregon.hub.hub import Hub
from pregon.hub.way import Published
from pregon.model.message import Outgoing
from pregon.store.ticket import Ticket

from .site import Hold, Site
from .test_commits import Broken
from .verbs import PRODUCER, TOPIC, batch_of, read, say, send

SOON_S = 5.0


def test_a_burst_is_committed_once_by_the_thread_that_lets_it_go(hub: Hub) -> None:
    answered_by: list[threading.Thread] = []
    before = hub.committer.commits

    hub.committer.hold()
    tickets = [hub.publish(TOPIC, PRODUCER, Outgoing(str(number).encode())) for number in range(20)]
    tickets[0].when_done(lambda _ticket: answered_by.append(threading.current_thread()))
    hub.committer.let_go()

    assert [ticket.value().seq for ticket in tickets] == list(range(1, 21))
    assert hub.committer.commits - before == 1
    assert answered_by == [threading.current_thread()]


def test_a_burst_of_nothing_commits_nothing(hub: Hub) -> None:
    before = hub.committer.commits

    hub.committer.hold()
    hub.committer.let_go()

    assert hub.committer.commits == before
    assert say(hub, "x") == [1]


def test_what_others_submit_during_a_burst_is_committed_with_it(hub: Hub) -> None:
    tickets: list[Ticket[Published]] = []
    other = threading.Thread(target=lambda: tickets.append(hub.publish(TOPIC, "other", Outgoing(b"2"))))

    hub.committer.hold()
    mine = hub.publish(TOPIC, PRODUCER, Outgoing(b"1"))
    other.start()
    other.join()
    hub.committer.let_go()

    assert (mine.result(SOON_S).seq, tickets[0].result(SOON_S).seq) == (1, 2)


def test_what_another_submits_before_the_burst_has_anything_is_not_forgotten(hub: Hub) -> None:
    hub.committer.hold()
    ticket = hub.publish(TOPIC, PRODUCER, Outgoing(b"x"))
    hub.committer.let_go()

    assert ticket.result(SOON_S) == Published(1)


def test_a_burst_that_finds_the_writer_at_work_is_left_to_it_in_order(hub: Hub) -> None:
    work = Hold()
    hub.committer.submit(work)
    assert work.is_held.wait(SOON_S)

    hub.committer.hold()
    tickets = [send(hub, batch_of(str(number))) for number in range(1, 4)]
    hub.committer.let_go()
    is_done_early = any(ticket.is_done for ticket in tickets)
    work.may_go.set()

    assert not is_done_early
    assert [ticket.result(SOON_S) for ticket in tickets] == [Published(1), Published(2), Published(3)]


def test_a_large_burst_is_left_to_the_thread(hub: Hub) -> None:
    hub.committer.hold()
    tickets = [hub.publish(TOPIC, PRODUCER, Outgoing(b"x" * 50_000)) for _ in range(5)]
    hub.committer.let_go()

    assert [ticket.result(SOON_S).seq for ticket in tickets] == [1, 2, 3, 4, 5]


def test_a_bug_in_a_burst_fails_alone(hub: Hub, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    broken = Broken()

    hub.committer.hold()
    before = hub.publish(TOPIC, PRODUCER, Outgoing(b"1"))
    hub.committer.submit(broken)
    after = hub.publish(TOPIC, PRODUCER, Outgoing(b"2"))
    hub.committer.let_go()

    assert (before.result(SOON_S), after.result(SOON_S)) == (Published(1), Published(2))
    assert [message.text for message in read(hub)] == ["1", "2"]


def test_bursts_and_the_thread_share_one_order(hub: Hub) -> None:
    answers: list[int] = []

    def publish_alone() -> None:
        for _ in range(60):
            answers.extend(say(hub, "alone"))

    alone = threading.Thread(target=publish_alone)
    alone.start()
    for _ in range(60):
        hub.committer.hold()
        tickets = [hub.publish(TOPIC, "door", Outgoing(b"burst")) for _ in range(3)]
        hub.committer.let_go()
        answers.extend(ticket.result(SOON_S).seq for ticket in tickets)
    alone.join()

    assert sorted(answers) == list(range(1, 241))
    assert [message.seq for message in read(hub)] == list(range(1, 241))


def test_a_burst_under_way_is_finished_before_the_hub_stops(site: Site) -> None:
    hub = site.hub
    work = Hold()

    def burst() -> None:
        hub.committer.hold()
        hub.committer.submit(work)
        tickets.append(hub.publish(TOPIC, PRODUCER, Outgoing(b"x")))
        hub.committer.let_go()

    tickets: list[Ticket[Published]] = []
    door = threading.Thread(target=burst)
    door.start()
    assert work.is_held.wait(SOON_S)
    stopping = threading.Thread(target=site.stop)
    stopping.start()
    stopping.join(0.2)
    is_stopped_early = not stopping.is_alive()
    work.may_go.set()
    door.join()
    stopping.join()

    assert not is_stopped_early
    assert tickets[0].value() == Published(1)
