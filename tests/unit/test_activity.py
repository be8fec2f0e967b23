"""Minutes that add up, percentiles of histograms, series without holes, and counts that are bounded."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection

from pregon.delivery.figures import Figures
from pregon.delivery.outcome import DELIVERED as PUSHED
from pregon.delivery.tally import Tally, Waits
from pregon.model.activity import (
    MINUTE_US,
    OTHERS,
    TOPICS_MAX,
    WAITED_MS,
    Minute,
    TopicMinute,
    add_counts,
    make_series,
    merge,
    minute_of,
    percentile,
    rates,
)
from pregon.model.batch import StoredBatch
from pregon.model.group import PRIVATE_PREFIX, TOPIC_PREFIX
from pregon.model.trace import ACCEPTED, ACKNOWLEDGED, CANCELLED, DELIVERED, EXPIRED, FAILED, PARKED, PULLED, Trace
from pregon.store.transaction import Accepted, Transaction

NOW_US = minute_of(1_800_000_000_000_000)
NONE = [0] * (len(WAITED_MS) + 1)


def waited(**by_bound: int) -> list[int]:
    """A histogram with so many up to a bound: `_10` is ten milliseconds, `longer` more than any."""
    counts = list(NONE)
    for name, count in by_bound.items():
        counts[-1 if name == "longer" else WAITED_MS.index(int(name[1:]))] = count
    return counts


def transaction(*traces: Trace, accepted: tuple[tuple[str, int], ...] = ()) -> Transaction:
    connection: Connection = None  # type: ignore[assignment]
    made = Transaction(connection, NOW_US)
    made.accepted = [Accepted(topic, StoredBatch(1, count, b"12345")) for topic, count in accepted]
    made.traces = list(traces)
    return made


def trace(kind: str, first_seq: int, last_seq: int, topic: str = "t") -> Trace:
    return Trace(at_us=NOW_US, kind=kind, topic=topic, first_seq=first_seq, last_seq=last_seq)


# Percentiles.


def test_nothing_has_no_percentile() -> None:
    assert percentile([], 0.5) is None
    assert percentile(NONE, 0.99) is None


def test_within_a_bucket_values_are_taken_to_be_spread_evenly() -> None:
    counts = waited(_10=100)

    found = [percentile(counts, q) for q in (0.0, 0.5, 0.95, 1.0)]

    assert found == pytest.approx([5.0, 7.5, 9.75, 10.0])


def test_a_percentile_is_in_the_bucket_where_so_many_have_gone_by() -> None:
    counts = waited(_1=50, _100=45, _5000=5)

    found = [percentile(counts, q) for q in (0.25, 0.5, 0.95, 0.99)]

    assert found == pytest.approx([0.5, 1.0, 100.0, 1_000 + 4_000 * 4 / 5])


def test_of_what_is_longer_than_every_bound_only_that_is_known() -> None:
    assert percentile(waited(longer=3), 0.5) == WAITED_MS[-1]


# Adding up.


def test_counts_add_up_and_what_waits_is_that_of_the_last() -> None:
    first = Minute(minute_us=NOW_US, accepted=5, delivered=1, acknowledged=2, waited=waited(_10=1), backlog_pending=9)
    second = Minute(
        minute_us=NOW_US + MINUTE_US, accepted=7, failed=3, parked=1, expired=2, bytes=70, waited=waited(_10=2, _25=1)
    )
    second.look(4, 2, 1)

    merged = merge((first, second), NOW_US)

    assert (merged.accepted, merged.out, merged.failed, merged.parked, merged.expired) == (12, 3, 3, 1, 2)
    assert (merged.bytes, merged.waited) == (70, waited(_10=3, _25=1))
    assert (merged.backlog_pending, merged.backlog_parked, merged.failing) == (4, 2, 1)
    assert (first.accepted, first.waited) == (5, waited(_10=1))


def test_histograms_with_other_bounds_are_left_out() -> None:
    assert add_counts([1, 2, 3], waited(_10=1)) == waited(_10=1)
    assert add_counts([], []) == []


def test_only_what_has_nothing_to_say_is_empty() -> None:
    assert Minute(minute_us=NOW_US, waited=NONE).is_empty
    assert not Minute(minute_us=NOW_US, failed=1).is_empty
    assert not Minute(minute_us=NOW_US, backlog_pending=1).is_empty


def test_more_topics_than_may_be_are_counted_as_others_and_none_is_lost() -> None:
    flows = [
        Minute(minute_us=NOW_US, topics={f"t{number}": TopicMinute(1, 2)}) for number in range(TOPICS_MAX + 20)
    ] * 2

    merged = merge(flows, NOW_US)

    assert len(merged.topics) == TOPICS_MAX + 1
    assert merged.topics["t0"] == TopicMinute(2, 4)
    assert merged.topics[OTHERS] == TopicMinute(40, 80)


# Series and rates.


def test_a_series_has_zeros_where_nothing_is_known() -> None:
    minutes = {NOW_US - 3 * MINUTE_US: Minute(minute_us=NOW_US - 3 * MINUTE_US, accepted=4, acknowledged=3)}

    series = make_series(minutes, NOW_US + 59_999_999, 1, 60)

    assert [point.at_us for point in series] == [NOW_US - (59 - number) * MINUTE_US for number in range(60)]
    assert [point.accepted for point in series] == [0] * 56 + [4, 0, 0, 0]
    assert (series[56].out, series[56].p50_ms) == (3, None)


def test_points_of_ten_minutes_begin_at_the_ten_minutes_of_the_clock() -> None:
    begin_us = 1_800_000_000_000_000 // (10 * MINUTE_US) * 10 * MINUTE_US
    minutes = {
        begin_us + number * MINUTE_US: Minute(
            minute_us=begin_us + number * MINUTE_US, accepted=1, waited=waited(_10=1), backlog_pending=number
        )
        for number in range(-10, 5)
    }

    series = make_series(minutes, begin_us + 4 * MINUTE_US, 10, 144)

    assert len(series) == 144
    assert [(point.at_us - begin_us) // MINUTE_US for point in series[-2:]] == [-10, 0]
    assert [(point.accepted, point.pending) for point in series[-3:]] == [(0, 0), (10, -1), (5, 4)]
    assert series[-1].p50_ms == pytest.approx(7.5)


def test_rates_are_a_second_and_the_busiest_topic_is_first() -> None:
    topics = {f"t{number:02}": TopicMinute(number, number) for number in range(30)}
    flow = Minute(minute_us=NOW_US, accepted=300, delivered=150, acknowledged=150, failed=15, topics=topics)

    now = rates(flow, waited(_10=4), 15_000, NOW_US, 20)
    never = rates(Minute(minute_us=NOW_US), [], 0, NOW_US, 20)

    assert (now.in_per_s, now.out_per_s, now.failed_per_s) == pytest.approx((20.0, 20.0, 1.0))
    assert [one.topic for one in now.topics] == [f"t{number:02}" for number in range(29, 9, -1)]
    assert now.topics[0].in_per_s == pytest.approx(29 / 15)
    assert now.p50_ms == pytest.approx(7.5)
    assert (never.in_per_s, never.p99_ms, never.topics) == (0.0, None, [])


# Counting.


def test_ranges_are_counted_by_their_messages_and_nothing_twice() -> None:
    tally = Tally()

    tally.take(transaction(trace(ACCEPTED, 1, 10), accepted=(("t", 10),)))
    tally.take(transaction(trace(PULLED, 1, 10), trace(ACKNOWLEDGED, 1, 6), trace(DELIVERED, 1, 2, "u")))
    tally.take(transaction(trace(FAILED, 3, 3), trace(PARKED, 7, 7), trace(EXPIRED, 8, 9), trace(CANCELLED, 10, 10)))

    summed = tally.sum_up(NOW_US)
    assert (summed.accepted, summed.bytes, summed.acknowledged, summed.delivered) == (10, 5, 6, 2)
    assert (summed.failed, summed.parked, summed.expired) == (1, 1, 3)
    assert summed.topics == {"t": TopicMinute(10, 6), "u": TopicMinute(0, 2)}


def test_a_tally_counts_so_many_topics_apart_and_no_private_conversation() -> None:
    tally = Tally()

    tally.take(transaction(accepted=((f"{TOPIC_PREFIX}{PRIVATE_PREFIX}ana-luis", 3),)))
    for number in range(TOPICS_MAX + 5):
        tally.take(transaction(accepted=((f"t{number}", 1),)))

    topics = tally.sum_up(NOW_US).topics
    assert len(topics) == TOPICS_MAX + 1
    assert topics[OTHERS] == TopicMinute(3 + 5, 0)
    assert not [name for name in topics if name.startswith(TOPIC_PREFIX)]


def test_waits_are_those_since_the_last_time() -> None:
    figures = Figures()
    waits = Waits(figures)
    figures.pushed("t", "s", PUSHED, 1, 8)
    first = waits.take()

    figures.pushed("t", "s", PUSHED, 1, 8)
    figures.pushed("t", "other", PUSHED, 1, 20)
    second = waits.take()
    third = waits.take()

    assert (first, second, third) == (waited(_10=1), waited(_10=1, _25=1), NONE)


def test_a_subscription_that_was_forgotten_and_made_again_takes_nothing_away() -> None:
    figures = Figures()
    waits = Waits(figures)
    for _ in range(5):
        figures.pushed("t", "s", PUSHED, 1, 8)
    waits.take()

    figures.forget_all_but([])
    figures.pushed("t", "s", PUSHED, 1, 8)

    assert waits.take() == waited(_10=1)
