"""Groups by the library, against a real hub: three people talk, by both kinds of client and both ways."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from pregon import GroupMember, GroupMessage, MemberGone, MemberJoined, MemberLeft, MemberRenamed
from pregon.errors import AlreadyExists, BadName, Forbidden, NotAMember, NotFound, TooLarge, Unauthorized

from ..both_clients import WAYS, address_of
from ..hub_process import HubProcess, wait_until
from .library import KINDS, join, messages, next_message, open_groups, private, texts

Name = Callable[[str], str]


@pytest.fixture(params=[(kind, way) for kind in KINDS for way in WAYS], ids="-".join)
def client(request: pytest.FixtureRequest, hub: HubProcess) -> Iterator[Any]:
    kind, way = request.param
    with open_groups(kind, address_of(hub, way)) as client:
        yield client


@pytest.fixture
def serial(request: pytest.FixtureRequest) -> int:
    """A number that is this test's own."""
    return zlib.crc32(request.node.nodeid.encode())


@pytest.fixture
def group(serial: int) -> str:
    return f"g{serial}"


@pytest.fixture
def name(serial: int) -> Name:
    """Names that nobody else has: participants are known in the whole hub."""
    return lambda who: f"{who} {serial}"


def test_three_people_talk_and_each_is_told_what_answers_what(client: Any, group: str, name: Name) -> None:
    ana, luis, eva = (join(client, group, name=name(who)) for who in ("ana", "luis", "eva"))

    asked = ana.send("¿quién viene?")
    question = next_message(luis)
    luis.send("yo", answers=question)
    eva.send("hola")
    shown = messages(ana, 2)

    answer = next(one for one in shown if one.text == "yo")
    greeting = next(one for one in shown if one.text == "hola")
    assert question.stamp == asked == answer.answers
    assert asked in answer.after
    assert answer.is_after(asked)
    assert answer.concurrent_with(greeting)
    assert greeting.stamp in ana.concurrent(answer)
    assert (answer.sender, answer.member, answer.content_type) == (
        name("luis"),
        luis.number,
        "text/plain; charset=utf-8",
    )
    assert sorted(texts(eva, 2)) == ["yo", "¿quién viene?"]
    assert [member.name for member in ana.members] == [name("ana"), name("luis"), name("eva")]


def test_comings_goings_and_other_names_are_events(client: Any, group: str, name: Name) -> None:
    ana = join(client, group, name=name("ana"))
    luis = join(client, group, name=name("luis"))
    luis.rename(name("lucho"))
    luis.leave()

    came, renamed, left = (ana.poll(30) for _ in range(3))

    assert isinstance(came, MemberJoined) and came.name == name("luis")
    assert isinstance(renamed, MemberRenamed) and (renamed.old, renamed.name) == (name("luis"), name("lucho"))
    assert isinstance(left, MemberLeft) and (left.name, left.member) == (name("lucho"), luis.number)
    assert renamed.is_after(came) and left.is_after(came)
    assert ana.members == (GroupMember(ana.number, name("ana")),)
    assert {type(event) for event in luis} <= {MemberRenamed}


def test_what_is_said_without_waiting_tells_later_what_became_of_it(client: Any, group: str, name: Name) -> None:
    ana, luis = join(client, group, name=name("ana")), join(client, group, name=name("luis"))

    own = ana.say("hola", headers={"color": "rojo"})
    ana.flush()
    shown = next_message(luis)

    assert own.is_stored and own.error is None
    assert (shown.stamp, shown.after, shown.headers) == (own.stamp, own.message.after, {"color": "rojo"})
    assert own.seq == shown.seq
    mine = client.memberships(ana.token)
    assert (mine.name, [one.group for one in mine.groups]) == (name("ana"), [group])


def test_bytes_and_json_go_as_they_are_with_their_headers(client: Any, group: str, name: Name) -> None:
    ana, luis = join(client, group, name=name("ana")), join(client, group, name=name("luis"))
    ana.send(b"\x00\xff", content_type="image/x", headers={"color": "rojo"})
    ana.send({"x": [1, 2]})

    raw, table = messages(luis, 2)

    assert (raw.body, raw.content_type, raw.headers) == (b"\x00\xff", "image/x", {"color": "rojo"})
    assert (table.json(), table.content_type) == ({"x": [1, 2]}, "application/json")


def test_what_was_said_before_comes_first_for_who_asks_for_it(
    client: Any, hub: HubProcess, group: str, name: Name
) -> None:
    with hub.client() as quick:
        ana = quick.join(group, name=name("ana"))
        for number in range(600):
            ana.send(f"{number}", wait=False)
        ana.flush()

        luis = join(client, group, name=name("luis"), history=True)
        ana.send("ahora")
        shown = messages(luis, 601)

    assert [one.text for one in shown] == [*map(str, range(600)), "ahora"]
    assert [one.is_history for one in shown] == [True] * 600 + [False]


def test_who_does_not_look_loses_nothing(client: Any, hub: HubProcess, group: str, name: Name) -> None:
    luis = join(client, group, name=name("luis"))
    with hub.client() as quick:
        ana = quick.join(group, name=name("ana"))
        for number in range(2_500):
            ana.send(f"{number}", wait=False)
        ana.flush()

    assert texts(luis, 2_500) == [*map(str, range(2_500))]


def test_who_comes_back_with_its_state_goes_on_where_it_was(client: Any, group: str, name: Name) -> None:
    ana, luis = join(client, group, name=name("ana")), join(client, group, name=name("luis"))
    for number in range(5):
        ana.send(f"{number}")
    before = texts(luis, 2)
    state = luis.state()
    luis.close()
    ana.send("mientras")

    again = join(client, group, state=state)
    again.send("volví")

    assert again.number == luis.number
    assert before + texts(again, 4) == ["0", "1", "2", "3", "4", "mientras"]
    assert next_message(ana).text == "volví"


def test_who_comes_back_without_its_state_is_another_and_the_old_one_is_told(
    client: Any, group: str, name: Name
) -> None:
    ana, luis = join(client, group, name=name("ana")), join(client, group, name=name("luis"))
    assert isinstance(ana.poll(30), MemberJoined)

    again = join(client, group, token=luis.token)

    gone, came = ana.poll(30), ana.poll(30)
    assert isinstance(gone, MemberGone) and gone.member == luis.number
    assert isinstance(came, MemberJoined) and came.member == again.number != luis.number
    with pytest.raises(NotAMember):
        while luis.poll(30) is not None:
            pass
    with pytest.raises(NotAMember):
        luis.send("¿sigo aquí?")


def test_a_private_conversation_is_of_two(client: Any, group: str, name: Name) -> None:
    ana, luis = join(client, group, name=name("ana")), join(client, group, name=name("luis"))
    one = private(client, ana.token, name("luis"))
    other = private(client, luis.token, name("ana"))

    one.send("entre nosotros")
    answer_to = next_message(other)
    other.send("claro", answers=answer_to)

    assert answer_to.text == "entre nosotros"
    assert next_message(one).text == "claro"
    assert one.group == other.group != group
    assert {member.name for member in one.members} == {name("ana"), name("luis")}
    assert one.group in {row["name"] for row in client.groups(ana.token)}


def test_who_enrolls_first_joins_with_the_token(client: Any, group: str, name: Name) -> None:
    participant = client.enroll(name("ana"))
    ana = join(client, group, token=participant.token)

    renamed = client.rename(participant.token, name("anita"))

    assert (ana.name, ana.token) == (name("ana"), participant.token)
    assert renamed.name == name("anita")
    assert [member.name for member in client.group_members(group, ana.token)] == [name("anita")]
    assert [member.is_here for member in ana.presence()] == [True]
    assert client.retire(participant.token)
    with pytest.raises(Unauthorized):
        join(client, group, token=participant.token)


def test_what_is_wrong_is_refused_in_words_and_costs_no_name(client: Any, group: str, name: Name) -> None:
    ana = join(client, group, name=name("ana"))
    client.create("group", name=f"{group}-x", access="invited", allowed=[name("luis")])

    with pytest.raises(AlreadyExists):
        join(client, group, name=name("ANA"))
    with pytest.raises(BadName):
        join(client, group, name="servidor")
    with pytest.raises(Forbidden):
        join(client, f"{group}-x", name=name("eva"))
    with pytest.raises(TooLarge):
        ana.send(b"x" * (2 * 1024 * 1024))

    assert join(client, group, name=name("eva")).number > ana.number
    assert ana.send("sigo").number == 2


def test_a_group_that_is_deleted_ends_for_its_members(client: Any, group: str, name: Name) -> None:
    ana = join(client, group, name=name("ana"))
    client.delete("group", group)

    with pytest.raises(NotFound):
        ana.send("¿hola?")
    with pytest.raises(NotFound):
        while ana.poll(30) is not None:
            pass


def test_closing_ends_who_waits_for_the_next_event(client: Any, group: str, name: Name) -> None:
    ana = join(client, group, name=name("ana"))
    shown: list[Any] = ["waiting"]
    thread = threading.Thread(target=lambda: shown.__setitem__(0, list(ana)))
    thread.start()

    ana.close()
    thread.join(30)

    assert shown == [[]]


def test_leaving_ends_who_waits_for_the_next_event(client: Any, group: str, name: Name) -> None:
    for turn in range(5):
        ana = join(client, group, name=name(f"ana {turn}"))
        shown: list[Any] = ["waiting"]
        thread = threading.Thread(target=lambda ana=ana, shown=shown: shown.__setitem__(0, list(ana)))
        thread.start()

        ana.leave()
        thread.join(30)

        # It ended by itself: no refusal to read what it is no member of any more.
        assert isinstance(shown[0], list)


def test_any_number_of_threads_may_send(hub: HubProcess, group: str, name: Name) -> None:
    with ExitStack() as stack:
        client = stack.enter_context(hub.client())
        ana, luis = client.join(group, name=name("ana")), client.join(group, name=name("luis"))

        def say(who: int) -> None:
            for number in range(50):
                ana.send(f"{who} {number}", wait=number % 2 == 0)

        threads = [threading.Thread(target=say, args=(who,)) for who in range(4)]
        for thread in threads:
            thread.start()
        shown = messages(luis, 200)
        for thread in threads:
            thread.join()

    assert [one.stamp.number for one in shown] == list(range(2, 202))
    for who in range(4):
        mine = [one.text for one in shown if one.text.startswith(f"{who} ")]
        assert mine == [f"{who} {number}" for number in range(50)]


def test_what_each_was_shown_is_on_the_log_of_deliveries(client: Any, hub: HubProcess, group: str, name: Name) -> None:
    ana, luis = join(client, group, name=name("ana")), join(client, group, name=name("luis"))
    sent = ana.send("hola")
    shown = next_message(luis)
    assert isinstance(shown, GroupMessage)

    def rows() -> list[Any]:
        with hub.client() as reader:
            told = [json.loads(one.body) for one in reader.read("pregon.deliveries", 1, max=10_000) if one.key == group]
        return [row for report in told if report["name"] == name("luis") for row in report["rows"]]

    found = wait_until(lambda: [row for row in rows() if row[0] == str(sent)], "the delivery is reported")
    assert found[0][1] <= found[0][2]
    assert found[0][1] >= shown.sent_us
