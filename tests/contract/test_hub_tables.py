"""Traces and the accounting of subscriptions as tables: whole, in parts, and each part of one moment."""

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from pregon.errors import DataLost, NotFound, NotPending
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.hub.tables import TablePart
from pregon.model.batch import END_OF_STREAM
from pregon.model.catalog import Subscriber
from pregon.security.callers import ANYBODY, Caller, scopes_of
from pregon.store import accounts, trace_table
from pregon.store.accounts import SCHEMA_ACCOUNTS
from pregon.store.prepared import Prepared
from pregon.store.trace_table import SCHEMA_TRACES
from pregon.wire.groups import Private

from .group_stage import Stage
from .site import Clock, Site
from .test_backlogs import filtered
from .verbs import SUBSCRIBER, TOPIC, ack, fill, park, pull, replay, say, subscribe, traces, unpark

ADMINISTRATOR = Caller(name="token root", scopes=scopes_of(("admin",)))
DAY_MS = 24 * 3_600_000
Row = dict[str, Any]


def rows_of(schema: pa.Schema, part: TablePart) -> list[Row]:
    """What a part says."""
    stream = schema.serialize().to_pybytes() + part.arrow + END_OF_STREAM
    return pa.ipc.open_stream(stream).read_all().to_pylist()


def read_traces(hub: Hub, first_id: int = 1, last_id: int = 10**9, caller: Caller = ANYBODY) -> list[list[Row]]:
    """The parts of the traces."""
    parts, following = [], first_id
    while following:
        part = Gate(hub).tables.traces(caller, following, last_id).result()
        parts.append(rows_of(SCHEMA_TRACES, part))
        following = part.next
    return parts


def read_accounts(hub: Hub, caller: Caller = ANYBODY) -> list[list[Row]]:
    """The pages of the accounting."""
    parts, after = [], 0
    while not parts or after:
        part = Gate(hub).tables.subscriptions(caller, after).result()
        parts.append(rows_of(SCHEMA_ACCOUNTS, part))
        after = part.next
    return parts


def ends(hub: Hub) -> tuple[int, int]:
    return Gate(hub).tables.trace_ends(ANYBODY).result()


# Traces.


def test_the_table_of_traces_has_all_that_a_search_finds(hub: Hub) -> None:
    subscribe(hub)
    fill(hub, 20)
    park(hub, 3, reason='"why",\nask Pepe')
    ack(hub, 10)

    (found,) = read_traces(hub)

    searched = [msgspec.structs.asdict(one) for one in traces(hub)]
    for row in found:
        row["at_us"] = round(row.pop("at").timestamp() * 1_000_000)
    assert found == searched
    assert ends(hub) == (searched[0]["id"], searched[-1]["id"])


def test_traces_come_in_parts_that_join_without_gap_or_overlap(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_table, "TRACE_ROWS_MAX", 3)
    for number in range(10):
        fill(hub, number + 1)

    parts = read_traces(hub, 2, 8), read_traces(hub, 2, 7), read_traces(hub)

    ids = [[[row["id"] for row in part] for part in one] for one in parts]
    assert ids[0] == [[2, 3, 4], [5, 6, 7], [8]]
    assert ids[1] == [[2, 3, 4], [5, 6, 7]]
    assert [id_ for part in ids[2] for id_ in part] == list(range(1, 11))


def test_a_part_of_traces_with_long_details_has_fewer_rows(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_table, "TRACE_BYTES_MAX", 3_000)
    subscribe(hub)
    fill(hub, 20)
    for seq in range(1, 21):
        park(hub, seq, reason="x" if seq < 15 else "ñ" * 450)

    parts = read_traces(hub)
    monkeypatch.setattr(trace_table, "TRACE_BYTES_MAX", 1)
    alone = read_traces(hub)

    assert [row["id"] for part in parts for row in part] == [row["id"] for part in alone for row in part]
    assert [row["id"] for part in parts for row in part] == [one.id for one in traces(hub)]
    assert len(parts[0]) > len(parts[-2]) >= 2
    assert {len(part) for part in alone} == {1}


def test_a_hub_where_nothing_happened_has_an_empty_table_of_traces(hub: Hub) -> None:
    found = read_traces(hub)

    assert found == [[]]
    assert ends(hub) == (0, 0)
    assert Gate(hub).tables.trace_id_at(ANYBODY, 1).result() == 1


def test_traces_that_were_forgotten_are_missed_and_not_passed_over(clock: Clock, site: Site) -> None:
    hub = site.restart(HubOptions(traces_keep_ms=DAY_MS))
    say(hub, "old")
    clock.move_ms(2 * DAY_MS)
    say(hub, "new")
    hub.maintenance.run_once()

    with pytest.raises(DataLost, match="go on from 2"):
        read_traces(hub)

    assert [row["id"] for row in read_traces(hub, 2)[0]] == [2]
    assert ends(hub) == (2, 2)


# Subscriptions.


def test_the_table_says_what_the_accounting_says_all_along_a_life(hub: Hub) -> None:
    for name in ("bank", "city"):
        subscribe(hub, name, pending_max=40)
    say(hub, "first")
    chance = random.Random(11)

    def bank() -> Any:
        return hub.account(TOPIC, "bank").result()

    steps: list[Callable[[], object]] = [
        lambda: say(hub, "x", "y", "z"),
        lambda: ack(hub, min(chance.randrange(1, 9) + bank().acked_seq, bank().head_seq)),
        lambda: park(hub, bank().head_seq, max(1, bank().head_seq - 3)),
        lambda: unpark(hub),
        lambda: pull(hub, messages_max=3),
        lambda: hub.cancel(TOPIC, "bank", [bank().head_seq]).result(),
        lambda: replay(hub, from_seq=max(1, bank().acked_seq - chance.randrange(30))),
        lambda: hub.maintenance.run_once(),
    ]
    seen = []

    for _ in range(120):
        # What is settled already cannot be parked or cancelled: nothing happens then.
        with suppress(NotPending):
            chance.choice(steps)()
        (page,) = read_accounts(hub)
        seen.append([({name: row[name] for name in _counted()}, _account(hub, row["subscriber"])) for row in page])

    assert all(read == exact for page in seen for read, exact in page)
    assert all(len(page) == 2 for page in seen)
    assert len({str(page[0]) for page in seen}) > 30
    assert any(page[0][0]["parked"] for page in seen)
    assert any(page[0][0]["expired"] for page in seen)


def _counted() -> list[str]:
    return [name for name in SCHEMA_ACCOUNTS.names if name not in ("mode", "created_at", "as_of", "at")]


def _account(hub: Hub, subscriber: str) -> dict[str, Any]:
    found = hub.account(TOPIC, subscriber).result()
    return {name: getattr(found, name) for name in _counted()}


def test_what_a_filter_does_not_want_is_counted_as_filtered(hub: Hub) -> None:
    fill(hub, 20)
    subscribe(hub)
    ack(hub, 2)
    filtered(hub, (5, 9), (11, 12), last_seq=13)

    ((row,),) = read_accounts(hub)

    assert (row["pending"], row["filtered"]) == (18 - 7, 7)
    assert {name: row[name] for name in _counted()} == _account(hub, SUBSCRIBER)


def test_a_row_says_who_it_is_of_and_of_which_moment_it_is(clock: Clock, hub: Hub) -> None:
    fill(hub, 5)
    hub.create(Subscriber(name=SUBSCRIBER, mode="push", endpoint="https://push.example/")).result()
    made = subscribe(hub)
    now_us = clock.move_ms(5_000)

    ((row,),) = read_accounts(hub)

    assert (row["topic"], row["subscriber"], row["mode"]) == (TOPIC, SUBSCRIBER, "push")
    assert row["created_at"].timestamp() * 1_000_000 == pytest.approx(made.created_us, abs=1)
    assert row["at"].timestamp() * 1_000_000 == pytest.approx(now_us, abs=1)
    assert row["as_of"] == traces(hub)[-1].id


def test_a_page_knows_nothing_of_what_is_written_while_it_is_read(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    subscribe(hub)
    fill(hub, 5)
    ack(hub, 2)
    before = traces(hub)[-1].id
    read_ends = accounts.trace_ends

    def write_meanwhile(connection: Any) -> tuple[int, int]:
        hub.ack(TOPIC, SUBSCRIBER, 4).result()
        return read_ends(connection)

    monkeypatch.setattr(accounts, "trace_ends", write_meanwhile)
    ((row,),) = read_accounts(hub)

    assert (row["acknowledged"], row["as_of"]) == (2, before)
    assert traces(hub)[-1].id == before + 1


def test_pages_of_subscriptions_join_without_gap_or_overlap(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounts, "ACCOUNTS_MAX", 2)
    fill(hub, 9)
    for number in range(5):
        subscribe(hub, f"s{number}")
        ack(hub, number, f"s{number}")
        park(hub, number + 1, number + 3, subscriber=f"s{number}")

    pages = read_accounts(hub)

    assert [[row["subscriber"] for row in page] for page in pages] == [["s0", "s1"], ["s2", "s3"], ["s4"]]
    assert [row["acknowledged"] for page in pages for row in page] == [0, 1, 2, 3, 4]
    assert {row["parked"] for page in pages for row in page} == {2}


def test_a_page_takes_as_many_statements_for_many_subscriptions_as_for_one(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, asked = Prepared.run, []
    fill(hub, 3)
    subscribe(hub)

    def counting(self: Prepared, connection: Any, *rows: Any) -> list[Any]:
        asked.append(connection)
        return run(self, connection, *rows)

    def read(connection: Any) -> int:
        # The hub's other threads run statements too, each with a connection of its own.
        asked.clear()
        accounts.read_accounts(connection, 0, 1)
        return sum(one is connection for one in asked)

    def count() -> int:
        with monkeypatch.context() as patched:
            patched.setattr(Prepared, "run", counting)
            return hub.read(read).result()

    for_one = count()
    for number in range(50):
        subscribe(hub, f"s{number}")
        park(hub, 2, subscriber=f"s{number}")

    assert count() == for_one


def test_subscriptions_of_a_deleted_topic_are_not_in_the_table(hub: Hub) -> None:
    say(hub, "x")
    say(hub, "y", topic="deaths")
    subscribe(hub)
    subscribe(hub, topic="deaths")

    hub.delete("topic", (TOPIC,)).result()

    assert [row["topic"] for page in read_accounts(hub) for row in page] == ["deaths"]


# Both.


def test_private_conversations_are_in_the_tables_only_for_administrators(stage: Stage, hub: Hub) -> None:
    for name in ("ana", "luis"):
        stage.enroll(name)
    group = stage.desk.private(ANYBODY, Private(token=stage.tokens["ana"], with_="luis")).result().group
    stage.send("ana", "secreto", group)
    topic = f"groups.{group}"
    for name in (topic, TOPIC):
        say(hub, "x", topic=TOPIC)
        subscribe(hub, topic=name)

    topics = {
        caller.name: [
            {row["topic"] for part in read(hub, caller=caller) for row in part}  # type: ignore[operator]
            for read in (read_traces, read_accounts)
        ]
        for caller in (ANYBODY, ADMINISTRATOR)
    }

    assert all(topic not in seen and TOPIC in seen for seen in topics[ANYBODY.name])
    assert all({topic, TOPIC} <= seen for seen in topics[ADMINISTRATOR.name])


def test_the_number_of_a_time_is_that_of_the_first_message_from_then_on(clock: Clock, hub: Hub) -> None:
    accepted_us = []
    for body in "123":
        accepted_us.append(clock.move_ms(60_000))
        say(hub, body)
    gate = Gate(hub)

    found = [
        gate.tables.seq_at(ANYBODY, TOPIC, us).result()
        for us in (1, accepted_us[0], accepted_us[0] + 1, accepted_us[2], accepted_us[2] + 1)
    ]

    assert found == [1, 1, 2, 3, 4]
    with pytest.raises(NotFound):
        gate.tables.seq_at(ANYBODY, "no-topic", 1).result()


def test_the_trace_of_a_time_is_the_first_from_then_on(clock: Clock, site: Site) -> None:
    hub = site.restart(HubOptions(traces_keep_ms=DAY_MS))
    times_us = []
    for body in "1234":
        times_us.append(clock.move_ms(DAY_MS // 2))
        say(hub, body)
        say(hub, body)
    clock.move_ms(DAY_MS // 4)
    hub.maintenance.run_once()

    asked = (1, times_us[0], times_us[2], times_us[2] + 1, times_us[3], times_us[3] + 1)
    found = [Gate(hub).tables.trace_id_at(ANYBODY, us).result() for us in asked]

    assert ends(hub) == (5, 8)
    assert found == [5, 5, 5, 7, 7, 9]
