"""A group on two hubs, with wires of different lengths in front of its members: they keep the order themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from pregon import GroupMessage, MemberLeft
from pregon.client import Client
from pregon.errors import NotFound

from ..conftest import MakeHub
from ..hub_process import HubProcess, wait_until
from ..wire_cutter import Wire, wire_to
from .library import KINDS, Chatter, Judge, join, messages, next_message, open_groups, texts
from .slow_wire import SlowWire

SAYS = 60


@pytest.fixture
def hubs(make_hub: MakeHub) -> Iterator[tuple[HubProcess, HubProcess]]:
    """Two hubs that have the group between them."""
    pair = make_hub("a"), make_hub("b")
    for offset, hub in enumerate(pair):
        hub.start()
        with hub.client() as client:
            client.create("group", name="design", stride=2, offset=offset)
    yield pair
    for hub in pair:
        assert hub.bugs() == []


@contextmanager
def slow(hub: HubProcess, delay_s: float) -> Iterator[Wire]:
    wire = SlowWire(hub.url, delay_s)
    try:
        yield wire
    finally:
        wire.close()


def deliveries_of(hub: HubProcess, name: str) -> dict[str, list[Any]]:
    """What a member reported: by stamp, when it came, when it was shown, what it waited for."""
    with hub.client() as client:
        try:
            told = [json.loads(one.body) for one in client.read("pregon.deliveries", 1, max=10_000)]
        except NotFound:
            return {}  # Nobody has reported yet.
    return {row[0]: row[1:] for report in told if report["name"] == name for row in report["rows"]}


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_comes_by_the_shorter_way_waits_for_its_question(
    hubs: tuple[HubProcess, HubProcess], kind: str
) -> None:
    first, second = hubs
    with ExitStack() as stack:
        near_first = stack.enter_context(first.client())
        near_second = stack.enter_context(second.client())
        wire = stack.enter_context(wire_to(first.url))
        far = stack.enter_context(open_groups(kind, second.url))
        ana = near_first.join("design", name="ana", paths=[second.url])
        luis = near_second.join("design", name="luis", paths=[first.url])
        eva = join(far, "design", name="eva", paths=[wire.url])
        wire.hold()

        ana.send("¿vienes?")
        asked = next_message(luis)
        luis.send("sí", answers=asked)
        wait_until(lambda: eva.held == 1, "the answer has come, and is held back")
        while (event := eva.poll(0)) is not None:
            assert not isinstance(event, GroupMessage), "the answer was shown before its question"
        wire.cut()
        question, answer = messages(eva, 2)

        assert (question.text, answer.text) == ("¿vienes?", "sí")
        assert answer.waited_for == question.stamp == asked.stamp
        assert question.waited_for is None
        rows = wait_until(
            lambda: (found := deliveries_of(second, "eva")) and str(answer.stamp) in found and found, "it is reported"
        )
        came_at, shown_at, waited_for = rows[str(answer.stamp)]
        question_came_at, question_shown_at, _ = rows[str(question.stamp)]
        # In the order in which they came the answer would have been shown first.
        assert came_at < question_came_at
        assert shown_at >= question_shown_at
        assert waited_for == str(question.stamp)


@pytest.mark.parametrize("kind", KINDS)
def test_a_lively_conversation_over_ways_of_different_lengths_is_in_causal_order(
    hubs: tuple[HubProcess, HubProcess], kind: str
) -> None:
    first, second = hubs
    judge = Judge()
    with ExitStack() as stack:
        slow_first = stack.enter_context(slow(first, 0.12))
        slow_second = stack.enter_context(slow(second, 0.03))
        ways = [
            (first.url, second.url),
            (second.url, slow_first.url),
            (first.url, slow_second.url),
            (second.url, first.url),
        ]
        clients = [stack.enter_context(open_groups(kind, here, timeout_ms=60_000)) for here, _ in ways]
        groups = []
        for number, (client, (_, there)) in enumerate(zip(clients, ways, strict=True)):
            groups.append(join(client, "design", name=f"m{number}", paths=[there]))
        judge.joined(*groups)
        chatters = [Chatter(group, judge, SAYS, (len(ways) - 1) * SAYS) for group in groups]
        shown = [chatter.end() for chatter in chatters]
        held = {group.number: group.held for group in groups}

    for texts_ in shown:
        assert len(texts_) == len(set(texts_)) == (len(ways) - 1) * SAYS
    assert judge.oracle.finish(held) == []
    waited = [row for hub in hubs for number in range(4) for row in deliveries_of(hub, f"m{number}").values() if row[2]]
    assert waited, "nothing ever had to wait: the test shows nothing"


def test_one_of_two_hubs_is_killed_and_comes_back_and_nothing_is_lost(hubs: tuple[HubProcess, HubProcess]) -> None:
    first, second = hubs
    with first.client(timeout_ms=60_000) as near_first, second.client(timeout_ms=60_000) as near_second:
        ana = near_first.join("design", name="ana", paths=[second.url])
        luis = near_second.join("design", name="luis", paths=[first.url])
        ana.send("uno")
        assert next_message(luis).text == "uno"
        second.kill()
        luis.send("dos", wait=False)
        ana.send("tres")
        second.start()
        luis.flush()

        assert next_message(luis).text == "tres"
        assert next_message(ana).text == "dos"


def test_a_member_of_two_hubs_comes_back_with_its_state_and_leaves_both(hubs: tuple[HubProcess, HubProcess]) -> None:
    first, second = hubs
    with first.client() as near_first, second.client() as near_second:
        ana = near_first.join("design", name="ana", paths=[second.url])
        luis = near_second.join("design", name="luis", paths=[first.url])
        ana.send("uno")
        luis.send("dos")
        state = luis.state()
        luis.close()
        ana.send("tres")

        again = near_second.join("design", state=state, paths=[first.url])
        assert texts(again, 2) == ["uno", "tres"]
        again.leave()

        assert next_message(ana).text == "dos"
        left = ana.poll(30)
        assert isinstance(left, MemberLeft) and left.name == "luis"
        assert [member.name for member in ana.members] == ["ana"]
        assert _names(first, near_first) == ["ana"]
        assert _names(second, near_second) == []


def test_the_history_of_two_hubs_is_shown_in_causal_order(hubs: tuple[HubProcess, HubProcess]) -> None:
    first, second = hubs
    with first.client() as near_first, second.client() as near_second:
        ana = near_first.join("design", name="ana", paths=[second.url])
        luis = near_second.join("design", name="luis", paths=[first.url])
        said = []
        for number in range(10):
            here, there = (ana, luis) if number % 2 else (luis, ana)
            here.send(f"{number}")
            assert next_message(there).text == f"{number}"
            said.append(f"{number}")

        eva = near_first.join("design", name="eva", paths=[second.url], history=True)

        assert texts(eva, 10) == said


def test_two_wires_to_one_hub_show_everything_once(make_hub: MakeHub) -> None:
    hub = make_hub().start()
    with slow(hub, 0.05) as wire, hub.client() as near, Client(wire.url) as far:
        ana = near.join("design", name="ana")
        luis = far.join("design", name="luis", paths=[hub.url])
        for number in range(100):
            ana.send(f"{number}", wait=False)
        ana.flush()
        ana.send("fin")

        assert texts(luis, 101) == [*map(str, range(100)), "fin"]
        assert all(not isinstance(event, GroupMessage) for event in iter(lambda: luis.poll(0.3), None))


def _names(hub: HubProcess, client: Client) -> list[str]:
    assert hub.is_alive
    return [member.name for member in client.group_members("design")]
