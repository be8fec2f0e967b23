"""What the order of a group costs on the wire: the control information of its messages beside a vector clock's.

Column expressions only: `causal.encoding` and `causal.vector` have the bytes themselves, drawn, and a test holds these
counts against them.

Promises:
- `control_bytes` is exactly how long `encode_control` makes the control information of a message.
- `vector_bytes` counts for every member up to the highest that had sent something the newest of its messages that the
  log had. The sender may not have been shown all of them: its own clock was as long, or a byte less for a member whose
  numbers had just grown by a byte.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, Window
from pyspark.sql import functions as f

from pregon.limits import GROUP_AFTER_MAX

_BYTES_MAX = 2**31 - 1


def varint_bytes(value: Column) -> Column:
    """How many bytes a number from 0 on takes: seven of its bits in each."""
    return f.floor((f.length(f.bin(value)) + 6) / 7)


def control_bytes(sender: Column, number: Column, after: Column) -> Column:
    """Bytes of the control information of a message; `after` is an array of (member, number), by member."""
    lowest, highest = f.element_at(after, 1)["member"], f.element_at(after, -1)["member"]
    as_list = _list_bytes(after)
    span = highest - lowest + 1
    # A row has one byte for each member in it, and more only for numbers that need more; the sender has no place in it.
    longer = _sum_of(after, lambda one: varint_bytes(one["number"]) - 1)
    as_row = varint_bytes(lowest - 1) + varint_bytes(span) + span + longer - _one_if(sender.between(lowest, highest))
    as_row_from_one = varint_bytes(highest) + highest + longer - _one_if(sender <= highest)
    list_or_row = f.least(as_list, as_row)
    from_one_fits = highest <= f.least(f.lit(GROUP_AFTER_MAX), list_or_row)
    dependencies = (
        f.when(f.size(after) == 0, f.lit(1))
        .when(span > f.least(f.lit(GROUP_AFTER_MAX), 2 * as_list), as_list)
        .when(from_one_fits, f.least(list_or_row, as_row_from_one))
        .otherwise(list_or_row)
    )
    return (1 + varint_bytes(sender) + varint_bytes(number) + dependencies).cast("int")


def vector_bytes() -> Column:
    """Bytes of a vector clock in its place; of rows with group, sender, number, accepted_at and seq."""
    in_time = [f.col("accepted_at"), f.col("seq")]
    of_sender = Window.partitionBy("group", "sender").orderBy(*in_time)
    so_far = Window.partitionBy("group").orderBy(*in_time).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    before = f.coalesce(f.lag("number").over(of_sender), f.lit(0))
    # The clock has a byte for every member, and becomes longer when a member's numbers do.
    longer = f.sum(varint_bytes(f.col("number")) - varint_bytes(before)).over(so_far)
    members = f.max("sender").over(so_far)
    # Whoever can write to a group's log can name a member of any number.
    size = 1 + varint_bytes(f.col("sender")) + varint_bytes(members) + members + longer
    return f.least(size, f.lit(_BYTES_MAX)).cast("int")


def _list_bytes(after: Column) -> Column:
    """How many there are, then of each the step from the member before it, and its number."""
    begin = f.struct(f.lit(0).cast("bigint").alias("member"), varint_bytes(f.size(after)).alias("bytes"))

    def add(sum_: Column, one: Column) -> Column:
        step = varint_bytes(one["member"] - sum_["member"] - 1)
        return f.struct(
            one["member"].alias("member"), (sum_["bytes"] + step + varint_bytes(one["number"])).alias("bytes")
        )

    return f.aggregate(after, begin, add)["bytes"]


def _sum_of(array: Column, value: Callable[[Column], Column]) -> Column:
    return f.aggregate(array, f.lit(0).cast("bigint"), lambda sum_, one: sum_ + value(one))


def _one_if(condition: Column) -> Column:
    return condition.cast("int")
