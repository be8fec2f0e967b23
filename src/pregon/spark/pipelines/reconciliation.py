"""Reconciliation: does the hub's accounting say what its events say?

For every subscription `accepted = acknowledged + pending + parked + filtered + expired + cancelled`. The hub counts as
it goes; here the same is counted anew from the raw traces, message by message, and compared. Nothing of the hub's
figures is used for that but which messages a subscription is entitled to, and up to which trace the figures go.

Promises:
- Every part that differs is named with both figures.
- Where the traces do not tell everything, the row says so, and why; then it accuses nobody.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from pregon.model import trace as kinds
from pregon.spark.pipelines.deliveries import RESULTS, deliveries

PARTS = (kinds.ACKNOWLEDGED, kinds.PENDING, kinds.PARKED, kinds.FILTERED, kinds.EXPIRED)
"""As the hub counts them: what was cancelled is counted as expired."""
TOO_EARLY = "the traces end at %s and the hub's figures are of %s: read the traces after the subscriptions"
FORGOTTEN = "the traces begin with %s, the subscription with message %s: add the archived traces, or keep traces longer"
ACCEPTANCE, NO_ACCEPTANCE = "the acceptance of message ", "no acceptance in this topic"


def reconciliation(traces: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """One row for each subscription: the hub's figures, those of the events, and in which they differ.

    The subscriptions are read here, once: their figures are of one moment. The traces are read when the result is, so
    that a table of traces which nobody has read yet goes at least as far.
    """
    subscriptions = subscriptions.localCheckpoint()
    counted = (
        deliveries(traces, subscriptions)
        .groupBy("topic", "subscriber")
        .agg(
            f.count("accepted_at").alias("events_accepted"),
            *(f.count(f.when(f.col("result") == one, True)).alias(f"events_{one}") for one in RESULTS),
        )
    )
    figures = ["events_accepted", *(f"events_{one}" for one in RESULTS)]
    whole = subscriptions.join(f.broadcast(counted), ["topic", "subscriber"], "left").fillna(0, figures)
    judged = (
        whole.join(f.broadcast(_reach(traces)), "topic", "left")
        .crossJoin(f.broadcast(_ends(traces)))
        .withColumn("reason", _reason())
    )
    return judged.select(
        "topic",
        "subscriber",
        "as_of",
        "at",
        "first_seq",
        "head_seq",
        kinds.ACCEPTED,
        *PARTS,
        *figures,
        _discrepancy().alias("discrepancy"),
        (f.col("reason") == "").alias("is_verifiable"),
        "reason",
    )


def _reach(traces: DataFrame) -> DataFrame:
    """Of each topic the first message whose acceptance the traces tell of. Message 1 may be of a topic of the same name
    that was deleted: since then there was another message 1, or there was none yet."""
    accepted = traces.where(f.col("kind") == kinds.ACCEPTED)
    return accepted.groupBy("topic").agg(f.min("first_seq").alias("reach_seq"))


def _ends(traces: DataFrame) -> DataFrame:
    """The oldest and the newest trace."""
    return traces.agg(
        f.coalesce(f.min("id"), f.lit(0)).alias("oldest_id"), f.coalesce(f.max("id"), f.lit(0)).alias("newest_id")
    )


def _reason() -> Column:
    """Why the traces cannot tell; empty when they can.

    Traces are forgotten oldest first, and everything that happens to a message comes after its acceptance: whoever has
    the acceptance of a subscription's first message has everything.
    """
    is_empty = f.col("head_seq") < f.col("first_seq")
    is_whole = (f.col("oldest_id") == 1) | (f.col("reach_seq") <= f.col("first_seq"))
    too_early = f.format_string(TOO_EARLY, f.col("newest_id").cast("string"), f.col("as_of").cast("string"))
    begin = f.coalesce(f.concat(f.lit(ACCEPTANCE), "reach_seq"), f.lit(NO_ACCEPTANCE))
    forgotten = f.format_string(FORGOTTEN, begin, f.col("first_seq").cast("string"))
    return (
        f.when(f.col("newest_id") < f.col("as_of"), too_early).when(is_empty | is_whole, f.lit("")).otherwise(forgotten)
    )


def _discrepancy() -> Column:
    """Every part that differs, in words."""
    pairs = [(kinds.ACCEPTED, f.col("events_accepted"))]
    pairs += [(part, f.col(f"events_{part}")) for part in PARTS if part != kinds.EXPIRED]
    pairs.append((kinds.EXPIRED, f.col("events_expired") + f.col("events_cancelled")))
    named = [
        f.when(
            (f.col("reason") == "") & (events != f.col(part)),
            f.format_string(f"{part}: the events say %d, the hub %d", events, f.col(part)),
        )
        for part, events in pairs
    ]
    parts = sum((f.col(part) for part in PARTS), f.lit(0).cast("long"))
    sum_ = f.when(
        parts != f.col(kinds.ACCEPTED),
        f.format_string("the hub's parts add up to %d, not to the %d that it accepted", parts, f.col(kinds.ACCEPTED)),
    )
    return f.concat_ws("; ", *named, sum_)
