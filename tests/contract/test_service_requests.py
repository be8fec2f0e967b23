"""Durable requests in the store: one request per key, counted as they are on disk, released and forgotten whole."""

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest

from pregon.errors import AlreadyExists, LimitReached, NotFound, NotPending, PregonError
from pregon.hub.hub import Hub
from pregon.model.service import ANSWERED, PARKED, Entry, Result
from pregon.services.journal import HubJournal
from pregon.store.ticket import Ticket
from pregon.store.transaction import Transaction

from .site import Clock, Site, one_commit

LARGE = bytes(2_000)
KEEP_MS = 60_000


@pytest.fixture
def journal(hub: Hub) -> HubJournal:
    """A journal on a started hub."""
    return HubJournal(hub)


def begin(ask: Callable[[Callable[[Any], None]], None]) -> Ticket[Any]:
    """A ticket for what a journal calls back with."""
    ticket: Ticket[Any] = Ticket()

    def then(answer: Any) -> None:
        if isinstance(answer, PregonError):
            ticket.fail(answer)
        else:
            ticket.resolve(answer)

    ask(then)
    return ticket


def accept(journal: HubJournal, id: str = "k", **changes: Any) -> Ticket[bool]:
    """Have a request stored."""
    values = {"service": "sqrt", "body": [b"16", b""], "priority": 5, "user": "ana"}
    return begin(lambda then: journal.accept(Entry(id=id, **{**values, **changes}), then))


def end(journal: HubJournal, id: str = "k", state: str = ANSWERED) -> None:
    """Have its result stored."""
    result = Result(id=id, service="sqrt", state=state, body=[b"4"], attempts=3, message="they fell silent")
    assert begin(lambda then: journal.finish(result, KEEP_MS, then)).result()


class Breaks:
    """An operation with a bug, for which the whole transaction is undone."""

    size_bytes = 0
    is_durable = True

    def __init__(self) -> None:
        self.ticket: Ticket[None] = Ticket()

    def apply(self, transaction: Transaction) -> None:
        """Fail."""
        raise RuntimeError("a bug")


# Keys.


def test_the_same_request_again_is_not_stored_again(journal: HubJournal) -> None:
    first = accept(journal).result()

    again = accept(journal, priority=9, deadline_in_ms=100).result()

    assert (first, again) == (True, False)


@pytest.mark.parametrize(
    "other", [{"user": "eva"}, {"user": ""}, {"service": "sqrt@2"}, {"body": [b"16"]}, {"body": [b"", b"16"]}], ids=str
)
def test_a_key_of_another_request_is_refused(journal: HubJournal, other: dict[str, Any]) -> None:
    accept(journal).result()

    with pytest.raises(AlreadyExists, match="the key 'k' is of another request"):
        accept(journal, **other).result()


def test_a_key_stays_the_requests_own_when_it_has_its_result(journal: HubJournal) -> None:
    accept(journal).result()
    end(journal)

    again = accept(journal).result()

    assert again is False
    with pytest.raises(AlreadyExists):
        accept(journal, body=[b"25"]).result()


# How many.


def test_a_full_store_says_what_makes_room_and_still_knows_what_it_has(journal: HubJournal) -> None:
    with patch("pregon.services.journal.SERVICE_RESULTS_MAX", 1):
        accept(journal).result()

        again = accept(journal).result()

        assert again is False
        with pytest.raises(LimitReached, match="shorten keep_results_ms"):
            accept(journal, "another").result()


def test_what_was_undone_is_not_counted(hub: Hub, journal: HubJournal) -> None:
    with patch("pregon.services.journal.SERVICE_RESULTS_MAX", 2):
        with one_commit(hub):
            first = accept(journal, "first")
            hub.submit(Breaks())

        second = accept(journal, "second")

        assert (first.result(), second.result()) == (True, True)
        with pytest.raises(LimitReached):
            accept(journal, "third").result()


def test_the_limit_holds_within_one_transaction(hub: Hub, journal: HubJournal) -> None:
    with patch("pregon.services.journal.SERVICE_RESULTS_MAX", 2):
        with one_commit(hub):
            tickets = [accept(journal, f"k{number}") for number in range(3)]

        assert [ticket.result() for ticket in tickets[:2]] == [True, True]
        with pytest.raises(LimitReached):
            tickets[2].result()


def test_what_is_forgotten_makes_room(clock: Clock, hub: Hub, journal: HubJournal) -> None:
    with patch("pregon.services.journal.SERVICE_RESULTS_MAX", 2):
        for id in ("old", "kept"):
            accept(journal, id).result()
            end(journal, id)
        journal.forget("kept").result()
        clock.move_ms(KEEP_MS)
        begin(journal.forget_old).result()

        stored = [accept(journal, id).result() for id in ("old", "kept")]

    assert stored == [True, True]


def test_old_results_are_forgotten_a_number_at_a_time_and_counted(clock: Clock, journal: HubJournal) -> None:
    for number in range(3):
        accept(journal, f"k{number}").result()
        end(journal, f"k{number}")
    accept(journal, "waiting").result()
    before = begin(journal.forget_old).result()
    clock.move_ms(KEEP_MS)

    with patch("pregon.services.journal.FORGET_AT_ONCE", 2):
        counts = [begin(journal.forget_old).result() for _ in range(3)]

    assert (before, counts) == (0, [2, 1, 0])
    assert journal.find("waiting").result() is not None


# Released, forgotten.


def test_what_is_released_is_the_whole_request_as_if_it_were_new(journal: HubJournal) -> None:
    accept(journal, body=[LARGE, b"x"], deadline_in_ms=1, priority=7).result()
    end(journal, state=PARKED)

    released = journal.release("k").result()

    assert released == Entry(id="k", service="sqrt", body=[LARGE, b"x"], priority=7, user="ana")
    assert journal.waiting() == [released]


@pytest.mark.parametrize(("job_type", "state"), [("cbrt", PARKED), ("SQRT", PARKED), ("sqrt", ANSWERED)])
def test_what_is_not_set_aside_or_of_another_service_is_not_released(
    journal: HubJournal, job_type: str, state: str
) -> None:
    accept(journal).result()
    end(journal, state=state)

    with pytest.raises(NotFound):
        journal.release("k", job_type).result()

    assert journal.waiting() == []


@pytest.mark.parametrize("state", [ANSWERED, PARKED])
@pytest.mark.parametrize("service", ["sqrt", "sqrt@2"])
def test_what_does_not_wait_is_forgotten(journal: HubJournal, service: str, state: str) -> None:
    accept(journal, service=service).result()
    end(journal, state=state)

    forgotten = [journal.forget("k", job_type).result() for job_type in ("cbrt", "sqrt", "sqrt")]

    assert forgotten == [False, True, False]


def test_what_waits_is_not_forgotten(journal: HubJournal) -> None:
    accept(journal).result()

    with pytest.raises(NotPending):
        journal.forget("k").result()

    assert [entry.id for entry in journal.waiting()] == ["k"]


def test_a_service_is_all_its_versions_and_no_other_service(journal: HubJournal) -> None:
    for number, service in enumerate(("sqrt", "sqrt@2", "sqrt@2.1", "sqrt2", "SQRT@2", "sqrt.more")):
        accept(journal, f"k{number}", service=service).result()

    every, second = (journal.list_requests(name, "", "", 100).result() for name in ("sqrt", "sqrt@2"))

    assert [row["service"] for row in every] == ["sqrt", "sqrt@2", "sqrt@2.1"]
    assert [row["service"] for row in second] == ["sqrt@2"]


def test_of_what_was_set_aside_a_start_reads_the_beginning_and_says_the_size(site: Site) -> None:
    journal = HubJournal(site.hub)
    accept(journal, body=[LARGE, LARGE]).result()
    end(journal, state=PARKED)

    ((entry, reason, size),) = HubJournal(site.restart()).parked()

    assert (sum(map(len, entry.body)), size) == (500, 4_000)
    assert (entry.attempts, reason) == (3, "they fell silent")
