"""Service levels: how well each subscription was served, hour by hour.

An hour (of UTC) is that in which messages were accepted. Latencies are counted in classes of width 1.1 per cent, not
kept one by one: these counts can be added, so that one pass over the deliveries does for all percentiles, however many
there are. Making the deliveries is left to `deliveries`, showing the levels to `report`.

Promises:
- A percentile is a latency that was measured: not below the exact one, and less than 1.1 per cent above it.
- Both bounds of G.1010 end a class of latencies, so that the rounding never moves a percentile across them.
- Percentiles are of the messages that were acknowledged: nobody waits for what was filtered, expired or parked.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from pregon.model import trace as kinds

PREFERRED, ACCEPTABLE, UNACCEPTABLE = "preferred", "acceptable", "unacceptable"
PREFERRED_MS_MAX = 2_000
ACCEPTABLE_MS_MAX = 4_000
"""ITU-T G.1010, transactions: preferred up to 2 s, acceptable up to 4 s, unacceptable above."""
PERCENTILES = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99}

_STEPS = 64
"""Classes of latencies for each doubling: the second bound of G.1010 is twice the first."""
_HOUR_US = 3_600_000_000
_LATENCY_MS_MIN = 0.001


def service_levels(deliveries: DataFrame) -> DataFrame:
    """Of each topic, subscriber and hour: what was accepted, what became of it, how fast, and what was left.

    Deliveries whose acceptance the traces have forgotten are left out: nobody knows of which hour they are.
    """
    latency_ms = f.when(f.col("result") == kinds.ACKNOWLEDGED, f.col("latency_ms"))
    counted = (
        deliveries.where(f.col("accepted_at").isNotNull())
        .select(
            "topic",
            "subscriber",
            _hour_of("accepted_at").alias("accepted_in"),
            _hour_of("settled_at").alias("settled_in"),
            _class_of(latency_ms).alias("latency_class"),
            latency_ms.alias("latency_ms"),
            "failures",
        )
        .groupBy("topic", "subscriber", "accepted_in", "settled_in", "latency_class")
        .agg(
            f.count("*").alias("messages"), f.sum("failures").alias("failures"), f.max("latency_ms").alias("slowest_ms")
        )
    )
    return _with_backlog(_by_hour(_with_ranks(_by_class(counted))))


def _by_class(counted: DataFrame) -> DataFrame:
    """Of each hour and class of latencies how many came; and in a row of its own, with no class, how many went."""
    came = f.struct(
        f.col("accepted_in").alias("hour"),
        f.col("latency_class"),
        f.col("messages").alias("accepted"),
        f.when(f.col("settled_in").isNotNull(), f.col("messages")).otherwise(0).alias("settled"),
        f.col("failures"),
        f.col("slowest_ms"),
        f.lit(0).cast("long").alias("went"),
    )
    nothing = f.lit(0).cast("long")
    went = f.struct(
        f.col("settled_in").alias("hour"),
        f.lit(None).cast("int").alias("latency_class"),
        nothing.alias("accepted"),
        nothing.alias("settled"),
        nothing.alias("failures"),
        f.lit(None).cast("double").alias("slowest_ms"),
        f.col("messages").alias("went"),
    )
    rows = counted.select("topic", "subscriber", f.explode(f.array(came, went)).alias("one"))
    return (
        rows.select("topic", "subscriber", "one.*")
        .where(f.col("hour").isNotNull())
        .groupBy("topic", "subscriber", "hour", "latency_class")
        .agg(
            *(f.sum(name).alias(name) for name in ("accepted", "settled", "failures", "went")),
            f.max("slowest_ms").alias("slowest_ms"),
        )
    )


def _with_ranks(classes: DataFrame) -> DataFrame:
    """How many latencies are in a class or a lower one, and how many there are in the hour."""
    measured = f.when(f.col("latency_class").isNotNull(), f.col("accepted")).otherwise(0)
    hour = Window.partitionBy("topic", "subscriber", "hour")
    up_to_here = hour.orderBy("latency_class").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return classes.withColumn("rank", f.sum(measured).over(up_to_here)).withColumn(
        "measured", f.sum(measured).over(hour.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing))
    )


def _by_hour(ranked: DataFrame) -> DataFrame:
    """One row for each hour: a percentile is the slowest of the first class that holds that share."""
    shares = {
        name: f.min(f.when(f.col("rank") >= f.ceil(f.col("measured") * share), f.col("slowest_ms")))
        for name, share in PERCENTILES.items()
    }
    return ranked.groupBy("topic", "subscriber", "hour").agg(
        *(f.sum(name).alias(name) for name in ("accepted", "settled", "failures", "went")),
        *(share.alias(name) for name, share in shares.items()),
        f.max("slowest_ms").alias("max_ms"),
    )


def _with_backlog(hours: DataFrame) -> DataFrame:
    """What was not settled when the hour ended, and the class by G.1010."""
    so_far = (
        Window.partitionBy("topic", "subscriber")
        .orderBy("hour")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    backlog = f.sum(f.col("accepted") - f.col("went")).over(so_far)
    return hours.select(
        "topic",
        "subscriber",
        f.timestamp_micros(f.col("hour") * _HOUR_US).alias("hour"),
        "accepted",
        "settled",
        "failures",
        *PERCENTILES,
        "max_ms",
        backlog.alias("backlog"),
        class_of(f.col("p95_ms")).alias("class"),
    )


def class_of(latency_ms: Column) -> Column:
    """The class by G.1010 of a latency; empty for none."""
    return (
        f.when(latency_ms <= PREFERRED_MS_MAX, PREFERRED)
        .when(latency_ms <= ACCEPTABLE_MS_MAX, ACCEPTABLE)
        .when(latency_ms.isNotNull(), UNACCEPTABLE)
        .otherwise("")
    )


def _hour_of(column: str) -> Column:
    return f.floor(f.unix_micros(column) / f.lit(_HOUR_US))


def _class_of(latency_ms: Column) -> Column:
    """Class k has what is above 2 s x 2^((k - 1) / 64) and not above 2 s x 2^(k / 64); what has no latency has none."""
    ratio = f.greatest(latency_ms, f.lit(_LATENCY_MS_MIN)) / f.lit(float(PREFERRED_MS_MAX))
    # `greatest` passes over nulls: by itself it would take what nobody acknowledged for the fastest of all.
    return f.when(latency_ms.isNotNull(), f.ceil(f.log2(ratio) * _STEPS).cast("int"))
