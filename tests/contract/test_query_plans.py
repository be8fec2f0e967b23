"""Questions that are asked all the time never read a whole table, whatever the log holds.

Asked of the database's own plan, not of a stopwatch. A database whose plans this cannot read is skipped.
"""

import itertools
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from sqlalchemy import Connection

from pregon import limits
from pregon.hub.hub import Hub
from pregon.model.administration import AuditQuery
from pregon.model.trace import Trace, TraceQuery
from pregon.store import trace_search
from pregon.store.accounts import read_accounts
from pregon.store.admin_sessions import find_session
from pregon.store.audit import find_audit
from pregon.store.catalog import find_id, may_publish
from pregon.store.catalog_search import ListQuery, search_subscribers
from pregon.store.cursors import find_accounting, find_place, list_parked, places_of_topic, set_aside
from pregon.store.dedupe import Session, SessionKey, find_published
from pregon.store.log import batch_sizes, read_range, require_message, seq_at
from pregon.store.session_rows import find_session_batches
from pregon.store.trace_search import find_traces
from pregon.store.trace_table import read_trace_rows
from pregon.store.traces import first_id_at, write_traces

from .site import Site
from .verbs import SUBSCRIBER, TOPIC, ack, fill, park, say, say_batch, subscribe

QUESTIONS: dict[str, Callable[[Connection], object]] = {
    "accounting": lambda c: find_accounting(c, TOPIC, SUBSCRIBER),
    "cursor": lambda c: find_place(c, TOPIC, SUBSCRIBER),
    "cursors of a topic": lambda c: places_of_topic(c, 1),
    "exceptions": lambda c: set_aside(c, 1),
    "parked": lambda c: list_parked(c, TOPIC, SUBSCRIBER, 0, 10),
    "trace of a message": lambda c: find_traces(c, TraceQuery(topic=TOPIC, seq=5)),
    "trace of a message, by kind": lambda c: find_traces(
        c, TraceQuery(topic=TOPIC, seq=5, kind="acknowledged", subscriber=SUBSCRIBER)
    ),
    "trace of a time": lambda c: first_id_at(c, 5),
    "pending": lambda c: read_range(c, 1, 2, 9, messages_max=5, bytes_max=10_000),
    "one message": lambda c: require_message(c, 1, 3),
    "message of a time": lambda c: seq_at(c, 1, 5),
    "sizes": lambda c: batch_sizes(c, 1, 0, 10),
    "ids": lambda c: find_published(c, 1, 1, [f"id-{number}" for number in range(700)]),
    "session": lambda c: Session.load(c, SessionKey(1, 1, "s")),
    "topic": lambda c: find_id(c, "topic", TOPIC),
    "rights": lambda c: may_publish(c, 1, 1),
    "traces as a table": lambda c: read_trace_rows(c, 2, 9),
    "accounting as a table": lambda c: read_accounts(c, 0, 1),
    "audit of somebody": lambda c: find_audit(c, AuditQuery(who="token ana", action="update")),
    "audit of one thing": lambda c: find_audit(c, AuditQuery(kind="topic", object=TOPIC, before=9)),
    "who is in": lambda c: find_session(c, b"x" * 32),
    "batches of a session": lambda c: find_session_batches(c, TOPIC, "registry", "s"),
}


@pytest.fixture
def busy_hub(hub: Hub) -> Hub:
    """A hub with something in every table, on a database whose plans can be read."""
    if hub.database.engine.dialect.name != "sqlite":
        pytest.skip("only SQLite's plans are read here")
    for number in range(3):
        say(hub, *(str(row) for row in range(200)), topic=f"other-{number}")
    fill(hub, 500)
    subscribe(hub)
    park(hub, 3, 400)
    ack(hub, 5)
    return hub


def plans_of(connection: Connection, question: Callable[[Connection], object]) -> list[str]:
    """The steps of the plans of every statement that a question runs."""
    statements: list[str] = []
    driver = connection.connection.dbapi_connection
    assert driver is not None
    driver.set_trace_callback(statements.append)
    question(connection)
    driver.set_trace_callback(None)
    assert statements
    # The first or last row of a table, asked for by its key, is called a scan too, and ends at once.
    asked = [one for one in statements if "WHERE" in one or "LIMIT 1" not in " ".join(one.split())]
    return [row[3] for statement in asked for row in driver.execute(f"EXPLAIN QUERY PLAN {statement}")]


@pytest.mark.parametrize("name", sorted(QUESTIONS))
def test_no_question_reads_a_whole_table(busy_hub: Hub, name: str) -> None:
    question = QUESTIONS[name]

    steps = busy_hub.read(lambda connection: plans_of(connection, question)).result()

    assert scans_of(steps) == []


@pytest.mark.parametrize("sort", ["name", "subscriptions", "failing"])
def test_a_list_of_subscribers_scans_no_table_within_a_table(busy_hub: Hub, sort: str) -> None:
    with busy_hub.database.connect() as connection:
        steps = plans_of(connection, lambda c: search_subscribers(c, ListQuery(sort=sort, descending=True)))

    # The list itself is read as a whole to be sorted; what is counted for each of its rows is looked up.
    assert {step.split()[1] for step in scans_of(steps)} <= {"subscriber"}


def scans_of(steps: list[str]) -> list[str]:
    """The steps that read a whole table; the rows that a search has found already are none."""
    return [step for step in steps if step.startswith("SCAN") and step not in ("SCAN CONSTANT ROW", "SCAN fitting")]


@pytest.mark.parametrize("index", ["accepted", "single", "short", "long"])
def test_a_message_is_found_in_the_traces_by_its_topic_and_number(busy_hub: Hub, index: str) -> None:
    question = QUESTIONS["trace of a message"]

    steps = busy_hub.read(lambda connection: plans_of(connection, question)).result()

    assert any(f"ix_trace_{index} (topic=? AND last_seq>? AND last_seq<?)" in step for step in steps)


FIELDS: dict[str, dict[str, Any]] = {
    "date": {"since_us": 12_000, "until_us": 15_000},
    "busy producer": {"producer": "a"},
    "producer": {"producer": "b"},
    "busy subscriber": {"subscriber": "bank"},
    "subscriber": {"subscriber": "rare"},
    "topic": {"topic": "deaths"},
    "message": {"topic": "births", "seq": 500},
    "common result": {"kind": "delivered"},
    "rare result": {"kind": "cancelled"},
    "acceptance": {"kind": "accepted"},
}
SEARCHES = [*itertools.combinations(FIELDS, 1), *itertools.combinations(FIELDS, 2), *itertools.combinations(FIELDS, 3)]


def write_days(hub: Hub, days: range) -> None:
    """A day has a hundred traces: all of births, by a, pushed to bank, but for the first days' few others."""
    rows = []
    for number in days:
        for first in range(number * 50 + 1, number * 50 + 51):
            common = {"at_us": 10_000 + first * 10, "topic": "births", "first_seq": first, "last_seq": first}
            rows.append(Trace(**common, kind="accepted", producer="a"))
            rows.append(Trace(**common, kind="delivered", subscriber="bank"))
    if days.start == 0:
        other = {"at_us": 10_000, "first_seq": 1, "last_seq": 1}
        rows.insert(0, Trace(**other, topic="deaths", kind="accepted", producer="b"))
        rows.insert(1, Trace(**other, topic="births", kind="cancelled", subscriber="bank"))
        rows.insert(2, Trace(**other, topic="births", kind="delivered", subscriber="rare"))
    with hub.database.connect() as connection:
        hub.database.begin_write(connection, durable=False)
        write_traces(connection, rows)
        hub.database.commit(connection)


def work_of(connection: Connection, query: TraceQuery) -> int:
    """How much the database does for a search, in thousands of its own steps."""
    count = 0

    def step() -> None:
        nonlocal count
        count += 1

    driver = connection.connection.dbapi_connection
    assert driver is not None
    driver.set_progress_handler(step, 1_000)
    find_traces(connection, query)
    driver.set_progress_handler(None, 1)
    return count


@pytest.mark.parametrize("names", SEARCHES, ids=" and ".join)
def test_no_search_of_traces_takes_longer_when_there_are_more(
    site: Site, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    # Where a search may look at so many rows and no more, few are enough to see it.
    monkeypatch.setattr(limits, "TRACE_SPAN_MAX", 100)
    monkeypatch.setattr(trace_search, "ASKED_ROWS", (50, 50))
    monkeypatch.setattr(trace_search, "WALKED_ROWS_MAX", 100)
    hub, query = site.hub, TraceQuery(max=20)
    for name in names:
        query = msgspec.structs.replace(query, **FIELDS[name])
    plans: list[str] = []

    work = []
    for days in (range(20), range(20, 200)):
        write_days(hub, days)
        work.append(hub.read(lambda connection: work_of(connection, query)).result())
        plans += hub.read(lambda c: plans_of(c, lambda reader: find_traces(reader, query))).result()

    # Ten times as many rows: a walk by them all would be ten times as long.
    assert work[1] <= work[0] + 5
    assert scans_of(plans) == []


def test_a_scan_would_be_noticed(busy_hub: Hub) -> None:
    def question(connection: Connection) -> object:
        return connection.exec_driver_sql("SELECT * FROM trace WHERE detail = 'x'").all()

    steps = busy_hub.read(lambda connection: plans_of(connection, question)).result()

    assert any(step.startswith("SCAN") for step in steps)


def test_the_accounting_takes_as_many_steps_whatever_the_log_holds(busy_hub: Hub) -> None:
    def count_steps(connection: Connection) -> int:
        steps = 0

        def step() -> None:
            nonlocal steps
            steps += 1

        find_accounting(connection, TOPIC, SUBSCRIBER)
        driver = connection.connection.dbapi_connection
        assert driver is not None
        driver.set_progress_handler(step, 1)
        find_accounting(connection, TOPIC, SUBSCRIBER)
        driver.set_progress_handler(None, 1)
        return steps

    before = busy_hub.read(count_steps).result()
    for _ in range(50):
        say(busy_hub, "more")
    say_batch(busy_hub, *["more"] * 1_000)
    after = busy_hub.read(count_steps).result()

    assert 0 < before == after
