"""Deliveries: what became of each message for each subscription, one row for each of the two.

Made of the traces alone, in one aggregation; the table of subscriptions, if it is given, says exactly which messages
each one is entitled to. How good the service was is left to `service_levels`, whether the hub counts the same to
`reconciliation`.

Promises:
- The result of a message is what the hub's own accounting counts it as, at the moment that the traces end (or at that
  of the table of subscriptions).
- No Python runs for a row, nothing is collected, and rows are grouped once.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from pregon.model import trace as kinds
from pregon.spark.pipelines.ranges import CODES, KEYS, happenings

RESULTS = (kinds.ACKNOWLEDGED, kinds.PENDING, kinds.PARKED, kinds.FILTERED, kinds.EXPIRED, kinds.CANCELLED)

_TRIED = (kinds.DELIVERED, kinds.FAILED, kinds.PULLED)
_GIVEN = (kinds.DELIVERED, kinds.PULLED)
_HAD = (kinds.DELIVERED, kinds.ACKNOWLEDGED)
_AFTER = {
    kinds.ACKNOWLEDGED: kinds.ACKNOWLEDGED,
    kinds.PARKED: kinds.PARKED,
    kinds.UNPARKED: kinds.PENDING,
    kinds.REPLAYED: kinds.PENDING,
    kinds.FILTERED: kinds.FILTERED,
    kinds.EXPIRED: kinds.EXPIRED,
    kinds.CANCELLED: kinds.CANCELLED,
}
"""What a message is after such a trace, whatever it was before. A push that was answered (delivered) settles it too,
unless it was given up while it was on its way: the hub does not take that back."""
_GIVEN_UP = (kinds.EXPIRED, kinds.CANCELLED)
_CODES_MAX = 16


def deliveries(traces: DataFrame, subscriptions: DataFrame | None = None) -> DataFrame:
    """What became of each message for each subscription that is entitled to it.

    With the table `subscriptions`: exactly of those, of the messages first_seq..head_seq, and of what had happened by
    `as_of`. Without: of every subscriber that the traces name, from the first message on of which they tell.
    """
    events = happenings(traces, subscriptions)
    at = f.col("at")
    last = f.max(f.when(_is_one_of(tuple(_AFTER)), f.col("id") * _CODES_MAX + f.col("code")))
    grouped = events.groupBy(*KEYS).agg(
        f.min(f.when(_is_one_of([kinds.ACCEPTED]), at)).alias("accepted_at"),
        f.min(f.when(_is_one_of(_TRIED), at)).alias("first_tried_at"),
        f.min(f.when(_is_one_of(_GIVEN), at)).alias("delivered_at"),
        f.min(f.when(_is_one_of(_HAD), at)).alias("acknowledged_at"),
        f.count(f.when(_is_one_of(_TRIED), True)).cast("int").alias("attempts"),
        f.count(f.when(_is_one_of([kinds.FAILED]), True)).cast("int").alias("failures"),
        last.alias("last"),
        # Times grow with the ids, so that the last time is that of the last trace.
        f.max(f.when(_is_one_of(tuple(_AFTER)), at)).alias("last_at"),
        f.max(f.when(_is_one_of([kinds.DELIVERED]), f.col("id"))).alias("delivered_id"),
    )
    settled_at = f.when(f.col("result") == kinds.ACKNOWLEDGED, f.col("acknowledged_at")).when(
        f.col("result") != kinds.PENDING, f.col("last_at")
    )
    latency_ms = (f.unix_micros("settled_at") - f.unix_micros("accepted_at")) / f.lit(1_000.0)
    return (
        grouped.withColumn("result", _result())
        .withColumn("settled_at", settled_at)
        .select(
            "topic",
            "subscriber",
            "seq",
            "accepted_at",
            "first_tried_at",
            "delivered_at",
            "acknowledged_at",
            "settled_at",
            "attempts",
            "failures",
            latency_ms.alias("latency_ms"),
            "result",
        )
    )


def _is_one_of(names: Sequence[str]) -> Column:
    return f.col("code").isin([CODES[name] for name in names])


def _result() -> Column:
    """What the message is, by the last trace that says so, and by a push that was answered after it."""
    code = f.col("last") % _CODES_MAX
    is_delivered_since = f.col("delivered_id") > f.coalesce(f.shiftright("last", 4), f.lit(0))
    is_given_up = f.coalesce(code.isin([CODES[name] for name in _GIVEN_UP]), f.lit(False))
    chosen = f.when(is_delivered_since & ~is_given_up, f.lit(kinds.ACKNOWLEDGED))
    for name, result in _AFTER.items():
        chosen = chosen.when(code == CODES[name], f.lit(result))
    return chosen.otherwise(f.lit(kinds.PENDING))
