"""The benchmark of groups: what it simulates is what it says, and what it puts together is right."""

from __future__ import annotations

import pytest

from pregon.bench.groups.control_size import constant_bytes, sizes_all_at_once, sizes_in, wrong_deliveries
from pregon.bench.groups.crowd import Told
from pregon.bench.groups.paper import GLASSFISH, JBOSS, PROCESSES, class_of
from pregon.bench.groups.records import read_records
from pregon.bench.groups.section_five import Response, increases
from pregon.bench.groups.state_machine import (
    ScannedMember,
    conversation,
    held_as_chain,
    held_by_one_cause,
    shuffled,
)
from pregon.bench.groups.traffic import Traffic, senders_of, steps_of
from pregon.causal.member import Member
from pregon.causal.message import CausalMessage
from pregon.causal.probabilistic import Shape
from pregon.causal.stamps import Stamp
from pregon.causal.vector import VectorMember, VectorMessage
from pregon.client.calls import Pulled
from pregon.client.groups.records import read_record
from pregon.errors import AnswerMalformed
from pregon.model.batch import encode, pack, stamp
from pregon.model.message import Outgoing
from pregon.wire.commands import Messages


def pulled(*headers: dict[str, str]) -> Pulled:
    """An answer with messages that have these headers."""
    messages = [Outgoing(b"body %d" % row, f"id {row}", "ana", headers=one) for row, one in enumerate(headers)]
    arrow = encode(stamp(pack(messages, [1] * len(messages)), "pregon.groups", 1))
    return Pulled("groups.design", Messages(base_seqs=[1], counts=[len(headers)], head_seq=len(headers)), [arrow])


def headers(name: str, after: str = "", kind: str = "message") -> dict[str, str]:
    """What the hub writes."""
    return {"group-kind": kind, "group-stamp": name, "group-after": after}


def test_traffic_of_a_seed_is_always_the_same_and_of_another_one_another() -> None:
    one, other = Traffic(20, 100, 5.0), Traffic(20, 100, 5.0, seed=2)

    assert list(steps_of(one, [1, 2])) == list(steps_of(one, [1, 2]))
    assert senders_of(one) != senders_of(other)


def test_everybody_has_every_message_of_others_once_and_after_it_was_sent() -> None:
    traffic = Traffic(5, 60, 8.0)
    sent: dict[int, float] = {}
    had: set[tuple[int, int]] = set()

    for step in steps_of(traffic, [1, 2, 3, 4, 5]):
        if step.is_send:
            sent[step.message] = step.at
        else:
            assert sent[step.message] < step.at
            had.add((step.message, step.member))

    senders = senders_of(traffic)
    assert had == {(message, member) for message in range(60) for member in range(1, 6) if senders[message] != member}


def test_about_as_many_messages_are_under_way_as_it_says() -> None:
    traffic = Traffic(30, 2_000, 16.0)
    travelled = 0.0
    sent: dict[int, float] = {}

    for step in steps_of(traffic, [1]):
        if step.is_send:
            sent[step.message] = step.at
        else:
            travelled += step.at - sent[step.message]

    assert travelled / max(sent.values()) == pytest.approx(16.0, rel=0.15)


def test_a_vector_clock_at_a_send_is_the_clock_of_our_member() -> None:
    traffic = Traffic(6, 200, 10.0)
    ours = {number: Member(number) for number in range(1, 7)}
    theirs = {number: VectorMember(number, 6) for number in range(1, 7)}
    sent: list[tuple[CausalMessage, VectorMessage]] = []

    for step in steps_of(traffic, list(ours)):
        if not step.is_send:
            ours[step.member].receive(sent[step.message][0])
            theirs[step.member].receive(sent[step.message][1])
            continue
        sent.append((ours[step.member].broadcast(), theirs[step.member].broadcast()))
        clock = ours[step.member].clock
        assert sent[-1][1].clock == tuple(clock.get(number, 0) for number in range(1, 7))


@pytest.mark.parametrize("members", [2, 10, 100])
@pytest.mark.parametrize("under_way", [1.0, 20.0])
def test_control_information_is_never_longer_than_a_vector_clock(members: int, under_way: float) -> None:
    sizes = sizes_in(Traffic(members, 120, under_way), warm_up=0)

    assert len(sizes.bytes) == 120
    assert sizes.longer_than_vector == 0


def test_all_at_once_each_message_names_all_the_others_and_is_as_long_as_a_vector_clock() -> None:
    sizes = sizes_all_at_once(50)

    assert set(sizes.entries) == {49}
    assert sizes.longer_than_vector == 0
    assert max(sizes.bytes) <= max(sizes.vector_bytes)


def test_constant_clocks_deliver_wrongly_when_much_is_under_way_and_not_with_an_entry_for_each() -> None:
    busy = Traffic(20, 150, 60.0)

    assert wrong_deliveries(busy, Shape(entries=8, of_member=2)) > 0.01
    assert wrong_deliveries(Traffic(20, 150, 0.01), Shape(entries=100, of_member=4)) == 0
    assert constant_bytes(busy) == 1 + 1 + 100


def test_the_conversation_is_delivered_by_both_kinds_of_clocks_in_any_order() -> None:
    ours, vectors = conversation(Traffic(12, 300, 8.0))
    member, vector = Member(99), VectorMember(13, 13)
    widened = [VectorMessage(one.sender, (*one.clock, 0)) for one in vectors]

    delivered = [one for message in shuffled(ours, 50) for one in member.receive(message)]
    compared = [one for message in shuffled(widened, 50) for one in vector.receive(message)]

    assert len(delivered) == len(compared) == 300
    assert any(one.waited_for is not None for one in delivered)
    assert any(len(message.after) > 1 for message in ours)


@pytest.mark.parametrize("make", [held_by_one_cause, held_as_chain])
def test_all_that_is_held_back_is_released_by_the_last_one_that_comes(make) -> None:  # type: ignore[no-untyped-def]
    *early, last = make(50)
    member, scanned = Member(999), ScannedMember()

    assert not any(member.receive(message) for message in early)
    assert not any(scanned.receive(message) for message in early)
    assert len(member.receive(last)) == len(scanned.receive(last)) == 51


def test_records_of_a_batch_are_what_the_library_reads_one_by_one() -> None:
    answer = pulled(headers("2:7", "3:1 4:9"), headers("3:2"), headers("5:1", "2:7", "joined"), headers("4:10", "2:7"))

    found = list(read_records(answer))

    alone = [read_record(message, 0, 0) for message in answer]
    assert [(one.stamp, one.after) for one in found] == [(one.stamp, one.after) for one in alone if one is not None]
    assert [None if one.body is None else one.body.body for one in found] == [b"body 0", b"body 1", None, b"body 3"]
    assert all(isinstance(name, Stamp) for one in found for name in (one.stamp, *one.after))


@pytest.mark.parametrize("wrong", [{"x": "y"}, headers("2:0"), headers("2:7", "nobody"), headers(f"{2**62 + 1}:1")])
def test_records_that_the_hub_does_not_write_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(AnswerMalformed):
        list(read_records(pulled(wrong)))


def test_the_response_of_a_message_ends_when_the_last_one_was_shown_it_and_its_sender_is_answered() -> None:
    first = Told(sent={1: 10.0}, acked={1: 10.5}, shown={2: 10.2}, processor_s=0.25)
    second = Told(sent={2: 10.0}, acked={2: 10.1}, shown={1: 10.3, 2: 10.4}, processor_s=0.5)

    response = Response.of([1, 2], [first, second])

    assert response.response_ms == pytest.approx((500 + 400) / 2)
    assert response.slowest_ms == pytest.approx(500)
    assert response.acknowledged_ms == pytest.approx((500 + 100) / 2)
    assert response.processor_ms == pytest.approx(750)


def test_an_increase_is_of_rounds_of_the_same_turn() -> None:
    def took(*values: float) -> list[Response]:
        return [Response(value, value, 0.0, 0.0) for value in values]

    assert increases(took(110, 300), took(100, 200)) == pytest.approx([10.0, 50.0])


def test_the_paper_s_table_has_every_size_and_classes_are_those_of_the_recommendation() -> None:
    assert list(JBOSS) == list(PROCESSES) and len(PROCESSES) == 21
    assert (JBOSS[10], JBOSS[210]) == (100, 13.5)
    assert list(GLASSFISH) == list(PROCESSES[:10]) and GLASSFISH[100] == 0.9
    assert [class_of(seconds) for seconds in (0.1, 2.0, 3.0, 4.1)] == [
        "preferred",
        "preferred",
        "acceptable",
        "unacceptable",
    ]
