"""The archive has every message once: whatever is repeated, lost, left behind, joined or removed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession
from scenario.hub_process import HubProcess

from pregon import Client
from pregon.errors import BadRequest, StoreFailed, WrittenMeanwhile
from pregon.spark.archive import ArchiveSettings, View, archived, clean, compact, compaction, table
from pregon.spark.archive.log import CommitLog

from .archiving import archive_all, commits, data_files, forget_last_batch, history, sum_of, sum_to
from .tables import address, publish


def test_what_is_archived_in_batches_is_what_was_published(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    other = f"{topic}-2"
    publish(client, topic, 300)
    publish(client, other, 100)

    archive_all(spark, hub, tmp_path, subscribe=f"{topic},{other}", maxOffsetsPerTrigger="200")
    publish(client, topic, 50, 301)
    archive_all(spark, hub, tmp_path, subscribe=f"{topic},{other}", maxOffsetsPerTrigger="200")

    found = {one.topic: one for one in archived(spark, str(tmp_path))}
    assert sum_of(history(spark, tmp_path, topic)) == sum_to(350)
    assert sum_of(history(spark, tmp_path, other)) == sum_to(100)
    assert (found[topic].first, found[topic].next, found[topic].rows) == (1, 351, 350)
    assert history(spark, tmp_path, topic).where("cast(body AS STRING) != cast(seq AS STRING)").count() == 0
    assert len(commits(tmp_path)) == 3
    assert client.account(topic, "pregon-archive").pending == 0
    assert client.account(topic, "pregon-archive").acknowledged > 0


def test_files_are_under_their_topic_and_day_with_times_that_readers_can_skip_by(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    client.publish(topic, b"uno", key="k", headers={"a": "b"})

    archive_all(spark, hub, tmp_path, subscribe=topic)

    (file,) = (tmp_path / "messages").rglob("*.parquet")
    accepted_at = table(spark, topic, hub=address(hub)).collect()[0].accepted_at
    stored = pq.read_table(file, partitioning=None)
    assert file.parent.parent.name == f"topic={topic}"
    assert file.parent.name == f"date={accepted_at:%Y-%m-%d}"
    assert str(stored.schema.field("accepted_at").type) == "timestamp[us, tz=UTC]"
    assert stored.column("headers").to_pylist() == [[("a", "b")]]
    assert table(spark, topic, hub=address(hub)).collect() == history(spark, tmp_path, topic).collect()


def test_a_batch_that_spark_gives_again_is_not_added_again(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 100)
    archive_all(spark, hub, tmp_path, subscribe=topic)
    before = data_files(tmp_path)

    forget_last_batch(tmp_path)
    archive_all(spark, hub, tmp_path, subscribe=topic)

    assert len(commits(tmp_path)) == 1
    assert data_files(tmp_path) == before
    assert sum_of(history(spark, tmp_path, topic)) == sum_to(100)


def test_a_stream_that_lost_its_checkpoint_adds_only_what_is_new(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 100)
    archive_all(spark, hub, tmp_path, subscribe=topic)

    shutil.rmtree(tmp_path / "_pregon" / "messages" / "checkpoint")
    publish(client, topic, 30, 101)
    archive_all(spark, hub, tmp_path, subscribePattern=topic, maxOffsetsPerTrigger="60")

    assert sum_of(history(spark, tmp_path, topic)) == sum_to(130)
    assert [one.rows for one in archived(spark, str(tmp_path))] == [130]


def test_files_of_a_batch_that_did_not_commit_are_not_seen_and_are_removed(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(client, topic, 100)

    def fail(*_: Any) -> None:
        raise StoreFailed("killed before the commit")

    with monkeypatch.context() as killed:
        killed.setattr(CommitLog, "commit", fail)
        with pytest.raises(StreamingQueryException, match="killed before the commit"):
            archive_all(spark, hub, tmp_path, subscribe=topic)
    torn = data_files(tmp_path)
    archive_all(spark, hub, tmp_path, subscribe=topic)

    assert len(torn) == 1
    assert sum_of(history(spark, tmp_path, topic)) == sum_to(100)
    assert clean(spark, str(tmp_path), "messages") == 0
    assert clean(spark, str(tmp_path), "messages", grace_ms=0) == 1
    assert torn.isdisjoint(data_files(tmp_path))
    assert sum_of(history(spark, tmp_path, topic)) == sum_to(100)


def test_a_stream_that_goes_on_later_than_the_archive_ends_is_refused(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 100)
    archive_all(spark, hub, tmp_path, subscribe=topic, maxOffsetsPerTrigger="50")
    publish(client, topic, 10, 101)

    commits(tmp_path)[-1].unlink()

    with pytest.raises(StreamingQueryException, match="goes on at 101 of .*, but the archive ends before 51"):
        archive_all(spark, hub, tmp_path, subscribe=topic)


def test_compaction_disturbs_nobody_who_reads(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 200)
    archive_all(spark, hub, tmp_path, subscribe=topic, maxOffsetsPerTrigger="50")
    reading = history(spark, tmp_path, topic)
    before = data_files(tmp_path)

    joined = compact(spark, str(tmp_path), "messages")

    (new,) = data_files(tmp_path) - before
    (path,) = (tmp_path / "messages").rglob(new)
    assert (joined, len(before)) == (4, 4)
    assert sum_of(reading) == sum_of(history(spark, tmp_path, topic)) == sum_to(200)
    assert pq.read_table(path, partitioning=None).column("seq").to_pylist() == list(range(1, 201))
    assert compact(spark, str(tmp_path), "messages") == 0
    assert clean(spark, str(tmp_path), "messages", grace_ms=0) == 4
    assert data_files(tmp_path) == {new}
    assert sum_of(history(spark, tmp_path, topic)) == sum_to(200)


def test_of_two_compactions_at_once_one_is_refused(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(client, topic, 100)
    archive_all(spark, hub, tmp_path, subscribe=topic, maxOffsetsPerTrigger="50")
    move = compaction.place

    def move_late(*what: Any) -> Any:
        monkeypatch.setattr(compaction, "place", move)
        compact(spark, str(tmp_path), "messages")
        return move(*what)

    monkeypatch.setattr(compaction, "place", move_late)
    with pytest.raises(WrittenMeanwhile):
        compact(spark, str(tmp_path), "messages")

    assert sum_of(history(spark, tmp_path, topic)) == sum_to(100)
    assert [one.files for one in archived(spark, str(tmp_path))] == [1]


def test_both_lives_of_a_topic_are_kept_apart(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 60)
    archive_all(spark, hub, tmp_path, subscribePattern=topic)
    client.delete("topic", topic)
    publish(client, topic, 20)

    archive_all(spark, hub, tmp_path, subscribePattern=topic, failOnDataLoss="false")

    old, new = (one.since for one in archived(spark, str(tmp_path)))
    publish(client, topic, 5, 21)
    assert sum_of(history(spark, tmp_path, topic)) == sum_to(20)
    assert sum_of(table(spark, topic, hub=address(hub), archive=str(tmp_path))) == sum_to(25)
    assert sum_of(table(spark, topic, archive=str(tmp_path), view=View(since=old))) == sum_to(60)
    assert sum_of(table(spark, topic, archive=str(tmp_path), view=View(since=new))) == sum_to(20)
    assert compact(spark, str(tmp_path), "messages") == 0


def test_an_archive_may_be_on_any_file_system_of_hadoop(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    tmp_path.joinpath("disk").mkdir()
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    settings.set("fs.viewfs.mounttable.pregon.link./archive", (tmp_path / "disk").as_uri())
    archive = "viewfs://pregon/archive/dgrec"
    publish(client, topic, 100)

    archive_all(spark, hub, archive, subscribe=topic, maxOffsetsPerTrigger="50")
    forget_last_batch(tmp_path / "disk" / "dgrec")
    archive_all(spark, hub, archive, subscribe=topic, maxOffsetsPerTrigger="50")

    assert sum_of(history(spark, archive, topic)) == sum_to(100)
    assert compact(spark, archive, "messages") == 2
    assert clean(spark, archive, "messages", grace_ms=0) == 2
    assert sum_of(history(spark, archive, topic)) == sum_to(100)


def test_a_stream_of_traces_is_archived_up_to_its_mark(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 10)

    archive_all(spark, hub, tmp_path, table="traces", mark="")

    (one,) = archived(spark, str(tmp_path), "traces")
    assert one.rows == one.next - one.first > 0
    assert data_files(tmp_path, "traces")


def test_what_cannot_be_archived_is_refused_before_anything_is_written(
    spark: SparkSession, hub: HubProcess, tmp_path: Path
) -> None:
    with pytest.raises(BadRequest, match="not kept in an archive"):
        compact(spark, str(tmp_path), "subscriptions")
    with pytest.raises(BadRequest, match="compact_files"):
        ArchiveSettings(compact_files=1)
    with pytest.raises((BadRequest, PySparkException), match="no place for an archive"):
        archive_all(spark, hub, "/tmp/*", subscribe="avisos")

    assert list(tmp_path.iterdir()) == []
