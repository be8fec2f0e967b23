"""Lines that break, clients that do not read, hubs that stop: nothing is lost, and nobody is held up."""

from __future__ import annotations

import threading

import httpx
import pytest

from pregon.testing import RunningHub, run_hub

from ..hub_process import wait_until
from .conftest import Naming
from .rest_people import Person
from .talker import Talker


def test_a_line_cut_again_and_again_loses_and_doubles_nothing(
    door: RunningHub, http: httpx.Client, group: str, called: Naming
) -> None:
    count = 300
    person = Person(http, called("sender"))
    person.create(group)
    person.join(group)

    def talk() -> None:
        with httpx.Client(base_url=door.http, timeout=30) as own:
            headers = {"Pregon-Participant": person.token, "Content-Type": "text/plain"}
            for number in range(count):
                own.post(f"/v1/groups/{group}/messages", content=str(number), headers=headers)

    token, after, texts = "", 0, []
    with Talker(door.http).hello(called("reader")) as reader:
        token = reader.token
        reader.join(group)
    thread = threading.Thread(target=talk)
    thread.start()
    while len(texts) < count:
        with Talker(door.http).hello(token=token) as reader:
            reader.join(group, after=after)
            for _ in range(37):
                if len(texts) + len(reader.texts(group)) == count:
                    break
                reader.wait_for("message", timeout_s=10)
            texts += reader.texts(group)
            after = reader.rooms[group][-1]["seq"]
            reader.cut()
    thread.join()

    assert texts == [str(number) for number in range(count)]


def test_who_does_not_read_holds_up_nobody_and_misses_nothing(
    door: RunningHub, http: httpx.Client, group: str, called: Naming
) -> None:
    count, size = 150, 100_000
    sender = Person(http, called("sender"))
    sender.create(group)
    sender.join(group)
    slow = Talker(door.http, max_queue=1, compression=None).hello(called("slow"))
    quick = Talker(door.http, max_size=None).hello(called("quick"))
    with slow, quick:
        slow.join(group)
        quick.join(group)

        for number in range(count):
            sender.say(group, f"{number} " + "x" * size)
        sender.say(group, "end")
        quick.read_until(group, "end")
        at_once = [text.split()[0] for text in quick.texts(group)]
        slow.read_until(group, "end", timeout_s=60)
        later = [text.split()[0] for text in slow.texts(group)]

    assert at_once == later == [*map(str, range(count)), "end"]


def test_who_does_not_read_at_all_is_hung_up_on(
    door: RunningHub, http: httpx.Client, group: str, called: Naming, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pregon.edges.http.groups_socket.STALLED_MS_MAX", 300)
    assert door.server.http is not None
    desk = door.server.http._app.desk
    sender = Person(http, called("sender"))
    sender.create(group)
    sender.join(group)
    with (
        Talker(door.http, max_queue=1, compression=None).hello(called("deaf")) as deaf,
        Talker(door.http).hello(called("eva")) as eva,
    ):
        deaf.join(group)
        eva.join(group)
        before = desk.streams
        for _ in range(150):
            sender.say(group, "x" * 100_000)

        wait_until(lambda: desk.streams == before - 1, "only the one who does not read is hung up on")
        sender.say(group, "end")
        eva.read_until(group, "end")
        deaf.cut()


def test_the_hub_that_stops_says_so() -> None:
    with run_hub() as door:
        talker = Talker(door.http).hello("ana")
        talker.join("plaza", create=True)
    with talker:
        assert talker.closed_with()[0] == 1001
