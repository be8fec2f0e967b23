"""Tables of a hub streamed into an archive, run after run."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from scenario.conftest import MakeHub
from scenario.hub_process import HubProcess, wait_until

from pregon import Client
from pregon.spark.archive import archived, system_table

from .archiving import NO_HUB, archive_all, commits, data_files, forget_last_batch, history, sum_of, sum_to
from .tables import address, publish


def test_run_after_run_the_archive_has_what_was_published_and_the_hub_knows(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 300)
    archive_all(spark, hub, tmp_path, subscribePattern=f"{topic}.*", maxOffsetsPerTrigger="200")
    first = client.account(topic, "pregon-archive")

    # Killed between the archive's commit and Spark's own; and a topic that was not there before.
    forget_last_batch(tmp_path)
    publish(client, topic, 50, 301)
    publish(client, f"{topic}-2", 100)
    archive_all(spark, hub, tmp_path, subscribePattern=f"{topic}.*", maxOffsetsPerTrigger="200")

    assert (first.acknowledged, first.pending) == (300, 0)
    assert client.account(topic, "pregon-archive").acknowledged == 350
    assert client.account(f"{topic}-2", "pregon-archive").acknowledged == 100
    assert sum_of(history(spark, tmp_path, topic)) == sum_to(350)
    assert sum_of(history(spark, tmp_path, f"{topic}-2")) == sum_to(100)
    assert history(spark, tmp_path, topic).where("cast(body AS STRING) != cast(seq AS STRING)").count() == 0
    assert len(commits(tmp_path)) == 3


def test_a_topic_that_is_deleted_and_made_again_stops_no_archive_of_a_pattern(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 30)
    publish(client, f"{topic}-2", 10)
    archive_all(spark, hub, tmp_path, subscribePattern=f"{topic}.*")

    client.delete("topic", topic)
    publish(client, topic, 5)
    publish(client, f"{topic}-2", 10, 11)
    archive_all(spark, hub, tmp_path, subscribePattern=f"{topic}.*")
    client.delete("topic", topic)
    publish(client, f"{topic}-2", 10, 21)
    archive_all(spark, hub, tmp_path, subscribePattern=f"{topic}.*")

    found = [(one.topic, one.first, one.rows) for one in archived(spark, str(tmp_path))]
    assert found == [(topic, 1, 30), (topic, 1, 5), (f"{topic}-2", 1, 30)]
    assert sum_of(history(spark, tmp_path, f"{topic}-2")) == sum_to(30)
    assert client.account(f"{topic}-2", "pregon-archive").acknowledged == 30


def test_what_retention_removed_before_it_was_archived_stops_the_archive_until_that_is_accepted(
    spark: SparkSession, make_hub: MakeHub, tmp_path: Path
) -> None:
    hub, archive = make_hub(maintenance_every_ms="50").start(), tmp_path / "archive"
    with hub.client() as client:
        publish(client, "avisos", 30)
        archive_all(spark, hub, archive, subscribePattern="avisos")
        client.delete("subscription", "avisos", "pregon-archive")
        publish(client, "avisos", 10, 31)
        client.update("topic", "avisos", retention={"age_ms": 1})
        wait_until(lambda: client.show("topic", "avisos")["tail_seq"] == 41, "retention removed all")
        client.update("topic", "avisos", retention={"age_ms": None})
        publish(client, "avisos", 5, 41)

        with pytest.raises(PySparkException, match="31 to 40 of avisos were removed"):
            archive_all(spark, hub, archive, subscribePattern="avisos")
        archive_all(spark, hub, archive, subscribePattern="avisos", failOnDataLoss="false")

        account = client.account("avisos", "pregon-archive")
    (one,) = archived(spark, str(archive))
    assert (one.next, one.rows) == (46, 35)
    assert (account.acked_seq, account.pending) == (45, 0)


def test_traces_are_archived_and_marked_and_the_rest_comes_from_the_hub(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 10)

    archive_all(spark, hub, tmp_path, table="traces")

    (one,) = archived(spark, str(tmp_path), "traces")
    publish(client, topic, 1, 11)
    kept = system_table(spark, "traces", archive=str(tmp_path), view=NO_HUB)
    now = system_table(spark, "traces", hub=address(hub), archive=str(tmp_path))
    at_hub = system_table(spark, "traces", hub=address(hub))
    assert one.rows == one.next - one.first == kept.count() > 0
    assert data_files(tmp_path, "traces")
    assert now.count() == at_hub.count() == now.select("id").distinct().count() > one.rows
    assert now.exceptAll(at_hub).count() == 0


def test_requests_are_archived_whatever_else_was_published_to_their_topic(
    spark: SparkSession, hub: HubProcess, client: Client, tmp_path: Path
) -> None:
    good = '{"ended_at": "2026-11-16T10:00:00Z", "service": "squares", "attempts": 1, "outcome": "answered"}'
    for body in ("poison", good, "{}"):
        client.publish("pregon.requests", body)

    archive_all(spark, hub, tmp_path, table="requests")

    client.publish("pregon.requests", good)
    (one,) = archived(spark, str(tmp_path), "requests")
    rows = system_table(spark, "requests", hub=address(hub), archive=str(tmp_path)).collect()
    assert (one.next, one.rows, one.files) == (4, 1, 1)
    assert sorted(row.seq for row in rows) == [2, 4]
    assert client.account("pregon.requests", "pregon-archive").acknowledged == 3
