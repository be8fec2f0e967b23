"""Rooms on the socket of groups: told in causal order, from where one says, as what was said."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from pregon.testing import RunningHub

from .conftest import Naming
from .rest_people import Person
from .talker import Talker

# Rooms.


def test_everybody_is_told_the_same_in_the_same_order(talkers: tuple[Talker, ...], group: str) -> None:
    for number in range(20):
        for talker in talkers:
            talker.send(group, f"{talker.name} {number}")
    talkers[0].send(group, "end")

    told = [talker.read_until(group, "end") for talker in talkers]

    assert told[0] == told[1] == told[2]
    assert [one["seq"] for one in told[0]] == list(range(1, 68))
    seen: set[str] = set()
    for message in told[0]:
        assert set(message["after"]) <= seen, "causes come first"
        seen.add(message["stamp"])


def test_an_answer_depends_on_what_its_sender_says_to_have_seen(talkers: tuple[Talker, ...], group: str) -> None:
    ana, luis, eva = talkers
    question = ana.send(group, "¿a qué hora?", seen=6)
    aside = eva.send(group, "hola", seen=6)
    answer = luis.send(group, "a las cinco", seen=question["seq"], answers=question["stamp"])
    told = eva.read_until(group, "a las cinco")[-1]

    relations = [
        eva.ask("relation", "relation", group=group, one=one["stamp"], other=answer["stamp"])["relation"]
        for one in (question, aside, answer)
    ]

    assert (told["answers"], told["after"]) == (question["stamp"], answer["after"])
    assert question["stamp"] in answer["after"]
    assert aside["stamp"] not in answer["after"]
    assert relations == ["before", "concurrent", "same"]


def test_who_does_not_say_what_it_has_seen_has_seen_what_it_was_told(talkers: tuple[Talker, ...], group: str) -> None:
    ana, luis, _ = talkers
    question = ana.send(group, "¿a qué hora?")
    luis.read_until(group, "¿a qué hora?")

    answer = luis.send(group, "a las cinco")

    assert question["stamp"] in answer["after"]


def test_a_room_is_told_from_where_one_says(
    door: RunningHub, talkers: tuple[Talker, ...], group: str, called: Naming
) -> None:
    sent = [talkers[0].send(group, str(number))["seq"] for number in range(10)]

    told = {}
    for how, more in {"all": {"after": 0}, "after": {"after": sent[6]}, "last": {"last": 2}, "news": {}}.items():
        with Talker(door.http).hello(called(how)) as newcomer:
            newcomer.join(group, **more)
            talkers[0].send(group, f"after {how}")
            newcomer.read_until(group, f"after {how}")
            told[how] = [text for text in newcomer.texts(group) if not text.startswith("after")]

    assert told == {"all": [str(number) for number in range(10)], "after": ["7", "8", "9"], "last": [], "news": []}


def test_who_comes_back_goes_on_where_it_was(door: RunningHub, talkers: tuple[Talker, ...], group: str) -> None:
    ana, luis, _ = talkers
    sent = ana.send(group, "one")
    luis.read_until(group, "one")
    luis.say("seen", group=group, seq=sent["seq"])
    token = luis.token
    luis.close()
    ana.send(group, "two")

    with Talker(door.http).hello(token=token) as again:
        joined = again.join(group)
        again.read_until(group, "two")

        assert (joined["is_back"], joined["seen"], joined["member"]) == (True, sent["seq"], 3)
        assert again.texts(group) == ["two"]


def test_what_is_sent_again_is_stored_once(talkers: tuple[Talker, ...], group: str) -> None:
    ana = talkers[0]

    first, second = (ana.send(group, "una vez", id="x") for _ in range(2))
    ana.send(group, "end")
    ana.read_until(group, "end")

    assert second == {**first, "duplicate": True}
    assert ana.texts(group) == ["una vez", "end"]


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ({"json": {"a": [1, None]}}, {"json": {"a": [1, None]}}),
        ({"text": "<b>\u2028ñ🙂\u0000"}, {"text": "<b>\u2028ñ🙂\u0000"}),
        ({"text": ""}, {"text": ""}),
        ({"text": "x" * 60_000}, {"text": "x" * 60_000}),
    ],
    ids=["json", "odd", "empty", "long"],
)
def test_what_is_said_comes_as_it_was(
    talkers: tuple[Talker, ...], group: str, content: dict[str, Any], shown: dict[str, Any]
) -> None:
    ana, luis, _ = talkers
    ana.say("send", group=group, id="1", **content)
    stamp = ana.wait_for("accepted")["stamp"]

    told = luis.wait_for("message", stamp=stamp)

    assert {name: told[name] for name in ("json", "text", "base64") if name in told} == shown
    assert (told["name"], told["kind"], told["member"]) == (ana.name, "message", 2)


def test_many_rooms_on_one_socket_are_each_told_in_order(
    door: RunningHub, http: httpx.Client, group: str, called: Naming
) -> None:
    names = [f"{group[:40]}-{number}" for number in range(30)]
    sender = Person(http, called("sender"))
    with Talker(door.http).hello(called("reader")) as reader:
        for name in names:
            reader.join(name, create=True)
            sender.join(name)
        for number in range(5):
            for name in names:
                sender.say(name, str(number))
        for name in names:
            reader.read_until(name, "4")

        assert {name: reader.texts(name) for name in names} == {name: ["0", "1", "2", "3", "4"] for name in names}
