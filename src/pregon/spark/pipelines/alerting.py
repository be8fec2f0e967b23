"""The stream `traffic-alerts`: windows of messages as they close, and what is unusual in them, told in a topic.

What is unusual is left to `alerts`; here is what a stream adds to it: what the windows before were like is kept from
batch to batch, each batch's under its own number.

    OUTPUT/traffic-alerts/window-60s/checkpoint
    OUTPUT/traffic-alerts/window-60s/baseline/000000000017/part-….parquet

Promises:
- A batch that is run again after a kill sees the windows that it saw before, and tells the same alerts under the same
  ids: the hub stores each once.
- Windows are compared with those of their own length: each length is a stream of its own.
- Messages that are removed before they were counted do not end the stream: alerts are about what was there to be read.
- Alerts about alerts are not made.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from pregon.spark.options import BY_ID
from pregon.spark.pipelines.alerts import AlertRules, alerts_of_batch, next_baseline
from pregon.spark.pipelines.failing import batch_errors_as_ours
from pregon.spark.pipelines.inputs import Place
from pregon.spark.pipelines.output_address import address_of
from pregon.spark.pipelines.traffic import traffic

TRAFFIC_ALERTS = "traffic-alerts"
PRODUCER = "pregon-alerts"
_KEPT = 3
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Baselines:
    """What the windows before each batch were like, a folder for each batch."""

    root: Path

    def before(self, spark: SparkSession, batch: int) -> DataFrame | None:
        """What was left by the batch before this one; None at the beginning."""
        earlier = [number for number in self._numbers() if number < batch]
        return spark.read.parquet(address_of(self._folder(max(earlier)))) if earlier else None

    def keep(self, batch: int, baseline: DataFrame) -> None:
        """What this batch leaves; older ones are of no use any more."""
        baseline.coalesce(1).write.mode("overwrite").parquet(address_of(self._folder(batch)))
        for number in self._numbers()[:-_KEPT]:
            shutil.rmtree(self._folder(number), ignore_errors=True)

    def _numbers(self) -> list[int]:
        """The batches that have left all of theirs."""
        found = [path.parent.name for path in self.root.glob(f"{'[0-9]' * _DIGITS}/_SUCCESS")]
        return sorted(int(name) for name in found)

    def _folder(self, batch: int) -> Path:
        return self.root / f"{batch:0{_DIGITS}}"


@dataclass(frozen=True, slots=True)
class Alerting:
    """What is done with the windows that have closed."""

    writing: Mapping[str, str]
    """Options of `format("pregon")`: which hub, and as whom."""
    baselines: Baselines
    rules: AlertRules

    def tell(self, closed: DataFrame, batch: int) -> None:
        """Publish what is unusual in the windows of a batch, and keep what the next one is compared with."""
        closed.persist()
        try:
            with batch_errors_as_ours():
                before = self.baselines.before(closed.sparkSession, batch)
                rows = alerts_of_batch(closed, before, self.rules)
                options = {**self.writing, "producer": PRODUCER, "idempotence": BY_ID}
                rows.write.format("pregon").mode("append").options(**options).save()
                self.baselines.keep(batch, next_baseline(closed, before, self.rules))
        finally:
            closed.unpersist()


def stream_folder(output: Path, window_s: int) -> Path:
    """Where the stream with windows of this length keeps how far it is, and the windows before."""
    return output.absolute() / TRAFFIC_ALERTS / f"window-{window_s}s"


def start_traffic_alerts(
    spark: SparkSession, place: Place, output: Path, *, every_s: int, window_s: int
) -> StreamingQuery:
    """Start to watch the traffic of the topics that are wanted, from now on."""
    folder = stream_folder(output, window_s)
    alerting = Alerting(place.source, Baselines(folder / "baseline"), AlertRules())
    # It is no subscriber, so that the hub does not wait for it before it removes messages.
    reading = {**place.source, **place.chosen, "failOnDataLoss": "false"}
    messages = spark.readStream.format("pregon").options(**reading).load()
    windows = traffic(messages.where(f.col("topic") != alerting.rules.topic), window=f"{window_s} seconds")
    return (
        windows.writeStream.outputMode("append")
        .foreachBatch(alerting.tell)
        .queryName(TRAFFIC_ALERTS)
        .option("checkpointLocation", address_of(folder / "checkpoint"))
        .trigger(processingTime=f"{every_s} seconds")
        .start()
    )
