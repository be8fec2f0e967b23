"""The messages of groups, with what their headers say in columns.

Where the messages come from is left to others: any table with the columns of `messages`, of one hub or, for a group
that lives in several, the union of theirs. Batch only, because what a vector clock would take depends on all that was
said before.

Promises:
- One row for each message of a group that has a name (`group-stamp`); what has none is no member's, and is left out.
- What is no name of a message is left out of `after`.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from pregon.model import group as g
from pregon.spark.pipelines.control_information import control_bytes, vector_bytes

COLUMNS = (
    *("group", "seq", "stamp", "sender", "number", "kind", "name", "after", "answers", "accepted_at"),
    *("control_bytes", "vector_bytes"),
)
_STAMP = "^[1-9][0-9]{0,18}:[1-9][0-9]{0,18}$"


def group_messages(messages: DataFrame) -> DataFrame:
    """From rows of `messages`: those of groups, one row each, with COLUMNS."""
    header = f.col("headers")
    stamp = header[g.STAMP_HEADER]
    words = f.split(f.coalesce(header[g.AFTER_HEADER], f.lit("")), " ")
    found = messages.where(f.col("topic").startswith(g.TOPIC_PREFIX) & is_stamp(stamp)).select(
        f.substr("topic", f.lit(len(g.TOPIC_PREFIX) + 1)).alias("group"),
        "seq",
        stamp.alias("stamp"),
        sender_of(stamp).alias("sender"),
        number_of(stamp).alias("number"),
        f.coalesce(header[g.KIND_HEADER], f.lit(g.MESSAGE)).alias("kind"),
        f.coalesce("key", f.lit("")).alias("name"),
        f.filter(words, is_stamp).alias("after"),
        f.coalesce(header[g.ANSWERS_HEADER], f.lit("")).alias("answers"),
        "accepted_at",
    )
    control = control_bytes(f.col("sender"), f.col("number"), f.sort_array(stamps_of(f.col("after"))))
    sized = found.withColumns({"control_bytes": control, "vector_bytes": vector_bytes()})
    return sized.select(*COLUMNS)


def is_stamp(text: Column) -> Column:
    """Whether a text is the name of a message; one that looks like it may have a number that no column holds."""
    return text.rlike(_STAMP) & sender_of(text).isNotNull() & number_of(text).isNotNull()


def sender_of(stamp: Column) -> Column:
    """Who sent a message, from its name."""
    return f.split_part(stamp, f.lit(":"), f.lit(1)).try_cast("bigint")


def number_of(stamp: Column) -> Column:
    """Which message of its sender it is, from its name."""
    return f.split_part(stamp, f.lit(":"), f.lit(2)).try_cast("bigint")


def stamps_of(names: Column) -> Column:
    """An array of names as an array of (member, number)."""
    return f.transform(names, lambda name: f.struct(sender_of(name).alias("member"), number_of(name).alias("number")))
