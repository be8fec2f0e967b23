"""The logs that are read as tables, and where each is at the hub: of topics by their names, and of traces by their ids.

A task reads a span of one log. It goes on where it was when the hub is away for a while, and it notices what is
missing.

Promises:
- Every row of the span is given once, in order, or DataLost is raised; with `fails_on_data_loss` false, what is lost is
  said in the log of the process and left out.
- A hub that is away is waited for `timeout_ms`, counted from the last row that came.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pregon.client.calls import busy_delay_ms
from pregon.clock import format_us, monotonic_ms, parse_us
from pregon.errors import DataLost, NotFound, Unavailable
from pregon.limits import INTEGER_MAX, LIST_ROWS_MAX
from pregon.model.group import DELIVERIES_TOPIC
from pregon.spark.hub_door import SUBSCRIPTIONS_PATH, TRACE_ID_PATH, TRACES_PATH, HubDoor, patiently, topic_path
from pregon.spark.offsets import Ends, Span
from pregon.spark.options import SourceOptions
from pregon.spark.rows import columns_of, decoded
from pregon.spark.schemas import GROUP_DELIVERIES, MESSAGES, REQUESTS, SUBSCRIPTIONS, TRACES

log = logging.getLogger("pregon.spark")

REQUESTS_TOPIC = "pregon.requests"
TOPIC_OF = {REQUESTS: REQUESTS_TOPIC, GROUP_DELIVERIES: DELIVERIES_TOPIC}
"""The topics whose bodies are a table of their own."""
_FEW_TOPICS = 8
"""So many are asked for one by one; for more, all are listed."""


class Logs:
    """The logs of one query, asked for by its driver."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._door = HubDoor(options.destination())
        self._pattern = re.compile(options.pattern) if options.pattern else None

    def close(self) -> None:
        """Give the connection back."""
        self._door.close()

    def ends(self) -> dict[str, Ends]:
        """What each log has now; topics that were named and are not there are left out."""
        return patiently(self._ends, self._options.timeout_ms)

    def _ends(self) -> dict[str, Ends]:
        options = self._options
        if options.table == TRACES:
            return {TRACES: self._trace_ends()}
        if options.table in TOPIC_OF:
            found = self._topic(TOPIC_OF[options.table])
            # Nothing was ever written there: an empty log, which begins when it is made.
            return {} if found is None else {options.table: found}
        if len(options.topics) in range(1, _FEW_TOPICS + 1):
            several = {name: self._topic(name) for name in options.topics}
            return {name: ends for name, ends in several.items() if ends is not None}
        return {entry["name"]: _ends_of(entry) for entry in self._listed() if self._is_wanted(entry["name"])}

    def _is_wanted(self, name: str) -> bool:
        if self._pattern is not None:
            return self._pattern.fullmatch(name) is not None
        return name in self._options.topics

    def _topic(self, name: str) -> Ends | None:
        try:
            return _ends_of(self._door.document(topic_path(name)))
        except NotFound:
            return None

    def _listed(self) -> Iterator[dict[str, Any]]:
        cursor = ""
        while True:
            query = {"max": LIST_ROWS_MAX, **({"cursor": cursor} if cursor else {})}
            page = self._door.document("/v1/topics", query)
            yield from page["items"]
            cursor = page["next"] or ""
            if not cursor:
                return

    def _trace_ends(self) -> Ends:
        with self._door.stream(TRACES_PATH, {"from": INTEGER_MAX}) as (said, batches):
            for _ in batches:
                pass
        head = int(said["pregon-head-id"])
        # The oldest of none is the next one to come.
        return Ends(0, int(said["pregon-tail-id"]) or head + 1, head)

    def seq_at(self, name: str, at_us: int) -> int:
        """The first row of a log at a time or later; the next one to come if there is none."""
        is_traces = self._options.table == TRACES
        path = TRACE_ID_PATH if is_traces else f"{topic_path(TOPIC_OF.get(name, name))}/seq"
        query = {"time": format_us(at_us)}
        found = patiently(lambda: self._door.document(path, query), self._options.timeout_ms)
        return int(found["id" if is_traces else "seq"])


def _ends_of(entry: dict[str, Any]) -> Ends:
    return Ends(parse_us(entry["created_at"]), entry["tail_seq"], entry["head_seq"], entry["bytes"])


class SpanReader:
    """Reads one span; in a task, with a connection of its own."""

    def __init__(self, options: SourceOptions, span: Span, schema: pa.Schema) -> None:
        self._options = options
        self._span = span
        self._schema = schema
        self._door = HubDoor(options.destination())
        self._next = span.first

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, as batches of the wanted columns."""
        attempt, deadline_ms = 0, monotonic_ms() + self._options.timeout_ms
        try:
            while self._next <= self._span.last:
                before = self._next
                try:
                    yield from self._rest()
                except Unavailable:
                    if self._next > before:
                        attempt, deadline_ms = 0, monotonic_ms() + self._options.timeout_ms
                    delay_ms = busy_delay_ms(attempt)
                    if monotonic_ms() + delay_ms > deadline_ms:
                        raise
                    attempt += 1
                    time.sleep(delay_ms / 1_000)
        finally:
            self._door.close()

    def _rest(self) -> Iterator[pa.RecordBatch]:
        """What is left of the span, as far as one answer of the hub goes."""
        if self._options.table == TRACES:
            yield from self._traces()
        else:
            yield from self._messages()

    def _messages(self) -> Iterator[pa.RecordBatch]:
        span, table = self._span, self._options.table
        topic = TOPIC_OF.get(span.log, span.log) if table != MESSAGES else span.log
        if not self._is_same(topic):
            self._lose(span.last, f"{topic} was deleted, or deleted and made again", may=bool(self._options.pattern))
            return
        query = {"from": self._next, "to": span.last, "columns": _served_columns(table, self._schema)}
        with self._door.stream(f"{topic_path(topic)}/batches", query) as (_, batches):
            for batch in batches:
                first = batch.column("seq")[0].as_py()
                if first > self._next:
                    self._lose(first - 1, "its retention removed them")
                yield (
                    columns_of(batch, self._schema, topic) if table == MESSAGES else decoded(table, batch, self._schema)
                )
                self._next = first + batch.num_rows
        if self._next <= span.last:
            self._lose(span.last, "its retention removed them, or the hub's store was put back")

    def _is_same(self, topic: str) -> bool:
        try:
            return _ends_of(self._door.document(topic_path(topic))).since == self._span.since
        except NotFound:
            return False

    def _traces(self) -> Iterator[pa.RecordBatch]:
        span, begun = self._span, self._next
        rows = 0
        with self._door.stream(TRACES_PATH, {"from": self._next, "to": span.last}) as (said, batches):
            tail = int(said["pregon-tail-id"])
            if tail > self._next:
                self._lose(min(tail - 1, span.last), "they were older than the hub keeps them")
                begun = self._next
            for batch in batches:
                yield columns_of(batch, self._schema, "")
                rows += batch.num_rows
                self._next = batch.column("id")[-1].as_py() + 1
        missing = span.last - begun + 1 - rows
        if missing and self._trace_tail() > begun:
            # Rows of private topics are hidden from who may not see them; but these may have been forgotten meanwhile.
            self._next = begun
            self._lose(span.last, f"{missing} of them were forgotten while they were read")
        self._next = span.last + 1

    def _trace_tail(self) -> int:
        with self._door.stream(TRACES_PATH, {"from": INTEGER_MAX}) as (said, batches):
            for _ in batches:
                pass
        return int(said["pregon-tail-id"])

    def _lose(self, last: int, why: str, *, may: bool = False) -> None:
        """Rows up to a number are not there: raises DataLost, or says so and goes on after them."""
        first = min(self._next, last)
        what = f"{first} to {last} of {self._span.log} cannot be read: {why}"
        if self._options.fails_on_data_loss and not may:
            raise DataLost(f"{what}. To go on without them, set the option failOnDataLoss to false")
        log.warning("%s; they are left out", what)
        self._next = last + 1


def _served_columns(table: str, schema: pa.Schema) -> str:
    """What the hub is asked for: not more than is wanted, because most of what reading costs is moving bytes."""
    if table != MESSAGES:
        return "body"
    return ",".join(name for name in schema.names if name not in ("topic", "seq")) or "seq"


def subscriptions(options: SourceOptions, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The accounting of every subscription, as the hub has it now."""
    door = HubDoor(options.destination())
    try:
        with door.stream(SUBSCRIPTIONS_PATH, {}) as (_, batches):
            for batch in batches:
                yield columns_of(batch, schema, "")
    finally:
        door.close()


assert SUBSCRIPTIONS not in TOPIC_OF
