"""A batch query: what the logs have when it is planned, cut into tasks.

Promises:
- What is planned is fixed: rows that come later are not read.
- A topic that was named and is not there is an error; one that is empty gives no rows.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from pregon.errors import DataLost, NotFound
from pregon.spark.logs import Logs, SpanReader, subscriptions
from pregon.spark.offsets import Ends, Span, cut
from pregon.spark.options import EARLIEST, LATEST, Numbers, Offsets, SourceOptions, require_topics
from pregon.spark.rows import arrow_schema, joined
from pregon.spark.schemas import MESSAGES, SUBSCRIPTIONS

log = logging.getLogger("pregon.spark")

ROWS_PER_TASK = 250_000
BYTES_PER_TASK = 64 * 1024 * 1024


@dataclass
class SpanPartition(InputPartition):
    """What one task reads; nothing if it has no span."""

    span: Span | None


class BatchReader(DataSourceReader):
    """Plans in the driver, reads in the tasks."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        require_topics(options)
        self._options = options
        self._schema = arrow_schema(options.table, schema)

    def partitions(self) -> list[InputPartition]:
        """The tasks; one that reads nothing when there is nothing."""
        options = self._options
        if options.table == SUBSCRIPTIONS:
            return [SpanPartition(None)]
        logs = Logs(options)
        try:
            ends = logs.ends()
            require_named(options, ends)
            spans = [planned_span(options, logs, name, end) for name, end in sorted(ends.items())]
        finally:
            logs.close()
        rows = sum(end.head - end.tail + 1 for end in ends.values())
        row_bytes = sum(end.bytes for end in ends.values()) // max(1, rows)
        rows_per_task = max(1_000, min(ROWS_PER_TASK, BYTES_PER_TASK // max(1, row_bytes)))
        tasks = cut([span for span in spans if span.rows > 0], max(options.partitions_min, 2), rows_per_task)
        return [SpanPartition(task) for task in tasks] or [SpanPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        assert isinstance(partition, SpanPartition)
        return read_partition(self._options, partition, self._schema)


def read_partition(options: SourceOptions, partition: SpanPartition, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of one task, in batches of a size that Spark likes."""
    if partition.span is not None:
        return joined(SpanReader(options, partition.span, schema).batches())
    return joined(subscriptions(options, schema)) if options.table == SUBSCRIPTIONS else iter(())


def require_named(options: SourceOptions, ends: Mapping[str, Ends]) -> None:
    """Raises NotFound for a topic that was named and is not there."""
    missing = [name for name in options.topics if name not in ends]
    if missing and options.table == MESSAGES:
        raise NotFound(f"there is no topic {', '.join(missing)[:300]}: create it, or publish to it first")


def planned_span(options: SourceOptions, logs: Logs, name: str, ends: Ends) -> Span:
    """What is to be read of one log; raises DataLost for a beginning that is there no more."""
    first = bound(options, logs, name, ends, options.starting, options.starting_us)
    if options.ending_us is not None or (options.ending is not None and options.ending != LATEST):
        last = bound(options, logs, name, ends, options.ending, options.ending_us) - 1
    else:
        last = ends.head
    for what in _missing(options, name, ends, first, last):
        if options.fails_on_data_loss:
            raise DataLost(f"{what}. To read without that, set the option failOnDataLoss to false")
        log.warning("%s; it is left out because failOnDataLoss is false", what)
    if not options.is_of(name, ends.since):
        return Span(name, 1, 0, ends.since)
    return Span(name, max(first, ends.tail), min(last, ends.head), ends.since)


def _missing(options: SourceOptions, name: str, ends: Ends, first: int, last: int) -> Iterator[str]:
    """What was asked for by its number and is not there, in words."""
    if not options.is_of(name, ends.since):
        yield f"{name} was deleted and made again since the offsets were made"
    if isinstance(options.starting, Numbers) and first < ends.tail and first <= last:
        yield f"{first} to {min(last, ends.tail - 1)} of {name} are there no more: it begins at {ends.tail}"
    if isinstance(options.ending, Numbers) and first <= last and last > ends.head:
        yield f"{max(first, ends.head + 1)} to {last} of {name} are not there: it ends at {ends.head}"


def bound(options: SourceOptions, logs: Logs, name: str, ends: Ends, offsets: Offsets | None, at_us: int | None) -> int:
    """The number that an option says for a log: of its first row, or of the one after its last."""
    if at_us is not None:
        return logs.seq_at(name, at_us)
    where = EARLIEST if offsets is None else options.offsets_of(name, offsets)
    if where == EARLIEST:
        return ends.tail
    return ends.head + 1 if where == LATEST else int(where)
