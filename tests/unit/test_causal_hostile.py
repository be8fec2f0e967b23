"""Control information that lies: it costs who sent it, and nobody else."""

from __future__ import annotations

import pytest

from pregon.causal.hold_back import HoldBack
from pregon.causal.member import Member
from pregon.causal.message import CausalMessage, check_control
from pregon.causal.stamps import Stamp
from pregon.errors import BadRequest
from pregon.limits import GROUP_AFTER_MAX, GROUP_HELD_MAX, GROUP_HELD_OF_MEMBER_MAX, GROUP_NUMBER_MAX

LIAR = 666


class Counting(Member):
    """Counts how often it looks whether a message may be delivered."""

    looks = 0

    def _find_missing(self, message: CausalMessage) -> Stamp | None:
        self.looks += 1
        return super()._find_missing(message)


def talk(member: Member, sender: int, count: int) -> int:
    """An honest sender says so much to a member; how much of it is shown."""
    first = member.clock.get(sender, 0) + 1
    return sum(
        len(member.receive(CausalMessage(Stamp(sender, number), (), "honest")))
        for number in range(first, first + count)
    )


LIES = {
    "a clock from the future": CausalMessage(Stamp(LIAR, GROUP_NUMBER_MAX)),
    "a little from the future": CausalMessage(Stamp(LIAR, 2)),
    "after what nobody sent": CausalMessage(Stamp(LIAR, 1), (Stamp(1, GROUP_NUMBER_MAX),)),
    "after who does not exist": CausalMessage(Stamp(LIAR, 1), (Stamp(10**9, 1),)),
    "after what the receiver never said": CausalMessage(Stamp(LIAR, 1), (Stamp(3, 7),)),
    "after everybody's future": CausalMessage(
        Stamp(LIAR, 1), tuple(Stamp(member, 10**6) for member in range(1, GROUP_AFTER_MAX))
    ),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
def test_a_lie_is_never_shown_and_holds_up_nobody_else(lie: CausalMessage) -> None:
    me, other = Member(3), Member(1)

    assert me.receive(lie) == []
    assert talk(me, 1, 50) == talk(me, 2, 50) == 50
    other.receive(me.broadcast("still here"))

    assert other.clock == {} and len(other.held) == 1
    assert me.clock == {1: 50, 2: 50, 3: 1}
    assert not any(stamp.member == LIAR for stamp in me.frontier)


def test_a_lie_that_comes_true_is_shown_then() -> None:
    me = Member(3)
    me.receive(CausalMessage(Stamp(LIAR, 1), (Stamp(1, 20),)))

    assert talk(me, 1, 19) == 19
    assert talk(me, 1, 1) == 2


def test_what_follows_from_a_lie_that_was_shown_to_some_reaches_the_others() -> None:
    ana, leo = Member(1), Member(3)
    good, bad = CausalMessage(Stamp(LIAR, 1)), CausalMessage(Stamp(LIAR, 1), (Stamp(5, 10**9),))
    leo.receive(bad)
    ana.receive(good)
    said = ana.broadcast("it told me so")

    assert leo.receive(said) == []
    # Leo is repaired by Ana, who was shown another copy.
    assert [delivery.message for delivery in leo.receive(good)] == [good, said]


def test_another_content_under_a_known_name_is_not_shown() -> None:
    me = Member(3)
    talk(me, 1, 2)
    me.receive(CausalMessage(Stamp(2, 2), (), "real"))

    me.receive(CausalMessage(Stamp(1, 2), (), "forged"))
    me.receive(CausalMessage(Stamp(2, 2), (), "forged"))
    shown = me.receive(CausalMessage(Stamp(2, 1), (), "real"))

    assert [delivery.message.body for delivery in shown] == ["real", "real"]
    assert me.duplicates == 2


def test_a_flood_of_one_sender_takes_its_own_room() -> None:
    me = Member(3)
    for number in range(2, 3 * GROUP_HELD_OF_MEMBER_MAX):
        me.receive(CausalMessage(Stamp(LIAR, number)))

    assert len(me.held) < GROUP_HELD_OF_MEMBER_MAX
    me.receive(CausalMessage(Stamp(2, 1), (Stamp(1, 1),)))
    assert talk(me, 1, 1) == 2


def test_many_floods_at_once_leave_room_for_who_sends_little() -> None:
    me = Member(3)
    for liar in range(LIAR, LIAR + 20):
        for number in range(2, GROUP_HELD_OF_MEMBER_MAX):
            me.receive(CausalMessage(Stamp(liar, number)))
    assert len(me.held) == GROUP_HELD_MAX

    for number in range(1, 11):
        me.receive(CausalMessage(Stamp(2, number), (Stamp(1, 1),)))

    assert len(me.held) == GROUP_HELD_MAX
    assert talk(me, 1, 1) == 11


def test_a_flood_drops_the_newest_so_that_what_can_be_delivered_first_stays() -> None:
    queue = HoldBack(held_max=10, held_of_member_max=3)
    me = Member(3, hold_back=queue)

    for number in (9, 5, 8, 2, 7, 3, 4):
        me.receive(CausalMessage(Stamp(1, number)))

    assert queue.of_member(1) == [2, 3, 4]
    assert talk(me, 1, 1) == 4


def test_a_queue_that_is_never_empty_does_not_grow_in_secret() -> None:
    me = Member(3)
    me.receive(CausalMessage(Stamp(1, 999)))

    for number in range(1, 400):
        me.receive(CausalMessage(Stamp(1, 2 * number)))
        me.receive(CausalMessage(Stamp(1, 2 * number - 1)))

    assert me.clock[1] == 798 and len(me.held) == 1
    assert len(me.held._of_member[1]) < 40 and len(me.held._by_missing) == 1


@pytest.mark.parametrize("held", [10, 100, 1_000, 10_000])
def test_a_delivery_costs_the_same_however_much_is_held(held: int) -> None:
    me = Counting(3)
    senders = 20
    for index in range(held):
        # Nobody's first message comes: the second waits for it, and each later one for the one before.
        stamp = Stamp(LIAR + index % senders, 2 + index // senders)
        me.receive(CausalMessage(stamp, (Stamp(5, 10**6),)))
    assert len(me.held) == held
    me.looks = 0

    assert talk(me, 1, 500) == 500

    assert me.looks == 500


@pytest.mark.parametrize("held", [10, 100, 1_000, 9_000])
def test_what_was_held_is_delivered_at_a_cost_that_grows_with_it_and_no_faster(held: int) -> None:
    me = Counting(3)
    for index in range(held):
        me.receive(CausalMessage(Stamp(10 + index, 1), (Stamp(1, 1), Stamp(2, 1))))
    me.looks = 0

    assert talk(me, 1, 1) == 1
    assert talk(me, 2, 1) == 1 + held

    # Each looks once when the first comes and once when the second does.
    assert me.looks == 2 * held + 2


def test_a_chain_that_comes_backwards_is_delivered_with_one_look_each() -> None:
    me = Counting(3)
    for number in range(GROUP_HELD_OF_MEMBER_MAX, 1, -1):
        me.receive(CausalMessage(Stamp(1, number)))
    me.looks = 0

    assert talk(me, 1, 1) == GROUP_HELD_OF_MEMBER_MAX
    assert me.looks == GROUP_HELD_OF_MEMBER_MAX


@pytest.mark.parametrize(
    ("stamp", "after"),
    [
        (Stamp(0, 1), ()),
        (Stamp(1, 0), ()),
        (Stamp(GROUP_NUMBER_MAX + 1, 1), ()),
        (Stamp(1, GROUP_NUMBER_MAX + 1), ()),
        (Stamp(1, 1), (Stamp(1, 1),)),
        (Stamp(1, 1), (Stamp(2, 0),)),
        (Stamp(1, 1), (Stamp(2, GROUP_NUMBER_MAX + 1),)),
        (Stamp(1, 1), (Stamp(GROUP_NUMBER_MAX + 1, 1),)),
        (Stamp(1, 1), (Stamp(3, 1), Stamp(2, 1))),
        (Stamp(1, 1), (Stamp(2, 1), Stamp(2, 2))),
        (Stamp(1, 1), tuple(Stamp(member, 1) for member in range(2, GROUP_AFTER_MAX + 3))),
    ],
)
def test_control_information_against_the_rules_is_refused(stamp: Stamp, after: tuple[Stamp, ...]) -> None:
    with pytest.raises(BadRequest):
        check_control(stamp, after)
