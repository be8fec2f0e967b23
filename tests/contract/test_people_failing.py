"""Failing to enter the administration pages: one answer for all that may be wrong, limited, and noted."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import select

from pregon.errors import RateLimited, Unauthorized
from pregon.hub.hub import Hub
from pregon.hub.people import People
from pregon.limits import ENTRY_NAME_FAILURES_MAX, ENTRY_WINDOW_MS
from pregon.security.passwords import Costs
from pregon.store.schema_admin import administrator

from .people_stage import ADMIN, CHEAP, GOOD, OTHER, detail, is_in, notes, people_of
from .site import Clock

HOME, AWAY = "192.0.2.1", "198.51.100.7"


@pytest.fixture
def people(clock: Clock, hub: Hub) -> People:
    """A hub with an administrator, ana, whose clock the test moves."""
    made = people_of(hub, lambda: clock.read_us() / 1_000)
    made.create(ADMIN, "ana", GOOD)
    return made


def test_whatever_was_wrong_the_answer_is_the_same(hub: Hub, people: People) -> None:
    people.create(ADMIN, "luis", GOOD, "reader")
    people.change(ADMIN, "luis", enabled=False)

    said = []
    for name, password in [("ana", OTHER), ("nobody", GOOD), ("luis", GOOD), ("no name\n", GOOD), ("ñ" * 300, "")]:
        with pytest.raises(Unauthorized) as refused:
            people.enter(name, password, AWAY)
        said.append(str(refused.value))

    assert len(set(said)) == 1
    failed = notes(hub, action="enter_failed")
    assert [one[3] for one in failed] == ["ana", "", "luis", "", ""], "what nobody is called may be a password"
    assert {(one[0], one[2]) for one in failed} == {("", "session")}
    assert detail(hub, action="enter_failed") == {"address": AWAY}


def test_a_name_is_refused_after_many_failures_even_with_the_right_password_until_time_has_passed(
    clock: Clock, hub: Hub, people: People
) -> None:
    for number in range(ENTRY_NAME_FAILURES_MAX):
        with pytest.raises(Unauthorized):
            people.enter("ana", OTHER, f"198.51.100.{number}")

    with pytest.raises(RateLimited, match="10 minutes"):
        people.enter("ana", GOOD, AWAY)
    clock.move_ms(ENTRY_WINDOW_MS)

    assert people.enter("ana", GOOD, AWAY)
    assert len(notes(hub, action="enter_failed")) == ENTRY_NAME_FAILURES_MAX


def test_who_was_in_from_an_address_is_not_locked_out_there(people: People) -> None:
    people.enter("ana", GOOD, HOME)
    for _ in range(ENTRY_NAME_FAILURES_MAX):
        with pytest.raises(Unauthorized):
            people.enter("ana", OTHER, AWAY)

    assert people.enter("ana", GOOD, HOME)


def test_many_guesses_at_once_are_no_way_around_the_limit(people: People) -> None:
    outcomes: list[type[Exception]] = []

    def guess() -> None:
        try:
            people.enter("ana", OTHER, AWAY)
        except (Unauthorized, RateLimited) as error:
            outcomes.append(type(error))

    threads = [threading.Thread(target=guess) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert outcomes.count(Unauthorized) == ENTRY_NAME_FAILURES_MAX
    assert len(outcomes) == 40


def test_failures_do_not_fill_the_audit(hub: Hub, people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pregon.limits.ENTRY_AUDITED_FAILURES_MAX", 3)

    for number in range(6):
        with pytest.raises(Unauthorized):
            people.enter(f"name{number}", OTHER)

    assert len(notes(hub, action="enter_failed")) == 3


def test_a_password_with_old_costs_is_hashed_anew_on_entering(hub: Hub, people: People) -> None:
    dearer = People(hub, Costs(time=2, memory_kib=8, lanes=1))

    tokens = [dearer.enter("ana", GOOD)[0] for _ in range(2)]

    kept = hub.read(lambda c: c.execute(select(administrator.c.password_hash)).scalar_one()).result()
    assert "t=2," in kept and f"t={CHEAP.time}," not in kept
    assert all(is_in(dearer, token) for token in tokens)


def test_who_is_changed_while_the_password_is_compared_does_not_enter(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    people.create(ADMIN, "luis", GOOD, "reader")
    again = people._door.hash_again

    def meanwhile(kept: str, password: str) -> str:
        people.change(ADMIN, "luis", enabled=False)
        return again(kept, password)

    monkeypatch.setattr(people._door, "hash_again", meanwhile)

    with pytest.raises(Unauthorized):
        people.enter("luis", GOOD)


def test_who_is_demoted_while_the_password_is_hashed_enters_with_the_new_role(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    people.create(ADMIN, "luis", GOOD)
    again = people._door.hash_again

    def meanwhile(kept: str, password: str) -> str:
        people.change(ADMIN, "luis", role="reader")
        return again(kept, password)

    monkeypatch.setattr(people._door, "hash_again", meanwhile)

    token, session = people.enter("luis", GOOD)

    found = people.find_session(token)
    assert (session.role, found and found.role) == ("reader", "reader")


def test_who_is_demoted_while_changing_the_own_password_goes_on_with_the_new_role(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    people.create(ADMIN, "luis", GOOD)
    _, before = people.enter("luis", GOOD)
    hash_new = people._door.hash_new

    def meanwhile(name: str, password: str) -> str:
        people.change(ADMIN, "luis", role="reader")
        return hash_new(name, password)

    monkeypatch.setattr(people._door, "hash_new", meanwhile)

    token, session = people.change_own_password(before, GOOD, OTHER)

    found = people.find_session(token)
    assert (before.role, session.role, found and found.role) == ("administrator", "reader", "reader")
