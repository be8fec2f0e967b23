"""Vector clocks and (R,K) clocks: what they carry, what they refuse."""

from __future__ import annotations

import pytest

from pregon.causal.history import Relation
from pregon.causal.probabilistic import (
    ProbabilisticMember,
    ProbabilisticMessage,
    Shape,
    choose_entries,
    decode_entries,
    encode_entries,
)
from pregon.causal.probabilistic import relation as probable_relation
from pregon.causal.vector import VectorMember, VectorMessage, decode_vector, encode_vector, relation
from pregon.errors import BadRequest


def test_an_answer_waits_for_the_question() -> None:
    ana, eva, leo = (VectorMember(me, 3) for me in (1, 2, 3))
    question = ana.broadcast("lunch?")
    eva.receive(question)
    answer = eva.broadcast("yes")

    assert leo.receive(answer) == []
    assert leo.receive(answer) == []
    assert leo.receive(question) == [question, answer]

    assert answer.clock == (1, 1, 0) and leo.clock == [1, 1, 0]
    assert leo.duplicates == 1 and len(leo.waiting) == 0
    assert relation(question, answer) is Relation.BEFORE and relation(answer, question) is Relation.AFTER


def test_a_vector_is_drawn_so() -> None:
    message = VectorMessage(2, (5, 300, 0))

    assert encode_vector(message, kind=1).hex(" ") == "01 02 03 05 ac 02 00"
    assert decode_vector(encode_vector(message, kind=1)) == (1, 2, (5, 300, 0), 7)


@pytest.mark.parametrize(
    "drawn", ["", "40 01 01 01", "00 00 01 01", "00 02 01 01", "00 01 01 00", "00 01 81 20", "00 01 02 01"]
)
def test_bytes_that_are_no_vector_are_refused(drawn: str) -> None:
    with pytest.raises(BadRequest):
        decode_vector(bytes.fromhex(drawn))


def test_a_vector_of_another_group_is_refused() -> None:
    member = VectorMember(1, 3)

    for message in (VectorMessage(1, (1, 1)), VectorMessage(4, (1, 1, 1)), VectorMessage(0, (1, 1, 1))):
        with pytest.raises(BadRequest):
            member.receive(message)
    with pytest.raises(BadRequest):
        VectorMember(4, 3)


def test_what_waits_is_bounded() -> None:
    member = VectorMember(1, 2, held_max=3)

    for number in range(2, 8):
        member.receive(VectorMessage(2, (0, number)))

    assert len(member.waiting) == 3 and member.waiting.dropped == 3


def test_constant_size_waits_for_what_the_entries_show() -> None:
    shape = Shape(100, 4)
    ana, eva, leo = (ProbabilisticMember(me, shape) for me in (1, 2, 3))
    question = ana.broadcast("lunch?")
    eva.receive(question)
    answer = eva.broadcast("yes")

    assert leo.receive(answer) == []
    assert leo.receive(question) == [question, answer]
    assert probable_relation(question, answer) is Relation.BEFORE
    assert probable_relation(answer, question) is Relation.AFTER


def test_constant_size_takes_concurrent_messages_for_the_missing_cause() -> None:
    shape = Shape(1, 1)
    ana, eva, noe, leo = (ProbabilisticMember(me, shape) for me in (1, 2, 3, 4))
    question = ana.broadcast("lunch?")
    eva.receive(question)
    answer = eva.broadcast("yes")

    assert leo.receive(answer) == []
    # All share one entry: whatever comes first is taken for the question.
    assert [message.body for message in leo.receive(noe.broadcast("hello"))] == ["hello", "yes"]


def test_an_own_broadcast_may_release_what_waited() -> None:
    shape = Shape(1, 1)
    ana, eva, leo = (ProbabilisticMember(me, shape) for me in (1, 2, 4))
    eva.receive(ana.broadcast("lunch?"))
    leo.receive(eva.broadcast("yes"))

    leo.broadcast("hello")

    assert [message.body for message in leo.release()] == ["yes"]
    assert leo.release() == [] and len(leo.waiting) == 0


def test_entries_are_drawn_so() -> None:
    message = ProbabilisticMessage(300, (1, 0, 200))

    data = encode_entries(message, kind=2)

    assert data.hex(" ") == "02 ac 02 01 00 c8 01"
    assert decode_entries(data, Shape(3, 1)) == (2, 300, (1, 0, 200), 7)
    for wrong in (b"", b"\x40\x01\x01\x01\x01", b"\x00\x00\x01\x01\x01", data[:-1]):
        with pytest.raises(BadRequest):
            decode_entries(wrong, Shape(3, 1))


def test_entries_of_another_group_are_refused() -> None:
    with pytest.raises(BadRequest):
        ProbabilisticMember(1, Shape(3, 1)).receive(ProbabilisticMessage(2, (0, 1)))
    for entries, of_member in ((0, 0), (3, 4), (3, 0), (5_000, 2)):
        with pytest.raises(BadRequest):
            Shape(entries, of_member)


def test_entries_are_spread_evenly_over_members() -> None:
    uses = [0] * 20
    for member in range(1, 2_001):
        for entry in choose_entries(member, Shape(20, 3)):
            uses[entry] += 1

    assert min(uses) > 240 and max(uses) < 360
