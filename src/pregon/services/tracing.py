"""Requests traced like messages: how each ended is published to a topic of the hub.

So they are on the durable log, found by number and time, followed live, and a table for whoever reads topics. Written
in batches beside the broker: tracing never delays a request. What the hub cannot take is dropped and counted.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Sequence

import msgspec

from pregon.clock import format_us, monotonic_ms, wall_us
from pregon.errors import AlreadyExists, PregonError
from pregon.hub.hub import Hub
from pregon.model.batch import pack
from pregon.model.catalog import Retention, Topic
from pregon.model.events import JSON_CONTENT_TYPE
from pregon.model.message import Outgoing
from pregon.services.counts import Finished

log = logging.getLogger("pregon.services")

REQUESTS_TOPIC = "pregon.requests"
_PRODUCER = "pregon"
_KEPT = Retention(age_ms=30 * 24 * 60 * 60 * 1_000, bytes_max=1024 * 1024 * 1024)
_BATCH_MAX = 5_000
_WAITING_MAX = 20
"""Hand-overs of the broker that wait to be written."""
_encode = msgspec.json.Encoder().encode


class RequestTracer:
    """Writes what became of requests."""

    def __init__(self, hub: Hub, count_dropped: Callable[[int], None]) -> None:
        self._hub = hub
        self._count_dropped = count_dropped
        """Told how many were not written; in the broker's thread or in this one's."""
        self._waiting: queue.Queue[Sequence[Finished] | None] = queue.Queue(_WAITING_MAX)
        self._is_topic_there = False
        self._thread = threading.Thread(target=self._run, name="pregon-request-tracer", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def stop(self) -> None:
        """Write what waits, and end."""
        if self._thread.is_alive():
            self._waiting.put(None)
            self._thread.join()

    def take(self, rows: Sequence[Finished]) -> None:
        """These have ended; called by the broker, which does not wait."""
        if not rows:
            return
        try:
            self._waiting.put_nowait(rows)
        except queue.Full:
            self._count_dropped(len(rows))

    def _run(self) -> None:
        while (rows := self._waiting.get()) is not None:
            for first in range(0, len(rows), _BATCH_MAX):
                self._write(rows[first : first + _BATCH_MAX])

    def _write(self, rows: Sequence[Finished]) -> None:
        try:
            self._require_topic()
            to_wall_us = wall_us() - monotonic_ms() * 1_000
            times = [int(row.ended_ms * 1_000 + to_wall_us) for row in rows]
            messages = [
                Outgoing(
                    _encode({"ended_at": format_us(at_us), **row.described()}), None, row.service, JSON_CONTENT_TYPE
                )
                for row, at_us in zip(rows, times, strict=True)
            ]
            self._hub.publish_batch(REQUESTS_TOPIC, _PRODUCER, pack(messages, times)).result()
        except PregonError as error:
            self._not_written(len(rows))
            log.warning("requests not traced", extra={"code": error.code, "reason": str(error), "rows": len(rows)})
        except Exception:  # The top of the thread's loop: tracing must go on with the next.
            self._not_written(len(rows))
            log.exception("tracing failed by a bug")

    def _not_written(self, count: int) -> None:
        # The topic may have been deleted: it is made again with the next.
        self._is_topic_there = False
        self._count_dropped(count)

    def _require_topic(self) -> None:
        if not self._is_topic_there:
            entry = Topic(name=REQUESTS_TOPIC, description="How each request to a service ended", retention=_KEPT)
            try:
                self._hub.create(entry).result()
            except AlreadyExists:
                pass  # Somebody gave it another retention, which stays.
            self._is_topic_there = True
