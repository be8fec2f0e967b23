"""Whether every member of every group was shown everything in causal order, by what the members reported.

A message must be shown after those that it depends on immediately (`after`) and after the one that its sender sent
before it; all that is earlier follows from these. Each delivery is made into facts, "2:5 was shown at p" and "3:1 is
needed before p", and one aggregation by member and message puts together when it was shown and when it was first
needed: no delivery is joined with another.

Members report on their own, as well as they can, and are accused only of what their reports prove:
- A message was shown too early when the one that it needs was shown later *both* by the order of the reports and by
  the member's own clock. Who has a room open twice reports it twice, interleaved; whose clock is set back reports
  earlier times. Neither is a violation.
- A cause for which there is no report at all is none either: reports are lost, what was said before a member came is
  not shown to it, and what retention removed cannot be. `unreported` tells those that should have one.
- The same row reported again is the same delivery. A message that was shown again, at another time, is told as
  `duplicate`: a member that came back from an older state, or has two windows, is shown things again.
- What members say of a group that had the same name before is left out: it is older than the group's first message.

Promises:
- Where nothing is unreported, the first violation of each member is the one that happened-before by its definition
  gives too (`causal.oracle`).
- A message that was shown too late is told once for each member: with the first message that was shown before it.
- No Python runs on rows, and nothing is collected or written here.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from pregon.limits import GROUP_REPORT_ROWS_MAX
from pregon.spark.pipelines.group_messages import number_of, sender_of, stamps_of

CAUSAL, FIFO, DUPLICATE, UNREPORTED = "causal", "fifo", "duplicate", "unreported"
COLUMNS = ("group", "member", "name", "message", "missing", "kind", "delivered_at")

_ROWS_OF_REPORT = 1_024
assert _ROWS_OF_REPORT > GROUP_REPORT_ROWS_MAX, "the rows of a report must not reach into the next one"
_FIRST_MESSAGE = "1:1"


def causality(group_messages: DataFrame, group_deliveries: DataFrame) -> DataFrame:
    """What was shown too early (causal, fifo) or again (duplicate): COLUMNS, one row each.

    `message` was shown at `delivered_at`, by the member's clock, before `missing`; for a duplicate that is empty.
    """
    return _with_names(wrong_deliveries(attach_causes(group_messages, group_deliveries)), group_deliveries)


def unreported(group_messages: DataFrame, group_deliveries: DataFrame) -> DataFrame:
    """What a member must have been shown before `message`, and did not say so: COLUMNS, of the kind `unreported`.

    Of a sender of whom the member reported no earlier message, nothing is missed: that was before its time.
    """
    attached = attach_causes(group_messages, group_deliveries)
    finding = _finding(_needing(), _needed(), f.lit(UNREPORTED), "needed_us")
    told = unreported_causes(attached, judge(attached)).select("group", "member", f.inline(f.array(finding)))
    return _with_names(told, group_deliveries)


def attach_causes(group_messages: DataFrame, group_deliveries: DataFrame) -> DataFrame:
    """Each delivery with what it needs: group, member, sender, number, position, shown_us, causes.

    The first of `causes` is the message itself. Of a message that is not in `group_messages` only its sender's one
    before it is known.
    """
    sender, number = f.col("sender"), f.col("number")
    messages = since_beginning(group_messages, group_messages, "accepted_at").select(
        "group", "stamp", "sender", "number", _causes(sender, number, stamps_of(f.col("after"))).alias("causes")
    )
    deliveries = since_beginning(group_deliveries, group_messages, "delivered_at").select(
        "group",
        "stamp",
        "member",
        (f.col("seq") * _ROWS_OF_REPORT + f.col("row")).alias("position"),
        f.unix_micros("delivered_at").alias("shown_us"),
    )
    sender, number = f.coalesce(sender, sender_of(f.col("stamp"))), f.coalesce(number, number_of(f.col("stamp")))
    none = f.array().cast("array<struct<member: bigint, number: bigint>>")
    return deliveries.join(messages, ["group", "stamp"], "left").select(
        "group",
        "member",
        sender.alias("sender"),
        number.alias("number"),
        "position",
        "shown_us",
        f.coalesce("causes", _causes(sender, number, none)).alias("causes"),
    )


def since_beginning(table: DataFrame, group_messages: DataFrame, at: str) -> DataFrame:
    """Rows of a group that are not older than it: there may have been another one of the same name."""
    first = group_messages.where(f.col("stamp") == _FIRST_MESSAGE).groupBy("group")
    begun = first.agg(f.max("accepted_at").alias("begun_at"))
    joined = table.join(f.broadcast(begun), "group", "left")
    return joined.where(f.col("begun_at").isNull() | (f.col(at) >= f.col("begun_at"))).drop("begun_at")


def wrong_deliveries(attached: DataFrame) -> DataFrame:
    """The violations among deliveries to which their causes are attached: COLUMNS but the names of members."""
    kind = f.when(f.col("by_sender") == f.col("sender"), FIFO).otherwise(CAUSAL)
    early = _finding(_needing(), _needed(), kind, "needed_us")
    again = _finding(_needed(), f.lit(""), f.lit(DUPLICATE), "shown_again_us")
    both = f.filter(f.array(f.when(is_early(), early), f.when(is_again(), again)), lambda one: one.isNotNull())
    return judge(attached).where(is_early() | is_again()).select("group", "member", f.inline(both))


def unreported_causes(attached: DataFrame, judged: DataFrame) -> DataFrame:
    """Of what `judge` gives: messages that were needed, have no report, and ought to have one."""
    first = attached.groupBy("group", "member", "sender").agg(f.min("number").alias("first_number"))
    known = judged.where(f.col("shown_position").isNull()).join(first, ["group", "member", "sender"])
    return known.where(f.col("number") > f.col("first_number")).drop("first_number")


def judge(attached: DataFrame) -> DataFrame:
    """For each member and message: when it was shown first and last, and when it was first needed, and by which one."""
    # Deliveries go where their member is before they are made into facts, of which there are three times as many: the
    # aggregation then moves nothing, which saves a fifth of its time.
    facts = attached.repartition("group", "member").select(
        *("group", "member", "position", "shown_us", f.col("sender").alias("by_sender")),
        f.col("number").alias("by_number"),
        f.posexplode("causes").alias("place", "one"),
    )
    is_shown = f.col("place") == 0
    # What a member sends itself it is not shown: it has it when it sends it.
    others = facts.where(is_shown | (f.col("one.member") != f.col("member")))
    shown_us = f.when(is_shown, f.col("shown_us"))
    needed_position = f.when(~is_shown, f.col("position"))
    message = (f.col("one.member").alias("sender"), f.col("one.number").alias("number"))
    return others.groupBy("group", "member", *message).agg(
        f.min(f.when(is_shown, f.col("position"))).alias("shown_position"),
        f.min(shown_us).alias("shown_us"),
        f.max(shown_us).alias("shown_again_us"),
        f.min(needed_position).alias("needed_position"),
        f.min_by("shown_us", needed_position).alias("needed_us"),
        f.min_by("by_sender", needed_position).alias("by_sender"),
        f.min_by("by_number", needed_position).alias("by_number"),
    )


def is_early() -> Column:
    """Of what `judge` gives: whether something that needs this message was shown before it, beyond doubt."""
    # Times that are equal say nothing: then the order of the reports does.
    by_clock = f.col("needed_us") <= f.col("shown_us")
    return (f.col("needed_position") < f.col("shown_position")) & by_clock


def is_again() -> Column:
    """Of what `judge` gives: whether this message was shown at two times."""
    return f.col("shown_us") < f.col("shown_again_us")


def _causes(sender: Column, number: Column, after: Column) -> Column:
    """The message itself, its sender's one before it, if there is one, and what it comes after."""
    itself, before = f.array(_pair(sender, number)), f.array(_pair(sender, number - 1))
    return f.when(number > 1, f.concat(itself, before, after)).otherwise(f.concat(itself, after))


def _pair(member: Column, number: Column) -> Column:
    return f.struct(member.alias("member"), number.alias("number"))


def _needing() -> Column:
    return f.concat_ws(":", f.col("by_sender").cast("string"), f.col("by_number").cast("string"))


def _needed() -> Column:
    return f.concat_ws(":", f.col("sender").cast("string"), f.col("number").cast("string"))


def _finding(message: Column, missing: Column, kind: Column, at_us: str) -> Column:
    """What is told of a message, in one column."""
    at = f.timestamp_micros(f.col(at_us))
    return f.struct(message.alias("message"), missing.alias("missing"), kind.alias("kind"), at.alias("delivered_at"))


def _with_names(found: DataFrame, group_deliveries: DataFrame) -> DataFrame:
    """With the names of the members, as they were called last."""
    # Every report has a first row: the others say the same name.
    reports = group_deliveries.where(f.col("row") == 0).groupBy("group", "member", "name")
    names = reports.agg(f.max("seq").alias("seq")).groupBy("group", "member").agg(f.max_by("name", "seq").alias("name"))
    named = found.join(f.broadcast(names), ["group", "member"], "left")
    return named.withColumn("name", f.coalesce("name", f.lit(""))).select(*COLUMNS)
