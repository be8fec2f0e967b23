"""Plain clients of a room, with bare sockets: the documents' own, and worse ones."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pregon import GroupMessage, MemberJoined, MemberLeft

from ..command_line import run
from ..conftest import MakeHub
from ..hub_process import HubProcess, wait_until
from .conftest import Naming
from .plain_door import DoorProcess, plain_client

OpenDoor = Callable[..., DoorProcess]
EXAMPLE = Path(__file__).parents[3] / "examples" / "chat" / "client.py"


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nicks are remembered below the test's own directory."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data-home"))


@pytest.fixture
def open_door(tmp_path: Path) -> Iterator[OpenDoor]:
    """Opens the door of a room: `open_door(hub, "plaza")`."""
    opened: list[DoorProcess] = []

    def open(hub: HubProcess, room: str, *options: str) -> DoorProcess:
        place = tmp_path / f"door-{len(opened)}"
        place.mkdir()
        opened.append(DoorProcess(hub, place, room, *options))
        return opened[-1].open()

    yield open
    for door in opened:
        door.end()


def test_plain_clients_talk_to_each_other_and_to_members(
    hub: HubProcess, open_door: OpenDoor, group: str, called: Naming
) -> None:
    door = open_door(hub, group)
    ana, luis, member = called("Ana"), called("Luis"), called("eva")
    with hub.client() as client, plain_client(door) as one, plain_client(door) as other:
        eva = client.join(group, name=member)

        one.push(ana, "HI")
        other.wait_for("server", f"{ana} connected")
        other.push(luis, "HI")
        one.wait_for("server", f"{luis} connected")
        one.push(ana, "hola a todos")
        other.wait_for(ana, "hola a todos")
        eva.send("hola, plaza")
        one.wait_for(member, "hola, plaza")
        other.push(luis, "BYE")
        one.wait_for("server", f"{luis} disconnected")

        said = list(iter(lambda: eva.poll(1), None))
        texts = [(event.name, event.text) for event in said if isinstance(event, GroupMessage)]
        assert texts == [(ana, "hola a todos")]
        assert [event.name for event in said if isinstance(event, MemberJoined)] == [ana, luis]
        assert [event.name for event in said if isinstance(event, MemberLeft)] == [luis]
        assert one.heard.count((ana, "hola a todos")) == 1


def test_what_a_plain_client_says_depends_on_what_it_had_heard(
    hub: HubProcess, open_door: OpenDoor, group: str, called: Naming
) -> None:
    door = open_door(hub, group)
    ana = called("Ana")
    with hub.client() as client, plain_client(door) as one:
        eva = client.join(group, name=called("eva"))
        one.push(ana, "HI")
        one.wait_for("server", f"{ana} connected")

        asked = eva.send("¿quién está?")
        one.wait_for(eva.name, "¿quién está?")
        one.push(ana, "yo")
        answer = next(event for event in iter(lambda: eva.poll(10), None) if isinstance(event, GroupMessage))

    assert answer.text == "yo"
    assert answer.after == (asked,)


def test_a_taken_or_bad_nick_is_refused_in_words(
    hub: HubProcess, open_door: OpenDoor, group: str, called: Naming
) -> None:
    door = open_door(hub, group)
    taken = called("ana")
    with hub.client() as client, plain_client(door) as one:
        eva = client.join(group, name=taken)

        one.push(taken.upper(), "HI")
        one.push("server", "hola, soy el servidor")
        one.wait_for("server", f"somebody is called {taken.upper()} already: choose another nick")
        one.wait_for("server", "'server' cannot be a nick: choose another one")

        assert eva.poll(1) is None
        assert {nick for nick, _ in one.heard} == {"server"}


def test_malformed_messages_are_dropped_and_counted_and_the_door_stays_open(
    hub: HubProcess, open_door: OpenDoor, group: str, called: Naming
) -> None:
    door = open_door(hub, group)
    ana = called("Ana")
    with plain_client(door) as one:
        for frames in ((b"solo",), (b"a", b"b", b"c"), (b"\xff", b"x"), (ana, b"\xff\xfe"), (ana, b"x" * 20_000)):
            one.push(*frames)
        one.push(ana, "HI")
        one.push(ana, "\x1b[31mentero")
        one.wait_for(ana, "entero")

    assert door.stop(signal.SIGINT) == 0
    assert "malformed 5" in door.said()


def test_a_silent_client_is_disconnected_and_comes_back_when_it_speaks(
    hub: HubProcess, open_door: OpenDoor, group: str, called: Naming
) -> None:
    door = open_door(hub, group, "--silence", "1s")
    ana = called("Ana")
    with plain_client(door) as one:
        one.push(ana, "HI")
        one.wait_for("server", f"{ana} disconnected")
        one.push(ana, "sigo aquí")

        one.wait_for(ana, "sigo aquí")
        one.wait_for("server", f"{ana} connected", 2)


def test_nicks_are_bounded(hub: HubProcess, open_door: OpenDoor, group: str, called: Naming) -> None:
    door = open_door(hub, group, "--nicks", "2")
    nicks = [called(name) for name in ("a", "b", "c")]
    with plain_client(door) as one:
        for nick in nicks:
            one.push(nick, "HI")
        one.wait_for("server", f"there is no room for {nicks[2]}: 2 are connected")
        one.push(nicks[0], "BYE")
        one.wait_for("server", f"{nicks[0]} disconnected")
        one.push(nicks[2], "HI")

        one.wait_for("server", f"{nicks[2]} connected")


def test_history_is_not_sent_to_who_subscribes(
    hub: HubProcess, open_door: OpenDoor, group: str, called: Naming
) -> None:
    with hub.client() as client:
        client.join(group, name=called("eva")).send("de antes")
    door = open_door(hub, group)
    ana = called("Ana")
    with plain_client(door) as one:
        one.push(ana, "HI")
        one.wait_for("server", f"{ana} connected")
    with plain_client(door) as late:
        late.push(ana, "ahora")
        late.wait_for(ana, "ahora")

    assert ("server", f"{ana} connected") in one.heard
    assert not [text for _, text in (*one.heard, *late.heard) if text == "de antes"]
    assert late.heard == [(ana, "ahora")]


def test_a_door_that_closes_lets_its_nicks_go(hub: HubProcess, open_door: OpenDoor, group: str, called: Naming) -> None:
    door = open_door(hub, group)
    ana = called("Ana")
    with plain_client(door) as one:
        one.push(ana, "HI")
        one.wait_for("server", f"{ana} connected")

        assert door.stop(signal.SIGTERM) == 0

    with hub.client() as client:
        assert client.enroll(ana).name == ana
        assert [member.name for member in client.group_members(group)] == []


def test_a_door_that_was_killed_and_is_opened_again_has_its_nicks(
    hub: HubProcess, open_door: OpenDoor, group: str, called: Naming
) -> None:
    door = open_door(hub, group)
    ana = called("Ana")
    with plain_client(door) as one:
        one.push(ana, "HI")
        one.wait_for("server", f"{ana} connected")
        door.kill()
        door.open()
    with plain_client(door) as again:
        again.push(ana, "otra vez")

        again.wait_for(ana, "otra vez")


def test_the_hub_dies_and_what_was_pushed_is_said_once(make_hub: MakeHub, open_door: OpenDoor) -> None:
    mortal = make_hub().start()
    door = open_door(mortal, "plaza")
    with plain_client(door) as one:
        one.push("Ana", "HI")
        one.push("Ana", "antes")
        one.wait_for("Ana", "antes")
        mortal.kill()
        one.push("Luis", "HI")
        for number in range(20):
            one.push("Ana", f"Ana {number}")
            one.push("Luis", f"Luis {number}")
        mortal.start()
        one.wait_for("Ana", "Ana 19")
        one.wait_for("Luis", "Luis 19")
        one.push("Ana", "después")
        one.wait_for("Ana", "después")

    for nick in ("Ana", "Luis"):
        said = [text for who, text in one.heard if who == nick and text.startswith(nick)]
        assert said == [f"{nick} {number}" for number in range(20)]
    assert one.heard.count(("server", "Luis connected")) == 1


def test_the_example_in_python_talks(hub: HubProcess, open_door: OpenDoor, group: str, called: Naming) -> None:
    door = open_door(hub, group)
    ana = called("Ana")
    with plain_client(door) as one:
        example = subprocess.Popen(
            [sys.executable, str(EXAMPLE), ana, door.pull, door.pub],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert example.stdin is not None
        one.wait_for("server", f"{ana} connected")
        example.stdin.write("hola desde python\n")
        example.stdin.flush()
        one.wait_for(ana, "hola desde python")
        out, _ = example.communicate(timeout=30)

    assert example.returncode == 0
    assert out.splitlines()[-2:] == [f"[{ana}] hola desde python", f"[server] {ana} disconnected"]


def test_two_doors_of_one_hub_are_two(hub: HubProcess, open_door: OpenDoor, group: str, called: Naming) -> None:
    first, second = open_door(hub, group), open_door(hub, group)
    ana = called("Ana")
    with plain_client(first) as one, plain_client(second) as other:
        one.push(ana, "hola")

        other.wait_for(ana, "hola")
        assert wait_until(lambda: (one.listen(20), one.heard.count((ana, "hola")))[1], "its own door says it too") == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--room", "¿?"), "cannot be a room"),
        (("--room", "plaza", "--pull", "nowhere"), "no address to listen on"),
        (("--room", "plaza", "--nicks", "0"), "--nicks is from 1 to"),
        (("--room", "plaza", "--silence", "soon"), "is not a duration"),
    ],
)
def test_a_door_that_cannot_be_opened_says_why(hub: HubProcess, options: tuple[str, ...], says: str) -> None:
    said = run("chat", "door", *options, hub=hub.url)

    assert said.status == 2
    assert says in said.err


def test_an_address_that_is_taken_is_said(hub: HubProcess, open_door: OpenDoor, group: str) -> None:
    door = open_door(hub, group)

    said = run("chat", "door", "--room", group, "--pull", door.pull, hub=hub.url)

    assert said.status == 4
    assert "--pull or --pub" in said.err
