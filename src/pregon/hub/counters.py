"""What the hub has done since it started, as plain numbers.

Incremented from several threads without a lock: under load a count may miss a few, and none of them
decides anything. What must be exact (the accounting) is read from the database.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counters:
    """Counts since the start."""

    messages_accepted: int = 0
    bytes_accepted: int = 0
    duplicates: int = 0
    messages_delivered: int = 0
    acknowledgements: int = 0
    requests: int = 0
    requests_failed: int = 0
    frames_malformed: int = 0
    feed_messages: int = 0
    feed_batches_dropped: int = 0
    ingest_messages: int = 0
    ingest_dropped: int = 0
