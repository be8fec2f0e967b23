"""Traces are not forgotten before who copies them has them, and a mark that is abandoned holds nothing for ever."""

import logging

import pytest

from pregon import limits
from pregon.errors import BadName, BadRequest, LimitReached
from pregon.hub import trace_marks
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.hub.trace_marks import PutMark
from pregon.model.trace import TraceMark
from pregon.security.callers import ANYBODY

from .site import Clock, Site
from .verbs import ranges, say, traces

SHORT = HubOptions(traces_keep_ms=1_000, trace_mark_ms=60_000)


def put(hub: Hub, id: int, name: str = "archive") -> PutMark:
    return trace_marks.put_mark(Gate(hub), ANYBODY, name, id).result()


def delete(hub: Hub, name: str = "archive") -> bool:
    return trace_marks.delete_mark(Gate(hub), ANYBODY, name).result()


def marks(hub: Hub) -> list[TraceMark]:
    return trace_marks.list_marks(Gate(hub), ANYBODY).result()


def places(hub: Hub) -> dict[str, int]:
    return {one.name: one.id for one in marks(hub)}


def ids(hub: Hub) -> list[int]:
    return [trace.id for trace in traces(hub)]


def make_old_traces(site: Site, clock: Clock, count: int = 6) -> Hub:
    """A hub that keeps traces for a second, with so many that are older."""
    hub = site.restart(SHORT)
    for _ in range(count):
        say(hub, "x")
    clock.move_ms(10_000)
    return hub


def test_what_is_older_than_traces_are_kept_goes_up_to_the_lowest_mark(clock: Clock, site: Site) -> None:
    hub = make_old_traces(site, clock)
    put(hub, 4, "archive")
    put(hub, 2, "slow-archive")

    hub.maintenance.run_once()

    assert ids(hub) == [3, 4, 5, 6]


def test_a_mark_at_nothing_holds_everything(clock: Clock, site: Site) -> None:
    hub = make_old_traces(site, clock)
    put(hub, 0)

    hub.maintenance.run_once()

    assert ids(hub) == [1, 2, 3, 4, 5, 6]


def test_a_mark_does_not_shorten_how_long_traces_are_kept(clock: Clock, site: Site) -> None:
    hub = site.restart(SHORT)
    for _ in range(4):
        say(hub, "x")
        clock.move_ms(400)
    put(hub, 4)

    hub.maintenance.run_once()

    assert ranges(hub, "accepted") == [(3, 3), (4, 4)]


def test_moving_and_deleting_a_mark_lets_go_of_what_it_held(clock: Clock, site: Site) -> None:
    hub = make_old_traces(site, clock)
    put(hub, 1)
    hub.maintenance.run_once()
    held = ids(hub)

    put(hub, 3)
    hub.maintenance.run_once()
    moved = ids(hub)
    was_there = delete(hub)
    hub.maintenance.run_once()

    assert (held, moved, was_there) == ([2, 3, 4, 5, 6], [4, 5, 6], True)
    assert ids(hub) == [6]
    assert not delete(hub)


def test_ids_of_traces_are_never_given_twice(clock: Clock, site: Site) -> None:
    hub = make_old_traces(site, clock)
    hub.maintenance.run_once()
    left = ids(hub)

    hub = site.restart(SHORT)
    say(hub, "y")

    assert left == [6]
    assert ids(hub) == [6, 7]


def test_more_than_one_run_can_forget_stops_at_the_mark_too(
    clock: Clock, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pregon.hub.maintenance._ROWS_AT_ONCE", 2)
    hub = make_old_traces(site, clock, 9)
    put(hub, 7)

    hub.maintenance.run_once()

    assert ids(hub) == [8, 9]


def test_the_answer_says_where_the_mark_was_and_that_it_went_back(clock: Clock, hub: Hub) -> None:
    say(hub, "a")
    say(hub, "b")
    created_us = clock.now_us
    first = put(hub, 2)
    clock.move_ms(5)

    back = put(hub, 1)
    again = put(hub, 1)

    assert (first.previous_id, first.is_moved_back) == (None, False)
    assert (back.previous_id, back.is_moved_back) == (2, True)
    assert (again.previous_id, again.is_moved_back) == (1, False)
    assert marks(hub) == [TraceMark(name="archive", id=1, created_us=created_us, put_us=created_us + 5_000)]


def test_marks_are_there_after_a_restart(site: Site) -> None:
    say(site.hub, "a")
    put(site.hub, 1)
    put(site.hub, 0, "other")
    delete(site.hub, "other")

    hub = site.restart()

    assert places(hub) == {"archive": 1}


def test_a_mark_that_nobody_puts_any_more_is_dropped_with_a_warning(
    clock: Clock, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    hub = make_old_traces(site, clock)
    put(hub, 2, "dead")
    put(hub, 4, "living")
    clock.move_ms(50_000)
    put(hub, 4, "living")
    clock.move_ms(20_000)

    with caplog.at_level(logging.WARNING, "pregon.hub"):
        hub.maintenance.run_once()

    assert places(hub) == {"living": 4}
    assert ids(hub) == [5, 6]
    (record,) = [one for one in caplog.records if "mark" in one.message]
    assert (record.__dict__["mark"], record.__dict__["trace_id"]) == ("dead", 2)


def test_a_mark_after_the_newest_trace_is_refused(hub: Hub) -> None:
    say(hub, "a")

    with pytest.raises(BadRequest, match="the newest is 1"):
        put(hub, 2)

    assert marks(hub) == []


@pytest.mark.parametrize(
    ("name", "id", "refusal"),
    [("a/b", 0, BadName), ("", 0, BadName), ("archive", -1, BadRequest), ("archive", 2**63, BadRequest)],
)
def test_a_mark_that_is_none_is_refused(hub: Hub, name: str, id: int, refusal: type[Exception]) -> None:
    with pytest.raises(refusal):
        put(hub, id, name)

    assert marks(hub) == []


def test_there_are_so_many_marks_and_no_more(hub: Hub) -> None:
    say(hub, "a")
    for number in range(limits.TRACE_MARKS_MAX):
        put(hub, 0, f"mark-{number:02d}")

    with pytest.raises(LimitReached, match="delete one"):
        put(hub, 0, "one-more")
    moved = put(hub, 1, "mark-00")

    assert len(marks(hub)) == limits.TRACE_MARKS_MAX
    assert moved.mark.id == 1
