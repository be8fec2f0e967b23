"""Before, after or concurrent: what a member remembers of its deliveries."""

from __future__ import annotations

from pregon.causal.history import History, Relation
from pregon.causal.message import CausalMessage
from pregon.causal.stamps import Stamp, decode_stamp, decode_stamps


def history_of(*messages: str, messages_max: int = 100) -> History:
    """Deliveries in order, each `name after after …`."""
    history = History(messages_max)
    for text in messages:
        name, *after = text.split()
        history.add(CausalMessage(decode_stamp(name), decode_stamps(" ".join(after))))
    return history


def related(history: History, one: str, other: str) -> str:
    """How one stands to the other."""
    return history.relation(decode_stamp(one), decode_stamp(other)).value


def test_a_way_back_may_be_long_and_go_over_a_senders_earlier_messages() -> None:
    history = history_of("1:1", "2:1 1:1", "2:2", "2:3", "2:4", "3:1 2:4", "4:1")

    assert related(history, "1:1", "3:1") == "before"
    assert related(history, "3:1", "1:1") == "after"
    assert related(history, "2:1", "3:1") == "before"
    assert related(history, "4:1", "3:1") == related(history, "1:1", "4:1") == "concurrent"
    assert related(history, "3:1", "3:1") == "same"


def test_messages_of_one_sender_are_ordered_even_if_forgotten() -> None:
    assert related(History(), "1:1", "1:2") == "before"
    assert related(History(), "1:9", "1:2") == "after"
    assert related(History(), "1:1", "2:1") == "forgotten"


def test_the_oldest_are_forgotten_first() -> None:
    history = history_of("1:1", "2:1 1:1", "3:1 2:1", messages_max=2)

    assert len(history) == 2 and Stamp(1, 1) not in history
    assert related(history, "1:1", "3:1") == "forgotten"
    assert related(history, "2:1", "3:1") == "before"
    assert history.concurrent_with(Stamp(1, 1)) == []


def test_no_history_at_all_is_possible() -> None:
    assert len(history_of("1:1", "2:1", messages_max=0)) == 0


def test_the_concurrent_ones_come_in_the_order_of_their_delivery() -> None:
    history = history_of("1:1", "5:1", "2:1 1:1", "4:1", "3:1 2:1", "6:1 4:1")

    assert history.concurrent_with(Stamp(2, 1)) == [Stamp(5, 1), Stamp(4, 1), Stamp(6, 1)]


def test_what_went_through_a_lost_message_is_unknown() -> None:
    history = history_of("1:1")
    history.skip(2, 3)
    for text in ("3:1 2:3", "2:4", "4:1"):
        name, *after = text.split()
        history.add(CausalMessage(decode_stamp(name), decode_stamps(" ".join(after))))

    assert related(history, "1:1", "3:1") == related(history, "1:1", "2:4") == "forgotten"
    assert related(history, "1:1", "4:1") == "concurrent"
    assert related(history, "3:1", "2:4") == "concurrent"
    assert history.concurrent_with(Stamp(1, 1)) == [Stamp(4, 1)]


def test_of_a_forgotten_member_only_what_is_certain_is_said() -> None:
    history = history_of("1:1", "2:1 1:1", "3:1", "1:2 3:1")
    history.forget(1)

    assert history.relation(Stamp(1, 1), Stamp(2, 1)) is Relation.BEFORE
    assert history.relation(Stamp(1, 1), Stamp(3, 1)) is Relation.FORGOTTEN
    assert history.relation(Stamp(3, 1), Stamp(1, 2)) is Relation.BEFORE
    assert history.concurrent_with(Stamp(3, 1)) == [Stamp(2, 1)]
