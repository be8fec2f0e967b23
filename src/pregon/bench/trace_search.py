"""Searching traces measured: every field alone, every two together, among ten million rows; and what the indexes cost.

The database is filled straight, without a hub: fifty topics, some busy and some not; twenty producers; five hundred
subscribers of a few topics each, pushed to or pulling, some of them failing; every kind of trace, some of them rare.
Each search is timed for what is common, what is rare, and what never happened, and the slowest of its rounds counts.
Beside it stands what the same database takes to give as many rows by their primary key.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from itertools import accumulate, islice
from statistics import median
from typing import Any

from sqlalchemy import Connection

from pregon.bench.rounds import ROUNDS, Run
from pregon.model import trace as kinds
from pregon.model.trace import Trace, TraceQuery
from pregon.store.database import SqliteDatabase
from pregon.store.migrate import migrate
from pregon.store.readers import read_now
from pregon.store.schema import trace
from pregon.store.trace_search import find_traces
from pregon.store.traces import write_traces

ROWS = 10_000_000
PAGE_ROWS = 100
LIMIT_MS = 50.0
_TOPICS, _PRODUCERS, _SUBSCRIBERS = 50, 20, 500
_BEGUN_US = 1_780_000_000_000_000
_STEP_US = 2_000
_CHUNK = 50_000
_WRITTEN_TOGETHER = 100
_WRITTEN_ALONE = 2_000
_WRITTEN_IN_ALL = 500

_Fields = dict[str, Any]
_NAMES = [column.name for column in trace.columns if column.name != "id"]


def measure(run: Run) -> None:
    """Fill, search, write."""
    count = run.plan.scaled(ROWS)
    database = SqliteDatabase(run.folder("traces"))
    try:
        migrate(database)
        with database.connect() as connection:
            fill_traces(run, connection, count)
            _search(run, database, connection, count)
            _write(run, database, connection)
    finally:
        database.close()


class _Flow:
    """Traces as a busy hub would write them, the same ones every time."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._at_us = _BEGUN_US
        self._heads = [0] * _TOPICS
        self._weights = list(accumulate(1 / (number + 1) for number in range(_TOPICS)))
        self._subscribers: list[list[int]] = [[] for _ in range(_TOPICS)]
        for number in range(_SUBSCRIBERS):
            for topic in {number % _TOPICS, (number * 7 + 3) % _TOPICS}:
                self._subscribers[topic].append(number)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Rows without end, in the order of the columns."""
        chance, choices = self._random.random, self._random.choices
        while True:
            for topic in choices(range(_TOPICS), cum_weights=self._weights, k=1_000):
                self._at_us += _STEP_US
                luck = chance()
                width = 1 if luck < 0.6 else 1 + int(luck * 50) if luck < 0.85 else 500
                first = self._heads[topic] + 1
                last = self._heads[topic] = first + width - 1
                # The last producer publishes to the last topic only; the others to about three each.
                producer = 19 if topic == 49 else (topic + int(chance() * 3)) % 19
                yield self._row(kinds.ACCEPTED, topic, first, last, producer=f"producer-{producer:02}")
                for number in choices(self._subscribers[topic], k=4):
                    yield from self._deliver(number, topic, first, last)
                if topic == 0 and chance() < 0.001:
                    yield self._row(kinds.REMOVED, topic, max(1, first - 5_000), first)

    def _deliver(self, number: int, topic: int, first: int, last: int) -> Iterator[tuple[Any, ...]]:
        subscriber, luck = f"subscriber-{number:03}", self._random.random()
        if number % 3 == 0:
            yield self._row(kinds.PULLED, topic, first, last, subscriber)
            yield self._row(kinds.ACKNOWLEDGED, topic, first, last, subscriber)
            return
        if number % 10 == 1 or luck < 0.02:
            # Some fail more often than not.
            yield self._row(kinds.FAILED, topic, first, first, subscriber, "HTTP 503 Service Unavailable")
            yield self._row(kinds.DEFERRED, topic, first, last, subscriber)
        if luck > 0.03:
            kind = kinds.FILTERED if number % 10 == 2 and luck > 0.5 else kinds.DELIVERED
            yield self._row(kind, topic, first, last, subscriber)
        elif luck < 0.0002:
            for kind in (kinds.PARKED, kinds.UNPARKED, kinds.EXPIRED, kinds.REPLAYED, kinds.CANCELLED):
                if self._random.random() < 0.3:
                    yield self._row(kind, topic, first, first, subscriber, "no such person")

    def _row(
        self,
        kind: str,
        topic: int,
        first: int,
        last: int,
        subscriber: str = "",
        detail: str = "",
        *,
        producer: str = "",
    ) -> tuple[Any, ...]:
        return (self._at_us, kind, f"topic-{topic:02}", producer, subscriber, first, last, detail, 0, 0)


def _size(connection: Connection) -> int:
    """Bytes that are in use."""
    pages, free, size = (
        connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def fill_traces(run: Run, connection: Connection, count: int) -> None:
    """All rows, then the indexes: each built at once is quicker than kept up row by row."""
    driver = connection.connection.dbapi_connection
    assert driver is not None
    statement = f"INSERT INTO trace ({', '.join(_NAMES)}) VALUES ({', '.join('?' * len(_NAMES))})"
    connection.exec_driver_sql("PRAGMA synchronous=OFF")
    connection.exec_driver_sql("PRAGMA cache_size=-1048576")
    for index in trace.indexes:
        index.drop(connection)
    begun, rows = time.perf_counter(), _Flow().rows()
    for start in range(0, count, _CHUNK):
        connection.exec_driver_sql("BEGIN")
        driver.cursor().executemany(statement, list(islice(rows, min(_CHUNK, count - start))))
        connection.exec_driver_sql("COMMIT")
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    bare = _size(connection)
    for index in sorted(trace.indexes, key=lambda one: one.name or ""):
        index.create(connection)
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.exec_driver_sql("PRAGMA synchronous=FULL")
    connection.exec_driver_sql("PRAGMA cache_size=-16384")
    full = _size(connection)
    took = time.perf_counter() - begun
    run.results["traces_bytes_per_row"] = {"table": bare / count, "indexes": (full - bare) / count}
    sizes = f"{bare / count:.0f} bytes a row, and {(full - bare) / count:.0f} of indexes"
    run.out.print(f"{count:,} traces in {took:.0f} s: {sizes}\n")


def _searches(count: int) -> dict[str, TraceQuery]:
    """Every field alone, every two, and some three together: common, rare, and never."""
    span_us = count // 7 * _STEP_US
    since, until = _BEGUN_US + span_us // 3, _BEGUN_US + span_us // 3 * 2
    date: _Fields = {"since_us": since, "until_us": until}
    busy, quiet = (_Fields(topic=f"topic-{number:02}") for number in (0, 49))
    message = busy | {"seq": count // 50}
    many, lone = (_Fields(producer=f"producer-{number:02}") for number in (0, 19))
    pulls, fails, well = (_Fields(subscriber=f"subscriber-{number:03}") for number in (0, 1, 50))
    often, common, seldom = (_Fields(kind=kind) for kind in (kinds.DELIVERED, kinds.FAILED, kinds.CANCELLED))
    asked: dict[str, list[_Fields]] = {
        "nothing": [{}],
        "date": [date],
        "producer": [many, lone],
        "subscriber": [pulls, fails],
        "topic": [busy, quiet],
        "message": [message],
        "result": [often, seldom, {"kind": kinds.ACCEPTED}, {"kind": kinds.REMOVED}],
        "date, producer": [date | many, date | lone],
        "date, subscriber": [date | pulls, date | fails],
        "date, topic": [date | busy, date | quiet],
        "date, message": [date | message],
        "date, result": [date | often, date | seldom],
        "producer, subscriber": [many | pulls, many | fails, lone | pulls],
        "producer, topic": [many | busy, lone | quiet, lone | busy],
        "producer, message": [many | message, lone | message],
        "producer, result": [many | often, many | seldom, lone | often, many | common],
        "subscriber, topic": [busy | pulls, quiet | pulls, quiet | {"subscriber": "subscriber-049"}],
        "subscriber, message": [message | pulls, message | well],
        "subscriber, result": [pulls | often, fails | common, fails | seldom, well | common],
        "topic, result": [busy | often, busy | seldom, quiet | seldom, quiet | {"kind": kinds.REMOVED}],
        "message, result": [message | often, message | seldom],
        "date, subscriber, result": [date | fails | common, date | pulls | often],
        "topic, subscriber, result": [busy | pulls | often, busy | fails | common],
        "producer, subscriber, result": [many | fails | common, lone | pulls | often],
        "producer, topic, result": [many | busy | common, lone | busy | often],
        "date, producer, topic, subscriber": [date | many | busy | fails],
    }
    return {
        f"{name} ({number})" if len(variants) > 1 else name: TraceQuery(max=PAGE_ROWS, **variant)
        for name, variants in asked.items()
        for number, variant in enumerate(variants, start=1)
    }


def _timed_ms(ask: Callable[[], object]) -> float:
    begun = time.perf_counter()
    ask()
    return (time.perf_counter() - begun) * 1_000


def _search(run: Run, database: SqliteDatabase, connection: Connection, count: int) -> None:
    """The slowest of some rounds, beside as many rows by their primary key."""
    by_key = f"SELECT * FROM trace WHERE id IN ({', '.join(str(count // PAGE_ROWS * n + 1) for n in range(PAGE_ROWS))})"
    one = [
        _timed_ms(lambda n=n: connection.exec_driver_sql(f"SELECT * FROM trace WHERE id = {n}").all())  # type: ignore[misc]
        for n in range(1, count, count // 1_000)
    ]
    page = max(_timed_ms(lambda: connection.exec_driver_sql(by_key).all()) for _ in range(ROUNDS))
    figures: dict[str, dict[str, float]] = {}
    for name, query in _searches(count).items():
        found: list[int] = []

        def ask(query: TraceQuery = query, found: list[int] = found) -> None:
            answer = read_now(database, connection, lambda reader: find_traces(reader, query))
            found[:] = [len(answer), answer.next]

        times = [_timed_ms(ask) for _ in range(ROUNDS)]
        figures[name] = {"worst_ms": max(times), "median_ms": median(times), "found": found[0], "next": found[1]}
    run.results["traces_search"] = figures
    run.results["traces_by_key_ms"] = {"one": median(one), "page": page}
    rows = [("a row by its primary key, median", f"{median(one):.3f}", "", "1", "")]
    rows.append((f"{PAGE_ROWS} rows by their primary keys", f"{page:.2f}", "", str(PAGE_ROWS), ""))
    rows += [
        (
            name,
            f"{one['worst_ms']:.2f}",
            f"{one['median_ms']:.2f}",
            f"{one['found']:.0f}",
            "" if one["found"] == PAGE_ROWS or not one["next"] else "goes on",
        )
        for name, one in figures.items()
    ]
    run.show(
        f"a page of {PAGE_ROWS} among {count:,} traces", ("", f"worst of {ROUNDS}, ms", "median", "found", ""), rows
    )
    slowest = max(one["worst_ms"] for one in figures.values())
    run.out.print(f"the slowest took {slowest:.1f} ms; the limit is {LIMIT_MS:.0f} ms\n")


def _write(run: Run, database: SqliteDatabase, connection: Connection) -> None:
    """Traces written with the indexes and without: many in a transaction, and each alone, synced."""
    flow = _Flow(seed=2).rows()
    rates: dict[str, dict[str, float]] = {}
    for title in ("with the indexes", "without them"):
        if title == "without them":
            for index in trace.indexes:
                index.drop(connection)
        rates[title] = {}
        for how, transactions, together in (
            ("together", _WRITTEN_IN_ALL, _WRITTEN_TOGETHER),
            ("alone", _WRITTEN_ALONE, 1),
        ):
            wanted = [
                [Trace(**dict(zip(_NAMES, row, strict=True))) for row in islice(flow, together)]
                for _ in range(transactions)
            ]
            begun = time.perf_counter()
            for traces in wanted:
                database.begin_write(connection, durable=True)
                write_traces(connection, traces)
                database.commit(connection)
            rates[title][how] = transactions * together / (time.perf_counter() - begun)
            database.checkpoint(connection)
    run.results["traces_written_per_s"] = rates
    rows = [(title, f"{one['together']:,.0f}", f"{one['alone']:,.0f}") for title, one in rates.items()]
    columns = ("", f"{_WRITTEN_TOGETHER} a transaction", "1 a transaction")
    run.show("traces written a second, synced", columns, rows)
