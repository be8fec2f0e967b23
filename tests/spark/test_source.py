"""Topics and the hub's tables read by `format("pregon")`, against a real hub."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from scenario.conftest import MakeHub
from scenario.hub_process import HubProcess

from pregon import Client
from pregon.clock import format_us
from pregon.model.trace import TraceQuery

from .tables import address, forget_some, publish, read, refusal


def test_every_message_is_read_once_with_all_that_it_has(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str
) -> None:
    publish(client, topic, 1_000)
    client.publish(topic, '{"ñ": 1}', id="acta-1", key="k", content_type="application/json", headers={"a": "b"})

    found = read(spark, hub, subscribe=topic, minPartitions="3")
    rows = found.orderBy("seq").collect()

    assert [row.seq for row in rows] == list(range(1, 1_002))
    assert [int(row.body) for row in rows[:1_000]] == list(range(1, 1_001))
    last = rows[-1]
    assert (last.topic, last.id, last.key, last.content_type) == (topic, "acta-1", "k", "application/json")
    assert (last.headers, bytes(last.body).decode(), last.producer) == ({"a": "b"}, '{"ñ": 1}', "local")
    assert last.published_at <= last.accepted_at
    assert found.rdd.getNumPartitions() >= 3


def test_columns_that_are_not_asked_for_are_not_read(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str
) -> None:
    publish(client, topic, 10)

    found = (
        spark.read.schema("seq BIGINT, body BINARY").format("pregon").options(hub=address(hub), subscribe=topic).load()
    )

    named = read(spark, hub, subscribe=topic, columns="headers,topic,key")
    assert found.columns == ["seq", "body"]
    assert {int(row.body) for row in found.collect()} == set(range(1, 11))
    assert [tuple(row) for row in named.collect()] == [({}, topic, None)] * 10


def test_offsets_and_times_say_where_to_begin_and_to_end(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str
) -> None:
    publish(client, topic, 50)
    middle = client.read(topic, 26, 26)[0].accepted_us
    publish(client, topic, 50, first=51)
    later = client.read(topic, 51, 51)[0].accepted_us

    def numbers(**options: str) -> list[int]:
        return sorted(row.seq for row in read(spark, hub, subscribe=topic, **options).select("seq").collect())

    assert numbers(startingOffsets=json.dumps({topic: 10}), endingOffsets=json.dumps({topic: 20})) == list(
        range(10, 20)
    )
    assert numbers(startingOffsets="latest") == []
    assert numbers(startingTimestamp=str(later // 1_000))[-1] == 100
    after = numbers(startingTimestamp=format_us(later), endingOffsets="latest")
    assert middle < later and after == list(range(51, 101))


def test_a_pattern_finds_topics_and_an_empty_one_gives_no_rows(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str
) -> None:
    for part in ("a", "b"):
        client.publish(f"{topic}.{part}", part)
    client.create("topic", name=f"{topic}.empty")
    client.publish(f"x-{topic}", "not wanted")

    rows = read(spark, hub, subscribePattern=f"{topic}\\..*").collect()

    assert sorted(row.topic for row in rows) == [f"{topic}.a", f"{topic}.b"]
    assert read(spark, hub, subscribe=f"{topic}.empty").collect() == []


def test_the_traces_and_the_accounting_are_tables(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str
) -> None:
    client.create("subscription", topic=_made(client, topic), subscriber="bps")
    publish(client, topic, 20)
    pulled = client.pull(topic, "bps", max=5)
    client.ack(topic, "bps", pulled.last_seq or 0)

    traces = read(spark, hub, table="traces").where(f"topic = '{topic}'").orderBy("id").collect()
    (account,) = read(spark, hub, table="subscriptions").where(f"topic = '{topic}'").collect()

    kinds = [row.kind for row in traces]
    assert kinds[0] == "accepted" and "acknowledged" in kinds
    assert sum(row.last_seq - row.first_seq + 1 for row in traces if row.kind == "accepted") == 20
    assert (account.accepted, account.acknowledged, account.pending, account.subscriber) == (20, 5, 15, "bps")
    assert account.as_of >= traces[-1].id


def test_times_say_where_traces_begin_and_end(spark: SparkSession, hub: HubProcess, client: Client, topic: str) -> None:
    for number in range(6):
        client.publish(topic, str(number))
    traces = list(reversed(client.traces(TraceQuery(topic=topic))))
    first, last = traces[1], traces[4]

    def ids(**options: str) -> list[int]:
        found = read(spark, hub, table="traces", **options).where(f"topic = '{topic}'")
        return sorted(row.id for row in found.select("id").collect())

    assert first.at_us < last.at_us
    assert ids(startingTimestamp=format_us(first.at_us)) == [one.id for one in traces if one.at_us >= first.at_us]
    assert ids(startingTimestamp=format_us(first.at_us), endingTimestamp=format_us(last.at_us)) == [
        one.id for one in traces if first.at_us <= one.at_us < last.at_us
    ]


def _made(client: Client, topic: str) -> str:
    client.create("topic", name=topic)
    return topic


def test_what_members_of_groups_were_shown_is_a_table(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str
) -> None:
    name = f"g{abs(hash(topic)) % 10**9}"
    with client.join(name, name=f"ana {name}") as ana, client.join(name, name=f"luis {name}") as luis:
        said = ana.send("hola")
        while (event := luis.poll(30)) is not None and getattr(event, "stamp", None) != said:
            pass

    rows = read(spark, hub, table="group_deliveries").where(f"group = '{name}'").collect()

    shown = {(row.name, row.stamp) for row in rows}
    assert (f"luis {name}", str(said)) in shown
    assert all(row.received_at <= row.delivered_at for row in rows)


def test_a_body_that_is_no_report_is_left_out_of_the_table(spark: SparkSession, make_hub: MakeHub) -> None:
    hub = make_hub().start()
    with hub.client() as client:
        good = {"ended_at": "2026-11-16T10:00:00Z", "service": "squares", "attempts": 1, "outcome": "answered"}
        for body in ("{}", "poison", json.dumps(good), '{"ended_at": 7}'):
            client.publish("pregon.requests", body)

    rows = read(spark, hub, table="requests").collect()

    assert [(row.seq, row.service, row.outcome, row.attempts) for row in rows] == [(3, "squares", "answered", 1)]


WRONG: dict[str, tuple[dict[str, str], str]] = {
    "nothing to read": ({}, "say which topics to read"),
    "both": ({"subscribe": "a", "subscribePattern": "b"}, "keep one"),
    "typo": ({"subscribe": "a", "startingOffset": "latest"}, "did you mean startingOffsets?"),
    "offsets": ({"subscribe": "a", "startingOffsets": "begin"}, "write earliest, latest, or the number"),
    "no such topic": ({"subscribe": "nowhere"}, "there is no topic nowhere"),
    "fast lane": ({"subscribe": "a", "hub": "tcp://127.0.0.1:5570"}, "the address of the hub's HTTP door"),
    "table": ({"table": "messges"}, "one of messages, traces"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_refused_with_what_to_write(spark: SparkSession, hub: HubProcess, case: str) -> None:
    options, wanted = WRONG[case]

    with pytest.raises(PySparkException) as caught:
        spark.read.format("pregon").options(**{"hub": address(hub), **options}).load().collect()

    assert wanted in refusal(caught)


def test_a_wrong_key_and_a_hub_that_is_not_there_are_said(spark: SparkSession, make_hub: MakeHub) -> None:
    hub = make_hub(require_keys="true").start()
    secret = "wrong-key-of-mine"

    with pytest.raises(PySparkException) as refused:
        read(spark, hub, subscribe="a", key=secret).collect()
    hub.stop()
    with pytest.raises(PySparkException) as away:
        read(spark, hub, subscribe="a", timeoutMs="100").collect()

    assert "key" in refusal(refused) and secret not in refusal(refused)
    assert "is the hub running there" in refusal(away)


def test_what_retention_removed_is_an_error_or_left_out_but_never_silence(
    spark: SparkSession, make_hub: MakeHub
) -> None:
    hub = make_hub(maintenance_every_ms="100").start()
    wanted: dict[str, Any] = {"subscribe": "t", "startingOffsets": '{"t": 1}'}
    with hub.client() as client:
        publish(client, "t", 500)
        tail = forget_some(client, "t")

    with pytest.raises(PySparkException) as caught:
        read(spark, hub, **wanted).collect()
    rows = read(spark, hub, **wanted, failOnDataLoss="false").select("seq").collect()

    assert "are there no more" in refusal(caught)
    assert sorted(row.seq for row in rows) == list(range(tail, 501))
