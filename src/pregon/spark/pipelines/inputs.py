"""The tables that steps are made of: history from the archive if there is one, the rest from the hub.

Promises:
- The hub is read once for all the steps of a run: what comes from it alone is kept by Spark until the run ends.
- The subscriptions are read before the traces, and stay as they were: the traces have everything that they count.
- What was read, from which to which number, is said (`sources`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from pregon.model.pipeline_results import Source
from pregon.spark.archive.files import files_of
from pregon.spark.archive.layout import require_kept
from pregon.spark.archive.log import CommitLog
from pregon.spark.archive.table import system_table, table
from pregon.spark.logs import Logs
from pregon.spark.offsets import Ends
from pregon.spark.options import read_options
from pregon.spark.schemas import GROUP_DELIVERIES, MESSAGES, SUBSCRIPTIONS, TRACES, schema_of

GROUPS_PATTERN = r"groups\..*"
EVERYTHING_PATTERN = r"(?!pregon\.).*"
"""Every topic but the hub's own, which are tables by themselves."""
_TOPICS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where tables are, and which topics of them are wanted."""

    source: Mapping[str, str] = field(repr=False)
    """Options of `format("pregon")` that say which hub, and who asks."""
    archive: str = ""
    topics: tuple[str, ...] = ()
    pattern: str = ""
    accepts_loss: bool = False
    """Go on without what retention removed before it was read or archived."""

    @property
    def reading(self) -> dict[str, str]:
        """The options of every table that is read."""
        return {**self.source, **({"failOnDataLoss": "false"} if self.accepts_loss else {})}

    @property
    def hub(self) -> str:
        """The hub's address."""
        return read_options(self.source).hub

    @property
    def chosen(self) -> dict[str, str]:
        """The options that say which topics are wanted."""
        if self.topics:
            return {"subscribe": ",".join(self.topics)}
        return {"subscribePattern": self.pattern or EVERYTHING_PATTERN}

    def wants(self, topic: Column) -> Column:
        """Whether a row is of a topic that is wanted; without a choice all are."""
        if self.topics:
            return topic.isin(list(self.topics))
        return topic.rlike(f"^(?:{self.pattern})$") if self.pattern else f.lit(True)

    def ends(self, options: Mapping[str, str]) -> dict[str, Ends]:
        """What the hub has now of the logs that options choose."""
        logs = Logs(read_options({**self.source, **options}))
        try:
            return logs.ends()
        finally:
            logs.close()


class Inputs:
    """The tables of one run, each made when it is first asked for."""

    def __init__(self, spark: SparkSession, place: Place) -> None:
        self._spark, self._place = spark, place
        self._kept: list[DataFrame] = []
        self._archive = place.archive or None

    def close(self) -> None:
        """Let Spark forget what it kept."""
        for frame in self._kept:
            frame.unpersist()

    @cached_property
    def subscriptions(self) -> DataFrame:
        """The accounting as it is now, and for the rest of the run: a hub has few enough to hold them all."""
        read = system_table(self._spark, SUBSCRIPTIONS, source=self._place.reading)
        rows = read.where(self._place.wants(f.col("topic"))).toArrow()
        return self._spark.createDataFrame(rows, schema_of(SUBSCRIPTIONS))

    @cached_property
    def all_traces(self) -> DataFrame:
        """Everything that happened in any topic, up to the subscriptions' time at least."""
        self.subscriptions  # noqa: B018 - they must be older than the traces.
        return self._once(system_table(self._spark, TRACES, source=self._place.reading, archive=self._archive))

    @cached_property
    def traces(self) -> DataFrame:
        """What happened in the topics that are wanted."""
        return self.all_traces.where(self._place.wants(f.col("topic")))

    @cached_property
    def group_deliveries(self) -> DataFrame:
        """What members of groups were shown."""
        return self._once(
            system_table(self._spark, GROUP_DELIVERIES, source=self._place.reading, archive=self._archive)
        )

    @cached_property
    def _ends(self) -> dict[str, Ends]:
        return self._place.ends(self._place.chosen)

    @cached_property
    def _group_ends(self) -> dict[str, Ends]:
        return self._place.ends({"subscribePattern": GROUPS_PATTERN})

    @property
    def messages(self) -> DataFrame:
        """The messages of the topics that are wanted; read anew whenever they are asked for, because they are many."""
        return self._messages(self._ends)

    @cached_property
    def group_messages(self) -> DataFrame:
        """The messages of all groups, without what was said."""
        return self._once(self._messages(self._group_ends).drop("body"))

    def _messages(self, ends: Mapping[str, Ends]) -> DataFrame:
        topics = sorted(ends)
        if not topics:
            return self._spark.createDataFrame([], schema_of(MESSAGES))
        parts = [topics[first : first + _TOPICS_AT_ONCE] for first in range(0, len(topics), _TOPICS_AT_ONCE)]
        frames = [table(self._spark, part, source=self._place.reading, archive=self._archive) for part in parts]
        return reduce(DataFrame.unionByName, frames)

    def _once(self, frame: DataFrame) -> DataFrame:
        """Keep what comes from the hub, so that it is asked once; Parquet is read again at less cost."""
        if not self._archive:
            frame = frame.persist(StorageLevel.MEMORY_AND_DISK)
            self._kept.append(frame)
        return frame

    # What was read.

    def source_of(self, name: str, frame: DataFrame, number: str) -> Source:
        """From which to which number of a table."""
        first, last, rows = frame.agg(f.min(number), f.max(number), f.count("*")).collect()[0]
        return Source(table=name, first=first, last=last, rows=rows)

    def message_sources(self, counts: Mapping[str, int]) -> list[Source]:
        """From which to which message of each topic, of so many rows each: numbers have no gaps."""
        firsts = {**{name: end.tail for name, end in self._ends.items()}, **self._archived_firsts()}
        return [
            Source(
                table=MESSAGES, topic=topic, first=firsts.get(topic), last=firsts.get(topic, 1) + rows - 1, rows=rows
            )
            for topic, rows in sorted(counts.items())
        ]

    def _archived_firsts(self) -> dict[str, int]:
        """The first message of each topic in the archive, of the life that the hub has now."""
        if not self._archive:
            return {}
        state = CommitLog(files_of(self._spark, self._archive), require_kept(MESSAGES)).load()
        found = {name: state.positions.get((name, end.since)) for name, end in self._ends.items()}
        return {name: position.first for name, position in found.items() if position is not None}
