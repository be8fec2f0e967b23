"""Reconciliation: the events, counted anew, against the accounting of a hub to which everything happened."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from scenario.hub_process import HubProcess, end

from pregon.model import trace as kinds
from pregon.spark.pipelines.deliveries import RESULTS
from pregon.spark.pipelines.reconciliation import PARTS, reconciliation
from pregon.testing import Receiver

from .hub_life import PULLERS, PUSHED, TOPICS, Life, going_on, read_table, rows_of
from .trace_rows import Told, accepted, moment, subscription, subscriptions_of, traces_of

STEPS = 160
CLERK = "clerk"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[pa.Table, pa.Table]]:
    """The subscriptions and the traces of a hub, read while it was busy; and a clerk who did a simple thing."""
    settings = {"maintenance_every_ms": "20", "push_allow": "127.0.0.1"}
    hub = HubProcess(tmp_path_factory.mktemp("hub") / "data", **settings).start()
    try:
        with Receiver() as receiver, hub.client() as client:
            life = Life(client, receiver, seed=2)
            for number in range(9):
                client.publish("letters", str(number))
            for name in (CLERK, "reader"):
                client.create("subscription", topic="letters", subscriber=name)
                client.ack("letters", name, 7)
            life.run(STEPS)
            with going_on(life):
                subscriptions = read_table(hub, "subscriptions")
                traces = read_table(hub, "traces")
            yield subscriptions, traces
            assert hub.bugs() == []
    finally:
        end(hub)


def by_name(table: DataFrame) -> dict[tuple[str, str], Row]:
    """The rows by topic and subscriber."""
    return {(row.topic, row.subscriber): row for row in table.collect()}


@pytest.fixture(scope="module")
def found(spark: SparkSession, tables: tuple[pa.Table, pa.Table]) -> dict[tuple[str, str], Row]:
    """What reconciliation says of that hub."""
    subscriptions, traces = (spark.createDataFrame(table) for table in tables)
    return by_name(reconciliation(traces, subscriptions))


def test_the_events_of_a_busy_hub_say_what_its_accounting_says(found: dict[tuple[str, str], Row]) -> None:
    names = {(topic, name) for topic in TOPICS for name in (*PULLERS, PUSHED)}
    names |= {("notices", "bank"), ("letters", CLERK), ("letters", "reader")}

    said = {name: (row.discrepancy, row.is_verifiable, row.reason) for name, row in found.items()}

    assert said == dict.fromkeys(names, ("", True, ""))
    for row in found.values():
        assert row.events_accepted == sum(row[f"events_{one}"] for one in RESULTS) == row.accepted
    # Everything has happened, or the test would show nothing.
    assert all(sum(row[f"events_{one}"] for row in found.values()) > 0 for one in RESULTS)
    assert all(sum(row[one] for row in found.values()) > 0 for one in PARTS)
    assert found["births", PUSHED].events_acknowledged + found["deaths", PUSHED].events_acknowledged > 0


def test_what_is_missing_or_wrong_is_named_and_nothing_else(
    spark: SparkSession, tables: tuple[pa.Table, pa.Table]
) -> None:
    subscriptions, traces = tables
    (acknowledged,) = rows_of(traces, topic="letters", subscriber=CLERK, kind=kinds.ACKNOWLEDGED)
    told = traces.filter(pc.not_equal(traces["id"], acknowledged["id"]))
    counted = subscriptions.to_pylist()
    for row in counted:
        row["parked"] += (row["topic"], row["subscriber"]) == ("letters", "reader")
    changed = pa.Table.from_pylist(counted, subscriptions.schema)

    found = by_name(reconciliation(spark.createDataFrame(told), spark.createDataFrame(changed)))

    assert {name: row.discrepancy for name, row in found.items() if row.discrepancy} == {
        ("letters", CLERK): "acknowledged: the events say 0, the hub 7; pending: the events say 9, the hub 2",
        ("letters", "reader"): (
            "parked: the events say 0, the hub 1; the hub's parts add up to 10, not to the 9 that it accepted"
        ),
    }
    assert all(row.is_verifiable for row in found.values())


def test_an_acceptance_that_is_missing_is_a_discrepancy_and_not_forgotten_by_age(spark: SparkSession) -> None:
    told = [
        accepted(1, 2, "first gone"),
        Told(kinds.PULLED, 1, 1, "first gone"),
        accepted(1, 2, "middle gone"),
        accepted(5, 6, "middle gone"),
    ]
    traces = traces_of(spark, told).where("id > 1").unionByName(traces_of(spark, [accepted(1, 1, "elsewhere")]))
    rows = subscriptions_of(
        spark,
        subscription(4, 2, topic="first gone"),
        subscription(4, 6, topic="middle gone"),
    )

    found = by_name(reconciliation(traces, rows))

    assert {topic: row.discrepancy for (topic, _), row in found.items()} == {
        "first gone": "accepted: the events say 0, the hub 2; pending: the events say 1, the hub 2",
        "middle gone": "accepted: the events say 4, the hub 6; pending: the events say 4, the hub 6",
    }


def test_what_the_traces_cannot_tell_is_not_verified_and_accuses_nobody(spark: SparkSession) -> None:
    # The first 499 traces were forgotten.
    told = [
        accepted(6, 9, "old"),
        accepted(1, 3, "young"),
        Told(kinds.ACKNOWLEDGED, 5, 6, "old"),
        Told(kinds.ACKNOWLEDGED, 1, 3, "young", at_s=3),
    ]
    counted = {"created_at": moment(-86_400)}
    rows = subscriptions_of(
        spark,
        subscription(503, 9, topic="old", acknowledged=6, **counted),
        subscription(503, 9, topic="old", subscriber="from 6", first_seq=6, **counted),
        subscription(503, 3, topic="young", acknowledged=3, **counted),
        subscription(503, 7, topic="silent", **counted),
        subscription(503, 7, topic="silent", subscriber="empty", first_seq=8, **counted),
        subscription(504, 3, topic="young", subscriber="newer", **counted),
    )

    found = by_name(reconciliation(traces_of(spark, told, first_id=500), rows))

    add = "add the archived traces, or keep traces longer"
    assert {name: row.reason for name, row in found.items()} == {
        ("old", "bank"): f"the traces begin with the acceptance of message 6, the subscription with message 1: {add}",
        ("old", "from 6"): "",
        ("young", "bank"): "",
        (
            "silent",
            "bank",
        ): f"the traces begin with no acceptance in this topic, the subscription with message 1: {add}",
        ("silent", "empty"): "",
        ("young", "newer"): (
            "the traces end at 503 and the hub's figures are of 504: read the traces after the subscriptions"
        ),
    }
    assert all(row.is_verifiable == (row.reason == "") for row in found.values())
    assert [row.discrepancy for row in found.values()] == [""] * 6


def test_the_hubs_parts_must_add_up_even_where_the_traces_cannot_tell(spark: SparkSession) -> None:
    wrong = subscription(4, 3, acknowledged=1, pending=1)

    found = by_name(reconciliation(traces_of(spark, [accepted(2, 3)], first_id=4), subscriptions_of(spark, wrong)))

    (row,) = found.values()
    assert not row.is_verifiable
    assert row.discrepancy == "the hub's parts add up to 2, not to the 3 that it accepted"
