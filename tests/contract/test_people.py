"""The people of the administration pages: made, changed, removed; the last one who administers; their own passwords."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from pregon.errors import (
    AlreadyExists,
    BadName,
    BadRequest,
    Forbidden,
    LimitReached,
    NotFound,
    PregonError,
    RateLimited,
    Unauthorized,
)
from pregon.hub.access import NewKey
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.hub.people import People
from pregon.security.callers import ANYBODY, Caller

from .people_stage import ADMIN, GOOD, OPERATOR, OTHER, is_in, notes, people_of
from .site import Site


@pytest.fixture
def people(hub: Hub) -> People:
    """The people of the hub, nobody yet."""
    return people_of(hub)


def enters(people: People, name: str, password: str) -> bool:
    """Whether this lets somebody in."""
    try:
        people.enter(name, password)
    except Unauthorized:
        return False
    return True


def test_somebody_who_was_made_is_listed_and_enters_with_the_password(people: People) -> None:
    made = people.create(ADMIN, "ana", GOOD, "administrator")

    assert people.list(ADMIN) == [made]
    assert (made.name, made.role, made.enabled) == ("ana", "administrator", True)
    assert made.created_us == made.changed_us > 0
    assert enters(people, "ana", GOOD)
    assert not enters(people, "ana", OTHER)


def test_people_outlive_a_restart(site: Site) -> None:
    people_of(site.hub).create(ADMIN, "ana", GOOD)

    again = people_of(site.restart())

    assert again.has_any()
    assert enters(again, "ana", GOOD)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("ana", OTHER, "administrator"), AlreadyExists),
        (("no name", GOOD, "reader"), BadName),
        (("x" * 129, GOOD, "reader"), BadName),
        (("luis", "short", "reader"), BadRequest),
        (("luis", GOOD, "root"), BadRequest),
    ],
)
def test_somebody_who_may_not_be_is_not_made(hub: Hub, people: People, arguments: Any, error: type[Exception]) -> None:
    people.create(ADMIN, "ana", GOOD)

    with pytest.raises(error):
        people.create(ADMIN, *arguments)

    assert [one.name for one in people.list(ADMIN)] == ["ana"]
    assert notes(hub) == [("token admin", "create", "administrator", "ana")]
    assert enters(people, "ana", GOOD)


def test_only_so_many_people_are_made(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pregon.hub.people_changes.ADMINISTRATORS_MAX", 2)
    people.create(ADMIN, "ana", GOOD)
    people.create(ADMIN, "luis", GOOD, "reader")

    with pytest.raises(LimitReached):
        people.create(ADMIN, "eva", GOOD, "reader")

    assert len(people.list(ADMIN)) == 2


def test_the_first_person_administers(people: People) -> None:
    with pytest.raises(BadRequest, match="the first person is an administrator"):
        people.create(ADMIN, "luis", GOOD, "reader")

    assert not people.has_any()


def test_only_who_administers_changes_people(hub: Hub, people: People) -> None:
    people.create(ADMIN, "ana", GOOD)
    hub.create_key(NewKey(kind="token", owner="admin", scopes=("admin",))).result()
    asked: list[Any] = [
        lambda who: people.create(who, "luis", GOOD, "reader"),
        lambda who: people.change(who, "ana", password=OTHER),
        lambda who: people.remove(who, "ana"),
    ]

    refusals = []
    for who in (ANYBODY, OPERATOR):
        for ask in asked:
            with pytest.raises((Unauthorized, Forbidden)) as refused:
                ask(who)
            refusals.append(type(refused.value))

    assert refusals == [Unauthorized] * 3 + [Forbidden] * 3
    # Who may read sees who there is, as the audit tells it.
    assert [one.name for one in people.list(OPERATOR)] == ["ana"]
    with pytest.raises(Unauthorized):
        people.list(ANYBODY)


def test_that_a_hub_is_open_lets_nobody_make_or_change_people(hub: Hub, people: People) -> None:
    producer = Caller(name="producer p", producers=frozenset({"p"}))
    for who, error in ((ANYBODY, Unauthorized), (producer, Forbidden)):
        with pytest.raises(error, match=r"link that `pregon serve` printed, `--data` with the hub stopped, or a token"):
            people.create(who, "eve", GOOD)
    nobody = people.has_any()

    people.create(ADMIN, "ana", GOOD)
    asked: list[Any] = [
        lambda: people.create(ANYBODY, "eve", GOOD),
        lambda: people.change(ANYBODY, "ana", password=OTHER),
        lambda: people.remove(ANYBODY, "ana"),
    ]
    for ask in asked:
        with pytest.raises(Unauthorized):
            ask()

    assert (Gate(hub).rules.is_open, nobody) == (True, False)
    assert [one.name for one in people.list(ANYBODY)] == ["ana"]
    assert enters(people, "ana", GOOD)


@pytest.mark.parametrize(
    "change",
    [
        lambda people: people.remove(ADMIN, "ana"),
        lambda people: people.change(ADMIN, "ana", enabled=False),
        lambda people: people.change(ADMIN, "ana", role="operator"),
    ],
    ids=["removed", "disabled", "demoted"],
)
def test_the_last_who_administers_is_not_taken_away_and_stays_in(hub: Hub, people: People, change: Any) -> None:
    people.create(ADMIN, "ana", GOOD)
    people.create(ADMIN, "luis", GOOD, "operator")
    people.create(ADMIN, "eva", GOOD)
    people.change(ADMIN, "eva", enabled=False)
    token, _ = people.enter("ana", GOOD)
    before = notes(hub)

    with pytest.raises(LimitReached, match="last one who administers"):
        change(people)

    assert is_in(people, token)
    assert notes(hub) == before
    people.change(ADMIN, "eva", enabled=True)
    change(people)
    assert not is_in(people, token)


def test_two_who_are_demoted_at_once_leave_one(people: People) -> None:
    people.create(ADMIN, "ana", GOOD)
    people.create(ADMIN, "eva", GOOD)
    errors: list[PregonError] = []

    def demote(name: str) -> None:
        try:
            people.change(ADMIN, name, role="reader")
        except LimitReached as error:
            errors.append(error)

    threads = [threading.Thread(target=demote, args=(name,)) for name in ("ana", "eva")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(errors) == 1
    assert sorted(one.role for one in people.list(ADMIN)) == ["administrator", "reader"]


@pytest.mark.parametrize(
    "change", [{"password": OTHER}, {"role": "reader"}, {"enabled": False}], ids=["password", "role", "enabled"]
)
def test_who_is_changed_is_out_and_the_others_are_not(people: People, change: Any) -> None:
    people.create(ADMIN, "ana", GOOD)
    people.create(ADMIN, "luis", GOOD)
    tokens = [people.enter(name, GOOD)[0] for name in ("luis", "luis", "ana")]
    sent, _ = people.enter_by_provider("luis", "reader")
    assert all(is_in(people, token) for token in tokens)

    changed = people.change(ADMIN, "luis", **change)

    assert [is_in(people, token) for token in (*tokens, sent)] == [False, False, True, True]
    assert changed.changed_us > changed.created_us
    assert changed in people.list(ADMIN)


def test_somebody_who_is_disabled_enters_no_more_until_enabled(people: People) -> None:
    people.create(ADMIN, "ana", GOOD)
    people.create(ADMIN, "luis", GOOD, "reader")

    people.change(ADMIN, "luis", enabled=False)
    disabled = enters(people, "luis", GOOD)
    people.change(ADMIN, "luis", enabled=True)

    assert (disabled, enters(people, "luis", GOOD)) == (False, True)


def test_who_was_removed_is_gone_and_a_successor_of_the_name_begins_anew(hub: Hub, people: People) -> None:
    people.create(ADMIN, "ana", GOOD)
    people.create(ADMIN, "luis", GOOD)
    token, _ = people.enter("luis", GOOD)

    answers = [people.remove(ADMIN, "luis"), people.remove(ADMIN, "luis")]
    people.create(ADMIN, "luis", OTHER, "reader")

    assert answers == [True, False]
    assert not is_in(people, token)
    assert not enters(people, "luis", GOOD)
    assert [one for one in notes(hub) if one[1] == "delete"] == [("token admin", "delete", "administrator", "luis")]


def test_who_is_not_there_cannot_be_changed_and_nothing_is_no_change(people: People) -> None:
    people.create(ADMIN, "ana", GOOD)

    with pytest.raises(NotFound):
        people.change(ADMIN, "nobody", role="reader")
    with pytest.raises(BadRequest):
        people.change(ADMIN, "ana")


# One's own password.


def test_one_changes_ones_own_password_and_goes_on_while_other_sessions_end(hub: Hub, people: People) -> None:
    people.create(ADMIN, "ana", GOOD)
    elsewhere, _ = people.enter("ana", GOOD)
    token, session = people.enter("ana", GOOD)

    renewed, _ = people.change_own_password(session, GOOD, OTHER)

    assert [is_in(people, one) for one in (elsewhere, token, renewed)] == [False, False, True]
    assert (enters(people, "ana", GOOD), enters(people, "ana", OTHER)) == (False, True)
    assert ("administrator ana", "update", "administrator", "ana") in notes(hub)


def test_ones_own_password_needs_the_old_one_and_guessing_it_is_limited(people: People) -> None:
    people.create(ADMIN, "ana", GOOD)
    token, session = people.enter("ana", GOOD)

    with pytest.raises(BadRequest):
        people.change_own_password(session, GOOD, "short")
    for _ in range(10):
        with pytest.raises(Unauthorized):
            people.change_own_password(session, "a wrong guess", OTHER)
    with pytest.raises(RateLimited):
        people.change_own_password(session, GOOD, OTHER)

    assert is_in(people, token)
    assert enters(people, "ana", GOOD)


def test_who_was_sent_by_a_provider_has_no_password_here(people: People) -> None:
    people.create(ADMIN, "ana", GOOD)
    _, session = people.enter_by_provider("ana", "administrator")

    with pytest.raises(BadRequest, match="identity provider"):
        people.change_own_password(session, GOOD, OTHER)

    assert enters(people, "ana", GOOD)


# The hub.


def test_a_person_of_the_pages_does_not_close_an_open_hub(hub: Hub, people: People) -> None:
    people.create(ADMIN, "ana", GOOD)

    assert Gate(hub).rules.is_open


def test_that_there_is_somebody_is_known_at_once(hub: Hub, people: People) -> None:
    before = people.has_any()

    people.create(ADMIN, "ana", GOOD)

    assert (before, people.has_any()) == (False, True)
