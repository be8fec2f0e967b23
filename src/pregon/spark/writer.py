"""Writing a DataFrame to topics: what each task does, and under which name it does it.

Promises:
- A task that is tried again, a batch of a stream that is run again, stores what is missing and nothing twice
  (see `publication`); with `idempotence` `id`, the hub drops rows whose id it has stored, whoever sends them.
- Nothing is undone when a query fails: what subscribers may have read stays; running it again completes it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from pregon.client.sync import Client
from pregon.clock import wall_us
from pregon.errors import InternalError, SettingsInvalid
from pregon.model.ids import new_id
from pregon.spark.hub_door import HubDoor, patiently, topic_path
from pregon.spark.options import BY_ID, SourceOptions
from pregon.spark.outgoing import as_messages, by_topic, check_columns, pieces
from pregon.spark.publication import Publication

QUERY_ID, BATCH_ID = "sql.streaming.queryId", "streaming.sql.batchId"
"""How Spark names the query and the batch of a stream to its tasks; not documented, so a test holds on to them."""
_ROWS_BY_ID = 1_000


@dataclass
class Written(WriterCommitMessage):
    """What a task stored, and what it found stored by an earlier attempt."""

    rows_sent: int = 0
    rows_found: int = 0


class BatchWriter(DataSourceArrowWriter):
    """`df.write`: one name for the whole write, made in the driver or given by the option `session`."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        check_columns(schema, options)
        self._options = options
        self._has_ids = "id" in schema.fieldNames()
        self._name = options.session or new_id()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """What one task does."""
        return write_rows(self._options, iterator, self._name, has_ids=self._has_ids)


class StreamWriter(DataSourceStreamArrowWriter):
    """`df.writeStream`: the name is that of the query, which its checkpoint keeps, and of the batch."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        check_columns(schema, options)
        self._options = options
        self._has_ids = "id" in schema.fieldNames()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """What one task does."""
        context = _context()
        query, batch = context.getLocalProperty(QUERY_ID), context.getLocalProperty(BATCH_ID)
        if not query or not batch:
            raise InternalError(
                "Spark does not say which batch of which query this is: is it another version than 4.3?"
            )
        return write_rows(self._options, iterator, f"{query}-{batch}", has_ids=self._has_ids)


def _context() -> TaskContext:
    context = TaskContext.get()
    if context is None:
        raise InternalError("this is written by tasks of Spark, and by nobody else")
    return context


def write_rows(
    options: SourceOptions, iterator: Iterator[pa.RecordBatch], name: str, *, has_ids: bool
) -> WriterCommitMessage:
    """Store what one task has."""
    destination, written = options.destination(), Written()
    session = f"spark-{name}-{_context().partitionId()}"
    publications: dict[str, Publication] = {}
    door = HubDoor(destination)
    certificate = {"ca": options.ca or None, "certificate": options.certificate or None}
    client = Client(
        destination.hub,
        producer=options.producer,
        timeout_ms=options.timeout_ms,
        key=destination.key,
        ca=certificate["ca"],
        certificate=certificate["certificate"],
    )
    try:
        for rows in iterator:
            for topic, some in by_topic(rows, options) if rows.num_rows else ():
                messages = as_messages(some, options, wall_us())
                if options.idempotence == BY_ID:
                    _publish_by_id(options, door, topic, messages, written)
                    continue
                if topic not in publications:
                    publications[topic] = Publication(client, door, topic, session, has_ids=has_ids)
                publications[topic].add(messages)
        for publication in publications.values():
            publication.finish()
            written.rows_sent += publication.rows_sent
            written.rows_found += publication.rows_found
    finally:
        client.close()
        door.close()
    return written


def _publish_by_id(
    options: SourceOptions, door: HubDoor, topic: str, messages: pa.RecordBatch, written: Written
) -> None:
    """Publish rows that the hub knows by their ids, some at a time."""
    if pc.any(pc.equal(messages.column("id"), "")).as_py():
        raise SettingsInvalid("option idempotence is id, but a row has no id: give every row one")
    for piece in pieces(messages):
        for first in range(0, piece.num_rows, _ROWS_BY_ID):
            some = [_as_json(row) for row in piece.slice(first, _ROWS_BY_ID).to_pylist()]
            said = {"Pregon-Producer": options.producer}
            send = partial(door.send, "POST", f"{topic_path(topic)}/batches", {"messages": some}, said)
            # What is sent again after a lost answer is known by its ids, and counted as found.
            answer = patiently(send, options.timeout_ms)
            found = int(answer.get("duplicates", 0))
            written.rows_found += found
            written.rows_sent += len(some) - found


def _as_json(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "base64": base64.b64encode(row["body"]).decode(),
        "content_type": row["content_type"],
        "headers": dict(row["headers"]),
        **{name: row[name] for name in ("id", "key") if row[name]},
    }
