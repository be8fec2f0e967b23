"""The newest messages of the groups in use, in memory: who follows a group is answered without a look into the store.

All members of a group read the same few messages at the same moment. Fed after each commit, before those who wait are
called; read by all threads.

Promises:
- A tail has what is on disk, and all of it from its first message on.
- It is bounded: in bytes for each group, and in groups.
"""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from pregon.hub.options import LogRead
from pregon.limits import KIB
from pregon.model.batch import StoredBatch
from pregon.model.trace import REMOVED
from pregon.store.transaction import Transaction

_TAIL_BYTES_MAX = 256 * KIB
_TAIL_BATCHES_MAX = 64
_TAILS_MAX = 500


class _Tail(msgspec.Struct, frozen=True):
    """Batches one after another, without gaps."""

    topic_id: int
    batches: tuple[StoredBatch, ...]

    def with_one_more(self, batch: StoredBatch) -> _Tail:
        batches = (*self.batches, batch) if self.batches[-1].last_seq + 1 == batch.base_seq else (batch,)
        size = sum(len(one.arrow) for one in batches)
        while len(batches) > 1 and (size > _TAIL_BYTES_MAX or len(batches) > _TAIL_BATCHES_MAX):
            size -= len(batches[0].arrow)
            batches = batches[1:]
        return _Tail(self.topic_id, batches)


class Tails:
    """The tails, by topic."""

    def __init__(self) -> None:
        self._tails: OrderedDict[str, _Tail] = OrderedDict()

    def add(self, topic: str, topic_id: int, batch: StoredBatch) -> None:
        """A batch is on disk; called by whoever writes, one after another."""
        if len(batch.arrow) > _TAIL_BYTES_MAX:
            # Too large to be kept; a tail has no gaps, so it begins anew after it.
            self._tails.pop(topic, None)
            return
        tail = self._tails.get(topic)
        is_same = tail is not None and tail.topic_id == topic_id
        # Replaced as a whole, so that who reads it meanwhile has either.
        self._tails[topic] = tail.with_one_more(batch) if tail is not None and is_same else _Tail(topic_id, (batch,))
        self._tails.move_to_end(topic)
        if len(self._tails) > _TAILS_MAX:
            self._tails.popitem(last=False)

    def committed(self, transaction: Transaction) -> None:
        """What retention has removed from the log is not shown any more."""
        for one in transaction.traces:
            if one.kind == REMOVED:
                self._tails.pop(one.topic, None)

    def forget(self, topic: str) -> None:
        """The group is gone."""
        self._tails.pop(topic, None)

    def find(self, topic: str, after_seq: int, messages_max: int, bytes_max: int) -> LogRead | None:
        """What comes after a number; None if that is not all here, or too much: the store knows."""
        tail = self._tails.get(topic)
        if tail is None or after_seq + 1 < tail.batches[0].base_seq:
            return None
        found = [batch for batch in tail.batches if batch.last_seq > after_seq]
        if found and found[0].base_seq <= after_seq:
            found[0] = found[0].cut(after_seq + 1, found[0].last_seq)
        if sum(one.count for one in found) > messages_max or sum(len(one.arrow) for one in found) > bytes_max:
            return None
        return LogRead(
            topic_id=tail.topic_id,
            batches=found,
            head_seq=tail.batches[-1].last_seq,
            tail_seq=tail.batches[0].base_seq,
        )
