"""Before, after or concurrent: the history of a member says of every pair what the oracle says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pregon.causal.history import History, Relation
from pregon.causal.member import Member
from pregon.causal.oracle import Oracle
from pregon.causal.stamps import Stamp

from .histories import counts, histories, short_histories
from .trial import Action, Trial


def relation_by(oracle: Oracle, one: Stamp, other: Stamp) -> Relation:
    """What the oracle says."""
    if one == other:
        return Relation.SAME
    if oracle.is_before(one, other):
        return Relation.BEFORE
    return Relation.AFTER if oracle.is_before(other, one) else Relation.CONCURRENT


@given(counts, histories)
def test_every_member_relates_every_pair_as_the_oracle_does(count: int, history: list[Action]) -> None:
    trial = Trial(count)
    trial.run(history)

    for me, member in trial.members.items():
        for one in trial.shown[me]:
            for other in trial.shown[me]:
                assert member.history.relation(one, other) is relation_by(trial.oracle, one, other)


@given(counts, histories)
def test_the_concurrent_ones_are_those_that_are_related_so(count: int, history: list[Action]) -> None:
    trial = Trial(count)
    trial.run(history)

    for me, member in trial.members.items():
        for one in trial.shown[me]:
            concurrent = [
                other for other in trial.shown[me] if relation_by(trial.oracle, other, one) is Relation.CONCURRENT
            ]
            assert member.history.concurrent_with(one) == concurrent


@given(counts, histories, st.integers(0, 12))
def test_a_short_history_says_forgotten_and_never_anything_wrong(
    count: int, history: list[Action], messages_max: int
) -> None:
    trial = Trial(count, lambda me: Member(me, history=History(messages_max)))
    trial.run(history)

    for me, member in trial.members.items():
        remembered = trial.shown[me][-messages_max:] if messages_max else []
        assert len(member.history) == len(remembered)
        for one in trial.shown[me]:
            for other in trial.shown[me]:
                said, true = member.history.relation(one, other), relation_by(trial.oracle, one, other)
                is_known = one.member == other.member or (one in remembered and other in remembered)
                assert said is (true if is_known else Relation.FORGOTTEN)


losses = st.tuples(short_histories, st.integers(0, 6), st.integers(0, 6), st.integers(1, 20))


@given(counts, st.lists(losses, max_size=4))
def test_what_was_lost_for_good_makes_answers_unknown_not_wrong(
    count: int, story: list[tuple[list[Action], int, int, int]]
) -> None:
    trial = Trial(count)

    for history, at, of, last in story:
        trial.run(history)
        me, lost_of = 1 + at % count, 1 + of % count
        last = min(last, trial.members[lost_of].clock.get(lost_of, 0))
        member = trial.members[me]
        if last > member.clock.get(lost_of, 0):
            deliveries = member.advance(lost_of, last)
            trial.oracle.missed(me, lost_of, last)
            for delivery in deliveries:
                trial.oracle.delivered(me, delivery.message.stamp, delivery.message.body)
                trial.shown[me].append(delivery.message.stamp)

    assert_never_wrong(trial)


@given(counts, short_histories, short_histories, st.lists(st.integers(0, 6), min_size=1, max_size=2), st.data())
def test_who_is_forgotten_makes_answers_unknown_not_wrong(
    count: int, history: list[Action], later: list[Action], who: list[int], data: st.DataObject
) -> None:
    trial = Trial(count + 2)
    trial.run(history)
    trial.settle()
    gone = {1 + one % (count + 2) for one in who}
    assert trial.oracle.violations == []
    for one in gone:
        del trial.members[one], trial.on_the_way[one]

    # Not all forget at the same moment: meanwhile they go on talking.
    forgets = [(member, one) for member in trial.members.values() for one in sorted(gone)]
    order = data.draw(st.permutations(forgets))
    numbers = {me: index for index, me in enumerate(trial.members)}
    for place, (member, one) in enumerate(order):
        trial.oracle.forgot(member.me, one)
        assert member.forget(one) == []
        for what, sender, which in later[place * 5 : place * 5 + 5]:
            if what not in {"copy", "restart"}:
                getattr(trial, what)([*numbers][sender % len(numbers)], which)

    assert trial.oracle.violations == []
    everybody = set(trial.members)
    for me, member in trial.members.items():
        for one in trial.shown[me]:
            for other in trial.shown[me]:
                if {one.member, other.member} <= everybody:
                    said = member.history.relation(one, other)
                    assert said is relation_by(trial.oracle, one, other)
    assert_never_wrong(trial)


def assert_never_wrong(trial: Trial) -> None:
    """Each answer is the oracle's, or that it is not known any more."""
    for me, member in trial.members.items():
        for one in trial.shown[me]:
            concurrent = set(member.history.concurrent_with(one))
            for other in trial.shown[me]:
                said = member.history.relation(one, other)
                assert said in {relation_by(trial.oracle, one, other), Relation.FORGOTTEN}
                assert (other in concurrent) == (said is Relation.CONCURRENT)
