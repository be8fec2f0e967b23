"""Read a topic's log by number, whoever subscribed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection

from pregon import limits
from pregon.hub.options import LogRead
from pregon.hub.settle import not_subscribed
from pregon.store import catalog, cursors
from pregon.store.log import find_ends, read_range, read_whole


@dataclass(frozen=True, slots=True)
class LogQuery:
    """Which messages, how many at most, and for whom: if subscribers are named, one of them must be subscribed."""

    topic: str
    first_seq: int
    last_seq: int | None
    messages_max: int
    bytes_max: int
    for_any_of: Collection[str] | None = None
    is_whole: bool = False
    """Batches as they are stored, however many messages they have."""


def require_reader(connection: Connection, topic: str, for_any_of: Collection[str] | None) -> tuple[int, int, int]:
    """The topic's id and the numbers of its oldest and newest message; raises NotFound.

    If subscribers are named, one of them must be subscribed to the topic.
    """
    ends = find_ends(connection, topic)
    if ends is None:
        raise catalog.not_there("topic", topic)
    if for_any_of is not None and not any(cursors.find_place(connection, topic, one) for one in for_any_of):
        raise not_subscribed(topic, " ".join(for_any_of))
    return ends


def read_log(connection: Connection, wanted: LogQuery) -> LogRead:
    """Messages from `first_seq` on; what retention removed is skipped. Raises NotFound."""
    topic_id, tail_seq, head_seq = require_reader(connection, wanted.topic, wanted.for_any_of)
    first_seq = max(wanted.first_seq, tail_seq)
    last_seq = head_seq if wanted.last_seq is None else min(wanted.last_seq, head_seq)
    bytes_max = max(1, min(wanted.bytes_max, limits.PULL_BYTES_MAX))
    if wanted.is_whole:
        batches = read_whole(connection, topic_id, first_seq, last_seq, bytes_max=bytes_max)
    else:
        messages_max = max(1, min(wanted.messages_max, limits.PULL_MESSAGES_MAX))
        batches = read_range(connection, topic_id, first_seq, last_seq, messages_max=messages_max, bytes_max=bytes_max)
    return LogRead(topic_id=topic_id, batches=batches, head_seq=head_seq, tail_seq=tail_seq)
