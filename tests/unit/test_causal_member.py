"""One member of a group: what it may be shown, and when."""

from __future__ import annotations

from pregon.causal.history import Relation
from pregon.causal.hold_back import HoldBack
from pregon.causal.member import Gap, Member
from pregon.causal.message import CausalMessage, Delivery
from pregon.causal.stamps import Stamp
from pregon.limits import GROUP_HELD_OF_MEMBER_MAX, GROUP_MEMBERS_MAX


def message(name: str, after: str = "") -> CausalMessage:
    """A message by names: `message("2:1", "1:1 3:4")`."""
    named = [Stamp(*map(int, word.split(":"))) for word in f"{name} {after}".split()]
    return CausalMessage(named[0], tuple(named[1:]), name)


def names(deliveries: list[Delivery]) -> list[str]:
    """Which messages were delivered."""
    return [str(delivery.message.stamp) for delivery in deliveries]


def test_a_message_names_only_what_it_follows_from_at_once() -> None:
    ana, eva, leo = Member(1), Member(2), Member(3)
    first = ana.broadcast("lunch?")
    eva.receive(first)
    answer = eva.broadcast("yes")
    leo.receive(first)
    leo.receive(answer)

    late = leo.broadcast("me too")

    assert answer.after == (first.stamp,)
    assert late.after == (answer.stamp,)


def test_concurrent_messages_are_all_named() -> None:
    ana = Member(1)
    ana.receive(message("3:1"))
    ana.receive(message("2:1"))

    assert ana.broadcast().after == (Stamp(2, 1), Stamp(3, 1))
    assert ana.broadcast().after == ()


def test_an_answer_waits_for_the_question_and_says_so() -> None:
    leo = Member(3)

    assert leo.receive(message("2:1", "1:1")) == []
    assert leo.gaps() == [Gap(1, 1, 1, wanted_by=Stamp(2, 1))]
    deliveries = leo.receive(message("1:1"))

    assert names(deliveries) == ["1:1", "2:1"]
    assert [delivery.waited_for for delivery in deliveries] == [None, Stamp(1, 1)]
    assert leo.gaps() == [] and not leo.held


def test_copies_are_counted_and_not_shown() -> None:
    leo = Member(3)
    leo.receive(message("1:1"))
    leo.receive(message("2:2"))

    assert leo.receive(message("1:1")) == leo.receive(message("2:2")) == []
    assert (leo.duplicates, leo.conflicts) == (2, 0)


def test_gaps_do_not_overlap_and_leave_out_what_is_held() -> None:
    leo = Member(9)
    for one in (message("1:3"), message("1:4"), message("1:7"), message("2:1", "1:12"), message("3:1", "1:10")):
        leo.receive(one)

    gaps = leo.gaps()

    assert [(gap.member, gap.first, gap.last) for gap in gaps] == [(1, 1, 2), (1, 5, 6), (1, 8, 10), (1, 11, 12)]
    assert [gap.wanted_by for gap in gaps] == [Stamp(1, 3), Stamp(1, 7), Stamp(3, 1), Stamp(2, 1)]


def test_what_is_too_far_ahead_is_not_kept() -> None:
    leo = Member(3)

    leo.receive(message(f"1:{GROUP_HELD_OF_MEMBER_MAX}"))
    leo.receive(message(f"1:{GROUP_HELD_OF_MEMBER_MAX + 1}"))

    assert len(leo.held) == 1 and leo.held.dropped == 1


def test_what_is_lost_for_good_is_passed_over() -> None:
    leo = Member(3)
    for one in (message("1:2", "2:9"), message("1:4"), message("2:1", "1:3")):
        leo.receive(one)

    deliveries = leo.advance(1, 3)

    assert names(deliveries) == ["1:4", "2:1"]
    assert not leo.held and leo.gaps() == []
    assert leo.advance(1, 3) == []
    # The one that was passed over waited for another: when that comes, nothing is left of it.
    for number in range(2, 10):
        assert names(leo.receive(message(f"2:{number}"))) == [f"2:{number}"]
    assert leo.clock == {1: 4, 2: 9}


def test_who_waits_for_a_forgotten_member_waits_no_more() -> None:
    leo = Member(3)
    leo.receive(message("1:1"))
    leo.receive(message("2:1", "1:5"))
    leo.receive(message("1:3"))

    deliveries = leo.forget(1)

    assert names(deliveries) == ["2:1"]
    assert not leo.held and leo.gaps() == []
    assert leo.receive(message("1:2")) == [] == leo.advance(1, 7)
    assert names(leo.receive(message("2:2", "1:9"))) == ["2:2"]


def test_the_next_message_names_what_a_forgotten_one_followed_from() -> None:
    leo = Member(9)
    for one in (message("4:1"), message("5:1"), message("1:1", "4:1"), message("1:2", "5:1"), message("6:1", "5:1")):
        leo.receive(one)
    assert leo.frontier == {1: 2, 6: 1}

    leo.forget(1)

    # 5:1 is implied by 6:1, and 4:1 by nothing any more.
    last = leo.broadcast()
    assert last.after == (Stamp(4, 1), Stamp(6, 1))
    assert leo.history.relation(Stamp(4, 1), last.stamp) is Relation.BEFORE
    assert leo.history.relation(Stamp(1, 2), last.stamp) is Relation.FORGOTTEN
    assert leo.history.relation(Stamp(1, 2), Stamp(4, 1)) is Relation.AFTER


def test_what_was_sent_before_a_member_was_forgotten_is_not_named_again() -> None:
    leo = Member(9)
    leo.receive(message("4:1"))
    leo.broadcast()
    leo.receive(message("1:1", "4:1"))

    leo.forget(1)

    assert leo.broadcast().after == ()


def test_forgotten_members_take_bounded_room_and_survive_a_restart() -> None:
    leo = Member(10**6)
    for gone in range(1, GROUP_MEMBERS_MAX + 100):
        leo.receive(message(f"{gone}:1"))
        leo.forget(gone)

    again = Member.restore(leo.state())

    assert len(leo.settled) == GROUP_MEMBERS_MAX
    assert not leo.clock and not leo.frontier
    assert [*again.settled] == [*leo.settled]
    assert again.receive(message(f"{GROUP_MEMBERS_MAX}:1")) == []


def test_a_member_that_comes_back_goes_on_where_it_was() -> None:
    leo = Member(3)
    leo.receive(message("1:1"))
    leo.broadcast()
    leo.receive(message("2:1"))

    again = Member.restore(leo.state(), hold_back=HoldBack(held_max=1))

    assert again.receive(message("1:1")) == []
    assert again.broadcast() == CausalMessage(Stamp(3, 2), (Stamp(2, 1),))


def test_a_copy_that_may_be_delivered_takes_the_place_of_one_that_may_not() -> None:
    leo = Member(3)
    leo.receive(message("1:1", "8:1000"))
    leo.receive(message("2:1", "1:1"))
    assert [(gap.member, gap.last) for gap in leo.gaps()] == [(8, 1000)]

    deliveries = leo.receive(message("1:1"))

    assert names(deliveries) == ["1:1", "2:1"]
    assert leo.conflicts == 1 and not leo.held


def test_a_copy_that_may_not_be_delivered_either_changes_nothing() -> None:
    leo = Member(3)
    leo.receive(message("1:1", "8:1000"))

    assert leo.receive(message("1:1", "7:1")) == []

    assert (leo.conflicts, leo.duplicates, len(leo.held)) == (1, 1, 1)
    assert [(gap.member, gap.last) for gap in leo.gaps()] == [(8, 1000)]


def test_what_is_said_may_follow_from_what_is_shown_later() -> None:
    leo = Member(3)
    leo.receive(message("1:1"))

    leo.follow(Stamp(2, 2))
    said = leo.broadcast()

    assert said.after == (Stamp(1, 1), Stamp(2, 2))
    assert names(leo.receive(message("4:1"))) == ["4:1"]
    assert names([*leo.receive(message("2:1", "4:1")), *leo.receive(message("2:2"))]) == ["2:1", "2:2"]
    # 4:1 was before what it said, though it was shown later: nobody here can tell.
    assert leo.history.relation(said.stamp, Stamp(4, 1)) is Relation.FORGOTTEN
    assert leo.history.relation(said.stamp, Stamp(2, 2)) is Relation.FORGOTTEN
    leo.follow(Stamp(2, 1))
    assert leo.broadcast().after == (Stamp(2, 2),)


def test_what_is_given_up_is_asked_for_again() -> None:
    leo = Member(3)
    leo.receive(message("1:1", "8:1000"))
    leo.receive(message("2:1", "1:1"))

    assert leo.give_up(Stamp(1, 1)) and not leo.give_up(Stamp(1, 1))

    assert leo.gaps() == [Gap(1, 1, 1, wanted_by=Stamp(2, 1))]
    assert names(leo.receive(message("1:1"))) == ["1:1", "2:1"]
