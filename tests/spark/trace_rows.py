"""Traces and subscriptions as tables, written by hand, and what they mean told by the plainest program there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pregon.model import trace as kinds
from pregon.spark.schemas import SUBSCRIPTIONS, TRACES, schema_of

TOPIC, NAME = "births", "bank"
BEGAN = datetime(2026, 3, 1, 10, tzinfo=UTC)
COUNTS = ("accepted", "acknowledged", "pending", "parked", "expired", "filtered")


def moment(seconds: float) -> datetime:
    """So long after the beginning."""
    return BEGAN + timedelta(seconds=seconds)


@dataclass(frozen=True)
class Told:
    """A trace: what happened to which messages, and to whose."""

    kind: str
    first_seq: int
    last_seq: int
    topic: str = TOPIC
    subscriber: str = NAME
    detail: str = ""
    at_s: float | None = None


def accepted(first_seq: int, last_seq: int, topic: str = TOPIC, at_s: float | None = None) -> Told:
    """Messages were accepted."""
    return Told(kinds.ACCEPTED, first_seq, last_seq, topic, "", at_s=at_s)


def traces_of(spark: SparkSession, told: Sequence[Told], first_id: int = 1) -> DataFrame:
    """Traces in this order, one a second unless they say when."""
    rows = [
        (
            number,
            moment(number - first_id if one.at_s is None else one.at_s),
            one.kind,
            one.topic,
            "" if one.subscriber else "registry",
            one.subscriber,
            one.first_seq,
            one.last_seq,
            0,
            0,
            one.detail,
        )
        for number, one in enumerate(told, first_id)
    ]
    return spark.createDataFrame(rows, schema_of(TRACES))


def subscription(as_of: int, head_seq: int, **more: Any) -> dict[str, Any]:
    """The hub's accounting of a subscription to which nothing has happened, unless it says more."""
    first_seq = more.get("first_seq", 1)
    count = head_seq - first_seq + 1
    settled = sum(more.get(name, 0) for name in COUNTS[3:]) + more.get("acknowledged", 0)
    return {
        "topic": TOPIC,
        "subscriber": NAME,
        "mode": "pull",
        "created_at": BEGAN,
        "first_seq": first_seq,
        "acked_seq": 0,
        "head_seq": head_seq,
        **dict.fromkeys(COUNTS, 0),
        "accepted": count,
        "pending": count - settled,
        "as_of": as_of,
        "at": moment(86_400),
        **more,
    }


def subscriptions_of(spark: SparkSession, *rows: dict[str, Any]) -> DataFrame:
    """The table of these."""
    schema = schema_of(SUBSCRIPTIONS)
    return spark.createDataFrame([tuple(row[name] for name in schema.names) for row in rows], schema)


_AFTER = {
    kinds.ACKNOWLEDGED: kinds.ACKNOWLEDGED,
    kinds.PARKED: kinds.PARKED,
    kinds.UNPARKED: kinds.PENDING,
    kinds.REPLAYED: kinds.PENDING,
    kinds.FILTERED: kinds.FILTERED,
    kinds.EXPIRED: kinds.EXPIRED,
    kinds.CANCELLED: kinds.CANCELLED,
}


def read_one_by_one(told: Sequence[Told]) -> dict[tuple[str, str, int], str]:
    """What each message is for each subscriber: trace by trace, message by message."""
    messages = [(one.topic, seq) for one in told if not one.subscriber for seq in numbers(one)]
    firsts: dict[tuple[str, str], int] = {}
    for one in told:
        if one.subscriber:
            who = (one.topic, one.subscriber)
            firsts[who] = min(firsts.get(who, one.first_seq), one.first_seq)
    found = {
        (topic, name, seq): kinds.PENDING
        for topic, seq in messages
        for (of, name), first in firsts.items()
        if of == topic and seq >= first
    }
    for one in told:
        for seq in numbers(one) if one.subscriber else ():
            key = (one.topic, one.subscriber, seq)
            if one.kind in _AFTER:
                found[key] = _AFTER[one.kind]
            elif one.kind == kinds.DELIVERED and not one.detail and found[key] not in ("expired", "cancelled"):
                found[key] = kinds.ACKNOWLEDGED
    return found


def numbers(one: Told) -> range:
    """The messages that a trace is of."""
    return range(one.first_seq, one.last_seq + 1)
