"""The link by which the first administrator is made: once, in memory only, and gone as soon as there is anybody."""

from __future__ import annotations

import threading

import pytest

from pregon.errors import BadName, BadRequest, RateLimited, Unauthorized
from pregon.hub.hub import Hub
from pregon.hub.people import People
from pregon.limits import ENTRY_ADDRESS_FAILURES_MAX

from .people_stage import ADMIN, GOOD, name_of, notes, people_of
from .site import Site


@pytest.fixture
def people(hub: Hub) -> People:
    """The people of the hub, nobody yet."""
    return people_of(hub)


def test_the_link_makes_the_first_administrator_who_is_in_and_then_it_is_gone(hub: Hub, people: People) -> None:
    link = people.make_link()
    assert link is not None and len(link) >= 43

    token, session = people.use_link(link, "ana", GOOD)

    assert name_of(people.find_session(token)) == session.name == "ana"
    assert people.list(ADMIN)[0].role == "administrator"
    assert (people.has_any(), people.is_link(link), people.make_link()) == (True, False, None)
    with pytest.raises(Unauthorized):
        people.use_link(link, "luis", GOOD)
    assert notes(hub) == [
        ("entry link", "create", "administrator", "ana"),
        ("administrator ana", "enter", "session", "ana"),
    ]


def test_the_link_is_gone_when_somebody_is_made_otherwise(people: People) -> None:
    link = people.make_link()
    assert link is not None and people.is_link(link)

    people.create(ADMIN, "ana", GOOD)

    assert not people.is_link(link)


def test_a_link_of_an_earlier_one_or_of_an_earlier_start_is_worth_nothing(site: Site) -> None:
    first = people_of(site.hub)
    links = [first.make_link() or "", first.make_link() or ""]

    again = people_of(site.restart())

    assert [first.is_link(one) for one in links] == [False, True]
    assert [again.is_link(one) for one in (*links, "")] == [False, False, False]


def test_of_many_who_use_the_link_at_once_one_is_let_in(people: People) -> None:
    link = people.make_link() or ""
    outcomes: list[str] = []

    def use(name: str) -> None:
        try:
            outcomes.append(people.use_link(link, name, GOOD)[1].name)
        except Unauthorized:
            outcomes.append("")

    threads = [threading.Thread(target=use, args=(f"name{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len([one for one in outcomes if one]) == len(people.list(ADMIN)) == 1


def test_a_password_that_may_not_be_leaves_the_link_as_it_is(people: People) -> None:
    link = people.make_link() or ""

    with pytest.raises(BadRequest):
        people.use_link(link, "ana", "short")
    with pytest.raises(BadName):
        people.use_link(link, "no name", GOOD)

    assert people.is_link(link)
    assert people.use_link(link, "ana", GOOD)


def test_wrong_links_are_limited_and_the_right_one_still_works(people: People) -> None:
    link = people.make_link() or ""
    for _ in range(ENTRY_ADDRESS_FAILURES_MAX):
        with pytest.raises(Unauthorized):
            people.use_link("wrong", "eve", GOOD)

    with pytest.raises(RateLimited):
        people.use_link("wrong", "eve", GOOD)

    assert people.use_link(link, "ana", GOOD)
