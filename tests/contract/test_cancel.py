"""Cancel: messages are given up, once, and the accounting still says where each one is."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pregon import limits
from pregon.errors import BadRequest, LimitReached, NotFound, NotPending
from pregon.hub.hub import Hub

from .site import Clock, Site
from .verbs import (
    SUBSCRIBER,
    TOPIC,
    account,
    ack,
    drain,
    fill,
    park,
    pending,
    pull,
    ranges,
    replay,
    say,
    subscribe,
    tally,
    traces,
    unpark,
)


def cancel(hub: Hub, *seqs: int, subscriber: str = SUBSCRIBER, reason: str = "") -> int:
    """Give messages up; how many."""
    return hub.cancel(TOPIC, subscriber, seqs, reason).result()


def ready(hub: Hub, count: int = 10) -> None:
    """A subscription with so much pending."""
    fill(hub, count)
    subscribe(hub)


def test_what_is_cancelled_is_not_delivered_and_counts_as_expired(hub: Hub) -> None:
    ready(hub)

    count = cancel(hub, 2, 3, 7, reason="published by mistake")

    assert count == 3
    assert tally(hub) == {"acknowledged": 0, "pending": 7, "parked": 0, "expired": 3}
    assert ranges(hub, "cancelled") == [(2, 3), (7, 7)]
    assert traces(hub, kind="cancelled")[0].detail == "published by mistake"
    assert drain(hub) == [1, 4, 5, 6, 8, 9, 10]
    assert tally(hub) == {"acknowledged": 7, "pending": 0, "parked": 0, "expired": 3}


def test_other_subscriptions_still_get_it(hub: Hub) -> None:
    ready(hub, 3)
    subscribe(hub, "archive")

    cancel(hub, 2)

    assert pending(hub, "archive") == [1, 2, 3]
    assert tally(hub, "archive")["expired"] == 0


def test_a_parked_message_can_be_cancelled_before_and_after_the_cursor_has_passed_it(hub: Hub) -> None:
    ready(hub)
    park(hub, 1, 8)
    ack(hub, 5)

    count = cancel(hub, 1, 8)

    assert count == 2
    assert tally(hub) == {"acknowledged": 4, "pending": 4, "parked": 0, "expired": 2}
    assert hub.list_parked(TOPIC, SUBSCRIBER).result() == []
    assert drain(hub) == [6, 7, 9, 10]


def test_an_unparked_message_that_waits_to_be_delivered_again_can_be_cancelled(hub: Hub) -> None:
    ready(hub, 4)
    park(hub, 2)
    ack(hub, 4)
    unpark(hub, 2)

    cancel(hub, 2)

    assert pending(hub) == []
    assert tally(hub) == {"acknowledged": 3, "pending": 0, "parked": 0, "expired": 1}


def test_cancelling_twice_is_one_cancellation(hub: Hub) -> None:
    ready(hub)

    counts = [cancel(hub, 5), cancel(hub, 5), cancel(hub, 5, 6)]

    assert counts == [1, 0, 1]
    assert tally(hub)["expired"] == 2
    assert ranges(hub, "cancelled") == [(5, 5), (6, 6)]


@pytest.mark.parametrize("seq", [3, 11, 1_000_000, -1, 0])
def test_only_what_is_pending_or_parked_can_be_cancelled(hub: Hub, seq: int) -> None:
    ready(hub)
    ack(hub, 3)

    with pytest.raises(NotPending):
        cancel(hub, 5, seq)

    assert tally(hub) == {"acknowledged": 3, "pending": 7, "parked": 0, "expired": 0}


@pytest.mark.parametrize("seqs", [[], range(1, limits.LIST_ROWS_MAX + 2)], ids=["none", "too many"])
def test_one_cancellation_names_a_bounded_number_of_messages(hub: Hub, seqs: list[int]) -> None:
    ready(hub)

    with pytest.raises(BadRequest):
        hub.cancel(TOPIC, SUBSCRIBER, seqs).result()

    assert tally(hub)["expired"] == 0


def test_without_a_subscription_there_is_nothing_to_cancel(hub: Hub) -> None:
    fill(hub, 1)

    with pytest.raises(NotFound):
        cancel(hub, 1)

    assert traces(hub, kind="cancelled") == []


def test_what_is_set_aside_has_a_limit(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    ready(hub)
    monkeypatch.setattr(limits, "PARKED_MAX", 3)
    cancel(hub, 8, 9)

    with pytest.raises(LimitReached):
        cancel(hub, 6, 7)

    assert tally(hub)["expired"] == 2


def test_a_replay_over_cancelled_messages_makes_them_pending_again(hub: Hub) -> None:
    ready(hub, 5)
    cancel(hub, 2, 4)
    ack(hub, 5)

    replay(hub, from_seq=1)

    assert tally(hub) == {"acknowledged": 0, "pending": 5, "parked": 0, "expired": 0}
    assert drain(hub) == [1, 2, 3, 4, 5]


def test_a_cancellation_outlives_a_restart(site: Site) -> None:
    ready(site.hub, 4)
    park(site.hub, 1)
    cancel(site.hub, 1, 3)

    hub = site.restart()

    assert tally(hub) == {"acknowledged": 0, "pending": 2, "parked": 0, "expired": 2}
    assert drain(hub) == [2, 4]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["cancel", "cancel", "park", "unpark", "ack", "replay", "publish", "expire", "restart"]),
        st.integers(1, 14),
        st.integers(0, 4),
    ),
    max_size=25,
)


def take(site: Site, step: tuple[str, int, int]) -> None:
    """One step of a history; one that is refused changes nothing."""
    verb, seq, more = step
    hub, some = site.hub, range(seq, seq + more + 1)
    try:
        if verb == "cancel":
            cancel(hub, *some)
        elif verb == "park":
            park(hub, *some)
        elif verb == "unpark":
            unpark(hub, *([] if more == 4 else some))
        elif verb == "ack":
            pull(hub, ack=min(seq, account(hub).head_seq))
        elif verb == "replay":
            replay(hub, from_seq=seq)
        elif verb == "publish":
            say(hub, *("more" for _ in range(more)))
        elif verb == "expire":
            hub.update("subscription", (TOPIC, SUBSCRIBER), {"pending_max": more + 3}).result()
            hub.maintenance.run_once()
            hub.update("subscription", (TOPIC, SUBSCRIBER), {"pending_max": None}).result()
        else:
            site.restart()
    except (NotPending, BadRequest):
        pass


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_whatever_is_cancelled_parked_replayed_and_expired_the_accounting_adds_up(
    site: Site, clock: Clock, steps: list[tuple[str, int, int]]
) -> None:
    site.hub.delete("topic", (TOPIC,)).result()
    ready(site.hub)

    for step in steps:
        before = account(site.hub)
        take(site, step)
        after = account(site.hub)
        waiting = pending(site.hub)
        assert bool(waiting) == bool(after.pending), (step, before, after)
        assert len(waiting) == len(set(waiting)) <= after.pending, "what was unparked comes in an answer of its own"
        if step[0] == "cancel":
            assert after.acknowledged == before.acknowledged
            assert after.expired - before.expired == before.pending + before.parked - after.pending - after.parked
    left = tally(site.hub)
    delivered = drain(site.hub)
    unpark(site.hub)
    delivered += drain(site.hub)

    assert len(delivered) == len(set(delivered)) == left["pending"] + left["parked"]
    assert tally(site.hub) == {
        "acknowledged": left["acknowledged"] + len(delivered),
        "pending": 0,
        "parked": 0,
        "expired": left["expired"],
    }
