"""Groups over REST: who takes part, which groups there are, and who may join them."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from ..rest import require_problem, rest_hub
from .conftest import Naming
from .rest_people import Person, texts

# Who takes part.


def test_a_name_is_taken_once_however_it_is_written(http: httpx.Client) -> None:
    person = Person(http, "Marta Pérez")

    for same in ("Marta Pérez", "marta pérez", "ＭＡＲＴＡ Pérez"):
        require_problem(http.post("/v1/participants", json={"name": same}), 409, "already_exists")
    renamed = person.ask("PATCH", "/v1/participants/me", json={"name": "Marta"})
    again = http.post("/v1/participants", json={"name": "Marta Pérez"})

    assert renamed.json() == {"name": "Marta"}
    assert again.status_code == 201
    assert again.headers["cache-control"] == "no-store"


def test_who_asks_twice_with_a_secret_is_the_same_and_nobody_else_is(http: httpx.Client, called: Naming) -> None:
    wanted = {"name": called("twice"), "secret": "s" * 43}

    first, second = (http.post("/v1/participants", json=wanted) for _ in range(2))
    other = http.post("/v1/participants", json={**wanted, "secret": "t" * 43})
    short = http.post("/v1/participants", json={**wanted, "secret": "s" * 39})

    assert first.status_code == second.status_code == 201
    assert first.json() == second.json()
    require_problem(other, 409, "already_exists")
    require_problem(short, 400, "bad_request")


@pytest.mark.parametrize("name", ["", " ", "a b ", "<b>", "x" * 33, "server", "PREGÓN", "a\nb", "\u202eana", "a\u0000"])
def test_a_name_that_is_none_is_refused(http: httpx.Client, name: str) -> None:
    answer = http.post("/v1/participants", json={"name": name})

    assert answer.status_code == 400
    assert answer.json()["code"] in ("bad_name", "bad_request")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PATCH", "/v1/participants/me"),
        ("DELETE", "/v1/participants/me"),
        ("GET", "/v1/participants/me/groups"),
        ("POST", "/v1/groups/plaza/members"),
        ("DELETE", "/v1/groups/plaza/members/me"),
        ("POST", "/v1/groups/plaza/messages"),
        ("GET", "/v1/groups/plaza/messages"),
        ("POST", "/v1/private"),
    ],
)
@pytest.mark.parametrize("token", [None, "", "ppt_1_x", "ppt_999999_" + "A" * 43, "x", "ñ", "ppt__", "p" * 9_000])
def test_who_shows_no_token_that_is_right_does_nothing(
    http: httpx.Client, method: str, path: str, token: str | None
) -> None:
    body = {"PATCH": {"name": "x"}, "POST": {"with": "x"} if path.endswith("private") else {}}.get(method)
    headers = {} if token is None else {"Pregon-Participant": token.encode()}

    answer = http.request(method, path, json=body, headers=headers)

    require_problem(answer, 401, "unauthorized")


def test_who_retires_is_out_of_every_group_and_its_name_is_free(
    http: httpx.Client, people: tuple[Person, ...], group: str
) -> None:
    ana, luis, _ = people

    gone = luis.ask("DELETE", "/v1/participants/me")
    again = luis.ask("GET", "/v1/participants/me/groups")
    last = ana.read(group)[-1]
    successor = Person(http, luis.name)

    assert gone.status_code == 204
    require_problem(again, 401, "unauthorized")
    assert (last["kind"], last["json"]["name"]) == ("gone", luis.name)
    assert successor.groups()["groups"] == []
    require_problem(successor.try_to_say(group), 409, "not_a_member")


def test_a_participant_enrolled_with_a_key_is_of_that_key_alone() -> None:
    with rest_hub() as (_, http):
        made = [
            http.post("/v1/tokens", json={"name": name, "scopes": ["admin"]}, headers=headers).json()["secret"]
            for name, headers in (("one", {}),)
        ]
        own = {"Authorization": f"Bearer {made[0]}"}
        other = http.post("/v1/tokens", json={"name": "two", "scopes": ["admin"]}, headers=own).json()["secret"]
        person = Person(http, "ana", **own)
        elsewhere = {"Authorization": f"Bearer {other}", "Pregon-Participant": person.token}

        stolen = http.get("/v1/participants/me/groups", headers=elsewhere)
        nobody = http.get("/v1/participants/me/groups", headers={"Pregon-Participant": person.token})

        require_problem(stolen, 401, "unauthorized")
        require_problem(nobody, 401, "unauthorized")
        assert person.groups()["name"] == "ana"


# Which groups there are, and who may join.


def test_a_group_is_made_shown_changed_and_deleted(http: httpx.Client, people: tuple[Person, ...], group: str) -> None:
    ana, luis, _ = people

    shown = ana.ask("GET", f"/v1/groups/{group}").json()
    listed = [one for one in ana.ask("GET", "/v1/groups?max=1000").json()["items"] if one["name"] == group]
    changed = http.patch(f"/v1/groups/{group}", json={"description": "otra", "traced": False}).json()
    again = ana.ask("POST", "/v1/groups", json={"name": group})
    gone = [http.delete(f"/v1/groups/{group}").status_code for _ in range(2)]

    assert [(one["member"], one["name"], one["is_here"]) for one in shown["members"]] == [
        (2, people[0].name, True),
        (3, people[1].name, True),
        (4, people[2].name, True),
    ]
    assert (shown["head_seq"], listed[0]["members"]) == (6, 3)
    assert (changed["description"], changed["traced"], changed["access"]) == ("otra", False, "open")
    require_problem(again, 409, "already_exists")
    assert gone == [204, 404]
    require_problem(luis.try_to_say(group), 404, "not_found")
    assert luis.groups()["groups"] == []


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "socket"},
        {"name": "x" * 122},
        {"name": "a b"},
        {"name": "g", "access": "closed"},
        {"name": "g", "stride": 0},
        {"name": "g", "stride": 2, "offset": 2},
        {"name": "g", "allowed": ["<b>"]},
        {"name": "g", "is_private": True},
        {"name": "g", "members": []},
        {},
    ],
)
def test_a_group_that_cannot_be_is_refused(http: httpx.Client, entry: dict[str, Any]) -> None:
    answer = http.post("/v1/groups", json=entry)

    assert answer.status_code == 400, answer.text
    assert answer.json()["code"] in ("bad_request", "bad_name")


def test_pages_of_groups_have_each_once(http: httpx.Client) -> None:
    for number in range(5):
        assert http.post("/v1/groups", json={"name": f"page-{number}"}).status_code == 201
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = http.get("/v1/groups", params={"max": 2, "cursor": cursor}).json()
        found += [one["name"] for one in page["items"]]
        cursor = page["next"]

    assert len(found) == len(set(found))
    assert [name for name in found if name.startswith("page-")] == [f"page-{number}" for number in range(5)]


def test_who_is_not_invited_does_not_join(http: httpx.Client, people: tuple[Person, ...], group: str) -> None:
    ana, luis, _ = people
    closed = f"{group}-closed"
    ana.create(closed, access="invited", allowed=[ana.name.upper()])

    inside = ana.join(closed)
    outside = luis.ask("POST", f"/v1/groups/{closed}/members")
    reading = luis.ask("GET", f"/v1/groups/{closed}/messages")
    http.patch(f"/v1/groups/{closed}", json={"allowed": [ana.name, luis.name]})

    assert inside["member"] == 2
    require_problem(outside, 403, "forbidden")
    require_problem(reading, 409, "not_a_member")
    assert luis.join(closed)["member"] == 3


def test_a_newcomer_of_a_group_without_history_reads_from_its_coming_on(people: tuple[Person, ...], group: str) -> None:
    ana, luis, _ = people
    quiet = f"{group}-quiet"
    ana.create(quiet, history=False)
    ana.join(quiet)
    ana.say(quiet, "before")

    joined = luis.join(quiet)
    ana.say(quiet, "after")

    assert joined["first_seq"] == 4
    assert texts(luis.read(quiet, after=0)) == ["after"]
    assert texts(ana.read(quiet, after=0)) == ["before", "after"]


def test_an_operator_takes_a_member_off(http: httpx.Client, people: tuple[Person, ...], group: str) -> None:
    ana, luis, _ = people

    gone = [http.delete(f"/v1/groups/{group}/members/{member}") for member in ("3", "3", "x", "9" * 30)]
    last = ana.read(group)[-1]

    assert [answer.status_code for answer in gone] == [204, 404, 400, 400]
    assert (last["kind"], last["member"], last["json"]["member"]) == ("gone", 1, 3)
    require_problem(luis.try_to_say(group), 409, "not_a_member")
    assert luis.join(group)["member"] == 5


def test_who_leaves_is_told_no_more_and_comes_back_as_another_number(people: tuple[Person, ...], group: str) -> None:
    ana, luis, _ = people

    left = luis.ask("DELETE", f"/v1/groups/{group}/members/me")
    twice = luis.ask("DELETE", f"/v1/groups/{group}/members/me")
    reading = luis.ask("GET", f"/v1/groups/{group}/messages")

    assert left.status_code == 204
    require_problem(twice, 409, "not_a_member")
    require_problem(reading, 409, "not_a_member")
    assert [(one["kind"], one["name"]) for one in ana.read(group)][-1] == ("left", luis.name)
    assert luis.join(group)["member"] == 5
