"""The oracle sees each thing that must not happen, and nothing where there is nothing."""

from __future__ import annotations

from pregon.causal.oracle import VIOLATIONS_MAX, Oracle
from pregon.causal.stamps import Stamp

A1, A2, B1, C1 = Stamp(1, 1), Stamp(1, 2), Stamp(2, 1), Stamp(3, 1)


def conversation() -> Oracle:
    """Ana asks, Eva answers, and Leo has not seen anything yet."""
    oracle = Oracle()
    oracle.sent(1, A1, "lunch?", [])
    oracle.delivered(2, A1, "lunch?")
    oracle.sent(2, B1, "yes", [A1])
    return oracle


def test_a_conversation_in_order_is_in_order() -> None:
    oracle = conversation()
    oracle.delivered(3, A1, "lunch?")
    oracle.delivered(3, B1, "yes")
    oracle.delivered(1, B1, "yes")
    oracle.sent(3, C1, "me too", [B1])
    oracle.delivered(1, C1, "me too")
    oracle.delivered(2, C1, "me too")

    assert oracle.finish({1: 0, 2: 0, 3: 0}) == []
    assert oracle.is_before(A1, C1) and not oracle.is_before(C1, A1)
    assert oracle.predecessors(C1) == {B1}
    assert (len(oracle), oracle.deliveries) == (3, 6)


def test_an_answer_before_its_question_is_out_of_order() -> None:
    oracle = conversation()

    oracle.delivered(3, B1, "yes")

    assert [str(found) for found in oracle.violations] == ["out_of_order: 2:1 at 3: before 1:1, from which it follows"]


def test_the_past_of_a_message_counts_even_where_it_was_not_shown() -> None:
    oracle = conversation()
    oracle.delivered(3, B1, "yes")
    oracle.sent(3, C1, "me too")

    oracle.delivered(4, B1, "yes")
    oracle.delivered(4, C1, "me too")

    assert oracle.is_before(A1, C1)
    assert oracle.counts["out_of_order"] == 3


def test_a_senders_second_before_its_first_is_not_fifo() -> None:
    oracle = Oracle()
    oracle.sent(1, A1)
    oracle.sent(1, A2)

    oracle.delivered(2, A2)

    assert oracle.counts == {"not_fifo": 1, "out_of_order": 1}


def test_what_nobody_sent_is_seen() -> None:
    oracle = conversation()

    oracle.delivered(3, C1)

    assert oracle.counts == {"unsent": 1}


def test_what_comes_twice_is_seen() -> None:
    oracle = conversation()

    oracle.delivered(2, A1, "lunch?")
    oracle.delivered(1, A1, "lunch?")
    oracle.sent(1, A1, "again")

    assert oracle.counts == {"repeated": 3}


def test_another_content_is_seen() -> None:
    oracle = conversation()

    oracle.delivered(3, A1, "dinner?")

    assert oracle.counts == {"altered": 1}


def test_naming_too_little_or_too_much_is_inexact() -> None:
    oracle = conversation()
    oracle.delivered(3, A1, "lunch?")
    oracle.delivered(3, B1, "yes")

    oracle.sent(3, C1, "", [A1, B1])
    oracle.sent(3, Stamp(3, 2), "", [])
    oracle.sent(2, Stamp(2, 2), "", [])
    oracle.delivered(1, B1, "yes")
    oracle.sent(1, A2, "", [])

    assert [(found.kind, found.stamp) for found in oracle.violations] == [("inexact", C1), ("inexact", A2)]


def test_what_did_not_arrive_or_is_still_held_is_seen_at_the_end() -> None:
    oracle = conversation()

    oracle.finish({1: 0, 2: 3})

    assert oracle.counts == {"incomplete": 1, "held": 1}
    assert oracle.lacks(1) == [B1] and oracle.lacks(3, senders=[1]) == [A1]


def test_who_comes_later_need_not_be_shown_what_was_before_and_follows_from_what_it_was_told() -> None:
    oracle = conversation()

    oracle.joined(3, {1: 1, 2: 1}, told=[B1])
    oracle.sent(3, C1, "hello", [B1])

    assert oracle.finish({3: 0}) == []
    assert oracle.is_before(A1, C1)


def test_who_missed_something_does_not_follow_from_it() -> None:
    oracle = conversation()

    oracle.missed(3, 1, 1)
    oracle.sent(3, C1, "what?", [])

    assert oracle.finish({}) == []
    assert not oracle.is_before(A1, C1)


def test_who_is_excused_from_what_is_only_sent_later_still_lacks_it() -> None:
    oracle = Oracle()
    oracle.missed(3, 1, 10**18)

    oracle.sent(1, A1)

    assert oracle.lacks(3) == [A1]


def test_who_comes_back_with_an_old_state_is_shown_again_what_came_since() -> None:
    oracle = conversation()
    saved = oracle.save(3)
    oracle.delivered(3, A1, "lunch?")

    oracle.came_back(3, saved)
    oracle.delivered(3, A1, "lunch?")

    assert oracle.violations == []


def test_who_forgot_a_member_names_what_its_messages_followed_from() -> None:
    oracle = conversation()
    oracle.delivered(3, A1, "lunch?")
    oracle.delivered(3, B1, "yes")

    oracle.forgot(3, 2)
    oracle.sent(3, C1, "", [A1])
    oracle.sent(3, Stamp(3, 2), "", [A1])

    assert [found.stamp for found in oracle.violations] == [Stamp(3, 2)]


def test_violations_beyond_a_limit_are_only_counted() -> None:
    oracle = Oracle()

    for number in range(VIOLATIONS_MAX + 50):
        oracle.delivered(1, Stamp(2, number + 1))

    assert len(oracle.violations) == VIOLATIONS_MAX
    assert oracle.counts["unsent"] == VIOLATIONS_MAX + 50
