"""Who is in which room, on the socket of groups: coming, going, other names, conversations of two, deliveries."""

from __future__ import annotations

from typing import Any

import httpx

from pregon.testing import RunningHub

from ..hub_process import wait_until
from .conftest import Naming
from .rest_people import Person
from .talker import Talker

# Who is where.


def test_coming_and_going_are_told_as_what_nobody_can_say(talkers: tuple[Talker, ...], group: str) -> None:
    ana, luis, eva = talkers
    ana.send(group, '{"member":4,"name":"eva"}', id="forged")

    eva.say("leave", group=group)
    left = eva.wait_for("left")
    gone = luis.wait_for("message", kind="left")
    members = luis.ask("members", "members", group=group)["members"]

    assert left == {"is": "left", "group": group}
    assert (gone["name"], gone["json"]["member"]) == (eva.name, 4)
    assert [one["name"] for one in members] == [ana.name, luis.name]
    assert {one["is_here"] for one in members} == {True}
    assert [one["kind"] for one in luis.rooms[group]] == ["joining", "joined"] * 3 + ["message", "left"]


def test_a_name_is_changed_everywhere_and_never_to_anothers(talkers: tuple[Talker, ...], group: str) -> None:
    ana, luis, _ = talkers

    taken = ana.refused("rename", name=luis.name.upper())
    renamed = ana.ask("rename", "renamed", name=f"A{ana.name[1:]} 2")
    told = luis.wait_for("message", kind="renamed")
    groups = ana.wait_for("groups", name=renamed["name"])

    assert taken["code"] == "already_exists"
    assert told["json"] == {"member": 2, "name": renamed["name"], "old": ana.name}
    assert [one["group"] for one in groups["groups"]] == [group]


def test_a_private_conversation_appears_by_itself_and_is_for_two(talkers: tuple[Talker, ...], group: str) -> None:
    ana, luis, eva = talkers
    ana.say("private", **{"with": luis.name})
    made = ana.wait_for("joined", **{"with": luis.name})
    ana.send(made["group"], "entre nosotros")

    told = luis.wait_for("groups", timeout_s=10)
    while not any(one["is_private"] for one in told["groups"]):
        told = luis.wait_for("groups", timeout_s=10)
    (conversation,) = [one for one in told["groups"] if one["is_private"]]
    luis.join(conversation["group"], after=0)
    luis.read_until(conversation["group"], "entre nosotros")
    luis.send(conversation["group"], "sí")
    ana.read_until(conversation["group"], "sí")
    refused = eva.refused("join", group=conversation["group"])
    again = ana.ask("private", "joined", **{"with": luis.name})

    assert (conversation["group"], conversation["others"]) == (made["group"], [ana.name])
    assert refused["code"] in ("forbidden", "not_found")
    assert again["group"] == made["group"]
    assert ana.texts(made["group"]) == ["entre nosotros", "sí"]
    assert made["group"] not in eva.rooms


def test_who_leaves_on_one_socket_has_left_on_the_other(
    door: RunningHub, talkers: tuple[Talker, ...], group: str
) -> None:
    ana = talkers[0]
    with Talker(door.http).hello(token=ana.token) as other:
        other.join(group)
        other.say("leave", group=group)
        other.wait_for("left")

        left = ana.wait_for("left", group=group)

    assert left["code"] == "not_a_member"
    assert ana.refused("send", group=group, id="1", text="x")["code"] == "not_a_member"


def test_who_is_taken_off_and_whose_group_is_deleted_is_told(
    http: httpx.Client, talkers: tuple[Talker, ...], group: str
) -> None:
    ana, luis, eva = talkers
    http.delete(f"/v1/groups/{group}/members/4")
    taken_off = eva.wait_for("left", group=group)
    http.delete(f"/v1/groups/{group}")
    deleted = [talker.wait_for("left", group=group) for talker in (ana, luis)]

    assert taken_off["code"] == "not_a_member"
    assert [one["code"] for one in deleted] == ["not_found", "not_found"]
    assert ana.join(group, create=True)["member"] == 2


def test_who_retires_is_hung_up_on(http: httpx.Client, talkers: tuple[Talker, ...]) -> None:
    answer = http.delete("/v1/participants/me", headers={"Pregon-Participant": talkers[0].token})

    assert answer.status_code == 204
    assert talkers[0].closed_with() == (1008, "unauthorized")


def test_who_is_not_invited_is_not_let_in(door: RunningHub, http: httpx.Client, group: str, called: Naming) -> None:
    http.post("/v1/groups", json={"name": group, "access": "invited", "allowed": ["nobody-else"]})

    with Talker(door.http).hello(called("out")) as outside:
        refused = outside.refused("join", group=group)
        created = outside.refused("join", group=group, create=True)

    assert (refused["code"], created["code"]) == ("forbidden", "forbidden")
    assert refused["do"] == "join" and refused["group"] == group


def test_what_members_were_shown_is_kept_when_the_group_is_traced(
    http: httpx.Client, talkers: tuple[Talker, ...], group: str
) -> None:
    sent = talkers[0].send(group, "hola")
    for talker in talkers:
        talker.read_until(group, "hola")

    def shown_to() -> set[int]:
        deliveries = http.get(f"/v1/groups/{group}/trace").json()["deliveries"]
        return {one["member"] for one in deliveries if one["stamp"] == sent["stamp"]}

    wait_until(lambda: shown_to() == {3, 4}, "both others were shown it")


def test_a_group_that_is_not_traced_keeps_no_deliveries(
    door: RunningHub, http: httpx.Client, group: str, called: Naming
) -> None:
    traced, silent = f"{group}-a", f"{group}-b"
    http.post("/v1/groups", json={"name": silent, "traced": False})
    sender = Person(http, called("sender"))
    with Talker(door.http).hello(called("reader")) as reader:
        for name in (silent, traced):
            reader.join(name, create=True)
            sender.join(name)
            sender.say(name, "x")
            reader.read_until(name, "x")

        def deliveries(name: str) -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = http.get(f"/v1/groups/{name}/trace").json()["deliveries"]
            return found

        wait_until(lambda: deliveries(traced), "the traced one has some")
        assert deliveries(silent) == []
