"""Filters in the store: what is wanted is given with its reason, what is not is counted, and every message is once."""

from __future__ import annotations

from typing import Any

import pytest

from pregon.errors import BadFilter, NotPending
from pregon.hub.hub import Hub
from pregon.model.catalog import Subscription
from pregon.store.ticket import Ticket

from .filtering import NAMES, NOTHING, A, B, examined, nobody_looks, say_each, tally, want, wanting
from .site import Site
from .verbs import TOPIC, ack, ask, messages, park, pull, ranges, replay, seqs, traces


def test_only_what_is_wanted_is_given_with_the_reason(hub: Hub) -> None:
    say_each(hub, "abbab")
    wanting(hub)

    pulled = pull(hub)

    assert seqs(pulled) == [1, 4]
    assert [match.reason for match in pulled.matches if match.first_seq <= 4 <= match.last_seq] == ["header r = a"]
    assert tally(hub) == {"pending": 2, "filtered": 3}


def test_the_cursor_passes_what_is_not_wanted(hub: Hub) -> None:
    say_each(hub, "bbabba")
    wanting(hub)
    before = hub.account(*NAMES).result().acked_seq

    cursor = ack(hub, 3)

    assert before == 2
    assert cursor == 5
    assert hub.account(*NAMES).result().acked_seq == 5
    assert tally(hub) == {"acknowledged": 1, "pending": 1, "filtered": 4}


def test_when_nothing_is_wanted_nothing_is_pending(hub: Hub) -> None:
    wanting(hub, NOTHING)
    say_each(hub, "abcabc")
    examined(hub)

    assert seqs(pull(hub)) == []
    assert tally(hub) == {"filtered": 6}
    assert hub.account(*NAMES).result().acked_seq == 6


def test_what_is_not_wanted_is_traced_once_with_the_reason(hub: Hub) -> None:
    say_each(hub, "abbabb")
    wanting(hub)

    seqs(pull(hub))
    ack(hub, 4)

    assert ranges(hub, "filtered") == [(2, 3), (5, 6)]
    assert "header r" in traces(hub, kind="filtered")[0].detail


def test_a_pull_right_after_a_publication_waits_for_the_filter(hub: Hub) -> None:
    wanting(hub)

    for _ in range(20):
        say_each(hub, "ba")
        pulled = pull(hub)
        assert len(seqs(pulled)) == 1
        ack(hub, seqs(pulled)[-1])

    assert tally(hub) == {"acknowledged": 20, "filtered": 20}


def test_a_long_poll_hears_of_what_is_wanted_and_not_of_the_rest(hub: Hub) -> None:
    wanting(hub)
    waiting = ask(hub, wait_ms=10_000)

    say_each(hub, "bbb")
    examined(hub)
    is_answered_early = waiting.is_done
    say_each(hub, "a")

    assert not is_answered_early
    assert seqs(waiting.result()) == [4]


def test_a_message_that_is_not_wanted_is_neither_parked_nor_cancelled(hub: Hub) -> None:
    say_each(hub, "aba")
    wanting(hub)

    with pytest.raises(NotPending):
        park(hub, 2)
    with pytest.raises(NotPending):
        hub.cancel(*NAMES, [2]).result()

    assert tally(hub) == {"pending": 2, "filtered": 1}


def test_a_filter_that_cannot_be_used_is_refused_and_the_old_one_stays(hub: Hub) -> None:
    say_each(hub, "ab")
    wanting(hub)

    with pytest.raises(BadFilter):
        hub.update("subscription", NAMES, {"filter": '{"header": "r"}'}).result()

    assert seqs(pull(hub)) == [1]


def test_filters_survive_a_restart_and_look_at_what_came_since(site: Site) -> None:
    say_each(site.hub, "ab")
    wanting(site.hub)

    hub = site.restart()
    say_each(hub, "ba")
    examined(hub)

    assert seqs(pull(hub)) == [1, 4]
    assert tally(hub) == {"pending": 2, "filtered": 2}


def test_a_subscription_that_begins_late_examines_only_what_is_its_own(hub: Hub) -> None:
    say_each(hub, "abab")

    wanting(hub, start="3")

    assert tally(hub) == {"pending": 1, "filtered": 1}
    assert ranges(hub, "filtered") == [(4, 4)]


def test_what_was_acknowledged_before_a_filter_looked_is_acknowledged(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanting(hub)
    with nobody_looks(hub, monkeypatch):
        say_each(hub, "abab")
        ack(hub, 2)

    examined(hub)

    assert tally(hub) == {"acknowledged": 2, "pending": 1, "filtered": 1}


# Other filters.


def test_another_filter_looks_at_what_is_pending_anew(hub: Hub) -> None:
    say_each(hub, "ababab")
    wanting(hub)
    ack(hub, 1)

    want(hub, B)

    assert seqs(pull(hub)) == [4, 6]
    assert tally(hub) == {"acknowledged": 1, "pending": 2, "filtered": 3}


def test_without_its_filter_a_subscription_wants_what_is_after_the_cursor(hub: Hub) -> None:
    say_each(hub, "babab")
    wanting(hub)

    want(hub, "")

    assert seqs(pull(hub)) == [2, 3, 4, 5]
    assert tally(hub) == {"pending": 4, "filtered": 1}


def test_a_filter_can_be_given_to_a_subscription_that_had_none(hub: Hub) -> None:
    say_each(hub, "ababab")
    wanting(hub, "")
    ack(hub, 2)

    want(hub, B)

    assert seqs(pull(hub)) == [4, 6]
    assert tally(hub) == {"acknowledged": 2, "pending": 2, "filtered": 2}


def test_a_filter_written_otherwise_is_the_same_filter(hub: Hub) -> None:
    say_each(hub, "ab")
    wanting(hub)

    want(hub, '{ "equals" : "a", "header" : "r" }')

    assert len(ranges(hub, "filtered")) == 1
    assert tally(hub) == {"pending": 1, "filtered": 1}


def test_a_long_poll_hears_that_the_filter_was_taken_away(hub: Hub) -> None:
    say_each(hub, "abb")
    wanting(hub)
    park(hub, 1)
    waiting = ask(hub, wait_ms=3_000)

    want(hub, "")

    assert seqs(waiting.result()) == [2, 3]


@pytest.mark.parametrize("filter", [A, B, NOTHING, ""], ids=["a", "b", "nothing", "none"])
@pytest.mark.parametrize("last", [A, B, NOTHING, ""], ids=["a", "b", "nothing", "none"])
def test_whatever_the_filters_were_the_accounting_adds_up_after_a_replay(hub: Hub, filter: str, last: str) -> None:
    say_each(hub, "babbaab")
    wanting(hub, filter)
    ack(hub, 4)
    want(hub, last)

    replay(hub, from_seq=1)
    examined(hub)

    wanted = {A: 3, B: 4, NOTHING: 0, "": 7}[last]
    assert tally(hub) == {name: n for name, n in (("pending", wanted), ("filtered", 7 - wanted)) if n}
    assert len(seqs(pull(hub))) == wanted


@pytest.mark.parametrize("last", [A, B, NOTHING, ""], ids=["a", "b", "nothing", "none"])
def test_a_replay_into_the_middle_of_what_was_not_wanted_examines_only_that(hub: Hub, last: str) -> None:
    say_each(hub, "bbbbbba")
    wanting(hub)
    ack(hub, 7)
    want(hub, last)

    replay(hub, from_seq=4)
    examined(hub)

    pending = {A: [7], B: [4, 5, 6], NOTHING: [], "": [4, 5, 6, 7]}[last]
    assert seqs(pull(hub)) == pending
    assert hub.account(*NAMES).result().filtered == 7 - len(pending)
    tally(hub)


# Many.


def test_many_ranges_are_given_in_order_over_several_pulls(hub: Hub) -> None:
    say_each(hub, "ab" * 300)
    wanting(hub)

    got: list[int] = []
    pulled = pull(hub, messages_max=70)
    while found := seqs(pulled):
        got += found
        assert all(message.headers["r"] == "a" for message in messages(pulled.batches))
        pulled = pull(hub, messages_max=70, ack=found[-1], epoch=pulled.epoch)

    assert got == list(range(1, 600, 2))
    assert tally(hub) == {"acknowledged": 300, "filtered": 300}


def test_many_subscriptions_with_filters_made_at_once_are_all_followed(hub: Hub) -> None:
    say_each(hub, "ab")
    made: list[Ticket[Any]] = []

    for number in range(60):
        made.append(hub.create(Subscription(topic=TOPIC, subscriber=f"bank-{number}", filter=A)))
    for ticket in made:
        ticket.result()
    say_each(hub, "ab")

    for number in range(60):
        assert seqs(pull(hub, f"bank-{number}", wait_ms=5_000)) in ([1, 3], [1])
    assert all(seqs(pull(hub, f"bank-{number}", ack=1, wait_ms=5_000)) == [3] for number in range(60))
