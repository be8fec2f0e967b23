"""Searching the audit: by any field, newest first, page by page, a bounded number of rows at a time; and forgetting."""

from __future__ import annotations

from typing import Any

import pytest

from pregon.errors import BadRequest, Forbidden, Unauthorized
from pregon.hub.access import NewKey
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.hub.private_topics import PREFIX
from pregon.model.administration import AuditEntry, AuditQuery
from pregon.model.catalog import Topic
from pregon.security.callers import ANYBODY
from pregon.store import audit
from pregon.store.change import Change

from .people_stage import ADMIN, READER, notes
from .site import Clock, Site

DAY_MS = 86_400_000


@pytest.fixture
def audited(hub: Hub) -> Hub:
    """A hub with 300 entries, one a millisecond: each third by luis, each tenth about a subscription."""

    def write(transaction: Any) -> None:
        for number in range(1, 301):
            is_tenth = number % 10 == 0
            entry = AuditEntry(
                at_us=number * 1_000,
                who="token luis" if number % 3 == 0 else "token ana",
                action="update" if number % 2 else "create",
                kind="subscription" if is_tenth else "topic",
                object=f"births {number % 4}" if is_tenth else f"topic-{number % 5}",
            )
            audit.write_audit(transaction.connection, entry)

    hub.submit(Change(write)).result()
    return hub


def find(hub: Hub, **query: Any) -> list[int]:
    """The ids of all that a search finds, page after page."""
    found: list[int] = []
    before = 0
    while True:
        page = Gate(hub).audit(ADMIN, AuditQuery(**query, before=before)).result()
        found += [one.id for one in page]
        before = page.next
        if not before:
            return found


def wanted(**query: Any) -> list[int]:
    """The same, worked out by hand."""
    rows = []
    for number in range(300, 0, -1):
        is_tenth = number % 10 == 0
        row = {
            "who": "token luis" if number % 3 == 0 else "token ana",
            "action": "update" if number % 2 else "create",
            "kind": "subscription" if is_tenth else "topic",
            "object": f"births {number % 4}" if is_tenth else f"topic-{number % 5}",
        }
        since, until = query.get("since_us", 0), query.get("until_us", 0) or 10**18
        begins = query.get("object", "").removesuffix("*") if query.get("object", "").endswith("*") else None
        fits = all(
            row[name].startswith(begins) if name == "object" and begins is not None else row[name] == value
            for name, value in query.items()
            if name in row and value
        )
        if fits and since <= number * 1_000 < until:
            rows.append(number)
    return rows


SEARCHES: list[dict[str, Any]] = [
    {},
    {"who": "token luis"},
    {"who": "token nobody"},
    {"kind": "subscription"},
    {"action": "create"},
    {"object": "topic-3"},
    {"object": "births*"},
    {"object": "*"},
    {"object": "BIRTHS*"},
    {"kind": "topic", "object": "topic-1"},
    {"kind": "subscription", "object": "births*"},
    {"who": "token luis", "kind": "subscription", "object": "births 2", "action": "create"},
    {"since_us": 100_000, "until_us": 200_000},
    {"since_us": 100_500, "until_us": 100_600},
    {"who": "token ana", "since_us": 250_000},
    {"kind": "topic", "object": "topic-1", "until_us": 30_000},
]


@pytest.mark.parametrize("query", SEARCHES, ids=str)
@pytest.mark.parametrize("walked", [7, 300, 20_000])
def test_all_that_fits_is_found_once_newest_first(
    audited: Hub, monkeypatch: pytest.MonkeyPatch, query: dict[str, Any], walked: int
) -> None:
    monkeypatch.setattr(audit, "WALKED_ROWS_MAX", walked)

    found = find(audited, **query, max=11)

    assert found == wanted(**query)


def test_a_page_has_as_many_as_were_asked_for_and_says_where_to_go_on(audited: Hub) -> None:
    page = Gate(audited).audit(ADMIN, AuditQuery(max=5)).result()
    rest = Gate(audited).audit(ADMIN, AuditQuery(max=1_000, before=page.next)).result()

    assert [one.id for one in page] == [300, 299, 298, 297, 296]
    assert (page.next, len(rest), rest.next) == (296, 295, 0)


@pytest.mark.parametrize("query", [{"before": -1}, {"since_us": 2**63}, {"until_us": -5}])
def test_a_question_that_makes_no_sense_is_refused(audited: Hub, query: dict[str, int]) -> None:
    with pytest.raises(BadRequest):
        Gate(audited).audit(ADMIN, AuditQuery(**query)).result()


def test_the_audit_is_for_who_may_read(hub: Hub) -> None:
    gate = Gate(hub)
    gate.create_key(ADMIN, NewKey(kind="token", owner="admin", scopes=("admin",))).result()
    producer = gate.identify("")

    assert len(gate.audit(READER, AuditQuery()).result()) == 1
    with pytest.raises(Unauthorized):
        gate.audit(ANYBODY, AuditQuery())
    with pytest.raises(Unauthorized):
        gate.audit(producer, AuditQuery())
    with pytest.raises(Forbidden):
        gate.audit(type(READER)(name="producer registry"), AuditQuery())


def test_what_was_done_to_a_private_conversation_is_for_who_administers(hub: Hub) -> None:
    topic = "groups.private.1"

    def write(transaction: Any) -> None:
        for name in (f"{topic} ana", "births bank"):
            entry = AuditEntry(at_us=1, who="token x", action="delete", kind="subscription", object=name)
            audit.write_audit(transaction.connection, entry)

    hub.submit(Change(write)).result()

    assert topic.startswith(PREFIX)
    assert [one.object for one in Gate(hub).audit(READER, AuditQuery()).result()] == ["births bank"]
    assert len(Gate(hub).audit(ADMIN, AuditQuery()).result()) == 2


def test_what_is_old_is_forgotten_and_what_is_not_stays(clock: Clock, site: Site) -> None:
    hub = site.restart(HubOptions(audit_keep_ms=10 * DAY_MS))
    gate = Gate(hub)
    for number in range(5):
        gate.create(ADMIN, Topic(name=f"topic-{number}")).result()
        clock.move_ms(4 * DAY_MS)

    hub.maintenance.run_once()

    assert [note[3] for note in notes(hub)] == ["topic-3", "topic-4"]


def test_ids_are_never_given_twice_though_all_is_old(clock: Clock, site: Site) -> None:
    hub = site.restart(HubOptions(audit_keep_ms=10 * DAY_MS))
    Gate(hub).create(ADMIN, Topic(name="first")).result()
    clock.move_ms(100 * DAY_MS)

    hub.maintenance.run_once()
    Gate(hub).create(ADMIN, Topic(name="second")).result()

    assert find(hub)[0] == 2


def test_times_of_the_audit_never_go_back_over_a_restart(clock: Clock, site: Site) -> None:
    hub = site.restart()
    Gate(hub).create(ADMIN, Topic(name="first")).result()
    clock.move_ms(-DAY_MS)

    hub = site.restart()
    Gate(hub).create(ADMIN, Topic(name="second")).result()

    newest, oldest = Gate(hub).audit(ADMIN, AuditQuery()).result()
    assert newest.at_us >= oldest.at_us
