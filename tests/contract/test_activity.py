"""What flows is counted as it is written, told as rates and series, and remembered over a restart."""

from __future__ import annotations

import threading

from sqlalchemy import insert

from pregon.delivery.activity import Activity
from pregon.delivery.figures import Figures
from pregon.delivery.outcome import DELIVERED
from pregon.hub.hub import Hub
from pregon.model.activity import OTHERS, TOPICS_MAX, Minute, Point
from pregon.store import activity as rows
from pregon.store.backlogs import Backlog
from pregon.store.change import Change
from pregon.store.schema_admin import activity as table

from .pushes import deliver, fail
from .site import Clock, Site
from .verbs import SUBSCRIBER, TOPIC, fill, say, subscribe

MINUTE_MS = 60_000


def follow(hub: Hub, figures: Figures | None = None) -> Activity:
    """An activity whose clock is the test's, and whose thread is the test."""
    activity = Activity(hub, figures or Figures())
    activity.remember()
    hub.follow(activity)
    return activity


def pass_minute(activity: Activity, clock: Clock) -> None:
    """A minute goes by; of its samples only the last and the next one's first matter."""
    activity.tick()
    clock.move_ms(MINUTE_MS)
    activity.tick()


def written(hub: Hub) -> list[Minute]:
    return hub.read(lambda connection: list(rows.read_minutes(connection, 0))).result()


def flowed(points: list[Point]) -> tuple[int, int, int]:
    """All that is in a series."""
    return sum(one.accepted for one in points), sum(one.out for one in points), sum(one.failed for one in points)


def test_what_flows_is_in_the_rates_and_in_both_series_at_once(clock: Clock, hub: Hub) -> None:
    activity = follow(hub)
    subscribe(hub)
    fill(hub, 10)
    deliver(hub, 1, 2)
    fail(hub, 3)
    hub.ack(TOPIC, SUBSCRIBER, 5).result()

    now, hour, day = activity.now(), activity.series("hour"), activity.series("day")

    assert (len(hour), len(day)) == (60, 144)
    assert flowed(hour) == flowed(day) == (10, 5, 1)
    assert (hour[-1].accepted, hour[-1].at_us % (MINUTE_MS * 1_000)) == (10, 0)
    assert now.in_per_s > 0
    assert now.out_per_s / now.in_per_s == 0.5
    assert [one.topic for one in now.topics] == [TOPIC]
    assert now.at_us == clock.now_us


def test_a_minute_is_written_once_when_it_is_over(clock: Clock, hub: Hub) -> None:
    activity = follow(hub)
    subscribe(hub)
    fill(hub, 3)

    before = written(hub)
    pass_minute(activity, clock)
    fill(hub, 2)
    activity._looked_ms = 0.0  # What waits was looked at long ago.
    pass_minute(activity, clock)

    assert before == []
    first, second = written(hub)
    assert (first.accepted, second.accepted) == (3, 2)
    assert second.minute_us - first.minute_us == MINUTE_MS * 1_000
    assert (first.topics[TOPIC].accepted, first.backlog_pending, second.backlog_pending) == (3, 3, 5)
    assert [point.accepted for point in activity.series("hour")[-3:]] == [3, 2, 0]
    assert [point.pending for point in activity.series("hour")[-3:]] == [3, 5, 5]


def test_a_minute_in_which_nothing_happened_is_not_written(clock: Clock, hub: Hub) -> None:
    activity = follow(hub)

    for _ in range(3):
        pass_minute(activity, clock)

    assert written(hub) == []


def test_latencies_are_those_of_the_pushes_of_the_last_minutes(clock: Clock, hub: Hub) -> None:
    figures = Figures()
    activity = follow(hub, figures)
    for waited_ms in [8] * 95 + [4_000] * 5:
        figures.pushed(TOPIC, SUBSCRIBER, DELIVERED, 1, waited_ms)
    activity.tick()

    now, last = activity.now(), activity.series("hour")[-1]
    clock.move_ms(MINUTE_MS)
    for _ in range(60):
        activity.tick()
    later = activity.now()

    assert now.p50_ms is not None and 5 < now.p50_ms < 10
    assert now.p99_ms is not None and 1_000 < now.p99_ms < 5_000
    assert (last.p50_ms, last.p99_ms) == (now.p50_ms, now.p99_ms)
    assert later.p50_ms is None
    assert activity.series("hour")[-2].p99_ms == now.p99_ms


def test_a_restart_keeps_the_history_and_the_minute_that_goes_on(clock: Clock, site: Site) -> None:
    activity = follow(site.hub)
    fill(site.hub, 3)
    pass_minute(activity, clock)
    say(site.hub, "4", "5")
    activity.stop()
    clock.move_ms(1_000)

    site.restart()
    again = follow(site.hub)
    say(site.hub, "6")
    again.stop()
    third = follow(site.restart())

    assert [point.accepted for point in third.series("hour")[-3:]] == [0, 3, 3]
    assert [(one.accepted, one.topics[TOPIC].accepted) for one in written(site.hub)] == [(3, 3), (3, 3)]


def test_minutes_are_forgotten_after_eight_days_and_out_of_sight_after_one(clock: Clock, hub: Hub) -> None:
    activity = follow(hub)
    day_ms = 24 * 60 * MINUTE_MS
    say(hub, "a")
    pass_minute(activity, clock)

    seen = []
    for days in (1, 6, 1):
        clock.move_ms(days * day_ms)
        activity.tick()
        say(hub, "b")
        pass_minute(activity, clock)
        seen.append((flowed(activity.series("day"))[0], len(written(hub)), len(activity._minutes)))

    assert seen == [(1, 2, 1), (1, 3, 1), (1, 3, 1)]


def test_so_many_topics_are_told_apart_and_the_rest_together(clock: Clock, hub: Hub) -> None:
    activity = follow(hub)
    for number in range(TOPICS_MAX + 10):
        say(hub, *["x"] * (2 if number == 7 else 1), topic=f"t{number}")
        if number % 50 == 0:
            activity.tick()

    now = activity.now()
    pass_minute(activity, clock)

    (minute,) = written(hub)
    assert len(minute.topics) == TOPICS_MAX + 1
    assert minute.topics[OTHERS].accepted == 10
    assert sum(one.accepted for one in minute.topics.values()) == minute.accepted == TOPICS_MAX + 11
    assert len(now.topics) == 20
    assert {now.topics[0].topic, now.topics[1].topic} == {OTHERS, "t7"}


def test_a_minute_that_could_not_be_written_is_written_with_the_next(clock: Clock, site: Site) -> None:
    activity = follow(site.hub)
    say(site.hub, "a")
    site.hub.committer._is_stopping = True
    pass_minute(activity, clock)
    site.hub.committer._is_stopping = False
    none = written(site.hub)

    say(site.hub, "b")
    pass_minute(activity, clock)

    assert none == []
    assert [one.accepted for one in written(site.hub)] == [1, 1]


def test_a_row_that_cannot_be_read_is_passed_over(clock: Clock, hub: Hub) -> None:
    activity = follow(hub)
    say(hub, "a")
    pass_minute(activity, clock)

    row = insert(table).values(minute_us=clock.now_us, figures=b"\xc1")
    hub.submit(Change(lambda made: made.connection.execute(row).rowcount)).result()
    again = follow(hub)

    assert flowed(again.series("hour"))[0] == 1


# What waits.


def test_what_waits_is_read_once_for_everybody_who_asks_in_a_moment(hub: Hub) -> None:
    activity = follow(hub)
    subscribe(hub)
    fill(hub, 3)
    never = activity.backlogs_age_ms

    first = activity.backlogs()
    fill(hub, 1)
    second = activity.backlogs()
    age_ms = activity.backlogs_age_ms

    assert never is None
    assert [(one.topic, one.pending) for one in first] == [(TOPIC, 3)]
    assert second is first
    assert age_ms is not None and 0 <= age_ms < 2_000


def test_who_asks_while_somebody_looks_gets_what_was_known(hub: Hub) -> None:
    activity = follow(hub)
    subscribe(hub)
    first = activity.backlogs()
    activity._looked_ms = 0.0
    entered, may_go = threading.Event(), threading.Event()
    found: list[list[Backlog]] = []
    plain_read = hub.read

    def slow_read(read, **more):  # type: ignore[no-untyped-def]
        entered.set()
        may_go.wait(10)
        return plain_read(read, **more)

    hub.read = slow_read  # type: ignore[method-assign]
    fill(hub, 2)
    looking = threading.Thread(target=lambda: found.append(list(activity.backlogs())))
    looking.start()
    assert entered.wait(10)
    meanwhile = activity.backlogs()
    may_go.set()
    looking.join()

    assert meanwhile is first
    assert [one.pending for one in found[0]] == [2]
    assert [one.pending for one in activity.backlogs()] == [2]
