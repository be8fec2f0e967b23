"""What a subscription has to push next, read from the store.

Reading is done by a reader; the messages are unpacked in the pusher's loop, once for all the subscriptions of a topic
that get the same ones at about the same time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from pregon import limits
from pregon.hub.deliver import PushedFrom
from pregon.hub.pending import Match, fit, read_pending
from pregon.model.batch import StoredBatch
from pregon.model.message import Message
from pregon.store import cursors

_RECENT_BYTES_MAX = 8 * limits.MIB
_RECENT_BATCHES_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Found:
    """Batches in the order in which they are to be pushed, and the subscription that they were read from."""

    of: PushedFrom
    topic_id: int
    batches: list[StoredBatch]
    matches: list[Match] = field(default_factory=list)
    is_returned: bool = False
    """They were unparked: their numbers say nothing of the cursor."""
    head_seq: int = 0
    """The newest number of the topic, if there is nothing more to push up to it; else 0."""


@dataclass(frozen=True, slots=True)
class Reached:
    """A subscription without a filter that has nothing more to push up to a number: what is published next is next."""

    of: PushedFrom
    topic_id: int
    seq: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """The same, unpacked."""

    of: PushedFrom
    messages: list[Message]
    matches: list[Match] = field(default_factory=list)
    is_returned: bool = False
    reached: Reached | None = None
    """Where the subscription stands when they are pushed, if that is at the end of the topic."""

    def reason_for(self, seq: int) -> str:
        """Why the filter wants a message; empty if there is no filter."""
        return next((one.reason for one in self.matches if one.first_seq <= seq <= one.last_seq), "")


def find_next(
    connection: Connection, topic: str, subscriber: str, after: tuple[PushedFrom, int] | None, messages_max: int
) -> Found | None:
    """What to push next: what was unparked first; None if there is no such subscription.

    `after` is a number up to which everything was pushed, though perhaps not written down yet.
    """
    place = cursors.find_place(connection, topic, subscriber)
    if place is None:
        return None
    cursor = place.cursor
    of = PushedFrom(topic, subscriber, place.id, cursor.epoch)
    aside = cursors.set_aside(connection, place.id)
    if after is None and any(one.returned for one in aside.values()):
        returned = cursors.returned_messages(connection, place.id, messages_max, again=True)
        return Found(of, place.topic_id, fit(returned, limits.PUSH_READ_BYTES_MAX), is_returned=True)
    pushed_seq = after[1] if after is not None and after[0] == of else 0
    first_seq = max(cursor.acked_seq, pushed_seq) + 1
    found = read_pending(connection, place, aside, first_seq, messages_max, limits.PUSH_READ_BYTES_MAX)
    is_all = not place.filter and (not found.batches or found.batches[-1].last_seq == cursor.head_seq)
    return Found(of, place.topic_id, found.batches, found.matches, head_seq=cursor.head_seq if is_all else 0)


class RecentMessages:
    """Messages that were unpacked a moment ago: a number of a topic never means another message."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, int, int], tuple[list[Message], int]] = OrderedDict()
        self._bytes = 0

    def unpack(self, found: Found) -> Chunk:
        """The messages of what was found."""
        messages: list[Message] = []
        for batch in found.batches:
            messages += self._messages(found.topic_id, found.of.topic, batch)
        reached = Reached(found.of, found.topic_id, found.head_seq) if found.head_seq else None
        return Chunk(found.of, messages, found.matches, found.is_returned, reached)

    def follow(self, reached: Reached, batches: Sequence[StoredBatch]) -> Chunk | None:
        """The batches just published, for a subscription that stands right before them; None if it does not."""
        messages: list[Message] = []
        seq = reached.seq
        for batch in batches:
            if batch.base_seq != seq + 1:
                return None
            seq = batch.last_seq
            messages += self._messages(reached.topic_id, reached.of.topic, batch)
        return Chunk(reached.of, messages, reached=Reached(reached.of, reached.topic_id, seq))

    def _messages(self, topic_id: int, topic: str, batch: StoredBatch) -> list[Message]:
        key = (topic_id, batch.base_seq, batch.count)
        known = self._kept.get(key)
        if known is not None:
            return known[0]
        messages = batch.messages(topic)
        size = len(batch.arrow)
        self._kept[key] = (messages, size)
        self._bytes += size
        while self._bytes > _RECENT_BYTES_MAX or len(self._kept) > _RECENT_BATCHES_MAX:
            self._bytes -= self._kept.popitem(last=False)[1][1]
        return messages
