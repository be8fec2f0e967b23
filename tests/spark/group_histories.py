"""Histories of groups, made by real members over a network that shuffles, as the tables that Spark would read.

The oracle watches what happens; `Judged` then shows it what a member *says* that it was shown, whatever that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

from pyspark.sql import DataFrame, SparkSession, types

from pregon.causal.member import Member
from pregon.causal.message import CausalMessage
from pregon.causal.oracle import Oracle, Violation
from pregon.causal.stamps import Stamp, encode_stamps
from pregon.spark.schemas import GROUP_DELIVERIES, MESSAGES, schema_of

TEN = datetime(2026, 11, 16, 10, tzinfo=UTC)
REPORT_ROWS = 7
_OBSERVER = 1_000


@dataclass
class History:
    """What was said in a group, and what each member says that it was shown, in its order."""

    group: str
    oracle: Oracle
    sent: list[CausalMessage]
    shown: dict[int, list[Stamp]]
    waited: dict[tuple[int, Stamp], Stamp] = field(default_factory=dict)
    begins: datetime = TEN

    def judge(self, member: int) -> list[Violation]:
        """What the oracle thinks of what a member says that it was shown."""
        seen = len(self.oracle.violations)
        observer = _OBSERVER + len(self.sent) + seen + member
        own = max((one.stamp.number for one in self.sent if one.stamp.member == member), default=0)
        self.oracle.joined(observer, {member: own})
        for stamp in self.shown[member]:
            self.oracle.delivered(observer, stamp)
        return self.oracle.violations[seen:]

    def message_rows(self) -> list[tuple[object, ...]]:
        """The group's rows of `messages`."""
        return [
            message_row(self.group, seq, one.stamp, one.after, self.begins + timedelta(milliseconds=seq))
            for seq, one in enumerate(self.sent, 1)
        ]

    def delivery_rows(self) -> list[tuple[object, ...]]:
        """The group's rows of `group_deliveries`, a report of each member in turn, each later than all messages."""
        rows = []
        for member, stamps in self.shown.items():
            for place, stamp in enumerate(stamps):
                at = self.begins + timedelta(minutes=1, milliseconds=place)
                report, row = divmod(place, REPORT_ROWS)
                waited_for = str(self.waited.get((member, stamp), ""))
                rows.append(delivery_row(self.group, member, stamp, (100 * report + member, row), at, waited_for))
        return rows


def talk(group: str, seed: int, members: int = 4, messages: int = 40) -> History:
    """Members talk; what they say comes to the others in any order."""
    chance = Random(seed)
    here = {me: Member(me) for me in range(1, members + 1)}
    oracle, sent = Oracle(), list[CausalMessage]()
    shown: dict[int, list[Stamp]] = {me: [] for me in here}
    history = History(group, oracle, sent, shown)
    on_the_way: dict[int, list[CausalMessage]] = {me: [] for me in here}

    def arrive(me: int) -> None:
        message = on_the_way[me].pop(chance.randrange(len(on_the_way[me])))
        for delivery in here[me].receive(message):
            oracle.delivered(me, delivery.message.stamp)
            shown[me].append(delivery.message.stamp)
            if delivery.waited_for is not None:
                history.waited[me, delivery.message.stamp] = delivery.waited_for

    while len(sent) < messages or any(on_the_way.values()):
        me = chance.choice(list(here))
        if len(sent) < messages and chance.random() < 0.25:
            message = here[me].broadcast()
            oracle.sent(me, message.stamp, None, message.after)
            sent.append(message)
            for other in here.keys() - {me}:
                on_the_way[other].append(message)
        elif on_the_way[me]:
            arrive(me)
    assert not oracle.violations
    return history


def message_row(
    group: str, seq: int, stamp: Stamp, after: Sequence[Stamp], at: datetime, kind: str = "message"
) -> tuple[object, ...]:
    """A row of `messages`."""
    headers = {"group-kind": kind, "group-stamp": str(stamp), "group-after": encode_stamps(after)}
    name = f"member {stamp.member}"
    return (f"groups.{group}", seq, None, name, "text/plain", headers, b"hello", "pregon.groups", at, at)


def delivery_row(
    group: str, member: int, stamp: Stamp, place: tuple[int, int], at: datetime, waited_for: str = ""
) -> tuple[object, ...]:
    """A row of `group_deliveries`, at a place: which report, and which row of it."""
    return (*place, group, member, f"member {member}", str(stamp), at, at, waited_for)


def table(spark: SparkSession, name: str, rows: Sequence[tuple[object, ...]]) -> DataFrame:
    """Rows of one of the hub's tables."""
    schema: types.StructType = schema_of(name)
    return spark.createDataFrame(list(rows), schema)


def tables(spark: SparkSession, histories: Sequence[History]) -> tuple[DataFrame, DataFrame]:
    """The rows of `messages` and of `group_deliveries` of some groups."""
    messages = [row for one in histories for row in one.message_rows()]
    deliveries = [row for one in histories for row in one.delivery_rows()]
    return table(spark, MESSAGES, messages), table(spark, GROUP_DELIVERIES, deliveries)
