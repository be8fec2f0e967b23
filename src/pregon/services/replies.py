"""What goes back to clients, in the form in which each asked, and what is remembered of it."""

from __future__ import annotations

from collections import deque

from pregon.errors import PregonError
from pregon.limits import SERVICE_RECENT_MAX
from pregon.services.counts import Counts, Finished
from pregon.services.request import Asker, Body, Request
from pregon.services.worker import printable
from pregon.wire.services import ACCEPTED, ERROR, encode_failure, encode_head

ANSWERED = "answered"
_TRACES_WAITING_MAX = 50_000


class Replies:
    """Frames for the front, and the trace of what was finished."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self.to_front: list[list[bytes]] = []
        self._recent: deque[Request] = deque(maxlen=SERVICE_RECENT_MAX)
        self._traces: list[Request] = []
        """What nobody has taken to be written yet."""

    def reply(self, asker: Asker, id: bytes, outcome: Body | PregonError) -> None:
        """An answer or an error for who asked."""
        if not isinstance(outcome, PregonError):
            self.answer(asker, id, outcome)
        elif asker.tell is not None:
            asker.tell(outcome)
        else:
            head = encode_head(ERROR, id, encode_failure(outcome))
            words = [f"error {outcome.code}: {outcome}".encode()] if asker.is_plain else []
            self.to_front.append([asker.identity, *asker.envelope, *words, head])

    def answer(self, asker: Asker, id: bytes, body: Body) -> None:
        """An answer for who asked."""
        if asker.tell is not None:
            asker.tell(body)
        elif asker.is_plain:
            self.to_front.append([asker.identity, *asker.envelope, *body])
        else:
            self.to_front.append([asker.identity, *asker.envelope, b"PGS1A" + id, *body])

    def accept(self, asker: Asker, id: bytes, durable_id: str) -> None:
        """Yes, it is on disk."""
        if asker.tell is not None:
            asker.tell([durable_id.encode()])
        else:
            self.to_front.append([asker.identity, *asker.envelope, encode_head(ACCEPTED, id, durable_id.encode())])

    def trace(self, request: Request) -> None:
        """Remember how a request ended."""
        self._recent.append(request)
        if len(self._traces) < _TRACES_WAITING_MAX:
            self._traces.append(request)
        else:
            self._counts.traces_dropped += 1

    def take_traces(self) -> list[Finished]:
        """What was finished since the last call."""
        taken, self._traces = self._traces, []
        return list(map(finished_row, taken))

    def drop_traces(self) -> None:
        """The same, where nobody writes them down."""
        self._traces.clear()

    def list_recent(self, rows_max: int) -> list[Finished]:
        """The last requests that ended, the newest first."""
        return [finished_row(one) for one in list(self._recent)[-rows_max:][::-1]]


def finished_row(request: Request) -> Finished:
    """How a request ended, as a row: made when somebody looks, because most of the time nobody does."""
    worker = request.worker
    sent_ms = request.sent_ms or request.ended_ms
    return Finished(
        request.ended_ms,
        request.line.name,
        request.asker.user or printable(request.asker.identity),
        worker.name if worker is not None else "",
        request.policy,
        request.load,
        sent_ms - request.arrived_ms,
        request.ended_ms - sent_ms,
        request.attempts,
        request.outcome,
        request.durable_id,
    )
