"""Vector clocks deliver what the immediate dependency relation delivers; constant-size clocks sometimes do not."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pregon.causal import probabilistic, vector
from pregon.causal.history import Relation
from pregon.causal.oracle import Oracle
from pregon.causal.probabilistic import ProbabilisticMember, ProbabilisticMessage, Shape
from pregon.causal.stamps import Stamp
from pregon.causal.vector import VectorMember, VectorMessage
from pregon.errors import BadRequest
from pregon.limits import GROUP_NUMBER_MAX

from .histories import counts, histories
from .test_relations import relation_by
from .trial import Action, Trial


class Beside(Trial):
    """A trial in which every member has a twin that goes by vector clocks."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.twins = {me: VectorMember(me, count) for me in self.members}
        self.vectors: dict[Stamp, VectorMessage] = {}
        self.differ: list[Stamp] = []

    def send(self, me: int, which: int = 0) -> Any:
        """Both send."""
        message = super().send(me, which)
        self.vectors[message.stamp] = self.twins[me].broadcast(message.body)
        return message

    def hand(self, me: int, message: Any) -> None:
        """Both get it."""
        before = len(self.shown[me])
        super().hand(me, message)
        if message.stamp.member != me:
            shown = self.twins[me].receive(self.vectors[message.stamp])
            if {one.stamp for one in shown} != set(self.shown[me][before:]):
                self.differ.append(message.stamp)


@given(counts, histories)
def test_both_deliver_the_same_at_the_same_moment(count: int, history: list[Action]) -> None:
    trial = Beside(count)

    trial.run([action for action in history if action[0] != "restart"])
    trial.settle()

    assert trial.differ == []
    assert not any(len(twin.waiting) for twin in trial.twins.values())


@given(counts, histories)
def test_vector_clocks_relate_messages_as_the_oracle_does(count: int, history: list[Action]) -> None:
    trial = Beside(count)
    trial.run([action for action in history if action[0] != "restart"])

    for one in trial.vectors:
        for other in trial.vectors:
            said = vector.relation(trial.vectors[one], trial.vectors[other])
            assert said is relation_by(trial.oracle, one, other)


def broadcast_at_once(members: int, shape: Shape, seed: int, messages: int = 400) -> tuple[Oracle, int]:
    """Members by (R,K) clocks over a network that brings everything once, in any order; and how many still wait."""
    chance = Random(seed)
    group = {me: ProbabilisticMember(me, shape) for me in range(1, members + 1)}
    sent = dict.fromkeys(group, 0)
    on_the_way: list[tuple[int, ProbabilisticMessage]] = []
    oracle = Oracle()
    for number in range(messages):
        me = chance.randint(1, members)
        sent[me] += 1
        message = group[me].broadcast(Stamp(me, sent[me]))
        oracle.sent(me, message.body, message.body)
        for one in group[me].release():
            oracle.delivered(me, one.body, one.body)
        on_the_way += [(other, message) for other in group if other != me]
        # Some ten messages are always under way, and any of them may be the next.
        for _ in range(members - 1 if number >= 10 else 0):
            other, message = on_the_way.pop(chance.randrange(len(on_the_way)))
            for one in group[other].receive(message):
                oracle.delivered(other, one.body, one.body)
    for other, message in on_the_way:
        for one in group[other].receive(message):
            oracle.delivered(other, one.body, one.body)
    return oracle, sum(len(member.waiting) for member in group.values())


def test_constant_size_delivers_everything_and_some_of_it_too_early() -> None:
    few, waiting = broadcast_at_once(20, Shape(8, 2), seed=1)
    many, _ = broadcast_at_once(20, Shape(400, 4), seed=1)

    assert waiting == 0
    assert few.deliveries == many.deliveries == 400 * 19
    assert few.counts["out_of_order"] > 20 * (1 + many.counts["out_of_order"])
    assert set(few.counts) <= {"out_of_order", "not_fifo"}


def test_one_entry_for_each_member_is_a_vector_clock() -> None:
    members, seed = 6, 0
    shape = Shape(1_024, 1)
    chosen = [probabilistic.choose_entries(member, shape) for member in range(1, members + 1)]
    assert len(set(chosen)) == members

    oracle, waiting = broadcast_at_once(members, shape, seed)

    assert (oracle.violations, waiting) == ([], 0)


@given(st.integers(1, 2**62), st.integers(1, 60), st.integers(1, 60))
def test_a_member_has_its_entries_wherever_it_is_asked(member: int, one: int, other: int) -> None:
    shape = Shape(max(one, other), min(one, other))

    chosen = probabilistic.choose_entries(member, shape)

    assert len(set(chosen)) == shape.of_member and sorted(chosen) == [*chosen]
    assert chosen[0] >= 0 and chosen[-1] < shape.entries


def test_what_constant_size_says_of_two_messages_can_be_wrong() -> None:
    shape = Shape(2, 1)
    alike = [me for me in range(1, 20) if probabilistic.choose_entries(me, shape) == (0,)]
    first, second, third = (ProbabilisticMember(me, shape) for me in alike[:3])
    one, other = first.broadcast("one"), second.broadcast("other")
    third.receive(other)

    both = third.broadcast("both")

    # These have nothing to do with each other, and the entries cannot tell.
    assert probabilistic.relation(one, both) is Relation.BEFORE
    assert probabilistic.relation(one, one) is Relation.SAME


def rows(size: int) -> st.SearchStrategy[Sequence[int]]:
    """Numbers for a clock."""
    return st.lists(st.integers(0, 300) | st.integers(0, GROUP_NUMBER_MAX), min_size=size, max_size=size)


@given(st.integers(1, 30), st.integers(0, 63), st.data())
def test_both_encodings_are_decoded_as_they_were(count: int, kind: int, data: st.DataObject) -> None:
    sender = data.draw(st.integers(1, count))
    numbers = data.draw(rows(count))
    clock = tuple(max(1, number) if member == sender else number for member, number in enumerate(numbers, 1))
    entries = ProbabilisticMessage(sender, tuple(numbers))

    encoded = vector.encode_vector(VectorMessage(sender, clock), kind)
    constant = probabilistic.encode_entries(entries, kind)

    assert vector.decode_vector(encoded + b"rest") == (kind, sender, clock, len(encoded))
    shape = Shape(count, 1)
    assert probabilistic.decode_entries(constant + b"rest", shape) == (kind, sender, entries.entries, len(constant))


@given(st.binary(max_size=60) | st.lists(st.integers(0, 5), max_size=40).map(bytes))
def test_any_bytes_are_a_clock_or_a_bad_request(data: bytes) -> None:
    with suppress(BadRequest):
        kind, sender, clock, end = vector.decode_vector(data)
        assert vector.encode_vector(VectorMessage(sender, clock), kind) == data[:end]
    with suppress(BadRequest):
        kind, sender, entries, end = probabilistic.decode_entries(data, Shape(4, 2))
        assert probabilistic.encode_entries(ProbabilisticMessage(sender, entries), kind) == data[:end]
