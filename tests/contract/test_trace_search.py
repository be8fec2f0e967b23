"""Searching traces: by any of their fields, alone or together, page by page, all of it and nothing else."""

import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from pregon import limits
from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.model.trace import Trace, TracePage, TraceQuery
from pregon.store import trace_search
from pregon.store.traces import write_traces

from .site import Clock, Site
from .verbs import TOPIC, ack, fill, park, ranges, replay, say, subscribe, traces


def pages_of(hub: Hub, **query: Any) -> Iterator[TracePage]:
    """Page after page of a search, as each says how to go on."""
    page = hub.traces(TraceQuery(**query)).result()
    yield page
    while page.next:
        page = hub.traces(TraceQuery(**{**query, "before": page.next})).result()
        yield page


def all_of(hub: Hub, **query: Any) -> list[tuple[str, str, int, int]]:
    """What a search finds in all its pages: kind, subscriber and range, newest first."""
    found = [trace for page in pages_of(hub, **query) for trace in page]
    return [(trace.kind, trace.subscriber, trace.first_seq, trace.last_seq) for trace in found]


@pytest.mark.parametrize("seq", [1, 4, 5, 8, 9, 10])
def test_a_long_range_is_split_and_found_by_any_of_its_numbers(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, seq: int
) -> None:
    monkeypatch.setattr(limits, "TRACE_SPAN_MAX", 4)
    fill(hub, 10)

    found = traces(hub, seq=seq)

    assert ranges(hub, "accepted") == [(1, 4), (5, 8), (9, 10)]
    assert len(found) == 1
    assert found[0].first_seq <= seq <= found[0].last_seq


def test_a_number_that_was_never_published_has_no_trace(hub: Hub) -> None:
    fill(hub, 3)

    found = traces(hub, seq=4)

    assert found == []


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ({}, ["accepted", "accepted", "acknowledged", "acknowledged"]),
        ({"kind": "accepted"}, ["accepted", "accepted"]),
        ({"producer": "a"}, ["accepted"]),
        ({"subscriber": "one"}, ["acknowledged"]),
        ({"subscriber": "one", "kind": "accepted"}, []),
        ({"topic": "deaths"}, ["accepted"]),
        ({"topic": ""}, ["accepted", "accepted", "accepted", "acknowledged", "acknowledged"]),
        ({"topic": "", "producer": "a"}, ["accepted", "accepted"]),
    ],
)
def test_every_field_restricts(hub: Hub, query: dict[str, str], kinds: list[str]) -> None:
    say(hub, "x", producer="a")
    say(hub, "x", producer="b")
    say(hub, "x", producer="a", topic="deaths")
    for name in ("one", "another"):
        subscribe(hub, name)
        ack(hub, 2, name)

    found = traces(hub, **query)

    assert sorted(trace.kind for trace in found) == kinds


def test_times_restrict_from_the_first_to_before_the_last(clock: Clock, site: Site) -> None:
    hub = site.restart()
    times = []
    for _ in range(6):
        times.append(clock.move_ms(1_000))
        say(hub, "x")

    found = traces(hub, since_us=times[1], until_us=times[4])

    assert [trace.first_seq for trace in found] == [2, 3, 4]
    assert traces(hub, since_us=times[-1] + 1) == []
    assert len(traces(hub, since_us=1, until_us=times[-1] + 1)) == 6


def test_times_restrict_rightly_after_the_clock_was_set_back_across_a_restart(clock: Clock, site: Site) -> None:
    hub = site.restart()
    say(hub, "1")
    subscribe(hub)
    acknowledged_us = clock.move_ms(10_000)
    ack(hub, 1)
    clock.move_ms(-5_000)

    hub = site.restart()
    numbers = [say(hub, "x")[0] for _ in range(8)]

    found = traces(hub, since_us=acknowledged_us)
    assert numbers == list(range(2, 10))
    assert [(trace.kind, trace.first_seq) for trace in found][:2] == [("acknowledged", 1), ("accepted", 2)]
    times = [trace.at_us for trace in traces(hub)]
    assert times == sorted(times)


def test_pages_go_from_the_newest_back_without_gaps(hub: Hub) -> None:
    for _ in range(7):
        say(hub, "x")

    pages = list(pages_of(hub, topic=TOPIC, max=3))

    assert [[trace.first_seq for trace in page] for page in pages] == [[7, 6, 5], [4, 3, 2], [1]]


def test_a_full_page_after_which_there_is_nothing_has_no_next_one(hub: Hub) -> None:
    for _ in range(6):
        say(hub, "x")

    pages = list(pages_of(hub, topic=TOPIC, max=3))

    assert [len(page) for page in pages] == [3, 3]


def test_what_a_push_says_of_itself_is_kept(site: Site) -> None:
    written = Trace(
        at_us=5, kind="failed", topic=TOPIC, first_seq=1, last_seq=1, subscriber="bank", attempt=3, latency_ms=250
    )

    write(site.hub, written)

    (found,) = traces(site.hub)
    assert (found.attempt, found.latency_ms) == (3, 250)


# What happened to the messages of a producer.


def publish_in_turns(hub: Hub) -> None:
    """Messages 1 to 6 by a, b, a, b, a, b; two subscribers that have settled some of them."""
    for number in range(6):
        say(hub, "x", producer="ab"[number % 2])
    for name in ("one", "another"):
        subscribe(hub, name)
    for seq in (1, 2, 4):
        ack(hub, seq, "one")
    park(hub, 2, 3, subscriber="another")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"producer": "a", "subscriber": "one"}, [("acknowledged", 3, 4), ("acknowledged", 1, 1)]),
        ({"producer": "b", "subscriber": "one"}, [("acknowledged", 3, 4), ("acknowledged", 2, 2)]),
        ({"producer": "b", "subscriber": "one", "seq": 2}, [("acknowledged", 2, 2)]),
        ({"producer": "a", "subscriber": "one", "seq": 2}, []),
        ({"producer": "a", "kind": "parked"}, [("parked", 2, 3)]),
        ({"producer": "a", "kind": "parked", "subscriber": "one"}, []),
        ({"producer": "nobody", "kind": "parked"}, []),
        ({"producer": "a", "kind": "parked", "topic": "deaths"}, []),
        ({"producer": "b", "kind": "accepted"}, [("accepted", 6, 6), ("accepted", 4, 4), ("accepted", 2, 2)]),
        ({"producer": "b", "seq": 4}, [("accepted", 4, 4)]),
    ],
)
def test_a_producer_and_more_finds_what_happened_to_its_messages(
    hub: Hub, query: dict[str, Any], found: list[tuple[str, int, int]]
) -> None:
    publish_in_turns(hub)
    say(hub, "x", producer="a", topic="deaths")

    rows = all_of(hub, **{"topic": TOPIC, **query})

    assert [(kind, first, last) for kind, _, first, last in rows] == found


def test_a_long_search_answers_with_short_pages_that_go_on(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_search, "ASKED_ROWS", (2, 3))
    say(hub, "x", producer="rare")
    for _ in range(20):
        say(hub, "x", producer="common")
    subscribe(hub)
    for seq in range(1, 22):
        ack(hub, seq)

    pages = list(pages_of(hub, producer="rare", subscriber="bank"))

    assert [len(page) for page in pages] == [0, 0, 0, 0, 1]
    assert pages[-1][0].first_seq == 1
    assert len(all_of(hub, producer="common", subscriber="bank", max=7)) == 20


def test_a_search_for_all_that_was_accepted_goes_by_so_many_rows_and_no_more(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_search, "WALKED_ROWS_MAX", 5)
    say(hub, "1")
    subscribe(hub)
    for _ in range(8):
        replay_all(hub)
    say(hub, "2")

    pages = list(pages_of(hub, kind="accepted"))

    assert [[trace.first_seq for trace in page] for page in pages] == [[2], [], [], [1]]


def replay_all(hub: Hub) -> None:
    """Two traces of message 1: acknowledged, replayed."""
    ack(hub, 1)
    replay(hub, from_seq=1)


def test_messages_of_a_producer_whose_acceptance_is_forgotten_are_not_taken_for_anothers(
    clock: Clock, site: Site
) -> None:
    hub = site.restart(HubOptions(traces_keep_ms=1_000))
    say(hub, "1", producer="a")
    clock.move_ms(5_000)
    say(hub, "2", producer="b")
    subscribe(hub)
    ack(hub, 1)
    ack(hub, 2)

    hub.maintenance.run_once()

    assert ranges(hub, "accepted") == [(2, 2)]
    assert [row[2:] for row in all_of(hub, producer="b", subscriber="bank")] == [(2, 2)]
    assert all_of(hub, producer="a", subscriber="bank") == []


# All of it against a model.


def write(hub: Hub, *rows: Trace) -> None:
    """Write traces as the committer does."""
    with hub.database.connect() as connection:
        hub.database.begin_write(connection, durable=False)
        write_traces(connection, rows)
        hub.database.commit(connection)


def history(seed: int) -> list[Trace]:
    """Some hundred traces such as a hub would write: what was accepted, without gaps, and what happened to it."""
    dice = random.Random(seed)
    heads = {"births": 0, "deaths": 0, "weddings": 0}
    rows: list[Trace] = []
    for number in range(150):
        topic = dice.choice([*heads, "births"])
        first, heads[topic] = heads[topic] + 1, heads[topic] + dice.choice((1, 1, 2, 30, 150, 400))
        common = {"at_us": 1_000 + number * 10, "topic": topic}
        rows.append(
            Trace(**common, kind="accepted", producer=dice.choice("aab"), first_seq=first, last_seq=heads[topic])
        )
        for _ in range(dice.randint(0, 3)):
            low = dice.randint(1, heads[topic])
            high = min(heads[topic], low + dice.choice((0, 0, 1, 50, 99, 100, 300)))
            kind, who = dice.choice(("failed", "delivered", "parked")), dice.choice(("bank", "press", "archive"))
            rows.append(Trace(**common, kind=kind, subscriber=who, first_seq=low, last_seq=high))
    return rows


def fits(row: Trace, query: TraceQuery, rows: list[Trace]) -> bool:
    """Whether a search should find a row, said plainly."""
    is_plain = (
        query.topic in ("", row.topic)
        and query.kind in ("", row.kind)
        and query.subscriber in ("", row.subscriber)
        and (not query.seq or row.first_seq <= query.seq <= row.last_seq)
        and query.since_us <= row.at_us < (query.until_us or 10**9)
    )
    if not is_plain or not query.producer:
        return is_plain
    if not query.subscriber and query.kind in ("", "accepted"):
        return row.producer == query.producer
    return any(
        one.producer == query.producer
        and one.topic == row.topic
        and one.first_seq <= row.last_seq
        and one.last_seq >= row.first_seq
        for one in rows
    )


@pytest.mark.parametrize("seed", range(3))
def test_every_combination_of_fields_finds_what_it_says_and_nothing_else(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(trace_search, "ASKED_ROWS", (10, 20))
    monkeypatch.setattr(trace_search, "WALKED_ROWS_MAX", 50)
    rows = history(seed)
    write(hub, *rows)
    asked = [
        TraceQuery(topic=topic, kind=kind, producer=producer, subscriber=subscriber, max=17, **more)
        for topic in ("", "births")
        for kind in ("", "accepted", "failed", "cancelled")
        for producer in ("", "a", "b", "nobody")
        for subscriber in ("", "bank", "nobody")
        for more in ({}, {"since_us": 1_500, "until_us": 2_000}, {"seq": 200}, {"seq": 200, "until_us": 1_900})
        if topic or "seq" not in more
    ]

    wrong = {}
    for query in asked:
        found = all_of(hub, **msgspec.structs.asdict(query))
        expected = [
            (row.kind, row.subscriber, row.first_seq, row.last_seq) for row in rows[::-1] if fits(row, query, rows)
        ]
        if found != expected:
            wrong[query] = (found, expected)

    assert len(asked) > 200
    assert wrong == {}


def test_a_topic_that_was_made_again_is_searched_with_the_one_before(site: Site) -> None:
    fill(site.hub, 5)
    site.hub.delete("topic", (TOPIC,)).result()
    say(site.hub, "x", producer="new")

    found = all_of(site.hub, topic=TOPIC, seq=1)

    assert [(kind, first, last) for kind, _, first, last in found] == [("accepted", 1, 1), ("accepted", 1, 5)]
