"""Filters beside what is set aside, delivered ahead, expired or removed: every message is counted once."""

from __future__ import annotations

import pytest

from pregon.hub.hub import Hub

from .filtering import NAMES, NOTHING, A, B, examined, nobody_looks, say_each, tally, want, wanting
from .pushes import deliver
from .verbs import TOPIC, ack, park, pull, seqs, unpark


def test_what_was_parked_before_the_filter_looked_is_parked_and_nothing_else(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanting(hub)
    with nobody_looks(hub, monkeypatch):
        say_each(hub, "abab")
        park(hub, 2)

    examined(hub)

    assert tally(hub) == {"pending": 2, "parked": 1, "filtered": 1}


def test_what_was_cancelled_before_the_filter_looked_is_cancelled_and_nothing_else(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanting(hub)
    with nobody_looks(hub, monkeypatch):
        say_each(hub, "abab")
        hub.cancel(*NAMES, [2]).result()

    examined(hub)

    assert tally(hub) == {"pending": 2, "expired": 1, "filtered": 1}


@pytest.mark.parametrize("last", [A, B, NOTHING, ""], ids=["a", "b", "nothing", "none"])
def test_what_is_parked_stays_parked_whatever_the_next_filter_wants(hub: Hub, last: str) -> None:
    say_each(hub, "ababab")
    wanting(hub)
    park(hub, 3)

    want(hub, last)

    wanted = {A: 2, B: 3, NOTHING: 0, "": 5}[last]
    expected = {"pending": wanted, "parked": 1, "filtered": 5 - wanted}
    assert tally(hub) == {name: n for name, n in expected.items() if n}


def test_what_is_parked_and_not_wanted_any_more_can_be_unparked_and_settled(hub: Hub) -> None:
    say_each(hub, "aab")
    wanting(hub)
    park(hub, 1)
    want(hub, B)

    unpark(hub)
    pulled = pull(hub)
    ack(hub, seqs(pulled)[-1])

    assert seqs(pulled) == [1]
    assert seqs(pull(hub)) == [3]
    assert tally(hub) == {"acknowledged": 1, "pending": 1, "filtered": 1}


def test_what_was_delivered_ahead_stays_settled_whatever_the_next_filter_wants(hub: Hub) -> None:
    say_each(hub, "aaab")
    wanting(hub)
    deliver(hub, 2, 3)

    want(hub, B)
    ack(hub, 4)

    assert tally(hub) == {"acknowledged": 3, "filtered": 1}


def test_what_is_delivered_ahead_after_the_filter_changed_is_once(hub: Hub) -> None:
    say_each(hub, "baab")
    wanting(hub, "")
    want(hub, B)

    deliver(hub, 3)

    assert sum(tally(hub).values()) == 4
    ack(hub, 4)
    assert seqs(pull(hub)) == []
    tally(hub)


def test_what_was_delivered_between_two_filters_is_settled(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    say_each(hub, "abab")
    wanting(hub)
    with nobody_looks(hub, monkeypatch):
        want(hub, B, is_waited_for=False)
        cursor = deliver(hub, 1, 3)

    examined(hub)

    assert cursor == 1
    assert tally(hub) == {"acknowledged": 2, "pending": 2}
    assert seqs(pull(hub)) == [2, 4]


def test_what_was_delivered_is_not_given_again_though_a_filter_in_between_did_not_want_it(hub: Hub) -> None:
    say_each(hub, "baab")
    wanting(hub, "")
    want(hub, B)
    deliver(hub, 3)
    between = tally(hub)

    want(hub, "")

    assert between == {"acknowledged": 1, "filtered": 1, "pending": 2}
    assert seqs(pull(hub)) == [1, 2, 4]
    assert tally(hub) == {"acknowledged": 1, "pending": 3}


def test_deliveries_move_the_cursor_over_what_is_not_wanted(hub: Hub) -> None:
    say_each(hub, "babbab")
    wanting(hub)

    cursors = [deliver(hub, 5), deliver(hub, 2)]

    assert cursors == [1, 6]
    assert tally(hub) == {"acknowledged": 2, "filtered": 4}


# Limits and filters.


def test_what_is_not_wanted_does_not_count_as_pending_for_a_limit(hub: Hub) -> None:
    say_each(hub, "abbbbbba")
    wanting(hub, pending_max=2)

    hub.maintenance.run_once()

    assert tally(hub) == {"pending": 2, "filtered": 6}


def test_what_expires_of_what_is_wanted_is_counted_once(hub: Hub) -> None:
    say_each(hub, "abababab")
    wanting(hub, pending_max=1)

    hub.maintenance.run_once()

    assert tally(hub) == {"pending": 1, "expired": 3, "filtered": 4}
    assert seqs(pull(hub)) == [7]


def test_what_expired_before_the_filter_looked_is_counted_once(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    wanting(hub, pending_max=1)
    with nobody_looks(hub, monkeypatch):
        say_each(hub, "abab")
        hub.maintenance.run_once()

    examined(hub)

    assert sum(tally(hub).values()) == 4


def test_what_the_log_forgets_stays_counted(hub: Hub) -> None:
    say_each(hub, "babab")
    wanting(hub)
    ack(hub, 4)
    hub.update("topic", (TOPIC,), {"retention": {"when_acknowledged": True}}).result()

    hub.maintenance.run_once()
    say_each(hub, "ab")
    examined(hub)

    assert tally(hub) == {"acknowledged": 2, "pending": 1, "filtered": 4}
