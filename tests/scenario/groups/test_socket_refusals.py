"""Who may use the socket of groups, and what is refused in words."""

from __future__ import annotations

import json

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.typing import Subprotocol

from pregon.testing import RunningHub, run_hub

from ..hub_process import wait_until
from ..rest import rest_hub
from .conftest import Naming
from .talker import Talker

# Who may, and what is refused.


def test_a_page_of_another_site_is_refused(door: RunningHub) -> None:
    for origin in ("http://evil.example", "null", "https://127.0.0.1"):
        with pytest.raises(InvalidStatus) as refused, Talker(door.http, additional_headers={"Origin": origin}):
            pass
        assert refused.value.response.status_code == 403
    with Talker(door.http, additional_headers={"Origin": door.http}) as own:
        assert own.ask("groups", "refused")["code"] == "bad_request"


def test_the_page_of_the_public_address_is_served() -> None:
    with run_hub(public_url="https://chat.example") as door:
        with Talker(door.http, additional_headers={"Origin": "https://chat.example"}) as own:
            assert own.hello("ana").token


def test_a_locked_hub_asks_for_a_key_and_hangs_up_when_it_is_revoked() -> None:
    with rest_hub(require_keys=True) as (door, http):
        boss = http.post("/v1/tokens", json={"name": "boss", "scopes": ["admin"]}).json()["secret"]
        own = {"Authorization": f"Bearer {boss}"}
        made = http.post("/v1/tokens", json={"name": "page", "scopes": ["read"]}, headers=own).json()
        offered = [Subprotocol("pregon"), Subprotocol(f"pregon.key.{made['secret']}")]

        with Talker(door.http) as nobody:
            refused = nobody.refused("hello", name="ana")
        unknown = [Subprotocol("pregon"), Subprotocol("pregon.key.x")]
        with pytest.raises(InvalidStatus) as wrong, Talker(door.http, subprotocols=unknown):
            pass
        with Talker(door.http, subprotocols=offered) as page:
            page.hello("ana")
            page.join("plaza", create=True)
            http.delete(f"/v1/tokens/page/keys/{made['id']}", headers=own)

            assert page.closed_with() == (1008, "unauthorized")

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
        '{"do":"send","group":"GROUP","id":"1","text":"x","seen":999}',
        '{"do":"send","group":"GROUP","id":"1","text":"x","answers":"77:1"}',
        '{"do":"seen","group":"GROUP","seq":999}',
        '{"do":"seen","group":"no-such-group","seq":1}',
        '{"do":"members","group":"no-such-group"}',
        '{"do":"leave","group":"no-such-group"}',
        '{"do":"relation","group":"GROUP","one":"88:1","other":"99:1"}',
        '{"do":"private","with":"no such person"}',
        '{"do":"rename","name":"<b>"}',
        '{"do":"rename","name":"server"}',
        '{"do":"hello","name":"another"}',
        '{"do":"join","group":"GROUP"}',
        "[" * 20_000,
        '{"do":"send","group":"GROUP","id":"1","json":' + "[" * 20_000 + "]" * 20_000 + "}",
        b"\x00\xff",
    ],
)
def test_what_is_wrong_is_refused_in_words_and_the_socket_goes_on(
    talkers: tuple[Talker, ...], group: str, frame: str | bytes
) -> None:
    ana = talkers[0]
    ana.socket.send(frame.replace("GROUP", group) if isinstance(frame, str) else frame)

    refused = ana.wait_for("refused")
    ana.send(group, "I am still here")

    assert refused["code"] in ("bad_request", "not_found", "bad_name", "not_a_member")
    assert len(refused["message"]) > 10
    assert ana.read_until(group, "I am still here")


@pytest.mark.parametrize(
    "frame", ['{"do":"hello"}', '{"do":"hello","token":"ppt_1_x"}', '{"do":"hello","name":"a b "}']
)
def test_a_hello_that_is_wrong_is_refused_and_may_be_said_again(
    door: RunningHub, group: str, frame: str, called: Naming
) -> None:
    with Talker(door.http) as talker:
        talker.socket.send(frame)
        refused = talker.wait_for("refused")
        talker.hello(called("right"))

    assert (refused["do"], refused["retryable"]) == ("hello", False)


def test_a_frame_that_is_too_large_ends_the_socket(
    door: RunningHub, talkers: tuple[Talker, ...], group: str, called: Naming
) -> None:
    talkers[0].say("send", group=group, id="1", text="x" * 70_000)
    assert talkers[0].closed_with()[0] == 1009

    # Also one that is small only while it is compressed.
    bomb = Talker(door.http, compression="deflate").hello(called("bomb"))
    with bomb:
        bomb.socket.send(json.dumps({"do": "rename", "name": " " * 10_000_000}))
        assert bomb.closed_with()[0] == 1009


def test_frames_a_second_are_bounded(talkers: tuple[Talker, ...], group: str) -> None:
    ana = talkers[0]
    for _ in range(400):
        ana.say("groups")
    answers = [ana.hear()["is"] for _ in range(300)]
    refused = ana.wait_for("refused")

    assert (refused["code"], refused["retryable"]) == ("rate_limited", True)
    assert answers.count("groups") >= 50


def test_rooms_of_one_socket_are_bounded(
    door: RunningHub, talkers: tuple[Talker, ...], group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pregon.limits.GROUPS_OF_PARTICIPANT_MAX", 2)

    talkers[0].join(f"{group}-2", create=True)

    assert talkers[0].refused("join", group=f"{group}-3", create=True)["code"] == "limit_reached"


def test_who_says_nothing_is_hung_up_on(door: RunningHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pregon.edges.http.groups_socket.HELLO_MS_MAX", 100)

    with Talker(door.http) as silent:
        assert silent.closed_with() == (1008, "bad_request")


def test_what_ended_leaves_nothing_behind(door: RunningHub, http: httpx.Client, group: str, called: Naming) -> None:
    app = door.server.http
    assert app is not None
    desk = app._app.desk
    streams, waiting = desk.streams, http.get("/v1/status").json()["waiting"]

    talkers = [Talker(door.http).hello(called(f"guest {number}")) for number in range(20)]
    for talker in talkers:
        talker.join(group, create=True)
    open_now = desk.streams
    for number, talker in enumerate(talkers):
        talker.cut() if number % 2 else talker.close()

    assert open_now == streams + 20
    wait_until(lambda: desk.streams == streams, "every socket is given back")
    wait_until(lambda: http.get("/v1/status").json()["waiting"] <= waiting, "nobody waits for who is gone")


def test_a_hello_whose_answer_was_lost_may_be_said_again_with_its_secret(door: RunningHub, called: Naming) -> None:
    told = []
    for _ in range(2):
        with Talker(door.http) as talker:
            told.append(talker.ask("hello", "hello", name=called("ana"), secret="s" * 43))

    assert told[0] == told[1]
    with Talker(door.http) as other:
        assert other.refused("hello", name=called("ana"), secret="t" * 43)["code"] == "already_exists"
