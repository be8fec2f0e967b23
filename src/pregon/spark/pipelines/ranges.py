"""From traces, which are ranges, to what happened to each message for each subscription.

A trace says that something happened to messages first..last of a topic. Here it becomes one row for each of these
messages and for each subscription that it concerns: what a subscriber did concerns its own subscription, the acceptance
of a message every subscription that is entitled to it. What the rows mean together is left to `deliveries`.

Promises:
- Nothing but ranges is shuffled: they are cut where blocks of `BLOCK` numbers end, go to the task that has the block,
  and become messages only there. Grouping the result by `KEYS` moves no row to another task.
- Of a topic that was deleted and made again, only what happened since: its numbers began anew with message 1. The same
  for subscriptions, if the table of them is given.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from pregon.limits import INTEGER_MAX
from pregon.model import trace as kinds

BLOCK = 4_096
KEYS = ("topic", "subscriber", "block", "seq")
CODES = {
    kinds.ACCEPTED: 0,
    kinds.ACKNOWLEDGED: 1,
    kinds.PARKED: 2,
    kinds.UNPARKED: 3,
    kinds.REPLAYED: 4,
    kinds.FILTERED: 5,
    kinds.EXPIRED: 6,
    kinds.CANCELLED: 7,
    kinds.DELIVERED: 8,
    kinds.FAILED: 9,
    kinds.PULLED: 10,
}
"""The kinds as small numbers. Left out is what says nothing of a message and a subscription: that others wait because
of a failure (deferred), and that the log let messages go which nobody needed (removed)."""


def _longest() -> Column:
    return f.lit(INTEGER_MAX).cast("long")


def births(traces: DataFrame) -> DataFrame:
    """Of each topic the trace with which it began, if the traces go back so far: the last acceptance of message 1."""
    firsts = traces.where((f.col("kind") == kinds.ACCEPTED) & (f.col("first_seq") == 1))
    return firsts.groupBy("topic").agg(f.max("id").alias("born_id"))


def entitlements(traces: DataFrame, subscriptions: DataFrame | None = None) -> DataFrame:
    """Which messages each subscription is entitled to (first..last), and which traces tell of it.

    Without the table of subscriptions, what the traces show: from the first message on of which they say anything for
    the subscriber.
    """
    born_id = f.coalesce("born_id", f.lit(0))
    began = f.broadcast(births(traces))
    if subscriptions is not None:
        return subscriptions.join(began, "topic", "left").select(
            "topic",
            "subscriber",
            f.col("first_seq").alias("from_seq"),
            f.col("head_seq").alias("to_seq"),
            born_id.alias("from_id"),
            f.col("as_of").alias("to_id"),
            f.col("created_at").alias("since"),
        )
    mine = traces.where(f.col("subscriber") != "").join(began, "topic", "left").where(f.col("id") >= born_id)
    return (
        mine.groupBy("topic", "subscriber")
        .agg(f.min("first_seq").alias("from_seq"), f.max(born_id).alias("from_id"))
        .select(
            "topic",
            "subscriber",
            "from_seq",
            _longest().alias("to_seq"),
            "from_id",
            _longest().alias("to_id"),
            f.timestamp_micros(f.lit(0)).alias("since"),
        )
    )


def happenings(traces: DataFrame, subscriptions: DataFrame | None = None) -> DataFrame:
    """What happened to each message for each subscription: the columns `KEYS`, then id, at, code (`CODES`)."""
    entitled = entitlements(traces, subscriptions)
    # An acceptance names no subscriber and finds all of them; everything else finds its own.
    both = f.explode(f.array(f.lit(""), f.col("subscriber")))
    known = f.broadcast(entitled.withColumn("named", both).withColumnRenamed("topic", "of_topic"))
    told = traces.select(
        "id", "at", _code().alias("code"), "topic", f.col("subscriber").alias("named_by"), "first_seq", "last_seq"
    ).where(f.col("code").isNotNull())
    is_mine = (told.topic == known.of_topic) & (told.named_by == known.named)
    pieces = (
        told.join(known, is_mine)
        .where((f.col("named") == "") | (f.col("at") >= f.col("since")))
        .where(f.col("id").between(f.col("from_id"), f.col("to_id")))
        .select(
            "topic",
            "subscriber",
            "id",
            "at",
            "code",
            f.greatest("first_seq", "from_seq").alias("first"),
            f.least("last_seq", "to_seq").alias("last"),
        )
        .where(f.col("first") <= f.col("last"))
        .withColumn("block", f.explode(f.sequence(_block_of("first"), _block_of("last"))))
    )
    start = f.col("block") * BLOCK
    numbers = f.sequence(f.greatest(f.col("first"), start), f.least(f.col("last"), start + (BLOCK - 1)))
    # A number of tasks that is asked for is kept: merged by their size, the ranges would all go to one.
    partitions = int(traces.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)
    gathered = pieces.repartition(partitions, "topic", "subscriber", "block")
    return gathered.select("topic", "subscriber", "block", "id", "at", "code", f.explode(numbers).alias("seq"))


def _code() -> Column:
    # A delivery that came after a replay of what it had been read from does not count, and its detail says so.
    is_late = (f.col("kind") == kinds.DELIVERED) & (f.col("detail") != "")
    chosen = f.when(is_late, f.lit(CODES[kinds.PULLED]))
    for name, code in CODES.items():
        chosen = chosen.when(f.col("kind") == name, f.lit(code))
    return chosen


def _block_of(column: str) -> Column:
    return f.shiftright(f.col(column), 12)
