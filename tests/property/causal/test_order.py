"""Whatever the network does, the oracle finds nothing wrong with what members are shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregon.causal.hold_back import HoldBack
from pregon.causal.member import Member
from pregon.causal.stamps import Stamp

from .histories import counts, histories
from .trial import Action, Trial, small_member


@given(counts, histories)
def test_members_are_shown_everything_once_in_causal_order(count: int, history: list[Action]) -> None:
    trial = Trial(count)

    trial.run(history)
    trial.settle()

    assert trial.oracle.violations == []
    assert all(set(shown) == set(trial.sent) for shown in trial.shown.values())


@given(counts, histories)
def test_what_is_asked_for_is_enough_and_is_not_here(count: int, history: list[Action]) -> None:
    trial = Trial(count)
    trial.run(history)

    for me, member in trial.members.items():
        asked = [Stamp(gap.member, number) for gap in member.gaps() for number in range(gap.first, gap.last + 1)]
        assert len(asked) == len(set(asked))
        assert not any(stamp in member.held or stamp in trial.shown[me] for stamp in asked)
        while member.held:
            trial.ask(me)

    assert trial.oracle.violations == []


@given(counts, histories)
def test_a_small_queue_loses_time_but_no_message(count: int, history: list[Action]) -> None:
    trial = Trial(count, small_member)
    trial.run(history)

    for me in trial.members:
        while trial.oracle.lacks(me):
            before = len(trial.shown[me])
            for message in reversed(trial.sent.values()):
                if message.stamp.member != me:
                    trial.hand(me, message)
                assert len(trial.members[me].held) <= 4
            assert len(trial.shown[me]) > before

    assert trial.oracle.finish({me: len(member.held) for me, member in trial.members.items()}) == []


class Spied(HoldBack):
    """Counts what its limits are about."""

    def most_of_one(self) -> int:
        """How many messages of one sender are held, of whom most are."""
        senders = [message.stamp.member for message in self.messages()]
        return max(map(senders.count, senders), default=0)


@given(counts, histories, st.integers(1, 6), st.integers(1, 3))
def test_the_queue_keeps_its_limits(count: int, history: list[Action], held_max: int, of_member_max: int) -> None:
    queues: list[Spied] = []

    def make(me: int) -> Member:
        queues.append(Spied(held_max, of_member_max))
        return Member(me, hold_back=queues[-1])

    trial = Trial(count, make)
    for what, who, which in history:
        if what != "restart":
            trial.run([(what, who, which)])
            assert all(len(queue) <= held_max and queue.most_of_one() <= of_member_max for queue in queues)

    assert trial.oracle.violations == []


@given(counts, histories, st.data())
def test_a_member_that_comes_back_goes_on_as_if_it_had_not_gone(
    count: int, history: list[Action], data: st.DataObject
) -> None:
    one, other = Trial(count), Trial(count)
    where = data.draw(st.integers(0, len(history)))
    quiet = [action for action in history[where:] if action[0] != "restart"]

    one.run(history[:where])
    other.run(history[:where])
    for me in other.members:
        other.restart(me, 0)
        # What was held back is asked for again: here it comes at once.
        for message in one.members[me].held.messages():
            other.hand(me, message)
    one.run(quiet)
    other.run(quiet)

    assert [member.state() for member in one.members.values()] == [member.state() for member in other.members.values()]
    assert other.oracle.violations == []


@given(counts, histories, st.integers(0, 6), st.integers(1, 20))
def test_what_is_lost_for_good_holds_nobody_up(count: int, history: list[Action], who: int, last: int) -> None:
    trial = Trial(count)
    trial.run(history)
    lost_of = 1 + who % count
    last = min(last, trial.members[lost_of].clock.get(lost_of, 0))

    for me, member in trial.members.items():
        known = member.clock.get(lost_of, 0)
        deliveries = member.advance(lost_of, last)
        if last > known:
            trial.oracle.missed(me, lost_of, last)
        for delivery in deliveries:
            trial.oracle.delivered(me, delivery.message.stamp, delivery.message.body)
    trial.settle()

    assert trial.oracle.violations == []


@given(counts, histories, histories)
def test_a_member_that_everybody_has_all_of_may_be_forgotten(
    count: int, history: list[Action], later: list[Action]
) -> None:
    trial = Trial(count + 1)
    trial.run(history)
    trial.settle()
    gone = count + 1
    del trial.members[gone], trial.on_the_way[gone]

    known = set(trial.sent)
    for me, member in trial.members.items():
        trial.oracle.forgot(me, gone)
        assert member.forget(gone) == []
        assert gone not in member.clock and gone not in member.frontier
    trial.run(later)
    trial.sent = {stamp: message for stamp, message in trial.sent.items() if stamp.member != gone}
    trial.settle()

    assert trial.oracle.violations == []
    said = [message for stamp, message in trial.sent.items() if stamp not in known]
    assert not any(stamp.member == gone for message in said for stamp in message.after)


@pytest.mark.parametrize("count", [2, 7])
def test_the_newest_first_is_the_worst_order_and_changes_nothing(count: int) -> None:
    trial = Trial(count)
    for number in range(100):
        trial.send(1 + number % count)
        if number % 3 == 0:
            trial.arrive(1 + (number + 1) % count, 0)

    trial.settle()

    assert trial.oracle.violations == []
    assert trial.oracle.deliveries == 100 * (count - 1)
