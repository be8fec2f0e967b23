"""What one task writes to one topic: stored once, however often the task is tried, in whatever order its rows come.

A task writes under a session that every attempt of it has: `spark-QUERY-BATCH-PARTITION`, numbered batches in it.
Before it sends anything it asks the hub what an earlier attempt has stored, and leaves those rows out. So the rows
need not come in the same order again, as they do not after a shuffle; they only need to be the same rows. Two attempts
at once meet at the next number: the hub gives it to one of them, and the other ends with WrittenMeanwhile.

The hub remembers the last batches of a session and no more, so a long task goes from one session to the next.

Promises:
- When `finish` returns, every row is on the hub's disk, once.
- A hub that is away is waited for as long as the client waits for it.
- Rows that an earlier attempt stored and this one does not have are NotRepeatable, never silence.
"""

from __future__ import annotations

from collections import Counter
from urllib.parse import quote

import pyarrow as pa

from pregon.client.sessions import publish_batch
from pregon.client.sync import Client
from pregon.errors import NotFound, NotRepeatable, SchemaMismatch, WrittenMeanwhile
from pregon.limits import BATCH_MESSAGES_MAX, SESSION_BATCHES_REMEMBERED
from pregon.spark.hub_door import HubDoor, patiently, topic_path
from pregon.spark.outgoing import digests, name_row, pieces, with_ids

BATCHES_PER_SESSION = SESSION_BATCHES_REMEMBERED - 28
"""Fewer than the hub remembers: all of a session can be read again."""
_BYTES_AT_ONCE = 2 * 1024 * 1024


class Publication:
    """One task's rows for one topic."""

    def __init__(self, client: Client, door: HubDoor, topic: str, session: str, *, has_ids: bool) -> None:
        self._client = client
        self._door = door
        self._topic = topic
        self._session = session
        self._has_ids = has_ids
        self._series, self._number = 0, 1
        self._stored: Counter[bytes] = Counter()
        """What earlier attempts have stored, and this one has not come to yet."""
        self._waiting: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0
        self.rows_sent = 0
        """Rows that this attempt stored."""
        self.rows_found = 0
        """Rows that were there already."""
        self._resume()

    @property
    def _name(self) -> str:
        return f"{self._session}-{self._series}"

    def add(self, batch: pa.RecordBatch) -> None:
        """More rows, as messages to send."""
        fresh = self._without_stored(batch) if self._stored else batch
        if not fresh.num_rows:
            return
        self._waiting.append(fresh)
        self._rows, self._bytes = self._rows + fresh.num_rows, self._bytes + fresh.nbytes
        if self._rows >= BATCH_MESSAGES_MAX or self._bytes >= _BYTES_AT_ONCE:
            self._send_waiting()

    def finish(self) -> None:
        """Everything is on the hub's disk when this returns."""
        self._send_waiting()
        if self._stored:
            raise NotRepeatable(
                f"an earlier attempt of this task stored {self._stored.total()} rows in {self._topic} that this one "
                "does not have: the query gives other rows each time it runs. Take out what does that (rand(), uuid(), "
                "a clock), or write the result to a file first"
            )

    # What was stored before.

    def _resume(self) -> None:
        """Find what earlier attempts have stored, and where to go on."""
        while True:
            next_number, stored = self._read_session(1, has_ids=self._has_ids)
            self._stored.update(stored)
            self._number = next_number
            if next_number <= BATCHES_PER_SESSION:
                return
            self._series += 1

    def _read_session(self, first: int, *, has_ids: bool) -> tuple[int, list[bytes]]:
        """The number of the next batch of the session, and the digests of what is stored from one on, in order."""
        path = f"{topic_path(self._topic)}/sessions/{quote(self._name, safe='')}"
        headers = {"Pregon-Producer": self._client.default_producer}

        def ask() -> tuple[int, list[bytes]]:
            with self._door.stream(path, {"from": first}, headers) as (said, batches):
                found = [digest for batch in batches for digest in digests(batch, has_ids=has_ids)]
                return int(said["pregon-next-number"]), found

        try:
            return patiently(ask, self._client.timeout_ms)
        except NotFound:
            # Neither topic nor producer are there: nothing was ever stored.
            return 1, []

    def _without_stored(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        keep = []
        for digest in digests(batch, has_ids=self._has_ids):
            is_stored = self._stored[digest] > 0
            keep.append(not is_stored)
            if is_stored:
                self._stored[digest] -= 1
                self.rows_found += 1
        # Without those that are counted to the end, so that none left means none.
        self._stored = +self._stored
        return batch.filter(pa.array(keep))

    # Sending.

    def _send_waiting(self) -> None:
        waiting, self._waiting, self._rows, self._bytes = self._waiting, [], 0, 0
        if not waiting:
            return
        together = waiting[0] if len(waiting) == 1 else pa.concat_batches(waiting)
        for piece in pieces(together):
            self._send(piece)

    def _send(self, piece: pa.RecordBatch) -> None:
        if self._number > BATCHES_PER_SESSION:
            self._series, self._number = self._series + 1, 1
        batch = with_ids(piece, f"{self._name}-{self._number}")
        place = (self._name, self._number)
        try:
            published = publish_batch(self._client, self._topic, self._client.default_producer, batch, place)
        except SchemaMismatch as error:
            raise SchemaMismatch(f"{error} ({_named(batch, str(error))}); nothing of this batch was stored") from error
        if published.duplicate and not self._is_mine(batch):
            raise WrittenMeanwhile(
                f"another attempt of this task has written batch {self._number} of {self._name} to {self._topic}: "
                "the next attempt leaves out what is stored"
            )
        self._number += 1
        self.rows_sent += batch.num_rows

    def _is_mine(self, batch: pa.RecordBatch) -> bool:
        """Whether what is stored under the number, and after it, is this batch, whose answer was lost on the way."""
        next_number, stored = self._read_session(self._number, has_ids=True)
        return next_number == self._number + 1 and stored == digests(batch, has_ids=True)


def _named(batch: pa.RecordBatch, error: str) -> str:
    """The row that an error of the hub speaks of."""
    row = 0
    if error.startswith("message "):
        number = error.removeprefix("message ").partition(" ")[0]
        row = int(number) - 1 if number.isdigit() else 0
    return name_row(batch, min(row, batch.num_rows - 1))
