"""The stream of alerts over a real hub: what it outlives, and what belongs to one length of window."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from scenario.hub_process import HubProcess

from pregon import Client
from pregon.spark.pipelines.alerting import Alerting, Baselines, start_traffic_alerts, stream_folder
from pregon.spark.pipelines.alerts import AlertRules
from pregon.spark.pipelines.inputs import Place

from .tables import address, publish

MINUTE_S, HOUR_S = 60, 3_600
TEN = datetime(2026, 11, 16, 10, tzinfo=UTC)
WINDOWS = "topic STRING, window_start TIMESTAMP, window_end TIMESTAMP, messages BIGINT"


@contextmanager
def watching(spark: SparkSession, place: Place, output: Path, window_s: int) -> Iterator[StreamingQuery]:
    """The stream, which has begun and has read what there was."""
    query = start_traffic_alerts(spark, place, output, every_s=1, window_s=window_s)
    try:
        query.processAllAvailable()
        yield query
    finally:
        query.stop()


def rows_of(query: StreamingQuery) -> int:
    """How many messages were read."""
    return sum(progress["numInputRows"] for progress in query.recentProgress)


def test_messages_that_are_gone_before_they_were_counted_do_not_end_the_stream(
    spark: SparkSession, hub: HubProcess, client: Client, topic: str, tmp_path: Path
) -> None:
    place = Place(source={"hub": address(hub)}, topics=(topic,))
    publish(client, topic, 3)
    with watching(spark, place, tmp_path, MINUTE_S) as before:
        publish(client, topic, 4)
        before.processAllAvailable()

    client.delete("topic", topic)
    publish(client, topic, 5)
    with watching(spark, place, tmp_path, MINUTE_S) as after:
        pass

    assert after.exception() is None
    assert (rows_of(before), rows_of(after)) == (4, 5)
    # All that it keeps is beside what a stream with windows of another length would keep.
    kept = stream_folder(tmp_path, MINUTE_S)
    assert list(kept.parent.iterdir()) == [kept]
    assert {path.name for path in kept.iterdir()} == {"baseline", "checkpoint"}


def test_alerts_go_on_when_windows_become_longer(spark: SparkSession, hub: HubProcess, tmp_path: Path) -> None:
    def tell(window_s: int, batch: int, counts: list[int], first: int = 0) -> None:
        baselines = Baselines(stream_folder(tmp_path, window_s) / "baseline")
        length = timedelta(seconds=window_s)
        rows = [("t", TEN + place * length, TEN + (place + 1) * length, n) for place, n in enumerate(counts, first)]
        Alerting({"hub": address(hub)}, baselines, AlertRules()).tell(spark.createDataFrame(rows, WINDOWS), batch)

    # Minutes since 1970 are sixty times as many as hours: beside them, hours are of long ago.
    tell(MINUTE_S, 0, [20] * 12)
    tell(HOUR_S, 1, [20] * 12)
    tell(HOUR_S, 2, [500], first=12)

    with hub.client() as client:
        told = [json.loads(message.body) for message in client.read(AlertRules().topic, 1).messages]
    assert [(one["kind"], one["count"], one["expected"]) for one in told] == [("surge", 500, 20.0)]
