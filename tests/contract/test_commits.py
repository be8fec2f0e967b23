"""The committer: whatever breaks in one operation stays there, and no queue grows without end."""

import logging
import threading
from collections.abc import Callable, Sequence

import pytest
from sqlalchemy import text

from pregon import limits
from pregon.errors import HubBusy, HubStopping, InternalError, PregonError, Rejected
from pregon.hub.hub import Hub
from pregon.hub.pull import PullRequest
from pregon.hub.way import Published
from pregon.model.catalog import Topic
from pregon.model.message import Outgoing
from pregon.model.trace import TraceQuery
from pregon.store.ticket import Ticket
from pregon.store.transaction import Accepted, Transaction

from .site import Site, one_commit
from .verbs import PRODUCER, SUBSCRIBER, TOPIC, ack, ask, batch_of, pull, read, say, send


class Broken:
    """An operation with a bug, after it has written."""

    size_bytes = 1
    is_durable = True

    def __init__(self, statement: str = "") -> None:
        self.ticket: Ticket[None] = Ticket()
        self._statement = statement

    def apply(self, transaction: Transaction) -> None:
        """Write, then break."""
        transaction.connection.execute(text("UPDATE topic SET head_seq = 1000"))
        if self._statement:
            transaction.connection.execute(text(self._statement))
        raise ZeroDivisionError


class BrokenAtTheEnd(Broken):
    """An operation whose bug shows when everything else has been carried out."""

    def apply(self, transaction: Transaction) -> None:
        """Break later."""
        transaction.finish_with(super().apply)


@pytest.mark.parametrize("kind", [Broken, BrokenAtTheEnd])
def test_an_operation_with_a_bug_fails_alone(hub: Hub, kind: type[Broken], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    broken = kind()

    with one_commit(hub):
        before = [hub.publish(TOPIC, PRODUCER, Outgoing(b"1")), send(hub, batch_of("2"), "s", 1)]
        hub.committer.submit(broken)
        after = [hub.publish(TOPIC, PRODUCER, Outgoing(b"3")), send(hub, batch_of("4"), "s", 2)]

    assert [ticket.result() for ticket in before + after] == [Published(seq) for seq in (1, 2, 3, 4)]
    with pytest.raises(InternalError):
        broken.ticket.result()
    assert [message.text for message in read(hub)] == ["1", "2", "3", "4"]


def test_a_statement_that_the_database_refuses_fails_alone(hub: Hub, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    hub.create(Topic(name="taken")).result()
    broken = Broken("INSERT INTO topic (name, created_us) VALUES ('taken', 1)")

    with one_commit(hub):
        before = hub.publish(TOPIC, PRODUCER, Outgoing(b"1"))
        hub.committer.submit(broken)
        after = hub.publish(TOPIC, PRODUCER, Outgoing(b"2"))

    assert (before.result(), after.result()) == (Published(1), Published(2))
    with pytest.raises(PregonError):
        broken.ticket.result()


def test_what_was_made_in_an_undone_commit_is_not_remembered(hub: Hub, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    with one_commit(hub):
        send(hub, batch_of("1"), "s", 1)
        hub.committer.submit(Broken())

    answers = [send(hub, batch_of("2"), "s", 2).result(), hub.publish(TOPIC, PRODUCER, Outgoing(b"3")).result()]

    assert answers == [Published(2), Published(3)]


class BrokenListener:
    """A listener with a bug."""

    def accepted(self, batches: Sequence[Accepted]) -> None:
        """Break."""
        raise ZeroDivisionError


def test_a_listener_with_a_bug_harms_no_publication(hub: Hub, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    hub.listen(BrokenListener())

    with one_commit(hub):
        tickets = [send(hub, batch_of("1")), send(hub, batch_of("2"))]

    assert [ticket.result() for ticket in tickets] == [Published(1), Published(2)]
    assert [message.text for message in read(hub)] == ["1", "2"]


def test_a_callback_with_a_bug_harms_no_publication(hub: Hub, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)

    def break_down(_ticket: Ticket[Published]) -> None:
        raise ZeroDivisionError

    with one_commit(hub):
        tickets = [send(hub, batch_of("1")), send(hub, batch_of("2"))]
        tickets[0].when_done(break_down)

    assert tickets[1].result() == Published(2)
    assert [message.text for message in read(hub)] == ["1", "2"]


def test_a_read_with_a_bug_fails_alone(hub: Hub, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)

    for _ in range(5):
        with pytest.raises(InternalError):
            hub.read(lambda _connection: 1 // 0).result()

    assert hub.read(lambda _connection: "well").result() == "well"


def test_one_operation_too_many_is_told_that_the_hub_is_busy(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "COMMIT_QUEUE_OPERATIONS_MAX", 3)

    with one_commit(hub):
        tickets = [hub.publish(TOPIC, PRODUCER, Outgoing(b"x")) for _ in range(3)]
        with pytest.raises(HubBusy):
            hub.publish(TOPIC, PRODUCER, Outgoing(b"x"))

    assert [ticket.result().seq for ticket in tickets] == [1, 2, 3]
    assert say(hub, "later") == [4]


def test_one_byte_too_many_is_told_that_the_hub_is_busy(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "COMMIT_QUEUE_BYTES_MAX", 1_000)

    with one_commit(hub):
        ticket = hub.publish(TOPIC, PRODUCER, Outgoing(b"x" * 1_000))
        with pytest.raises(HubBusy):
            hub.publish(TOPIC, PRODUCER, Outgoing(b"x"))

    assert ticket.result() == Published(1)
    assert say(hub, "later") == [2]


def test_one_read_too_many_is_told_that_the_hub_is_busy(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "READ_QUEUE_MAX", 2)
    hub = site.restart()
    may_go, is_held = threading.Event(), threading.Semaphore(0)

    def hold(_connection: object) -> bool:
        is_held.release()
        return may_go.wait(10)

    held = [hub.read(hold) for _ in range(hub.options.reader_threads)]
    for _ in held:
        assert is_held.acquire(timeout=10)
    queued = [hub.read(lambda _connection: True) for _ in range(2)]
    with pytest.raises(HubBusy):
        hub.read(lambda _connection: True)
    may_go.set()

    assert all(ticket.result() for ticket in held + queued)


def test_a_large_queue_is_carried_out_in_several_commits(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "COMMIT_OPERATIONS_MAX", 4)
    before = hub.committer.commits

    with one_commit(hub):
        tickets = [hub.publish(TOPIC, PRODUCER, Outgoing(b"x")) for _ in range(10)]

    assert [ticket.result().seq for ticket in tickets] == list(range(1, 11))
    assert hub.committer.commits - before == 4


def test_a_large_operation_is_carried_out_however_large(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "COMMIT_BYTES_MAX", 10)

    numbers = say(hub, "a" * 100, "b" * 100, "c" * 100)

    assert numbers == [1, 2, 3]


def test_after_stop_everything_is_told_that_the_hub_is_stopping(site: Site) -> None:
    hub = site.hub
    say(hub, "x")
    site.stop()

    verbs: list[Callable[[], object]] = [
        lambda: hub.publish(TOPIC, PRODUCER, Outgoing(b"x")),
        lambda: hub.publish_batch(TOPIC, PRODUCER, batch_of("x")),
        lambda: hub.pull(PullRequest(topic=TOPIC, subscriber=SUBSCRIBER)),
        lambda: hub.ack(TOPIC, SUBSCRIBER, 1),
        lambda: hub.account(TOPIC, SUBSCRIBER),
        lambda: hub.create(Topic(name="another")),
        lambda: hub.traces(TraceQuery()),
    ]
    for verb in verbs:
        with pytest.raises(HubStopping):
            verb()

    assert [message.text for message in read(site.start())] == ["x"]


def test_what_was_queued_is_written_before_the_hub_stops(site: Site) -> None:
    hub = site.hub

    with one_commit(hub):
        tickets = [hub.publish(TOPIC, PRODUCER, Outgoing(b"x")) for _ in range(20)]
        stopping = threading.Thread(target=site.stop)
        stopping.start()
    stopping.join()

    assert [ticket.value().seq for ticket in tickets] == list(range(1, 21))
    assert len(read(site.start())) == 20


def test_an_acknowledgement_of_a_pull_is_written_before_the_hub_stops(site: Site) -> None:
    say(site.hub, "a", "b")
    ask(site.hub).result()
    ask(site.hub, ack=2).result()

    hub = site.restart()

    assert pull(hub).acked_seq == 2


def test_an_unknown_subscription_is_the_callers_mistake(hub: Hub) -> None:
    say(hub, "x")

    with pytest.raises(Rejected):
        ack(hub, 1)

    assert say(hub, "y") == [2]
