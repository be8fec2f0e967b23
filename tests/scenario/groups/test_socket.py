"""The socket of groups: rooms in causal order on one WebSocket, resumed without loss or repetition; what is refused."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from pregon.testing import RunningHub, run_hub

from ..hub_process import wait_until
from ..rest import rest_hub
from .rest_people import Person
from .talker import Talker


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[RunningHub, httpx.Client]]:
    with rest_hub() as both:
        yield both


@pytest.fixture
def hub(running: tuple[RunningHub, httpx.Client]) -> RunningHub:
    return running[0]


@pytest.fixture
def http(running: tuple[RunningHub, httpx.Client]) -> httpx.Client:
    return running[1]


@pytest.fixture
def room(topic: str) -> str:
    return topic[:60]


@pytest.fixture
def people(hub: RunningHub, room: str) -> Iterator[tuple[Talker, Talker, Talker]]:
    """Three in a room, each on a socket of its own."""
    three = [Talker(hub.http).hello(f"{name} {hash(room) % 10**9}") for name in ("ana", "luis", "eva")]
    for talker in three:
        talker.join(room, after=0, create=True)
    yield three[0], three[1], three[2]
    for talker in three:
        talker.close()


def closed_with(talker: Talker, timeout_s: float = 10.0) -> tuple[int, str]:
    """How the hub hangs up."""
    with pytest.raises(ConnectionClosed) as closed:
        while True:
            talker.hear(timeout_s)
    assert closed.value.rcvd is not None, "the hub says why"
    return closed.value.rcvd.code, closed.value.rcvd.reason


# Rooms.


def test_everybody_is_told_the_same_in_the_same_order(people: tuple[Talker, ...], room: str) -> None:
    for number in range(20):
        for talker in people:
            talker.send(room, f"{talker.name} {number}")
    people[0].send(room, "end")

    told = [talker.read_until(room, "end") for talker in people]

    assert told[0] == told[1] == told[2]
    assert [one["seq"] for one in told[0]] == list(range(1, 68))
    seen: set[str] = set()
    for message in told[0]:
        assert set(message["after"]) <= seen, "causes come first"
        seen.add(message["stamp"])


def test_an_answer_depends_on_what_its_sender_says_to_have_seen(people: tuple[Talker, ...], room: str) -> None:
    ana, luis, eva = people
    question = ana.send(room, "¿a qué hora?", seen=6)
    aside = eva.send(room, "hola", seen=6)
    answer = luis.send(room, "a las cinco", seen=question["seq"], answers=question["stamp"])
    told = eva.read_until(room, "a las cinco")[-1]

    relations = [
        eva.ask("relation", "relation", group=room, one=one["stamp"], other=answer["stamp"])["relation"]
        for one in (question, aside, answer)
    ]

    assert (told["answers"], told["after"]) == (question["stamp"], answer["after"])
    assert question["stamp"] in answer["after"]
    assert aside["stamp"] not in answer["after"]
    assert relations == ["before", "concurrent", "same"]


def test_who_does_not_say_what_it_has_seen_has_seen_what_it_was_told(people: tuple[Talker, ...], room: str) -> None:
    ana, luis, _ = people
    question = ana.send(room, "¿a qué hora?")
    luis.read_until(room, "¿a qué hora?")

    answer = luis.send(room, "a las cinco")

    assert question["stamp"] in answer["after"]


def test_a_room_is_told_from_where_one_says(hub: RunningHub, people: tuple[Talker, ...], room: str) -> None:
    sent = [people[0].send(room, str(number))["seq"] for number in range(10)]

    told = {}
    for how, more in {"all": {"after": 0}, "after": {"after": sent[6]}, "last": {"last": 2}, "news": {}}.items():
        with Talker(hub.http).hello(f"{how} {hash(room) % 10**9}") as newcomer:
            newcomer.join(room, **more)
            people[0].send(room, f"after {how}")
            newcomer.read_until(room, f"after {how}")
            told[how] = [text for text in newcomer.texts(room) if not text.startswith("after")]

    assert told == {"all": [str(number) for number in range(10)], "after": ["7", "8", "9"], "last": [], "news": []}


def test_who_comes_back_goes_on_where_it_was(hub: RunningHub, people: tuple[Talker, ...], room: str) -> None:
    ana, luis, _ = people
    sent = ana.send(room, "one")
    luis.read_until(room, "one")
    luis.say("seen", group=room, seq=sent["seq"])
    token = luis.token
    luis.close()
    ana.send(room, "two")

    with Talker(hub.http).hello(token=token) as again:
        joined = again.join(room)
        again.read_until(room, "two")

        assert (joined["is_back"], joined["seen"], joined["member"]) == (True, sent["seq"], 3)
        assert again.texts(room) == ["two"]


def test_what_is_sent_again_is_stored_once(people: tuple[Talker, ...], room: str) -> None:
    ana = people[0]

    first, second = (ana.send(room, "una vez", id="x") for _ in range(2))
    ana.send(room, "end")
    ana.read_until(room, "end")

    assert second == {**first, "duplicate": True}
    assert ana.texts(room) == ["una vez", "end"]


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
    people: tuple[Talker, ...], room: str, content: dict[str, Any], shown: dict[str, Any]
) -> None:
    ana, luis, _ = people
    ana.say("send", group=room, id="1", **content)
    stamp = ana.wait_for("accepted")["stamp"]

    told = luis.wait_for("message", stamp=stamp)

    assert {name: told[name] for name in ("json", "text", "base64") if name in told} == shown
    assert (told["name"], told["kind"], told["member"]) == (ana.name, "message", 2)


def test_many_rooms_on_one_socket_are_each_told_in_order(hub: RunningHub, http: httpx.Client, room: str) -> None:
    names = [f"{room[:40]}-{number}" for number in range(30)]
    sender = Person(http, f"sender {hash(room) % 10**9}")
    with Talker(hub.http).hello(f"reader {hash(room) % 10**9}") as reader:
        for name in names:
            reader.join(name, create=True)
            sender.join(name)
        for number in range(5):
            for name in names:
                sender.say(name, str(number))
        for name in names:
            reader.read_until(name, "4")

        assert {name: reader.texts(name) for name in names} == {name: ["0", "1", "2", "3", "4"] for name in names}


# Who is where.


def test_coming_and_going_are_told_as_what_nobody_can_say(people: tuple[Talker, ...], room: str) -> None:
    ana, luis, eva = people
    ana.send(room, '{"member":4,"name":"eva"}', id="forged")

    eva.say("leave", group=room)
    left = eva.wait_for("left")
    gone = luis.wait_for("message", kind="left")
    members = luis.ask("members", "members", group=room)["members"]

    assert left == {"is": "left", "group": room}
    assert (gone["name"], gone["json"]["member"]) == (eva.name, 4)
    assert [one["name"] for one in members] == [ana.name, luis.name]
    assert {one["is_here"] for one in members} == {True}
    assert [one["kind"] for one in luis.rooms[room]] == ["joining", "joined"] * 3 + ["message", "left"]


def test_a_name_is_changed_everywhere_and_never_to_anothers(people: tuple[Talker, ...], room: str) -> None:
    ana, luis, _ = people

    taken = ana.refused("rename", name=luis.name.upper())
    renamed = ana.ask("rename", "renamed", name=f"A{ana.name[1:]} 2")
    told = luis.wait_for("message", kind="renamed")
    groups = ana.wait_for("groups", name=renamed["name"])

    assert taken["code"] == "already_exists"
    assert told["json"] == {"member": 2, "name": renamed["name"], "old": ana.name}
    assert [one["group"] for one in groups["groups"]] == [room]


def test_a_private_conversation_appears_by_itself_and_is_for_two(people: tuple[Talker, ...], room: str) -> None:
    ana, luis, eva = people
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


def test_who_leaves_on_one_socket_has_left_on_the_other(hub: RunningHub, people: tuple[Talker, ...], room: str) -> None:
    ana = people[0]
    with Talker(hub.http).hello(token=ana.token) as other:
        other.join(room)
        other.say("leave", group=room)
        other.wait_for("left")

        left = ana.wait_for("left", group=room)

    assert left["code"] == "not_a_member"
    assert ana.refused("send", group=room, id="1", text="x")["code"] == "not_a_member"


def test_who_is_taken_off_and_whose_group_is_deleted_is_told(
    http: httpx.Client, people: tuple[Talker, ...], room: str
) -> None:
    ana, luis, eva = people
    http.delete(f"/v1/groups/{room}/members/4")
    taken_off = eva.wait_for("left", group=room)
    http.delete(f"/v1/groups/{room}")
    deleted = [talker.wait_for("left", group=room) for talker in (ana, luis)]

    assert taken_off["code"] == "not_a_member"
    assert [one["code"] for one in deleted] == ["not_found", "not_found"]
    assert ana.join(room, create=True)["member"] == 2


def test_who_retires_is_hung_up_on(http: httpx.Client, people: tuple[Talker, ...]) -> None:
    answer = http.delete("/v1/participants/me", headers={"Pregon-Participant": people[0].token})

    assert answer.status_code == 204
    assert closed_with(people[0]) == (1008, "unauthorized")


def test_who_is_not_invited_is_not_let_in(hub: RunningHub, http: httpx.Client, room: str) -> None:
    http.post("/v1/groups", json={"name": room, "access": "invited", "allowed": ["nobody-else"]})

    with Talker(hub.http).hello(f"out {hash(room) % 10**9}") as outside:
        refused = outside.refused("join", group=room)
        created = outside.refused("join", group=room, create=True)

    assert (refused["code"], created["code"]) == ("forbidden", "forbidden")
    assert refused["do"] == "join" and refused["group"] == room


def test_what_members_were_shown_is_kept_when_the_group_is_traced(
    http: httpx.Client, people: tuple[Talker, ...], room: str
) -> None:
    sent = people[0].send(room, "hola")
    for talker in people:
        talker.read_until(room, "hola")

    def shown_to() -> set[int]:
        deliveries = http.get(f"/v1/groups/{room}/trace").json()["deliveries"]
        return {one["member"] for one in deliveries if one["stamp"] == sent["stamp"]}

    wait_until(lambda: shown_to() == {3, 4}, "both others were shown it")


def test_a_group_that_is_not_traced_keeps_no_deliveries(hub: RunningHub, http: httpx.Client, room: str) -> None:
    traced, silent = f"{room}-a", f"{room}-b"
    http.post("/v1/groups", json={"name": silent, "traced": False})
    sender = Person(http, f"sender {hash(room) % 10**9}")
    with Talker(hub.http).hello(f"reader {hash(room) % 10**9}") as reader:
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


# Broken lines.


def test_a_line_cut_again_and_again_loses_and_doubles_nothing(hub: RunningHub, http: httpx.Client, room: str) -> None:
    count = 300
    person = Person(http, f"sender {hash(room) % 10**9}")
    person.create(room)
    person.join(room)

    def talk() -> None:
        with httpx.Client(base_url=hub.http, timeout=30) as own:
            headers = {"Pregon-Participant": person.token, "Content-Type": "text/plain"}
            for number in range(count):
                own.post(f"/v1/groups/{room}/messages", content=str(number), headers=headers)

    token, after, texts = "", 0, []
    with Talker(hub.http).hello(f"reader {hash(room) % 10**9}") as reader:
        token = reader.token
        reader.join(room)
    thread = threading.Thread(target=talk)
    thread.start()
    while len(texts) < count:
        with Talker(hub.http).hello(token=token) as reader:
            reader.join(room, after=after)
            for _ in range(37):
                if len(texts) + len(reader.texts(room)) == count:
                    break
                reader.wait_for("message", timeout_s=10)
            texts += reader.texts(room)
            after = reader.rooms[room][-1]["seq"]
            reader.cut()
    thread.join()

    assert texts == [str(number) for number in range(count)]


def test_who_does_not_read_holds_up_nobody_and_misses_nothing(hub: RunningHub, http: httpx.Client, room: str) -> None:
    count, size = 150, 100_000
    sender = Person(http, f"sender {hash(room) % 10**9}")
    sender.create(room)
    sender.join(room)
    slow = Talker(hub.http, max_queue=1).hello(f"slow {hash(room) % 10**9}")
    quick = Talker(hub.http, max_size=None).hello(f"quick {hash(room) % 10**9}")
    with slow, quick:
        slow.join(room)
        quick.join(room)

        for number in range(count):
            sender.say(room, f"{number} " + "x" * size)
        sender.say(room, "end")
        quick.read_until(room, "end")
        at_once = [text.split()[0] for text in quick.texts(room)]
        slow.read_until(room, "end", timeout_s=60)
        later = [text.split()[0] for text in slow.texts(room)]

    assert at_once == later == [*map(str, range(count)), "end"]


def test_the_hub_that_stops_says_so() -> None:
    with run_hub() as hub:
        talker = Talker(hub.http).hello("ana")
        talker.join("plaza", create=True)
    with talker:
        assert closed_with(talker)[0] == 1001


# Who may, and what is refused.


def test_a_page_of_another_site_is_refused(hub: RunningHub) -> None:
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Host": "evil.example"}):
        with pytest.raises(InvalidStatus) as refused, Talker(hub.http, additional_headers=headers):
            pass
        assert refused.value.response.status_code == 403
    with Talker(hub.http, additional_headers={"Origin": hub.http}) as own:
        assert own.ask("groups", "refused")["code"] == "bad_request"


def test_the_page_of_the_public_address_is_served() -> None:
    with run_hub(public_url="https://chat.example") as hub:
        with Talker(hub.http, additional_headers={"Origin": "https://chat.example"}) as own:
            assert own.hello("ana").token


def test_a_locked_hub_asks_for_a_key_and_hangs_up_when_it_is_revoked() -> None:
    with rest_hub(require_keys=True) as (hub, http):
        boss = http.post("/v1/tokens", json={"name": "boss", "scopes": ["admin"]}).json()["secret"]
        own = {"Authorization": f"Bearer {boss}"}
        made = http.post("/v1/tokens", json={"name": "page", "scopes": ["read"]}, headers=own).json()
        offered = [Subprotocol("pregon"), Subprotocol(f"pregon.key.{made['secret']}")]

        with Talker(hub.http) as nobody:
            refused = nobody.refused("hello", name="ana")
        unknown = [Subprotocol("pregon"), Subprotocol("pregon.key.x")]
        with pytest.raises(InvalidStatus) as wrong, Talker(hub.http, subprotocols=unknown):
            pass
        with Talker(hub.http, subprotocols=offered) as page:
            page.hello("ana")
            page.join("plaza", create=True)
            http.delete(f"/v1/tokens/page/keys/{made['id']}", headers=own)

            assert closed_with(page) == (1008, "unauthorized")

    assert refused["code"] == "unauthorized"
    assert wrong.value.response.status_code == 401


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "hola",
        "[]",
        "{",
        '{"do":"shout"}',
        '{"do":"send","group":"plaza","id":"1"}',
        '{"do":"join","group":"../../etc"}',
        '{"do":"join","group":"a b"}',
        '{"do":"join","group":"no-such-group"}',
        '{"do":"send","group":"no-such-group","id":"1","text":"x"}',
        '{"do":"send","group":"ROOM","id":"1","text":"x","seen":999}',
        '{"do":"send","group":"ROOM","id":"1","text":"x","answers":"77:1"}',
        '{"do":"seen","group":"ROOM","seq":999}',
        '{"do":"seen","group":"no-such-group","seq":1}',
        '{"do":"members","group":"no-such-group"}',
        '{"do":"leave","group":"no-such-group"}',
        '{"do":"relation","group":"ROOM","one":"88:1","other":"99:1"}',
        '{"do":"private","with":"no such person"}',
        '{"do":"rename","name":"<b>"}',
        '{"do":"rename","name":"server"}',
        '{"do":"hello","name":"another"}',
        '{"do":"join","group":"ROOM"}',
        "[" * 20_000,
        '{"do":"send","group":"ROOM","id":"1","json":' + "[" * 20_000 + "]" * 20_000 + "}",
        b"\x00\xff",
    ],
)
def test_what_is_wrong_is_refused_in_words_and_the_socket_goes_on(
    people: tuple[Talker, ...], room: str, frame: str | bytes
) -> None:
    ana = people[0]
    ana.socket.send(frame.replace("ROOM", room) if isinstance(frame, str) else frame)

    refused = ana.wait_for("refused")
    ana.send(room, "I am still here")

    assert refused["code"] in ("bad_request", "not_found", "bad_name", "not_a_member")
    assert len(refused["message"]) > 10
    assert ana.read_until(room, "I am still here")


@pytest.mark.parametrize(
    "frame", ['{"do":"hello"}', '{"do":"hello","token":"ppt_1_x"}', '{"do":"hello","name":"a b "}']
)
def test_a_hello_that_is_wrong_is_refused_and_may_be_said_again(hub: RunningHub, room: str, frame: str) -> None:
    with Talker(hub.http) as talker:
        talker.socket.send(frame)
        refused = talker.wait_for("refused")
        talker.hello(f"right {hash(room) % 10**9}")

    assert (refused["do"], refused["retryable"]) == ("hello", False)


def test_a_frame_that_is_too_large_ends_the_socket(hub: RunningHub, people: tuple[Talker, ...], room: str) -> None:
    people[0].say("send", group=room, id="1", text="x" * 70_000)
    assert closed_with(people[0])[0] == 1009

    # Also one that is small only while it is compressed.
    bomb = Talker(hub.http, compression="deflate").hello(f"bomb {hash(room) % 10**9}")
    with bomb:
        bomb.socket.send(json.dumps({"do": "rename", "name": " " * 10_000_000}))
        assert closed_with(bomb)[0] == 1009


def test_frames_a_second_are_bounded(people: tuple[Talker, ...], room: str) -> None:
    ana = people[0]
    for _ in range(400):
        ana.say("groups")
    answers = [ana.hear()["is"] for _ in range(300)]
    refused = ana.wait_for("refused")

    assert (refused["code"], refused["retryable"]) == ("rate_limited", True)
    assert answers.count("groups") >= 50


def test_rooms_of_one_socket_are_bounded(
    hub: RunningHub, people: tuple[Talker, ...], room: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pregon.limits.GROUPS_OF_PARTICIPANT_MAX", 2)

    people[0].join(f"{room}-2", create=True)

    assert people[0].refused("join", group=f"{room}-3", create=True)["code"] == "limit_reached"


def test_who_says_nothing_is_hung_up_on(hub: RunningHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pregon.edges.http.groups_socket.HELLO_MS_MAX", 100)

    with Talker(hub.http) as silent:
        assert closed_with(silent) == (1008, "bad_request")


def test_what_ended_leaves_nothing_behind(hub: RunningHub, http: httpx.Client, room: str) -> None:
    app = hub.server.http
    assert app is not None
    desk = app._app.desk
    streams, waiting = desk.streams, http.get("/v1/status").json()["waiting"]

    talkers = [Talker(hub.http).hello(f"guest {number} {hash(room) % 10**9}") for number in range(20)]
    for talker in talkers:
        talker.join(room, create=True)
    open_now = desk.streams
    for number, talker in enumerate(talkers):
        talker.cut() if number % 2 else talker.close()

    assert open_now == streams + 20
    wait_until(lambda: desk.streams == streams, "every socket is given back")
    wait_until(lambda: http.get("/v1/status").json()["waiting"] <= waiting, "nobody waits for who is gone")
