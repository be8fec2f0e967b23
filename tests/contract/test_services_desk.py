"""Services inside a hub: what is on disk is what the broker does, and whoever asks is answered whatever stops."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from pregon.errors import HubStopping, NotFound, NotPending, PregonError
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.model.catalog import Producer, Topic
from pregon.model.service import PARKED, CurveKey, Entry, Result
from pregon.security.callers import ANYBODY, Caller
from pregon.server.services_joined import JoinedServices, Place
from pregon.services.counts import Finished
from pregon.services.desk import ServicesDesk
from pregon.services.journal import HubJournal
from pregon.services.parts import Parts
from pregon.services.tracing import REQUESTS_TOPIC, RequestTracer
from pregon.services.view import list_poison, list_requests
from pregon.store.ticket import Ticket
from pregon.wire.services import RequestOptions

from .site import Site, one_commit
from .verbs import read

ANYWHERE = "tcp://127.0.0.1:*"
LARGE = bytes(2_000)
ANA = Caller(name="ana")
KEY = CurveKey(name="tarifas", public="rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7")
ROW = Finished(1.0, "sqrt", "c", "w", "", 0.0, 1.0, 1.0, 0, "answered", "")
PATIENCE_S = 10.0


def join(hub: Hub, place: Path) -> JoinedServices:
    """A broker on a hub's store, not yet started."""
    return JoinedServices(Place(front=ANYWHERE, back=ANYWHERE, data=place, is_traced=False), Gate(hub))


@pytest.fixture
def services(hub: Hub, tmp_path: Path) -> Iterator[JoinedServices]:
    """A started broker."""
    joined = join(hub, tmp_path)
    joined.start()
    yield joined
    joined.stop()


@pytest.fixture
def desk(services: JoinedServices) -> ServicesDesk:
    """Where it is asked."""
    return services.desk


def look(services: JoinedServices, what: Callable[[Parts], Any]) -> Any:
    """Look at the broker, when it has done all that it was asked before."""
    return services.door.call(what).result(PATIENCE_S)


def store(hub: Hub, id: str = "k", state: str = "", service: str = "sqrt") -> Entry:
    """A request is on disk, set aside if that is its state, and the broker knows nothing of it."""
    journal = HubJournal(hub)
    entry = Entry(id=id, service=service, body=[LARGE], priority=5)
    answer: Ticket[Any] = Ticket()
    journal.accept(entry, answer.resolve)
    assert answer.result(PATIENCE_S) is True
    if state:
        answer = Ticket()
        journal.finish(Result(id=id, service=service, state=state), 60_000, answer.resolve)
        assert answer.result(PATIENCE_S) is True
    return entry


def shelve(hub: Hub, services: JoinedServices) -> None:
    """A request was set aside, on disk and in the broker."""
    entry = store(hub, state=PARKED)
    look(services, lambda parts: parts.durables.shelve(entry, "they fell silent"))


def shelf(parts: Parts) -> list[str]:
    """Durable requests that are shown as set aside."""
    return [row["durable_id"] for row in list_poison(parts.broker)]


def under_way(parts: Parts) -> list[str]:
    """Durable requests that are worked on, or wait for it."""
    return [row["durable_id"] for row in list_requests(parts.broker, 100)]


# Options.


def test_options_are_another_way_when_they_are_on_disk_and_not_before(
    hub: Hub, services: JoinedServices, desk: ServicesDesk
) -> None:
    def attempts(parts: Parts) -> int:
        return parts.broker.lines.options_of("sqrt").attempts_max

    with one_commit(hub):
        ticket = desk.set_options(ANYBODY, "sqrt", {"attempts_max": 7})
        before = look(services, attempts)
    shown = ticket.result()
    after = look(services, attempts)
    with one_commit(hub):
        reset = desk.reset_options(ANYBODY, "sqrt")
        still = look(services, attempts)

    assert (before, after, still) == (3, 7, 7)
    assert shown["options"]["attempts_max"] == 7
    assert (reset.result(), look(services, attempts)) == (True, 3)


def test_of_two_changes_at_once_both_stay(hub: Hub, services: JoinedServices, desk: ServicesDesk) -> None:
    with one_commit(hub):
        first = desk.set_options(ANYBODY, "sqrt", {"attempts_max": 7})
        second = desk.set_options(ANYBODY, "sqrt", {"queue_max": 70})

    first.result()
    shown = second.result()["options"]

    options = look(services, lambda parts: parts.broker.lines.options_of("sqrt"))
    assert (options.attempts_max, options.queue_max) == (7, 70)
    assert (shown["attempts_max"], shown["queue_max"]) == (7, 70)
    assert HubJournal(hub).settings()["sqrt"] == options


def test_options_that_cannot_be_stored_are_not_used(
    site: Site, hub: Hub, services: JoinedServices, desk: ServicesDesk
) -> None:
    site.stop()

    refused = [desk.set_options(ANYBODY, "sqrt", {"attempts_max": 7}), desk.reset_options(ANYBODY, "sqrt")]

    for ticket in refused:
        with pytest.raises(HubStopping):
            ticket.result(PATIENCE_S)
    assert look(services, lambda parts: parts.broker.lines.own_options) == {}


# What is set aside.


def test_poison_is_dropped_when_that_is_on_disk_and_not_before(
    hub: Hub, services: JoinedServices, desk: ServicesDesk
) -> None:
    shelve(hub, services)

    with one_commit(hub):
        ticket = desk.drop_poison(ANYBODY, 1)
        before = look(services, shelf)

    assert (ticket.result(), before, look(services, shelf)) == (True, ["k"], [])
    assert HubJournal(hub).find("k").result() is None


def test_poison_that_is_released_is_worked_on_with_its_whole_body(
    hub: Hub, services: JoinedServices, desk: ServicesDesk
) -> None:
    shelve(hub, services)

    released = desk.release_poison(ANYBODY, 1).result()

    assert released == {"number": 1, "durable_id": "k"}
    assert (look(services, shelf), look(services, under_way)) == ([], ["k"])
    (request,) = look(services, lambda parts: list(parts.broker.lines[b"sqrt"].waiting.all()))
    assert request.body == [LARGE]


def test_what_is_no_longer_shown_as_set_aside_is_released_by_its_id(
    hub: Hub, services: JoinedServices, desk: ServicesDesk
) -> None:
    store(hub, state=PARKED, service="sqrt@2")

    with pytest.raises(NotFound):
        desk.release_durable(ANYBODY, "cbrt", "k").result()
    released = desk.release_durable(ANYBODY, "sqrt", "k").result()

    assert released == {"number": 0, "durable_id": "k"}
    assert look(services, under_way) == ["k"]


def test_what_has_ended_is_forgotten_and_what_waits_is_not(
    hub: Hub, services: JoinedServices, desk: ServicesDesk
) -> None:
    shelve(hub, services)
    store(hub, "waiting")

    forgotten = desk.forget_durable(ANYBODY, "sqrt", "k").result()

    assert (forgotten, look(services, shelf)) == (True, [])
    with pytest.raises(NotPending):
        desk.forget_durable(ANYBODY, "sqrt", "waiting").result()
    with pytest.raises(NotFound):
        desk.forget_durable(ANYBODY, "sqrt", "k").result()


def test_a_broker_that_stops_before_it_knows_of_a_release_is_told_to_who_asked(
    hub: Hub, services: JoinedServices, desk: ServicesDesk
) -> None:
    shelve(hub, services)
    with one_commit(hub):
        ticket = desk.release_poison(ANYBODY, 1)
        look(services, shelf)
        services.door.stop()

    with pytest.raises(HubStopping):
        ticket.result(PATIENCE_S)

    assert [entry.id for entry in HubJournal(hub).waiting()] == ["k"], "the next broker goes on with it"


# Keys and results.


def test_a_key_is_let_in_though_the_broker_stops(
    hub: Hub, services: JoinedServices, desk: ServicesDesk, caplog: pytest.LogCaptureFixture
) -> None:
    with one_commit(hub):
        ticket = desk.keep_key(ANYBODY, KEY)
        services.door.stop()

    kept = ticket.result(PATIENCE_S)

    assert [key.name for key in desk.list_keys(ANYBODY)] == [kept.name]
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_what_a_key_of_the_hub_asked_is_not_there_for_a_curve_key_of_the_same_name(
    services: JoinedServices, desk: ServicesDesk
) -> None:
    (id,) = desk.ask(ANA, "sqrt", [b"16"], RequestOptions(durable=True)).result()
    told: Ticket[Any] = Ticket()

    look(services, lambda parts: parts.collect(id.decode(), 0, told.resolve, "ana"))

    assert isinstance(told.result(PATIENCE_S), NotFound)
    assert desk.collect(ANA, id.decode(), 0).result().user == "key:ana"


def test_who_goes_away_does_not_wait_for_a_result_any_more(
    hub: Hub, services: JoinedServices, desk: ServicesDesk
) -> None:
    def waiting(parts: Parts) -> int:
        return len(parts.durables._collectors)

    store(hub)
    tickets = [desk.collect(ANYBODY, "k", 60_000) for _ in range(2)]
    before = look(services, waiting)

    tickets[0].abandon()

    assert (before, look(services, waiting)) == (2, 1)
    assert not tickets[1].is_done


def test_who_waits_for_a_result_is_told_when_it_cannot_be_read(
    site: Site, hub: Hub, services: JoinedServices, desk: ServicesDesk
) -> None:
    store(hub)
    ticket = desk.collect(ANYBODY, "k", 500)
    look(services, lambda _: None)

    site.stop()

    with pytest.raises(PregonError) as failed:
        ticket.result(PATIENCE_S)
    assert failed.value.code == "hub_stopping"


# The start, and traces.


def test_one_that_cannot_be_resumed_keeps_no_other_from_it(
    hub: Hub, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for id, service in (("bad", "no name"), ("good", "sqrt")):
        store(hub, id, service=service)
        store(hub, f"{id}-poison", PARKED, service)
    joined = join(hub, tmp_path)

    joined.start()
    found = look(joined, lambda parts: (under_way(parts), shelf(parts)))
    joined.stop()

    assert found == (["good"], ["good-poison"])
    logged = [record.__dict__["durable_id"] for record in caplog.records if "not resumed" in record.message]
    assert logged == ["bad", "bad-poison"]


def test_traces_for_which_there_is_no_room_are_counted(hub: Hub) -> None:
    dropped: list[int] = []
    tracer = RequestTracer(hub, dropped.append)

    for _ in range(22):
        tracer.take([ROW] * 3)

    assert dropped == [3, 3]


def test_traces_that_are_not_written_are_counted_and_their_topic_is_made_again(strict_hub: Hub) -> None:
    for entry in (Producer(name="pregon"), Topic(name=REQUESTS_TOPIC)):
        strict_hub.create(entry).result()
    dropped: Queue[int] = Queue()
    tracer = RequestTracer(strict_hub, dropped.put)
    news = strict_hub.wait_for_news(REQUESTS_TOPIC, strict_hub.waiting.version(REQUESTS_TOPIC), 10_000)
    tracer.start()
    tracer.take([ROW])
    is_written = news.result(PATIENCE_S)

    strict_hub.delete("topic", (REQUESTS_TOPIC,)).result()
    tracer.take([ROW] * 3)
    not_written = dropped.get(timeout=PATIENCE_S)
    tracer.take([ROW] * 2)
    tracer.stop()

    assert (is_written, not_written, dropped.qsize()) == (True, 3, 0)
    assert len(read(strict_hub, REQUESTS_TOPIC)) == 2
