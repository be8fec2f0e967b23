"""The archive has every message once: whatever is repeated, lost, left behind, joined or removed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from pregon.errors import BadRequest, DataLost, StoreCorrupt, StoreFailed, WrittenMeanwhile
from pregon.spark.archive import (
    ArchiveSettings,
    View,
    appending,
    archived,
    clean,
    compact,
    compaction,
    system_table,
    table,
)
from pregon.spark.archive.appending import Appender
from pregon.spark.archive.files import files_of
from pregon.spark.archive.log import CommitLog
from pregon.spark.archive.stream import tend
from pregon.spark.archive.writing import open_table
from pregon.spark.schemas import schema_of

from .archiving import (
    FIRST_LIFE,
    NO_HUB,
    SECOND_LIFE,
    Batches,
    Sum,
    commits,
    data_files,
    history,
    note_offset,
    sum_of,
    sum_to,
)


def seen(spark: SparkSession, archive: Path | str, topic: str = "avisos") -> Sum:
    return sum_of(history(spark, archive, topic))


def test_files_are_under_their_topic_and_day_with_times_that_readers_can_skip_by(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = Batches(spark, tmp_path)

    batches.give(0, "007", 1, 86_400)

    files = sorted((tmp_path / "messages").rglob("*.parquet"))
    days = {file.parent.name for file in files}
    assert {file.parent.parent.name for file in files} == {"topic=007"}
    assert days == {"date=2026-11-06", "date=2026-11-07"}
    stored = pq.read_schema(files[0])
    assert str(stored.field("accepted_at").type) == "timestamp[us, tz=UTC]"
    assert seen(spark, tmp_path, "007") == sum_to(86_400)
    assert history(spark, tmp_path, "007").where("date_format(accepted_at, 'dd') = '07'").count() > 0


def test_a_batch_that_is_given_again_is_not_added_again(spark: SparkSession, tmp_path: Path) -> None:
    batches = Batches(spark, tmp_path)
    batches.give(0, "avisos", 1, 100)
    before = data_files(tmp_path)

    again = Batches(spark, tmp_path).give(0, "avisos", 1, 100)

    assert not again.is_new
    assert (len(commits(tmp_path)), data_files(tmp_path)) == (1, before)
    assert seen(spark, tmp_path) == sum_to(100)


def test_a_stream_that_lost_its_checkpoint_adds_only_what_is_new(spark: SparkSession, tmp_path: Path) -> None:
    Batches(spark, tmp_path).give(0, "avisos", 1, 100)
    shutil.rmtree(tmp_path / "_pregon" / "messages" / "checkpoint")
    batches = Batches(spark, tmp_path)

    known = batches.give(0, "avisos", 1, 60)
    partly = batches.give(1, "avisos", 61, 130)

    assert (known.is_new, partly.is_new) == (False, True)
    assert [(one.first, one.next, one.rows) for one in archived(spark, str(tmp_path))] == [(1, 131, 130)]
    assert seen(spark, tmp_path) == sum_to(130)


def test_a_lost_checkpoint_stops_no_topic_that_is_archived_further_than_another(
    spark: SparkSession, tmp_path: Path
) -> None:
    Batches(spark, tmp_path).give_all(0, {"avisos": (1, 100), "otro": (1, 10)})
    shutil.rmtree(tmp_path / "_pregon" / "messages" / "checkpoint")
    batches = Batches(spark, tmp_path)

    # As many of each as the limit of a batch lets through: of the one all that is there is archived.
    batches.give_all(0, {"avisos": (1, 60), "otro": (1, 30)})
    batches.give_all(1, {"avisos": (61, 130), "otro": (31, 40)})

    assert [(one.topic, one.next, one.rows) for one in archived(spark, str(tmp_path))] == [
        ("avisos", 131, 130),
        ("otro", 41, 40),
    ]
    assert (seen(spark, tmp_path), seen(spark, tmp_path, "otro")) == (sum_to(130), sum_to(40))


def test_files_of_a_batch_that_did_not_commit_are_not_seen_and_are_removed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = Batches(spark, tmp_path)

    def fail(*_: Any) -> None:
        raise StoreFailed("killed before the commit")

    with monkeypatch.context() as killed:
        killed.setattr(CommitLog, "commit", fail)
        with pytest.raises(StoreFailed):
            batches.give(0, "avisos", 1, 100)
    torn = data_files(tmp_path)
    batches.give(0, "avisos", 1, 100)

    assert len(torn) == 2
    assert seen(spark, tmp_path) == sum_to(100)
    assert clean(spark, str(tmp_path), "messages") == 0
    assert clean(spark, str(tmp_path), "messages", grace_ms=0) == 2
    assert torn.isdisjoint(data_files(tmp_path))
    assert seen(spark, tmp_path) == sum_to(100)


def test_a_stream_that_goes_on_later_than_the_archive_ends_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    batches = Batches(spark, tmp_path)
    batches.give(0, "avisos", 1, 50)
    batches.give(1, "avisos", 51, 100)
    commits(tmp_path)[-1].unlink()

    with pytest.raises(DataLost, match="goes on at 101 of avisos, but the archive ends before 51"):
        Batches(spark, tmp_path).give(2, "avisos", 101, 110)

    assert seen(spark, tmp_path) == sum_to(50)


def test_a_batch_that_is_not_whole_is_not_committed(spark: SparkSession, tmp_path: Path) -> None:
    batches = Batches(spark, tmp_path)
    batches.give(0, "avisos", 1, 50)

    with pytest.raises(DataLost, match="50 messages of avisos were to be archived, 40 came"):
        batches.give(1, "avisos", 61, 100)

    assert seen(spark, tmp_path) == sum_to(50)


def test_what_was_lost_is_counted_when_the_stream_goes_on_without_it(spark: SparkSession, tmp_path: Path) -> None:
    batches = Batches(spark, tmp_path, fails_on_data_loss=False)
    batches.give(0, "avisos", 1, 50)

    batches.give(1, "avisos", 61, 100)

    (one,) = archived(spark, str(tmp_path))
    assert one.next - one.first - one.rows == 10
    assert seen(spark, tmp_path) == Sum(90, 90, sum_to(50).total + sum_to(100, 61).total)


def test_a_topic_that_was_deleted_while_it_was_read_stops_nobody(spark: SparkSession, tmp_path: Path) -> None:
    batches = Batches(spark, tmp_path, is_gone=lambda life: life == ("avisos", FIRST_LIFE))
    batches.give_all(0, {"avisos": (1, 50), "otro": (1, 5)})

    batches.give_all(1, {"avisos": (51, 60), "otro": (6, 9)}, missing={"avisos"})
    batches.give(2, "avisos", 1, 20, SECOND_LIFE)

    found = [(one.topic, one.since, one.next, one.rows) for one in archived(spark, str(tmp_path))]
    assert found == [("avisos", FIRST_LIFE, 61, 50), ("avisos", SECOND_LIFE, 21, 20), ("otro", FIRST_LIFE, 10, 9)]


def test_clocks_of_others_make_no_more_folders_than_there_are_days(spark: SparkSession, tmp_path: Path) -> None:
    appender = Appender(open_table(spark, str(tmp_path), "group_deliveries"))
    note_offset(tmp_path / "_pregon" / "group_deliveries" / "checkpoint", 0, {"group_deliveries": 3_001}, FIRST_LIFE)
    wild = "timestamp_seconds(-62135596800 + id * 100000000)"
    hostile = spark.range(1, 3_001).selectExpr("id AS seq", f"CASE WHEN id % 7 > 0 THEN {wild} END AS delivered_at")
    columns = [name if name in hostile.columns else f"NULL AS {name}" for name in schema_of("group_deliveries").names]

    appender.append(hostile.selectExpr(*columns).to(schema_of("group_deliveries")), 0)

    kept = system_table(spark, "group_deliveries", archive=str(tmp_path), view=NO_HUB)
    assert sum_of(kept) == sum_to(3_000)
    assert kept.where("delivered_at IS NULL").count() == 3_000 // 7
    assert len(list((tmp_path / "group_deliveries").iterdir())) <= 10


def test_of_two_streams_into_one_archive_one_is_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = Batches(spark, tmp_path), Batches(spark, tmp_path)
    move = appending.place

    def move_late(*what: Any) -> Any:
        monkeypatch.setattr(appending, "place", move)
        other.give(0, "avisos", 1, 100)
        return move(*what)

    monkeypatch.setattr(appending, "place", move_late)
    with pytest.raises(WrittenMeanwhile, match="another stream"):
        mine.give(0, "avisos", 1, 100)

    assert seen(spark, tmp_path) == sum_to(100)


def test_a_checkpoint_that_cannot_be_read_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    batches = Batches(spark, tmp_path)
    batches.give(0, "avisos", 1, 10)
    (tmp_path / "_pregon" / "messages" / "checkpoint" / "offsets" / "0").write_text("v9\n")

    with pytest.raises(StoreCorrupt, match="cannot be read"):
        batches.give(1, "avisos", 11, 20)


def test_compaction_disturbs_nobody_who_reads(spark: SparkSession, tmp_path: Path) -> None:
    batches = Batches(spark, tmp_path)
    for number in range(4):
        batches.give(number, "avisos", 50 * number + 1, 50 * number + 50)
    reading = history(spark, tmp_path, "avisos")
    before = data_files(tmp_path)

    joined = compact(spark, str(tmp_path), "messages")

    (new,) = data_files(tmp_path) - before
    (path,) = (tmp_path / "messages").rglob(new)
    assert joined == len(before) == 8
    assert sum_of(reading) == seen(spark, tmp_path) == sum_to(200)
    assert pq.read_table(path, partitioning=None).column("seq").to_pylist() == list(range(1, 201))
    assert compact(spark, str(tmp_path), "messages") == 0
    assert clean(spark, str(tmp_path), "messages", grace_ms=0) == 8
    assert data_files(tmp_path) == {new}
    assert seen(spark, tmp_path) == sum_to(200)


def test_a_stream_joins_and_removes_now_and_then(spark: SparkSession, tmp_path: Path) -> None:
    batches = Batches(spark, tmp_path)
    batches.give(0, "avisos", 1, 50)
    batches.give(1, "avisos", 51, 100)
    opened = open_table(spark, str(tmp_path), "messages")
    settings = ArchiveSettings(compact_files=4, grace_ms=0)

    tend(opened, 63, settings)
    between = len(data_files(tmp_path))
    tend(opened, 64, settings)

    assert (between, len(data_files(tmp_path))) == (4, 1)
    assert seen(spark, tmp_path) == sum_to(100)


def test_of_two_compactions_at_once_one_is_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = Batches(spark, tmp_path)
    batches.give(0, "avisos", 1, 50)
    batches.give(1, "avisos", 51, 100)
    move = compaction.place

    def move_late(*what: Any) -> Any:
        monkeypatch.setattr(compaction, "place", move)
        compact(spark, str(tmp_path), "messages")
        return move(*what)

    monkeypatch.setattr(compaction, "place", move_late)
    with pytest.raises(WrittenMeanwhile, match="compacted by another process"):
        compact(spark, str(tmp_path), "messages")

    assert [one.files for one in archived(spark, str(tmp_path))] == [1]
    assert seen(spark, tmp_path) == sum_to(100)


def test_both_lives_of_a_topic_are_kept_apart(spark: SparkSession, tmp_path: Path) -> None:
    batches = Batches(spark, tmp_path)
    batches.give(0, "avisos", 1, 60)

    batches.give(1, "avisos", 1, 20, SECOND_LIFE)
    compact(spark, str(tmp_path), "messages")

    earlier = table(spark, "avisos", archive=str(tmp_path), view=View(since=FIRST_LIFE))
    assert [(one.since, one.rows) for one in archived(spark, str(tmp_path))] == [(FIRST_LIFE, 60), (SECOND_LIFE, 20)]
    assert seen(spark, tmp_path) == sum_to(20)
    assert sum_of(earlier) == sum_to(60)


def test_days_of_two_lives_are_joined_at_once_and_each_stays_with_its_own(spark: SparkSession, tmp_path: Path) -> None:
    batches = Batches(spark, tmp_path)
    batches.give(0, "avisos", 1, 30)
    batches.give(1, "avisos", 31, 40)
    # Of the day after.
    batches.give(2, "avisos", 20_001, 20_010, SECOND_LIFE)
    batches.give(3, "avisos", 20_011, 20_020, SECOND_LIFE)

    joined = compact(spark, str(tmp_path), "messages")

    earlier = table(spark, "avisos", archive=str(tmp_path), view=View(since=FIRST_LIFE))
    assert joined >= 4
    assert [(one.since, one.files) for one in archived(spark, str(tmp_path))] == [(FIRST_LIFE, 1), (SECOND_LIFE, 1)]
    assert sum_of(earlier) == sum_to(40)
    assert seen(spark, tmp_path) == sum_to(20_020, 20_001)


def test_an_archive_may_be_on_any_file_system_of_hadoop(spark: SparkSession, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    settings.set("fs.viewfs.mounttable.pregon.link./archive", disk.as_uri())
    archive = "viewfs://pregon/archive/dgrec"
    batches = Batches(spark, archive, disk / "dgrec" / "_pregon" / "messages" / "checkpoint")

    batches.give(0, "avisos", 1, 50)
    batches.give(1, "avisos", 51, 100)
    again = batches.give(1, "avisos", 51, 100)

    files = len(data_files(disk / "dgrec"))
    assert files_of(spark, archive).put_if_absent("notas/a", b"1")
    assert not files_of(spark, archive).put_if_absent("notas/a", b"2")
    assert files_of(spark, archive).read("notas/a") == b"1"
    assert not again.is_new
    assert seen(spark, archive) == sum_to(100)
    assert compact(spark, archive, "messages") == files
    assert clean(spark, archive, "messages", grace_ms=0) == files
    assert seen(spark, archive) == sum_to(100)


def test_what_cannot_be_archived_is_refused_before_anything_is_written(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="not kept in an archive"):
        compact(spark, str(tmp_path), "subscriptions")
    with pytest.raises(BadRequest, match="compact_files"):
        ArchiveSettings(compact_files=1)
    with pytest.raises(BadRequest, match="no place for an archive"):
        Batches(spark, f"{tmp_path}/*")

    assert list(tmp_path.iterdir()) == []
