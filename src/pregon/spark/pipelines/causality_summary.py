"""One row for each group: what was said and shown, what was wrong, and what the order cost.

What is a violation, and what is none, is left to `causality`.

Promises:
- `violations` and `duplicates` are as many as `causality` tells, `unreported` as many as `unreported` does.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pregon.spark.pipelines.causality import (
    attach_causes,
    is_again,
    is_early,
    judge,
    since_beginning,
    unreported_causes,
)

_COUNTS = ("messages", "deliveries", "members", "violations", "duplicates", "unreported", "held_back")


def causality_summary(group_messages: DataFrame, group_deliveries: DataFrame) -> DataFrame:
    """Per group: _COUNTS, held_back_share, after_mean, after_max, control_bytes, vector_bytes.

    `deliveries` are messages shown to a member, each counted once; `held_back` those that had come before what they
    depend on; `members` those who said or were shown something, the hub among them; `after_mean` and `after_max` how
    many others a message names; the bytes are of a message, on average.
    """
    attached = attach_causes(group_messages, group_deliveries)
    judged = judge(attached)
    reported = since_beginning(group_deliveries, group_messages, "delivered_at")
    held = reported.where(f.col("waited_for") != "").select("group", "member", "stamp").distinct()
    parts = (
        _said(group_messages),
        held.groupBy("group").agg(f.count("*").alias("held_back")),
        unreported_causes(attached, judged).groupBy("group").agg(f.count("*").alias("unreported")),
        judged.groupBy("group").agg(
            f.count("shown_position").alias("deliveries"),
            f.count_if(is_early()).alias("violations"),
            f.count_if(is_again()).alias("duplicates"),
        ),
    )
    senders = group_messages.select("group", f.col("sender").alias("member"))
    there = senders.union(reported.select("group", "member")).distinct()
    joined = there.groupBy("group").agg(f.count("*").alias("members"))
    for part in parts:
        joined = joined.join(f.broadcast(part), "group", "left")
    counted = joined.select(
        "group",
        *(f.coalesce(one, f.lit(0)).alias(one) for one in _COUNTS),
        *("after_mean", "after_max", "control_bytes", "vector_bytes"),
    )
    share = f.coalesce(f.try_divide("held_back", "deliveries"), f.lit(0.0))
    return counted.select("group", *_COUNTS, share.alias("held_back_share"), *counted.columns[-4:])


def _said(group_messages: DataFrame) -> DataFrame:
    """Of the messages of each group."""
    return group_messages.groupBy("group").agg(
        f.count("*").alias("messages"),
        f.avg(f.size("after")).alias("after_mean"),
        f.max(f.size("after")).alias("after_max"),
        f.avg("control_bytes").alias("control_bytes"),
        f.avg("vector_bytes").alias("vector_bytes"),
    )
