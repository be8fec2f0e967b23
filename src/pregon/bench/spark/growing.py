"""The pipelines at one, two and four million rows, and at five: whether they grow in proportion, beside a plain
aggregation of the same rows.

Traces: of each message that it was accepted and that two subscribers acknowledged it. Groups: members who each say
something after having seen what the others said last.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pregon.bench.spark.stage import Stage, consume, seconds
from pregon.spark.pipelines.causality import causality
from pregon.spark.pipelines.deliveries import deliveries
from pregon.spark.pipelines.service_levels import service_levels

MILLION = 1_000_000
_MEMBERS = 20
_WARM_ROUNDS = 3


def measure_growing(stage: Stage) -> None:
    """Seconds of each at each size."""
    folder = stage.run.folder("pipelines")
    rows = []
    figures: dict[str, dict[str, float]] = {}
    for millions in (1, 2, 4, 5):
        count = stage.run.plan.scaled(millions * MILLION)
        traces = _kept(stage.spark, traces_of(stage.spark, count), folder / f"traces-{millions}")
        said, shown = (
            _kept(stage.spark, one, folder / f"{name}-{millions}")
            for name, one in zip(("said", "shown"), group_of(stage.spark, count), strict=True)
        )
        works: dict[str, Callable[[], None]] = {
            "plain": lambda traces=traces: consume(plain(traces)),  # type: ignore[misc]
            "levels": lambda traces=traces: consume(service_levels(deliveries(traces))),  # type: ignore[misc]
            "causality": lambda said=said, shown=shown: consume(causality(said, shown)),  # type: ignore[misc]
        }
        if millions == 1:
            # The JVM compiles what runs often: what is measured is how it runs from then on.
            for work in [*works.values()] * _WARM_ROUNDS:
                work()
        took = {name: seconds(work) for name, work in works.items()}
        figures[f"{count}"] = took
        rows.append(
            (
                f"{count:,}",
                f"{took['levels']:.1f}",
                f"{took['causality']:.1f}",
                f"{count / took['causality']:,.0f}",
                f"{took['plain']:.1f}",
            )
        )
    stage.run.results["spark_pipelines_s"] = figures
    columns = (
        "rows",
        "deliveries and service levels s",
        "causality s",
        "deliveries checked/s",
        "a plain aggregation s",
    )
    stage.run.show("pipelines as they grow", columns, rows)


def plain(traces: DataFrame) -> DataFrame:
    """What the least of aggregations costs."""
    return traces.groupBy("topic", "subscriber").agg(f.max("id"), f.count("*"))


def _kept(spark: SparkSession, table: DataFrame, path: Path) -> DataFrame:
    """The table written down, so that making it is not measured."""
    table.write.parquet(str(path))
    return spark.read.parquet(str(path))


def traces_of(spark: SparkSession, count: int) -> DataFrame:
    """So many traces, a third of them that a message was accepted, the rest that subscribers acknowledged it."""
    number = f.expr("id DIV 3")
    part = f.expr("id % 3")
    at_us = f.lit(1_763_280_000_000_000) + number * 1_000 + f.when(part > 0, 2_000 + f.abs(f.hash("id")) % 3_000_000)
    return spark.range(count).select(
        (f.col("id") + 1).alias("id"),
        f.timestamp_micros(f.coalesce(at_us, f.lit(1_763_280_000_000_000) + number * 1_000)).alias("at"),
        f.when(part == 0, "accepted").otherwise("acknowledged").alias("kind"),
        f.concat(f.lit("topic-"), (number % 8).cast("string")).alias("topic"),
        f.when(part == 0, "producer").otherwise("").alias("producer"),
        f.when(part == 0, "").otherwise(f.concat(f.lit("subscriber-"), part.cast("string"))).alias("subscriber"),
        f.expr("id DIV 3 DIV 8 + 1").alias("first_seq"),
        f.expr("id DIV 3 DIV 8 + 1").alias("last_seq"),
        f.lit(0).alias("attempt"),
        f.lit(0).alias("latency_ms"),
        f.lit("").alias("detail"),
    )


def group_of(spark: SparkSession, count: int) -> tuple[DataFrame, DataFrame]:
    """What members of groups said, in turns, and what each was shown: about so many deliveries, in causal order."""
    turns = max(1, count // (_MEMBERS * _MEMBERS))
    messages = spark.range(turns * _MEMBERS).select(
        f.concat(f.lit("g"), (f.col("id") % 50).cast("string")).alias("group"),
        (f.expr(f"id DIV 50 % {_MEMBERS}") + 1).alias("sender"),
        (f.expr(f"id DIV 50 DIV {_MEMBERS}") + 1).alias("number"),
        f.expr("id DIV 50").alias("turn"),
    )
    stamp = f.concat_ws(":", "sender", "number")
    before = f.col("turn") - 1
    cause = f.concat_ws(":", before % _MEMBERS + 1, f.floor(before / _MEMBERS).cast("bigint") + 1)
    said = messages.select(
        "group", stamp.alias("stamp"), "sender", "number", f.lit("message").alias("kind"),
        f.when(f.col("turn") > 0, f.array(cause)).otherwise(f.array().cast("array<string>")).alias("after"),
        f.lit(None).cast("string").alias("answers"),
        f.timestamp_micros(f.lit(1_763_280_000_000_000) + f.col("turn") * 100).alias("accepted_at"),
        f.lit(3).alias("control_bytes"), f.lit(_MEMBERS).alias("vector_bytes"),
    )  # fmt: skip
    at = f.timestamp_micros(f.lit(1_763_280_000_000_000) + f.col("turn") * 100 + 50)
    shown = messages.withColumn("member", f.explode(f.sequence(f.lit(1), f.lit(_MEMBERS)))).select(
        (f.col("turn") * _MEMBERS + f.col("member")).alias("seq"), f.lit(0).alias("row"), "group",
        f.col("member").cast("bigint").alias("member"), f.concat(f.lit("member "), "member").alias("name"),
        stamp.alias("stamp"), at.alias("received_at"), at.alias("delivered_at"),
        f.lit(None).cast("string").alias("waited_for"),
    )  # fmt: skip
    return said, shown
