"""What may be said on the socket of groups, what is refused in words, and how far a room has been told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pregon.edges.http import groups_socket_protocol as p
from pregon.edges.http.groups_room import Room
from pregon.errors import BadRequest, PregonError, RateLimited, Unavailable
from pregon.limits import GROUP_REPORT_ROWS_MAX
from pregon.wire.groups import Joined


def greeted() -> p.SocketTalk:
    talk = p.SocketTalk()
    talk.is_greeted = True
    return talk


def take(frame: Any, talk: p.SocketTalk | None = None) -> p.Said:
    return (talk or greeted()).take(frame if isinstance(frame, str | bytes) else json.dumps(frame), 0.0)


SEND = {"do": "send", "group": "plaza", "id": "a1", "text": "hola", "seen": 3}


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        ({"do": "join", "group": "plaza"}, p.Join),
        ({"do": "join", "group": "plaza", "after": 17, "create": True}, p.Join),
        ({"do": "leave", "group": "plaza"}, p.Leave),
        (SEND, p.Send),
        ({"do": "send", "group": "plaza", "id": "a1", "json": [1], "answers": "2:7"}, p.Send),
        ({"do": "private", "with": "luis", "last": 50}, p.Private),
        ({"do": "rename", "name": "Ana"}, p.Rename),
        ({"do": "seen", "group": "plaza", "seq": 3}, p.Seen),
        ({"do": "members", "group": "plaza"}, p.Members),
        ({"do": "groups"}, p.Groups),
        ({"do": "relation", "group": "plaza", "one": "2:7", "other": "3:4"}, p.Relation),
    ],
)
def test_what_may_be_said_is_taken(frame: dict[str, Any], kind: type[p.Said]) -> None:
    assert type(take(frame)) is kind


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "hola",
        "[]",
        "null",
        "{}",
        '{"do":"hello"',
        "[" * 30_000,
        '{"do":"send","group":"plaza","id":"a1","json":' + "[" * 30_000,
        {"do": "shout"},
        {"do": 1},
        {"do": "join"},
        {"do": "join", "group": ""},
        {"do": "join", "group": "x" * 129},
        {"do": "join", "group": "plaza", "after": -1},
        {"do": "join", "group": "plaza", "after": 2**63},
        {"do": "join", "group": "plaza", "after": "1"},
        {"do": "join", "group": "plaza", "after": 1, "last": 1},
        {"do": "join", "group": "plaza", "last": 10**9},
        {"do": "join", "group": "plaza", "until": 1},
        {**SEND, "id": ""},
        {**SEND, "id": "x" * 201},
        {**SEND, "answers": "0:1"},
        {**SEND, "answers": "yes"},
        {**SEND, "kind": "joined"},
        {"do": "private", "with": "x" * 33},
        {"do": "relation", "group": "plaza", "one": "2:7"},
        {"do": "hello", "name": "ana"},
        '{"do":"rename","name":"\\ud800"}',
        b'{"do":"groups"}',
    ],
)
def test_what_may_not_be_said_is_refused_in_words(frame: Any) -> None:
    with pytest.raises(BadRequest) as refused:
        take(frame)

    assert 10 < len(str(refused.value)) < 400


@pytest.mark.parametrize("more", [{}, {"text": "a", "json": 1}], ids=["nothing", "both"])
def test_what_is_sent_is_said_once(more: dict[str, Any]) -> None:
    said = take({"do": "send", "group": "plaza", "id": "a1", **more})

    assert isinstance(said, p.Send)
    with pytest.raises(BadRequest):
        said.content()


@pytest.mark.parametrize(
    ("more", "content"),
    [
        ({"text": "señal"}, ("señal".encode(), "text/plain; charset=utf-8")),
        ({"text": ""}, (b"", "text/plain; charset=utf-8")),
        ({"json": {"a": [1]}}, (b'{"a": [1]}', "application/json")),
        ({"json": None}, (b"null", "application/json")),
    ],
)
def test_a_body_is_what_was_written(more: dict[str, Any], content: tuple[bytes, str]) -> None:
    said = take({"do": "send", "group": "plaza", "id": "a1", **more})

    assert isinstance(said, p.Send)
    assert said.content() == content


@pytest.mark.parametrize("frame", [{"do": "groups"}, {"do": "join", "group": "plaza"}, SEND])
def test_nothing_is_taken_before_a_hello(frame: dict[str, Any]) -> None:
    with pytest.raises(BadRequest, match="hello first"):
        take(frame, p.SocketTalk())


@pytest.mark.parametrize("more", [{}, {"name": "ana", "token": "t"}, {"name": ""}])
def test_a_hello_has_a_name_or_a_token(more: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        take({"do": "hello", **more}, p.SocketTalk())

    assert take({"do": "hello", "name": "ana"}, p.SocketTalk()) == p.Hello(name="ana")
    assert take({"do": "hello", "token": "t"}, p.SocketTalk()) == p.Hello(token="t")


def test_frames_a_second_are_bounded_and_come_back_with_time() -> None:
    talk = greeted()
    taken = 0
    with pytest.raises(RateLimited):
        for _ in range(p.FRAMES_PER_S_MAX + 1):
            talk.take('{"do":"groups"}', 5.0)
            taken += 1

    talk.take('{"do":"groups"}', 5.0 + 2 * 1_000 / p.FRAMES_PER_S_MAX)

    assert taken == p.FRAMES_PER_S_MAX


def test_what_is_wrong_counts_as_a_frame_too() -> None:
    talk, refusals = greeted(), []
    for _ in range(p.FRAMES_PER_S_MAX + 1):
        with pytest.raises(PregonError) as refused:
            talk.take("{", 5.0)
        refusals.append(refused.value.code)

    assert refusals == ["bad_request"] * p.FRAMES_PER_S_MAX + ["rate_limited"]


@pytest.mark.parametrize(
    ("frame", "about"),
    [
        (json.dumps({**SEND, "seen": -1}), {"do": "send", "id": "a1", "group": "plaza"}),
        ('{"do":"shout"}', {"do": "shout"}),
        ('{"do":7,"id":{},"group":[]}', {"do": ""}),
        ("{", {"do": ""}),
        (b"\x00", {"do": ""}),
        (None, {"do": ""}),
        (json.dumps({"do": "x" * 5_000}), {"do": "x" * 200}),
    ],
)
def test_a_refusal_says_what_it_is_about(frame: str | bytes | None, about: dict[str, str]) -> None:
    told = json.loads(p.refusal(frame, BadRequest("why")).encode())

    assert told == {"is": "refused", **about, "code": "bad_request", "message": "why", "retryable": False}
    assert json.loads(p.refusal(frame, Unavailable("later")).encode())["retryable"] is True


# How far a room has been told.


def joined(**fields: Any) -> Joined:
    return Joined(**{"group": "plaza", "member": 3, "seq": 40, "seen_seq": 30, "traced": True, **fields})


@pytest.mark.parametrize(
    ("fields", "said", "told_seq"),
    [
        ({}, {"after": 17}, 17),
        ({}, {"after": 0}, 0),
        ({"first_seq": 39}, {"after": 0}, 38),
        ({}, {"last": 5}, 35),
        ({}, {"last": 100}, 0),
        ({"first_seq": 39}, {"last": 5}, 38),
        ({"is_back": True}, {}, 30),
        ({"is_back": True, "first_seq": 39}, {}, 38),
        ({"is_back": False}, {}, 40),
    ],
)
def test_a_room_begins_where_its_client_says_or_where_it_was_left(
    fields: dict[str, Any], said: dict[str, int], told_seq: int
) -> None:
    assert Room(joined(**fields), p.Join(group="plaza", **said)).told_seq == told_seq


def test_a_delivery_is_reported_once_and_not_that_of_what_was_seen_before_nor_ones_own() -> None:
    room = Room(joined(is_back=True), p.Join(group="plaza", after=28))

    for seq, stamp, member in ((29, "2:8", 2), (30, "2:9", 2), (31, "3:1", 3), (32, "2:10", 2), (33, "4:1", 4)):
        room.told(seq, stamp, member, 1_000 + seq)

    assert [(row.stamp, row.delivered_us) for row in room.take_report()] == [("2:10", 1_032), ("4:1", 1_033)]
    assert room.take_report() == []
    assert room.told_seq == 33


def test_history_that_a_newcomer_reads_is_no_delivery() -> None:
    room = Room(joined(is_back=False), p.Join(group="plaza", after=0))

    room.told(40, "2:9", 2, 1)
    room.told(41, "2:10", 2, 2)

    assert [row.stamp for row in room.take_report()] == ["2:10"]


def test_a_group_that_is_not_traced_is_not_reported() -> None:
    room = Room(joined(traced=False), p.Join(group="plaza"))

    room.told(41, "2:10", 2, 2)

    assert room.take_report() == []


def test_a_report_is_due_before_it_is_too_long() -> None:
    room = Room(joined(), p.Join(group="plaza"))
    told = 0
    while not room.has_report:
        told += 1
        room.told(40 + told, f"2:{told}", 2, told)

    assert 100 < told < GROUP_REPORT_ROWS_MAX


def test_what_was_seen_is_told_once_and_never_goes_back() -> None:
    room = Room(joined(), p.Join(group="plaza"))

    room.seen(5)
    room.seen(3)

    assert (room.take_seen(), room.take_seen()) == (5, None)
    room.seen(4)
    assert room.take_seen() is None
