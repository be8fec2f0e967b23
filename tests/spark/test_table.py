"""One table of archive and hub: no gap, no overlap, and the hub only where it is needed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from scenario.conftest import MakeHub
from scenario.hub_process import HubProcess, wait_until

from pregon import Client
from pregon.errors import BadRequest, DataLost, NotFound
from pregon.spark import system_table, table
from pregon.spark.archive import View, archived, compact

from .archiving import NO_HUB, Batches, history, sum_of, sum_to
from .tables import address, publish


def plan(frame: DataFrame) -> str:
    """How Spark will run it."""
    return str(frame._jdf.queryExecution().executedPlan().toString())


def since(client: Client, topic: str) -> int:
    made: int = client.show("topic", topic)["created_us"]
    return made


def test_history_comes_from_the_archive_and_the_rest_from_the_hub(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 100)
    Batches(spark, tmp_path).give(0, topic, 1, 70, since(client, topic))

    whole = table(spark, topic, hub=address(hub), archive=str(tmp_path))
    publish(client, topic, 20, 101)

    # What came after the table was made is not in it; the archived rows are those with ids made by hand.
    assert sum_of(whole) == sum_to(100)
    assert whole.where("id LIKE 'id-%'").count() == 70
    assert sum_of(table(spark, topic, hub=address(hub), archive=str(tmp_path))) == sum_to(120)
    assert whole.columns == table(spark, topic, hub=address(hub)).columns


def test_what_is_archived_whole_is_read_without_the_hub_and_skipped_by_filters(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 100)
    Batches(spark, tmp_path).give(0, topic, 1, 100, since(client, topic))

    few = table(spark, topic, hub=address(hub), archive=str(tmp_path)).where("seq > 90 AND accepted_at IS NOT NULL")

    assert "GreaterThan(seq,90)" in plan(few)
    assert "BatchScan" not in plan(few)
    assert sum_of(few) == sum_to(100, 91)


def test_a_period_opens_only_its_files(spark: SparkSession, tmp_path: Path) -> None:
    batches = Batches(spark, tmp_path)
    for number in range(3):
        batches.give(number, "avisos", 10 * number + 1, 10 * number + 10)
    first_at = datetime.fromtimestamp(1_794_000_000, UTC)

    period = View(after=first_at + timedelta(seconds=5), before=first_at + timedelta(seconds=16), is_archive_only=True)
    some = table(spark, "avisos", archive=str(tmp_path), view=period)

    assert sum_of(some) == sum_to(15, 5)
    assert len(some.inputFiles()) < len(history(spark, tmp_path, "avisos").inputFiles())


def test_a_topic_without_messages_is_an_empty_table(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    client.create("topic", name=topic)

    empty = table(spark, topic, hub=address(hub), archive=str(tmp_path))

    assert (empty.count(), empty.columns[:2]) == (0, ["topic", "seq"])


def test_several_topics_are_one_table_and_each_has_its_own_seam(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    other = f"{topic}-2"
    publish(client, topic, 30)
    publish(client, other, 40)
    Batches(spark, tmp_path).give(0, topic, 1, 20, since(client, topic))

    both = table(spark, [topic, other], hub=address(hub), archive=str(tmp_path))

    assert sum_of(both.where(f"topic = '{topic}'")) == sum_to(30)
    assert sum_of(both.where(f"topic = '{other}'")) == sum_to(40)


def test_a_topic_that_was_made_again_is_shown_as_it_is_now(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 50)
    old = since(client, topic)
    Batches(spark, tmp_path).give(0, topic, 1, 50, old)
    client.delete("topic", topic)
    publish(client, topic, 5)

    now = table(spark, topic, hub=address(hub), archive=str(tmp_path))

    assert sum_of(now) == sum_to(5)
    assert sum_of(table(spark, topic, archive=str(tmp_path), view=View(since=old))) == sum_to(50)


def test_what_retention_removed_before_it_was_archived_is_an_error(
    spark: SparkSession, make_hub: MakeHub, tmp_path: Path
) -> None:
    hub = make_hub(maintenance_every_ms="50").start()
    with hub.client() as client:
        client.create("topic", name="avisos", retention={"age_ms": 1})
        publish(client, "avisos", 40)
        Batches(spark, tmp_path / "archive").give(0, "avisos", 1, 10, since(client, "avisos"))
        wait_until(lambda: client.show("topic", "avisos")["tail_seq"] == 41, "retention removed all")

    with pytest.raises(DataLost, match="11 to 40 of avisos are neither archived nor at the hub"):
        table(spark, "avisos", hub=address(hub), archive=str(tmp_path / "archive"))

    loose = {"failOnDataLoss": "false"}
    rest = table(spark, "avisos", hub=address(hub), archive=str(tmp_path / "archive"), source=loose)
    assert sum_of(rest) == sum_to(10)


@pytest.mark.parametrize("messages_again", [0, 40])
def test_a_tail_that_is_gone_when_it_is_read_is_an_error(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path, messages_again: int
) -> None:
    publish(client, topic, 30)
    Batches(spark, tmp_path).give(0, topic, 1, 20, since(client, topic))
    whole = table(spark, topic, hub=address(hub), archive=str(tmp_path))

    client.delete("topic", topic)
    client.create("topic", name=topic)
    publish(client, topic, messages_again)

    with pytest.raises(PySparkException, match="deleted and made again"):
        whole.count()


def test_a_tail_that_retention_removed_before_it_was_read_is_an_error(
    spark: SparkSession, make_hub: MakeHub, tmp_path: Path
) -> None:
    hub = make_hub(maintenance_every_ms="50").start()
    with hub.client() as client:
        publish(client, "avisos", 40)
        Batches(spark, tmp_path / "archive").give(0, "avisos", 1, 10, since(client, "avisos"))
        whole = table(spark, "avisos", hub=address(hub), archive=str(tmp_path / "archive"))

        client.update("topic", "avisos", retention={"age_ms": 1})
        wait_until(lambda: client.show("topic", "avisos")["tail_seq"] == 41, "retention removed all")

    with pytest.raises(PySparkException, match="11 to 40 of avisos are there no more"):
        whole.count()


def test_an_archive_of_another_hub_is_noticed(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 10)
    Batches(spark, tmp_path).give(0, topic, 1, 20, since(client, topic))

    with pytest.raises(DataLost, match="ends at 10 at the hub, but is archived to 20"):
        table(spark, topic, hub=address(hub), archive=str(tmp_path))


def test_what_is_not_there_is_said(spark: SparkSession, hub: HubProcess, tmp_path: Path) -> None:
    Batches(spark, tmp_path).give(0, "avisos", 1, 10)
    place = {"hub": address(hub), "archive": str(tmp_path)}

    with pytest.raises(NotFound, match="there is no topic nadie at the hub, nor in the archive"):
        table(spark, "nadie", **place)
    with pytest.raises(NotFound, match="is_archive_only"):
        table(spark, "avisos", **place)
    with pytest.raises(NotFound, match="no avisos that was made at 5"):
        table(spark, "avisos", archive=str(tmp_path), view=View(since=5))
    with pytest.raises(BadRequest, match="PREGON_ARCHIVE"):
        table(spark, "avisos", view=NO_HUB)


def test_the_archive_may_be_named_by_the_environment(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Batches(spark, tmp_path).give(0, "avisos", 1, 10)

    monkeypatch.setenv("PREGON_ARCHIVE", str(tmp_path))

    assert sum_of(table(spark, "avisos", view=NO_HUB)) == sum_to(10)


def test_a_table_made_while_compaction_goes_on_has_every_row_once(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 40)
    batches = Batches(spark, tmp_path)
    batches.give(0, topic, 1, 10, since(client, topic))
    batches.give(1, topic, 11, 30, since(client, topic))
    before = table(spark, topic, hub=address(hub), archive=str(tmp_path))

    compact(spark, str(tmp_path), "messages")

    after = table(spark, topic, hub=address(hub), archive=str(tmp_path))
    assert sum_of(before) == sum_of(after) == sum_to(40)
    assert [one.files for one in archived(spark, str(tmp_path))] == [1]


def test_subscriptions_are_as_they_are_now(spark: SparkSession, hub: HubProcess, client: Client, topic: str) -> None:
    client.create("subscriber", name="bps")
    client.create("topic", name=topic)
    client.create("subscription", topic=topic, subscriber="bps")

    (row,) = system_table(spark, "subscriptions", hub=address(hub)).where(f"topic = '{topic}'").collect()

    assert (row.subscriber, row.pending) == ("bps", 0)
