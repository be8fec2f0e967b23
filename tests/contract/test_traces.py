"""Traces: what happened to which messages, when, as ranges of numbers; one row a batch, found by number."""

import pytest

from pregon import limits
from pregon.errors import BadRequest
from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.model.message import Outgoing
from pregon.model.trace import TraceQuery

from .site import Clock, Site, one_commit
from .verbs import (
    PRODUCER,
    TOPIC,
    ack,
    batch_of,
    fill,
    park,
    pull,
    ranges,
    replay,
    say,
    say_batch,
    send,
    subscribe,
    traces,
    unpark,
)


def test_a_batch_is_one_trace(hub: Hub) -> None:
    say_batch(hub, *(["x"] * 500))

    found = traces(hub)

    assert [(trace.kind, trace.first_seq, trace.last_seq, trace.producer) for trace in found] == [
        ("accepted", 1, 500, PRODUCER)
    ]


def test_singles_of_one_commit_are_one_trace_a_run_of_one_producer(hub: Hub) -> None:
    with one_commit(hub):
        for producer in ("a", "a", "a", "b", "a"):
            hub.publish(TOPIC, producer, Outgoing(b"x"))
        last = send(hub, batch_of("x"))
    last.result()

    found = [(trace.producer, trace.first_seq, trace.last_seq) for trace in traces(hub)]

    assert found == [("a", 1, 3), ("b", 4, 4), ("a", 5, 5), (PRODUCER, 6, 6)]


def test_a_trace_has_the_time_of_acceptance(clock: Clock, site: Site) -> None:
    hub = site.restart()

    say(hub, "x")

    (found,) = traces(hub)
    assert (found.at_us, found.kind, found.topic, found.producer) == (clock.now_us, "accepted", TOPIC, PRODUCER)


def test_the_whole_life_of_a_message_is_found_by_its_number(hub: Hub) -> None:
    fill(hub, 9)
    subscribe(hub)
    park(hub, 5, reason="bad XML")
    ack(hub, 9)
    unpark(hub, 5)
    pull(hub)
    ack(hub, 5)
    replay(hub, from_seq=4)

    found = [(trace.kind, trace.first_seq, trace.last_seq, trace.detail) for trace in traces(hub, seq=5)]

    assert found == [
        ("accepted", 1, 9, ""),
        ("parked", 5, 5, "bad XML"),
        ("unparked", 5, 5, ""),
        ("pulled", 5, 5, ""),
        ("acknowledged", 5, 5, "after unpark"),
        ("replayed", 4, 9, ""),
    ]


def test_acknowledged_ranges_leave_out_what_is_parked(hub: Hub) -> None:
    fill(hub, 9)
    subscribe(hub)
    park(hub, 1, 4, 5)

    ack(hub, 7)

    assert ranges(hub, "acknowledged") == [(2, 3), (6, 7)]
    assert ranges(hub, "parked") == [(1, 1), (4, 5)]


def test_an_acknowledgement_that_changes_nothing_leaves_no_trace(hub: Hub) -> None:
    fill(hub, 2)
    subscribe(hub)
    ack(hub, 2)

    ack(hub, 1)

    assert ranges(hub, "acknowledged") == [(1, 2)]


def test_the_acknowledgement_of_a_pull_is_traced(hub: Hub) -> None:
    fill(hub, 3)
    pull(hub)

    pull(hub, ack=2)

    assert ranges(hub, "acknowledged", subscriber="bank") == [(1, 2)]


def test_a_page_has_at_most_as_many_as_the_limit(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LIST_ROWS_MAX", 2)
    for _ in range(4):
        say(hub, "x")

    large, small = (len(hub.traces(TraceQuery(max=most)).result()) for most in (100, -5))

    assert (large, small) == (2, 1)


@pytest.mark.parametrize("wrong", [{"kind": "read"}, {"seq": 3}])
def test_a_question_that_makes_no_sense_is_refused(hub: Hub, wrong: dict[str, int | str]) -> None:
    fill(hub, 3)

    with pytest.raises(BadRequest):
        hub.traces(TraceQuery(**wrong)).result()  # type: ignore[arg-type]

    assert len(traces(hub)) == 1


@pytest.mark.parametrize("field", ["seq", "before", "since_us", "until_us"])
def test_an_absurd_number_in_a_question_is_no_bug_of_the_hub(hub: Hub, field: str) -> None:
    fill(hub, 3)

    try:
        found = hub.traces(TraceQuery(topic=TOPIC, **{field: 2**63})).result()  # type: ignore[arg-type]
    except BadRequest:
        found = []

    assert len(found) <= 1


def test_traces_survive_the_deletion_of_their_topic_and_a_restart(site: Site) -> None:
    fill(site.hub, 3)
    subscribe(site.hub)
    ack(site.hub, 2)
    site.hub.delete("topic", (TOPIC,)).result()
    site.hub.maintenance.run_once()

    hub = site.restart()

    assert [(trace.kind, trace.first_seq, trace.last_seq) for trace in traces(hub)] == [
        ("accepted", 1, 3),
        ("acknowledged", 1, 2),
    ]


def test_traces_are_forgotten_after_their_time(clock: Clock, site: Site) -> None:
    hub = site.restart(HubOptions(traces_keep_ms=1_000))
    for _ in range(4):
        say(hub, "x")
        clock.move_ms(400)

    hub.maintenance.run_once()

    assert ranges(hub, "accepted") == [(3, 3), (4, 4)]
