"""Who is in: entered, by a password or sent by a provider; idle, or in for too long; ended at once."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import select

from pregon.errors import BadRequest, Forbidden, LimitReached, Unauthorized
from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.hub.people import People
from pregon.hub.people_memory import FRESH_MS
from pregon.limits import ADMIN_SESSIONS_OF_PERSON_MAX
from pregon.security.callers import ANYBODY, Caller
from pregon.security.keys import hash_secret
from pregon.store import administrators
from pregon.store.schema_admin import admin_session

from .people_stage import ADMIN, GOOD, OPERATOR, dump, is_in, name_of, notes, people_of
from .site import Clock, Site, settle

MINUTE_MS, HOUR_MS = 60_000, 3_600_000
HOME, AWAY = "192.0.2.1", "198.51.100.7"


@pytest.fixture
def people(clock: Clock, hub: Hub) -> People:
    """A hub with an administrator, ana, whose clock the test moves."""
    made = people_of(hub, lambda: clock.read_us() / 1_000)
    made.create(ADMIN, "ana", GOOD)
    return made


@pytest.fixture
def reads(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """What was read from the store."""
    made: list[object] = []
    read = hub.read
    monkeypatch.setattr(hub, "read", lambda question, **more: made.append(question) or read(question, **more))
    yield made


def seen_us(hub: Hub) -> int:
    """When the store says that something was last done in the only session."""
    settle(hub)
    return hub.read(lambda c: c.execute(select(admin_session.c.seen_us)).scalar_one()).result()


def test_somebody_who_enters_is_known_by_a_token_of_which_only_the_hash_is_kept(hub: Hub, people: People) -> None:
    token, session = people.enter("ana", GOOD, HOME)

    assert people.find_session(token) == session
    assert (session.name, session.role, session.source) == ("ana", "administrator", "password")
    assert session.expires_us - session.created_us == 12 * HOUR_MS * 1_000
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", token)
    assert token not in dump(hub)
    assert repr(hash_secret(token)) in dump(hub)


@pytest.mark.parametrize("token", ["", "x", "x" * 43, "x" * 10_000, "ñ" * 43, "\x00" * 43])
def test_what_is_no_token_opens_nothing(people: People, token: str) -> None:
    people.enter("ana", GOOD)

    assert people.find_session(token) is None
    assert not people.leave(token)


def test_a_session_outlives_a_restart(site: Site) -> None:
    people_of(site.hub).create(ADMIN, "ana", GOOD)
    token, _ = people_of(site.hub).enter("ana", GOOD)

    again = people_of(site.restart())

    assert name_of(again.find_session(token)) == "ana"


# How it ends.


def test_a_session_in_which_nothing_is_done_ends(clock: Clock, people: People) -> None:
    token, _ = people.enter("ana", GOOD)

    clock.move_ms(120 * MINUTE_MS - 1)
    almost = is_in(people, token)
    clock.move_ms(1)

    assert (almost, is_in(people, token)) == (True, False)


def test_what_is_done_keeps_somebody_in_and_a_page_that_asks_by_itself_does_not(clock: Clock, people: People) -> None:
    working, _ = people.enter("ana", GOOD)
    looking, _ = people.enter("ana", GOOD)

    for _ in range(3):
        clock.move_ms(50 * MINUTE_MS)
        people.find_session(working)
        people.find_session(looking, is_active=False)

    assert (is_in(people, working), is_in(people, looking)) == (True, False)


def test_a_session_ends_after_its_hours_whatever_is_done_in_it(clock: Clock, people: People) -> None:
    token, _ = people.enter("ana", GOOD)

    for _ in range(12 * 60 - 1):
        clock.move_ms(MINUTE_MS)
        assert people.find_session(token)
    clock.move_ms(MINUTE_MS)

    assert people.find_session(token) is None


def test_the_limits_are_as_the_hub_is_set(clock: Clock, site: Site) -> None:
    hub = site.restart(HubOptions(admin_idle_ms=MINUTE_MS, admin_session_ms=HOUR_MS))
    people = people_of(hub, lambda: clock.read_us() / 1_000)
    people.create(ADMIN, "ana", GOOD)

    token, session = people.enter("ana", GOOD)
    clock.move_ms(MINUTE_MS)

    assert session.expires_us - session.created_us == HOUR_MS * 1_000
    assert people.find_session(token) is None


def test_who_leaves_is_out_at_once_and_others_are_not(hub: Hub, people: People) -> None:
    here, _ = people.enter("ana", GOOD)
    there, _ = people.enter("ana", GOOD)
    assert is_in(people, here) and is_in(people, there)

    answers = [people.leave(here), people.leave(here)]

    assert answers == [True, False]
    assert (is_in(people, here), is_in(people, there)) == (False, True)
    assert notes(hub, action="leave") == [("administrator ana", "leave", "session", "ana")]


def test_all_sessions_of_somebody_are_ended_but_not_those_of_a_namesake(people: People) -> None:
    tokens = [people.enter("ana", GOOD)[0] for _ in range(3)]
    sent, _ = people.enter_by_provider("ana", "reader")

    count = people.leave_all("ana")

    assert count == 3
    assert [is_in(people, token) for token in (*tokens, sent)] == [False, False, False, True]


def test_a_session_that_ends_while_it_is_read_is_not_remembered(
    hub: Hub, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, _ = people.enter("ana", GOOD)
    read = hub.read
    has_read, may_go = threading.Event(), threading.Event()

    def slow(question: object, **more: object) -> object:
        ticket = read(question, **more)  # type: ignore[arg-type]
        ticket.result()
        has_read.set()
        may_go.wait(10)
        return ticket

    monkeypatch.setattr(hub, "read", slow)
    reader = threading.Thread(target=people.find_session, args=(token,))
    reader.start()
    assert has_read.wait(10)
    monkeypatch.setattr(hub, "read", read)

    people.leave(token)
    may_go.set()
    reader.join()

    assert not is_in(people, token)


def test_of_too_many_sessions_of_one_person_the_oldest_ends(clock: Clock, people: People) -> None:
    tokens = []
    for _ in range(ADMIN_SESSIONS_OF_PERSON_MAX + 2):
        clock.move_ms(1)
        tokens.append(people.enter("ana", GOOD)[0])

    states = [is_in(people, token) for token in tokens]

    assert states == [False, False] + [True] * ADMIN_SESSIONS_OF_PERSON_MAX


def test_only_so_many_are_in(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pregon.hub.people_changes.ADMIN_SESSIONS_MAX", 2)
    tokens = [people.enter_by_provider(f"name{number}", "reader")[0] for number in range(2)]

    with pytest.raises(LimitReached):
        people.enter("ana", GOOD)

    assert all(is_in(people, token) for token in tokens)


def test_what_is_over_is_removed_by_housekeeping_and_what_is_not_stays(clock: Clock, hub: Hub, people: People) -> None:
    people.enter("ana", GOOD)
    clock.move_ms(122 * MINUTE_MS)
    token, _ = people.enter("ana", GOOD)

    hub.maintenance.run_once()

    assert len(hub.read(lambda c: c.execute(select(admin_session.c.name)).all()).result()) == 1
    assert is_in(people, token)


# What it costs.


def test_a_session_is_read_from_the_store_once_in_a_while(clock: Clock, people: People, reads: list[object]) -> None:
    token, _ = people.enter("ana", GOOD)
    reads.clear()

    for _ in range(100):
        people.find_session(token)
    at_once = len(reads)
    clock.move_ms(FRESH_MS)
    people.find_session(token)

    assert (at_once, len(reads)) == (1, 2)


def test_that_something_is_done_is_written_once_a_minute(clock: Clock, hub: Hub, people: People) -> None:
    token, session = people.enter("ana", GOOD)
    people.find_session(token)
    written = []

    for _ in range(24):
        clock.move_ms(5_000)
        people.find_session(token)
        written.append(seen_us(hub) - session.created_us)

    assert sorted(set(written)) == [0, 60_000_000, 120_000_000]


def test_what_another_process_did_to_somebody_is_noticed(clock: Clock, hub: Hub, people: People) -> None:
    token, _ = people.enter("ana", GOOD)
    assert is_in(people, token)
    with hub.database.connect() as other:
        administrators.change_administrator(other, "ana", enabled=False)

    clock.move_ms(FRESH_MS)

    assert not is_in(people, token)


# Sent by an identity provider.


def test_who_is_sent_by_a_provider_is_in_with_the_role_that_it_says(hub: Hub, people: People) -> None:
    token, session = people.enter_by_provider("ana@example.uy", "operator")

    assert people.find_session(token) == session
    assert (session.name, session.role, session.source) == ("ana@example.uy", "operator", "oidc")
    assert notes(hub, kind="session") == [("oidc ana@example.uy", "enter", "session", "ana@example.uy")]


@pytest.mark.parametrize(("name", "role"), [("", "reader"), ("x" * 161, "reader"), ("a\nb", "reader"), ("ana", "root")])
def test_a_name_or_role_that_cannot_be_is_refused(people: People, name: str, role: str) -> None:
    with pytest.raises(BadRequest):
        people.enter_by_provider(name, role)


# Seen, and shown out, by who administers.


def test_who_is_in_is_listed_by_person_and_what_is_over_is_not(clock: Clock, people: People) -> None:
    people.enter("ana", GOOD)
    clock.move_ms(121 * MINUTE_MS)
    people.enter("ana", GOOD)
    clock.move_ms(MINUTE_MS)
    people.enter_by_provider("ana", "reader")
    clock.move_ms(1)
    people.enter_by_provider("ana", "operator")

    found = people.present.list(ADMIN)

    assert [(one.name, one.source, one.role, one.sessions) for one in found] == [
        ("ana", "oidc", "operator", 2),
        ("ana", "password", "administrator", 1),
    ]
    assert found[0].since_us - found[1].since_us == MINUTE_MS * 1_000


def test_who_administers_ends_what_somebody_has_open_and_not_what_a_namesake_has(hub: Hub, people: People) -> None:
    mine, _ = people.enter("ana", GOOD)
    sent = [people.enter_by_provider("ana", "administrator")[0] for _ in range(2)]
    assert all(is_in(people, token) for token in (mine, *sent))

    counts = [people.present.end(ADMIN, "ana", "oidc") for _ in range(2)]

    assert counts == [2, 0]
    assert [is_in(people, token) for token in (mine, *sent)] == [True, False, False]
    assert notes(hub, action="end") == [("token admin", "end", "session", "ana")]


@pytest.mark.parametrize("who", [ANYBODY, OPERATOR], ids=["anybody", "operator"])
def test_nobody_else_sees_or_ends_who_is_in(people: People, who: Caller) -> None:
    token, _ = people.enter("ana", GOOD)

    with pytest.raises((Unauthorized, Forbidden)):
        people.present.list(who)
    with pytest.raises((Unauthorized, Forbidden)):
        people.present.end(who, "ana", "password")
    with pytest.raises(BadRequest):
        people.present.end(ADMIN, "ana", "elsewhere")

    assert is_in(people, token)
