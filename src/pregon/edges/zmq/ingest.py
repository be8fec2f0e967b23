"""The ingest: a PULL socket that takes messages from any plain PUSH socket, in any language.

    [topic, body]             published by the producer `ingest`
    [topic, header, body]     header: JSON with any of producer, id, key, content_type, headers

A PUSH socket gets no answer, so nothing is acknowledged here: what the hub has not yet written when it is
killed is lost. While the hub's queue is full the door reads nothing, and ZeroMQ makes the senders wait.
What cannot be stored (a bad name, too large, malformed, in the name of one who has a key) is dropped, counted
and logged.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

import msgspec
import zmq

from pregon.edges.zmq.door import Door
from pregon.edges.zmq.sockets import receive_waiting
from pregon.errors import BadRequest, HubBusy, PregonError
from pregon.hub.gate import Gate
from pregon.hub.way import Published
from pregon.limits import HEADER_BYTES_MAX
from pregon.model.message import DEFAULT_CONTENT_TYPE, Outgoing
from pregon.security.callers import ANYBODY
from pregon.store.ticket import Ticket

log = logging.getLogger("pregon.edges")

INGEST_PRODUCER = "ingest"
_MESSAGES_AT_ONCE = 200
_PAUSE_MS = 5
_IN_FLIGHT_MAX = 5_000
"""Messages taken and not yet on disk."""


class IngestHeader(msgspec.Struct, kw_only=True):
    """What a plain sender may say of its message."""

    producer: str = INGEST_PRODUCER
    id: str | None = None
    key: str | None = None
    content_type: str = DEFAULT_CONTENT_TYPE
    headers: dict[str, str] = {}


_decode_header = msgspec.json.Decoder(IngestHeader).decode


def decode_ingest(frames: Sequence[bytes]) -> tuple[str, str, Outgoing]:
    """Topic, producer and message of the frames; raises BadRequest."""
    if len(frames) not in (2, 3):
        raise BadRequest(f"[topic, body] or [topic, header, body], not {len(frames)} frames")
    try:
        topic = frames[0].decode("ascii")
        if len(frames) == 3 and len(frames[1]) > HEADER_BYTES_MAX:
            raise BadRequest(f"the header has over {HEADER_BYTES_MAX} bytes")
        header = _decode_header(frames[1]) if len(frames) == 3 else IngestHeader()
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError) as error:
        raise BadRequest(f"the topic or the header cannot be read: {str(error)[:200]}") from error
    return (
        topic,
        header.producer,
        Outgoing(frames[-1], header.id, header.key, header.content_type, header.headers),
    )


class Ingest(Door):
    """Takes messages from plain senders."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], address: str, gate: Gate) -> None:
        super().__init__("ingest", context, zmq.PULL, address)
        self._gate = gate
        self._counters = gate.hub.counters
        self._in_flight = 0
        self._settled = 0

    def _serve(self, poller: zmq.Poller) -> None:
        while not self._is_stopping:
            ready = dict(poller.poll())
            self._bell.hear()
            if self._socket in ready:
                for frames in receive_waiting(self._socket, _MESSAGES_AT_ONCE):
                    self._take(frames)
        self._socket.close(linger=0)

    def _take(self, frames: Sequence[bytes]) -> None:
        try:
            topic, producer, message = decode_ingest(frames)
            ticket = self._publish(topic, producer, message)
        except PregonError as error:
            self._drop(error)
        else:
            if ticket is not None:
                self._in_flight += 1
                ticket.when_done(self._published)

    def _publish(self, topic: str, producer: str, message: Outgoing) -> Ticket[Published] | None:
        """Publish, waiting while the hub is busy; None when the hub stops meanwhile."""
        while not self._is_stopping:
            if self._in_flight - self._settled < _IN_FLIGHT_MAX:
                try:
                    return self._gate.publish(ANYBODY, topic, producer, message)
                except HubBusy:
                    pass
            threading.Event().wait(_PAUSE_MS / 1_000)
        return None

    def _published(self, ticket: Ticket[Published]) -> None:
        # Called only in the committer's thread; _in_flight only changes in this door's.
        self._settled += 1
        try:
            ticket.value()
            self._counters.ingest_messages += 1
        except PregonError as error:
            self._drop(error)

    def _drop(self, error: PregonError) -> None:
        self._counters.ingest_dropped += 1
        log.warning("ingest dropped a message", extra={"code": error.code, "reason": str(error)})
