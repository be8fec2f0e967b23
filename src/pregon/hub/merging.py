"""Merge small neighbouring batches of the log into larger ones.

A message published alone is a batch of one, about 1 KiB whatever its size; merged with its neighbours it
takes a fraction of that, and reads many times faster. Numbers do not change, so nobody notices: a reader in
the middle sees the log as it was when it began.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select, update

from pregon.model.batch import join
from pregon.store import log
from pregon.store.schema import topic
from pregon.store.ticket import Ticket
from pregon.store.transaction import Transaction

SMALL_BYTES = 32 * 1024
"""A batch at least this large is left as it is: rewriting it would cost more than it saves."""
MERGED_BYTES_MAX = 1024 * 1024
MERGED_MESSAGES_MAX = 8_192
WAITING_MIN = 64
"""How many batches there must be before it is worth beginning."""
_BATCHES_AT_ONCE = 512


def plan_merges(batches: Sequence[Any]) -> tuple[list[tuple[int, int]], int]:
    """Which runs to merge, as (first_seq, last_seq), and up to which number the log is then settled.

    The last run is left for the next time while it may still grow.
    """
    runs: list[tuple[int, int]] = []
    start: int | None = None
    members = count = size = settled = 0
    for one in batches:
        first_seq = one.last_seq - one.messages + 1
        is_small = one.bytes < SMALL_BYTES
        is_full = size + one.bytes > MERGED_BYTES_MAX or count + one.messages > MERGED_MESSAGES_MAX
        if start is not None and (not is_small or is_full):
            if members > 1:
                runs.append((start, first_seq - 1))
            settled = first_seq - 1
            start = None
        if not is_small:
            settled = one.last_seq
        elif start is None:
            start, members, count, size = first_seq, 1, one.messages, one.bytes
        else:
            members, count, size = members + 1, count + one.messages, size + one.bytes
    if start is not None and members >= WAITING_MIN:
        runs.append((start, batches[-1].last_seq))
    return runs, settled


class Merge:
    """Merge what is small in one topic; answers with whether there is more to do."""

    size_bytes = 200
    is_durable = False

    def __init__(self, topic_id: int) -> None:
        self._topic_id = topic_id
        self.ticket: Ticket[bool] = Ticket()

    def apply(self, transaction: Transaction) -> None:
        """Merge, and remember how far."""
        connection = transaction.connection
        merged_seq = connection.execute(
            select(topic.c.merged_seq).where(topic.c.id == self._topic_id, ~topic.c.deleted)
        ).scalar()
        if merged_seq is None:
            transaction.results.append((self.ticket, False))
            return
        batches = log.batch_sizes(connection, self._topic_id, merged_seq, _BATCHES_AT_ONCE)
        runs, settled = plan_merges(batches)
        for first_seq, last_seq in runs:
            members = log.read_range(
                connection,
                self._topic_id,
                first_seq,
                last_seq,
                messages_max=2 * MERGED_MESSAGES_MAX,
                bytes_max=2 * MERGED_BYTES_MAX,
            )
            log.replace(connection, self._topic_id, join(members))
        if settled > merged_seq:
            connection.execute(update(topic).where(topic.c.id == self._topic_id).values(merged_seq=settled))
        has_more = len(batches) == _BATCHES_AT_ONCE and (bool(runs) or settled > merged_seq)
        transaction.results.append((self.ticket, has_more))
