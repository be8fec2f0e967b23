"""Counts of pushes and publications: right, bounded, cheap, and a page that Prometheus reads."""

from __future__ import annotations

import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pregon.delivery import figures as counting
from pregon.delivery.figures import ANSWER_MS, Figures, Histogram
from pregon.delivery.outcome import DELIVERED, GONE, KINDS, REFUSED, UNREACHABLE
from pregon.edges.http import metrics
from pregon.edges.http.metrics import render_series
from pregon.model.activity import OTHERS, WAITED_MS
from pregon.model.batch import StoredBatch
from pregon.store.backlogs import Backlog
from pregon.store.transaction import Accepted

NOW_US = 1_800_000_000_000_000
Series = dict[tuple[str, tuple[str, ...]], float]


def series_of(page: bytes) -> Series:
    """Every line of a page, by its name and the values of its labels, as a stranger's parser reads it."""
    found: Series = {}
    for family in text_string_to_metric_families(page.decode()):
        for sample in family.samples:
            place = (sample.name, tuple(sample.labels.values()))
            assert place not in found, f"{place} is there twice"
            found[place] = sample.value
    return found


def backlog(topic: str = "deaths", subscriber: str = "bank", **values: object) -> Backlog:
    plain = {"pending": 0, "oldest_pending_us": 0, "parked": 0, "failing_since_us": 0, "enabled": True, "mode": "push"}
    return Backlog(topic=topic, subscriber=subscriber, **{**plain, **values})  # type: ignore[arg-type]


def batch(count: int, size: int) -> StoredBatch:
    return StoredBatch(1, count, bytes(size))


@pytest.mark.parametrize(
    ("ms", "bucket"), [(0, 0), (1, 0), (1.01, 1), (2.5, 1), (60_000, len(ANSWER_MS) - 1), (60_001, len(ANSWER_MS))]
)
def test_a_time_is_in_the_first_bucket_whose_bound_it_does_not_pass(ms: float, bucket: int) -> None:
    histogram = Histogram(ANSWER_MS)

    histogram.observe(ms)

    assert [place for place, count in enumerate(histogram.counts) if count] == [bucket]
    assert histogram.sum_ms == ms


def test_bounds_ascend_and_reach_a_minute_and_a_day() -> None:
    ends = (ANSWER_MS[0], ANSWER_MS[-1], WAITED_MS[0], WAITED_MS[-1])

    ascending = [list(bounds) == sorted(set(bounds)) for bounds in (ANSWER_MS, WAITED_MS)]

    assert ascending == [True, True]
    assert ends == (1, 60_000, 1, 86_400_000)


def test_pushes_are_counted_by_how_they_ended() -> None:
    figures = Figures()
    for kind, times in ((DELIVERED, 3), (REFUSED, 2), (UNREACHABLE, 5), (GONE, 1)):
        for _ in range(times):
            figures.pushed("deaths", "bank", kind, 12, 400)

    found = series_of(render_series([], figures, NOW_US))

    counted = {kind: found["pregon_push_total", ("deaths", "bank", kind)] for kind in KINDS}
    assert counted == {DELIVERED: 3, REFUSED: 2, UNREACHABLE: 5, GONE: 1}
    assert found["pregon_push_seconds_count", ("deaths", "bank")] == 11
    assert found["pregon_push_seconds_sum", ("deaths", "bank")] == pytest.approx(0.132)
    assert found["pregon_push_seconds_bucket", ("deaths", "bank", "0.01")] == 0
    assert found["pregon_push_seconds_bucket", ("deaths", "bank", "0.025")] == 11
    assert found["pregon_push_seconds_bucket", ("deaths", "bank", "+Inf")] == 11


def test_only_what_was_delivered_has_stopped_waiting() -> None:
    figures = Figures()
    figures.pushed("deaths", "bank", DELIVERED, 1, 400)
    figures.pushed("deaths", "bank", UNREACHABLE, 1, 9_000)

    found = series_of(render_series([], figures, NOW_US))

    assert found["pregon_delivery_seconds_count", ("deaths", "bank")] == 1
    assert found["pregon_delivery_seconds_sum", ("deaths", "bank")] == pytest.approx(0.4)


def test_topics_count_messages_and_bytes() -> None:
    figures = Figures()
    figures.accepted([Accepted("deaths", batch(3, 100)), Accepted("births", batch(1, 7))])
    figures.accepted([Accepted("deaths", batch(2, 11))])

    found = series_of(render_series([], figures, NOW_US))

    assert found["pregon_topic_messages_total", ("deaths",)] == 5
    assert found["pregon_topic_bytes_total", ("deaths",)] == 111
    assert found["pregon_topic_messages_total", ("births",)] == 1


def test_names_beyond_the_limits_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "SUBSCRIPTIONS_COUNTED_MAX", 3)
    monkeypatch.setattr(counting, "SUBSCRIPTIONS_TIMED_MAX", 2)
    monkeypatch.setattr(counting, "TOPICS_COUNTED_MAX", 1)
    figures = Figures()
    for number in range(5):
        figures.pushed("deaths", f"s{number}", DELIVERED, 1, 1)
        figures.pushed("deaths", f"s{number}", REFUSED, 1, 1)
        figures.accepted([Accepted(f"t{number}", batch(1, 10))])
    known = [backlog(subscriber=f"s{number}") for number in range(5)]

    found = series_of(render_series(known, figures, NOW_US))

    delivered = {labels[1]: value for (name, labels), value in found.items() if DELIVERED in labels}
    timed = {labels[1]: value for (name, labels), value in found.items() if name == "pregon_push_seconds_count"}
    volumes = {labels[0]: value for (name, labels), value in found.items() if name == "pregon_topic_messages_total"}
    assert delivered == {"s0": 1, "s1": 1, "s2": 1, OTHERS: 2}
    assert timed == {"s0": 2, "s1": 2, OTHERS: 6}
    assert volumes == {"t0": 1, OTHERS: 4}


def test_subscriptions_that_are_no_more_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "SUBSCRIPTIONS_COUNTED_MAX", 2)
    monkeypatch.setattr(counting, "SUBSCRIPTIONS_TIMED_MAX", 1)
    figures = Figures()
    figures.pushed("deaths", "old", DELIVERED, 1, 1)
    figures.pushed("deaths", "bank", DELIVERED, 1, 1)
    known = [backlog(), backlog(subscriber="new")]

    render_series(known, figures, NOW_US)
    figures.pushed("deaths", "new", DELIVERED, 1, 1)
    found = series_of(render_series(known, figures, NOW_US))

    counted = {labels[1] for (name, labels) in found if name == "pregon_push_total"}
    timed = {labels[1] for (name, labels) in found if name == "pregon_push_seconds_count"}
    assert counted == {"bank", "new"}
    assert timed == {"new", OTHERS}


def test_what_waits_is_shown_for_each_subscription() -> None:
    known = [
        backlog(pending=7, oldest_pending_us=NOW_US - 90_000_000, parked=2, failing_since_us=NOW_US - 5),
        backlog("births", "bank", enabled=False, pending=1, failing_since_us=NOW_US - 5),
        backlog("births", "city", mode="pull", pending=1, oldest_pending_us=NOW_US + 5_000_000),
    ]

    found = series_of(render_series(known, Figures(), NOW_US))

    one, other, pulling = ("deaths", "bank"), ("births", "bank"), ("births", "city")
    assert [found["pregon_backlog_messages", names] for names in (one, other, pulling)] == [7, 1, 1]
    assert [found["pregon_backlog_age_seconds", names] for names in (one, other, pulling)] == [90, 0, 0]
    assert found["pregon_parked_messages", one] == 2
    assert [found["pregon_subscription_failing", names] for names in (one, other)] == [1, 0]
    assert [found["pregon_subscription_disabled", names] for names in (one, other)] == [0, 1]
    assert ("pregon_subscription_failing", pulling) not in found
    assert (found["pregon_subscriptions", ("pull",)], found["pregon_subscriptions", ("push",)]) == (1, 2)
    assert found["pregon_subscriptions_failing", ()] == 1


def test_a_paused_subscription_is_shown_as_that_and_does_not_fail() -> None:
    known = [
        backlog(pending=7, failing_since_us=NOW_US - 5, paused=True),
        backlog("births", pending=7, failing_since_us=NOW_US - 5),
        backlog("births", "city", mode="pull", paused=True),
    ]

    found = series_of(render_series(known, Figures(), NOW_US))

    paused, other, pulling = ("deaths", "bank"), ("births", "bank"), ("births", "city")
    assert [found["pregon_subscription_paused", names] for names in (paused, other)] == [1, 0]
    assert [found["pregon_subscription_failing", names] for names in (paused, other)] == [0, 1]
    assert ("pregon_subscription_paused", pulling) not in found
    assert found["pregon_subscriptions_failing", ()] == 1


def test_one_that_is_paused_hides_none_that_fails_among_those_shown_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "BACKLOGS_SHOWN_MAX", 1)
    failing = {"failing_since_us": NOW_US - 5, "pending": 1}
    known = [
        backlog(subscriber="worst", failing_since_us=NOW_US - 5, pending=9),
        backlog(subscriber="failing", **failing),
        backlog(subscriber="paused", paused=True, **failing),
    ]

    some = series_of(render_series(known, Figures(), NOW_US))
    all_ = series_of(render_series([known[0], known[2]], Figures(), NOW_US))

    assert [one["pregon_subscription_paused", (OTHERS, OTHERS)] for one in (some, all_)] == [0, 1]
    assert [one["pregon_subscription_failing", (OTHERS, OTHERS)] for one in (some, all_)] == [1, 0]


def test_with_too_many_backlogs_the_worst_are_shown_and_the_rest_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "BACKLOGS_SHOWN_MAX", 2)
    known = [backlog(subscriber=f"s{number}", pending=number, parked=1) for number in range(5)]
    known.append(backlog(subscriber="failing", failing_since_us=1, pending=1))

    found = series_of(render_series(known, Figures(), NOW_US))

    pending = {labels[1]: value for (name, labels), value in found.items() if name == "pregon_backlog_messages"}
    assert pending == {"failing": 1, "s4": 4, OTHERS: 0 + 1 + 2 + 3}
    assert found["pregon_parked_messages", (OTHERS, OTHERS)] == 4
    assert found["pregon_subscriptions", ("push",)] == 6


def test_counting_a_push_is_cheap() -> None:
    figures = Figures()
    figures.pushed("deaths", "bank", DELIVERED, 1, 1)

    best_s = min(_time_pushes(figures, 10_000) for _ in range(5))

    # Ten times what it takes on a quiet machine: a lock, a format or a list that grows would pass it.
    assert best_s / 10_000 < 10e-6


def _time_pushes(figures: Figures, count: int) -> float:
    begun_s = time.perf_counter()
    for _ in range(count):
        figures.pushed("deaths", "bank", DELIVERED, 12.5, 400.0)
    return time.perf_counter() - begun_s
