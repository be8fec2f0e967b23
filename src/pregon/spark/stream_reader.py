"""A streaming query: offsets in the driver, rows in the tasks.

The driver asks the hub at most every tenth of a second what there is, however often Spark asks it. With the option
`subscriber`, what Spark has committed is acknowledged in that name: the hub then keeps what the stream has not read,
and its accounting shows how far behind the stream is. A stream of traces has the option `mark` for the same.

Promises:
- A checkpoint of another table, or of other topics altogether, is refused.
- What was to be read and is gone is an error, or is said in the log when `failOnDataLoss` is false; never less.
- A topic that a pattern finds later is read from its oldest message.
- Under `AvailableNow` nothing is read that came after the query began.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from pregon.clock import monotonic_ms
from pregon.errors import AckBeyondHead, AlreadyExists, DataLost, NotFound, SettingsInvalid
from pregon.spark.batch_reader import SpanPartition, bound, read_partition, require_named
from pregon.spark.hub_door import HubDoor, patiently, topic_path
from pregon.spark.logs import TOPIC_OF, Logs
from pregon.spark.offsets import (
    Ends,
    Offset,
    Place,
    advance,
    cut,
    decode_offset,
    encode_offset,
    lost,
    made_again,
    spans_between,
)
from pregon.spark.options import LATEST, SourceOptions, require_topics
from pregon.spark.rows import arrow_schema
from pregon.spark.schemas import MESSAGES, SUBSCRIPTIONS, TRACES

log = logging.getLogger("pregon.spark")

T = TypeVar("T")

LOOK_MS = 100
"""How long what the hub has is taken as known."""
_GONE_KEPT_MAX = 1_000
"""Topics that are gone, and stay in the offset."""
_TOLD_MAX = 1_000


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """One stream. A pickled copy of it reads in the tasks, which use nothing but the options and the schema."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        require_topics(options)
        if options.table == SUBSCRIPTIONS:
            raise SettingsInvalid(
                "the table subscriptions is how things are now: read it with spark.read, not as a stream"
            )
        for name, value in (("endingOffsets", options.ending), ("endingTimestamp", options.ending_us)):
            if value is not None:
                raise SettingsInvalid(f"option {name} is for batch queries: a stream has no end")
        if options.mark and options.table != TRACES:
            raise SettingsInvalid("option mark is for the table traces: a stream of messages has the option subscriber")
        if options.subscriber and options.table == TRACES:
            raise SettingsInvalid("option subscriber is for messages: a stream of traces has the option mark")
        self._options = options
        self._schema = arrow_schema(options.table, schema)
        self._driver: _Driver | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_driver": None}

    def _mine(self) -> _Driver:
        if self._driver is None:
            self._driver = _Driver(self._options)
        return self._driver

    def initialOffset(self) -> dict[str, Any]:
        """Where a new query begins."""
        return encode_offset(self._mine().begin())

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """How far the next batch goes."""
        rows_max = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        return encode_offset(self._mine().latest(decode_offset(start), rows_max))

    def getDefaultReadLimit(self) -> ReadLimit:
        """What `maxOffsetsPerTrigger` says."""
        rows_max = self._options.rows_per_trigger_max
        return ReadAllAvailable() if rows_max is None else ReadMaxRows(rows_max)

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """What there is, for who looks how far behind the query is."""
        ends = self._mine().ends()
        return encode_offset({name: Place(end.head + 1, end.since) for name, end in ends.items()})

    def prepareForTriggerAvailableNow(self) -> None:
        """Take what is there now for all that there will ever be."""
        self._mine().stop_growing()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The tasks of a batch, the same ones whenever it is read."""
        spans = spans_between(decode_offset(start), decode_offset(end))
        require_ours(self._options, {span.log: span for span in spans})
        return [SpanPartition(span) for span in cut(spans, self._options.partitions_min)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        assert isinstance(partition, SpanPartition)
        return read_partition(self._options, partition, self._schema)

    def commit(self, end: dict[str, Any]) -> None:
        """Everything before this is dealt with: it is acknowledged, if that was asked for."""
        self._mine().commit(decode_offset(end))

    def stop(self) -> None:
        """The query has ended."""
        if self._driver is not None:
            self._driver.close()
            self._driver = None


class _Driver:
    """What only the driver knows: what there is, what was said to be lost, what is acknowledged."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._logs = Logs(options)
        self._door = HubDoor(options.destination())
        self._ends: dict[str, Ends] = {}
        self._looked_ms: float | None = None
        self._is_fixed = False
        self._told: set[str] = set()
        self._acked: Offset = {}
        self._is_subscribed = False

    def close(self) -> None:
        """Give the connections back."""
        self._logs.close()
        self._door.close()

    def ends(self) -> dict[str, Ends]:
        """What each log has, as it was not long ago."""
        now_ms = monotonic_ms()
        if not self._is_fixed and (self._looked_ms is None or now_ms - self._looked_ms >= LOOK_MS):
            self._ends, self._looked_ms = self._logs.ends(), now_ms
        return self._ends

    def stop_growing(self) -> None:
        """What is there now is all."""
        self._ends, self._is_fixed = self._logs.ends(), True

    def begin(self) -> Offset:
        """Where a new query begins: at what is published from now on, unless the options say otherwise."""
        options, ends = self._options, self.ends()
        require_named(options, ends)
        starting = LATEST if options.starting is None and options.starting_us is None else options.starting
        offset = {
            name: Place(max(1, bound(options, self._logs, name, end, starting, options.starting_us)), end.since)
            for name, end in ends.items()
        }
        self._require_whole(offset, ends)
        self._subscribe(offset)
        self._is_subscribed = True
        return offset

    def latest(self, start: Offset, rows_max: int | None) -> Offset:
        """How far the next batch goes; raises DataLost."""
        start, ends = self._require_ours(start), self.ends()
        self._require_whole(start, ends)
        self._notice_gone(start, ends)
        found = advance(start, ends, rows_max)
        fresh = {name: place for name, place in found.items() if _is_new(name, place, start)}
        self._notice_late(fresh)
        # A query that goes on subscribes again where somebody has deleted that meanwhile.
        known = {} if self._is_subscribed else {name: start[name] for name in found.keys() - fresh.keys()}
        self._subscribe({**known, **fresh})
        self._is_subscribed = True
        # One that is gone stays in the offset, so that it is known if it comes back, and told from another of its name.
        gone = sorted(start.keys() - found.keys())[:_GONE_KEPT_MAX]
        return {**{name: start[name] for name in gone}, **found}

    def _require_ours(self, start: Offset) -> Offset:
        """What a checkpoint has of the logs that this query reads; raises SettingsInvalid if it has only others."""
        ours = require_ours(self._options, start)
        for name in sorted(start.keys() - ours.keys() - self._told):
            self._told.add(name)
            log.warning("the query no longer asks for %s; what was read of it before stays read", name)
        return ours

    def _require_whole(self, start: Offset, ends: dict[str, Ends]) -> None:
        for what in lost(start, ends):
            self._lose(what)
        for what in made_again(start, ends):
            # Who asks for whatever there is of a kind has topics come and go.
            if self._options.pattern:
                self._tell(f"{what}; what was read of it before stays read")
            else:
                self._lose(what)

    def _notice_late(self, fresh: Offset) -> None:
        for name, place in fresh.items():
            if place.first > 1:
                self._tell(f"1 to {place.first - 1} of {name} were removed before this query first saw it")

    def _notice_gone(self, start: Offset, ends: dict[str, Ends]) -> None:
        for name in sorted(start.keys() - ends.keys()):
            if self._options.table == MESSAGES and not self._options.pattern:
                self._lose(f"the topic {name} was deleted")
            else:
                self._tell(f"the topic {name} is not there; what was read of it before stays read")

    def _lose(self, what: str) -> None:
        if self._options.fails_on_data_loss:
            raise DataLost(
                f"{what}. To go on without that, set the option failOnDataLoss to false; so that it does not happen "
                "again, read with the option subscriber: the hub then keeps what the stream has not read"
            )
        self._tell(f"{what}; the query goes on because failOnDataLoss is false")

    def _tell(self, what: str) -> None:
        """Say it once, as far as that can be remembered."""
        if what not in self._told:
            if len(self._told) >= _TOLD_MAX:
                self._told.clear()
            self._told.add(what)
            log.warning("%s", what)

    # Acknowledging.

    def _subscribe(self, offset: Offset) -> None:
        """Have the hub keep what is after the offset for this stream."""
        name = self._options.subscriber
        for log_name, place in offset.items() if name else ():
            path = f"{topic_path(TOPIC_OF.get(log_name, log_name))}/subscriptions"
            try:
                self._ask(f"{path}/{name}")
            except NotFound:
                self._make("/v1/subscribers", {"name": name, "description": "Reads with Spark"})
                # What the first batch is still to read of a log that is new is kept too.
                self._make(path, {"subscriber": name, "start": str(place.first or place.next)})

    def _ask(self, path: str) -> None:
        patiently(lambda: self._door.document(path), self._options.timeout_ms)

    def _make(self, path: str, entry: dict[str, str]) -> None:
        try:
            self._send("POST", path, entry)
        except AlreadyExists:
            pass

    def _send(self, method: str, path: str, value: Any) -> None:
        patiently(lambda: self._door.send(method, path, value), self._options.timeout_ms)

    def commit(self, end: Offset) -> None:
        """Acknowledge, or mark, what is dealt with."""
        options = self._options
        for name, place in end.items():
            ends = self._ends.get(name)
            # One that was made again meanwhile has other messages under these numbers.
            is_other = ends is not None and ends.since != place.since
            if place.next <= 1 or is_other or self._acked.get(name) == place:
                continue
            if options.subscriber:
                topic = TOPIC_OF.get(name, name)
                path = f"{topic_path(topic)}/subscriptions/{quote(options.subscriber, safe='')}/ack"
                try:
                    self._send("POST", path, {"seq": place.next - 1})
                except (NotFound, AckBeyondHead):
                    # The topic, or the subscription, was deleted since the batch was planned.
                    self._tell(f"there is no {topic}, or it is not subscribed to: that it was read is not acknowledged")
            elif options.mark:
                self._send("PUT", f"/v1/traces/marks/{quote(options.mark, safe='')}", {"id": place.next - 1})
            self._acked[name] = place


def require_ours(options: SourceOptions, places: Mapping[str, T]) -> dict[str, T]:
    """What a checkpoint has of the logs that a query asks for; raises SettingsInvalid if it has only others."""
    ours = {name: place for name, place in places.items() if _asks_for(options, name)}
    others = ", ".join(sorted(places.keys() - ours.keys()))[:200]
    # A query may ask for other topics than before, but not for another table.
    if others and (not ours or options.table != MESSAGES):
        raise SettingsInvalid(
            f"the checkpoint is of a query that read {others}, which this one does not: give each query a location of "
            'its own (option("checkpointLocation", …))'
        )
    return ours


def _asks_for(options: SourceOptions, name: str) -> bool:
    if options.table != MESSAGES:
        return name == options.table
    return re.fullmatch(options.pattern, name) is not None if options.pattern else name in options.topics


def _is_new(name: str, place: Place, start: Offset) -> bool:
    """Whether a log was not there at the beginning, or was another then."""
    return name not in start or start[name].since != place.since
