"""Requests that must not be lost: stored before their client hears yes, and their result kept until it is collected.

    submit ──► stored ──► yes ──► worked on like any other ──► result stored ──► collected
                  │                      ▲
                  └── after a restart ───┘

The broker's memory has what waits, the journal the truth. A request may be worked on twice (its worker died, or the
broker was started anew); the journal keeps the first result and no other.

Promises:
- Yes is said only when the request is on disk, and a collector is told only what is on disk.
- A result that cannot be stored now is stored later; until then it is kept, within the limit of what may be under way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Protocol

from pregon.errors import (
    AnswerTimeout,
    BadRequest,
    HubBusy,
    LimitReached,
    NotFound,
    PoisonRequest,
    PregonError,
    QueueFull,
    error_from_code,
)
from pregon.limits import (
    MESSAGE_ID_BYTES_MAX,
    SERVICE_COLLECTORS_MAX,
    SERVICE_DURABLE_MAX,
    SERVICE_QUEUED_BYTES_MAX,
)
from pregon.model.ids import new_id
from pregon.model.service import ANSWERED, FAILED, PARKED, WAITING, Entry, Result
from pregon.services.broker import Broker
from pregon.services.line import Line
from pregon.services.request import Asker, Body, Request
from pregon.wire.services import RequestOptions, body_bytes

_RETRY_MS = 1_000.0
_FORGET_MS = 30_000.0
_NOBODY = Asker(b"durable")


class Journal(Protocol):
    """Where durable requests are kept. Each call calls back in the broker's thread, with an error if it failed."""

    def accept(self, entry: Entry, then: Callable[[bool | PregonError], None]) -> None:
        """Store it; True if it is new, False if the same id was stored before."""
        ...

    def attempted(self, durable_id: str, attempts: int) -> None:
        """A worker was lost with it."""
        ...

    def finish(self, result: Result, keep_ms: int, then: Callable[[bool | PregonError], None]) -> None:
        """Store its result, unless it has one; whether it had none."""
        ...

    def forget_old(self) -> object:
        """Remove results that were kept for long enough."""
        ...

    def look(self, durable_id: str, then: Callable[[Result | PregonError | None], None]) -> None:
        """What is known of it."""
        ...


@dataclass(frozen=True, slots=True)
class _Collector:
    asker: Asker
    id: bytes
    until_ms: float


class Durables:
    """Between the broker and the journal."""

    def __init__(self, broker: Broker, journal: Journal | None) -> None:
        self._broker = broker
        self._journal = journal
        self._accepting = 0
        self._accepting_bytes = 0
        self._saving_bytes = 0
        """Of answers that are not on disk yet."""
        self.count = 0
        """Durable requests without a result on disk."""
        self._collectors: dict[str, list[_Collector]] = {}
        self._collecting = 0
        self._first_until_ms = inf
        """Until then no collector need be told that it waited long enough."""
        self._unsaved: list[tuple[Result, int]] = []
        self._retry_ms = self._forget_ms = 0.0
        broker.keeper = self

    def _require_journal(self) -> Journal:
        if self._journal is None:
            raise BadRequest("this broker keeps nothing: start it with --data, or ask the one of a hub")
        return self._journal

    # Submit.

    def submit(self, asker: Asker, id: bytes, line: Line, body: Body, options: RequestOptions) -> None:
        """Store a request and say yes; refuses what there is no room for."""
        try:
            journal = self._require_journal()
            self._require_room(line, body_bytes(body))
            _check_key(options.key)
        except PregonError as error:
            self._broker.refuse(asker, id, error)
            return
        entry = Entry(
            id=options.key or new_id(),
            service=line.name,
            body=body,
            priority=options.priority,
            user=asker.user,
            deadline_in_ms=options.deadline_ms,
        )
        size = body_bytes(body)
        line.accepting += 1
        self._accepting += 1
        self._accepting_bytes += size

        def then(accepted: bool | PregonError) -> None:
            line.accepting -= 1
            self._accepting -= 1
            self._accepting_bytes -= size
            if isinstance(accepted, PregonError):
                self._broker.refuse(asker, id, accepted)
                return
            self._broker.replies.accept(asker, id, entry.id)
            if accepted:
                self._work_on(entry, line, asker)

        journal.accept(entry, then)

    def _require_room(self, line: Line, size: int) -> None:
        if not line.options.durable:
            raise BadRequest(f"requests to {line.type} are not durable: ask without that, or have it allowed")
        if line.waiting.count + line.accepting >= line.options.queue_max:
            raise QueueFull(f"{line.options.queue_max} requests wait for {line.name} already: ask again after a pause")
        if self.count + self._accepting >= SERVICE_DURABLE_MAX:
            raise LimitReached(f"{SERVICE_DURABLE_MAX} durable requests wait for their results already")
        held_bytes = self._broker.held_bytes + self._accepting_bytes + self._saving_bytes
        if held_bytes + size > SERVICE_QUEUED_BYTES_MAX:
            raise QueueFull("the broker holds as many bytes as it may: ask again after a pause")

    def _work_on(self, entry: Entry, line: Line, whose: Asker = _NOBODY) -> None:
        # It waits in the turn of who asked, but it is not that one's to cancel, nor to be told of.
        asker = Asker(whose.identity, whose.envelope, is_plain=True, user=entry.user)
        request = Request(asker, b"", line, entry.body, self._broker.now_ms)
        request.durable_id = entry.id
        request.priority = entry.priority
        request.attempts = entry.attempts
        if entry.deadline_in_ms is not None:
            request.deadline_ms = self._broker.now_ms + entry.deadline_in_ms
        self.count += 1
        self._broker.ask(request)

    def resume(self, entry: Entry, line: Line | None = None) -> None:
        """Go on with one that was stored before: by a broker that is no more, or set aside and released."""
        lines = self._broker.lines
        self._work_on(entry, lines.require(entry.service) if line is None else lines.setdefault(line.key, line))

    def shelve(self, entry: Entry, reason: str) -> None:
        """Show one again that was set aside by a broker that is no more."""
        line = self._broker.lines.require(entry.service)
        request = Request(
            Asker(_NOBODY.identity, is_plain=True, user=entry.user), b"", line, entry.body, self._broker.now_ms
        )
        request.durable_id, request.attempts, request.is_done = entry.id, entry.attempts, True
        self._broker.poison.add(request, self._broker.now_ms, reason)

    # Results.

    def attempted(self, request: Request) -> None:
        """A worker was lost with it: remembered, so that a poison request is known for one after a restart."""
        self._require_journal().attempted(request.durable_id, request.attempts)

    def finished(self, request: Request, outcome: Body | PregonError) -> None:
        """Store the outcome, then tell who waits for it."""
        is_error = isinstance(outcome, PregonError)
        result = Result(
            id=request.durable_id,
            service=request.line.name,
            state=ANSWERED if not is_error else PARKED if isinstance(outcome, PoisonRequest) else FAILED,
            user=request.asker.user,
            body=[] if isinstance(outcome, PregonError) else outcome,
            code=outcome.code if isinstance(outcome, PregonError) else "",
            message=str(outcome) if is_error else "",
            attempts=request.attempts,
        )
        self._saving_bytes += body_bytes(result.body)
        self._save(result, request.line.options.keep_results_ms)

    def _save(self, result: Result, keep_ms: int) -> None:
        def then(saved: bool | PregonError) -> None:
            if isinstance(saved, PregonError):
                self._unsaved.append((result, keep_ms))
                return
            self.count -= 1
            self._saving_bytes -= body_bytes(result.body)
            if saved:
                self._tell_collectors(result)
            else:
                self._look_for_collectors(result.id)

        self._require_journal().finish(result, keep_ms, then)

    def _look_for_collectors(self, durable_id: str) -> None:
        """It had a result already, and that is what collectors are told."""

        def then(found: Result | PregonError | None) -> None:
            if isinstance(found, Result) and found.state != WAITING:
                self._tell_collectors(found)

        self._require_journal().look(durable_id, then)

    def _tell_collectors(self, result: Result) -> None:
        for one in self._collectors.pop(result.id, ()):
            self._collecting -= 1
            self._broker.replies.reply(one.asker, one.id, self._what_for(one.asker, result))

    def collect(self, asker: Asker, id: bytes, durable_id: str, wait_ms: int) -> None:
        """The result of a durable request, now or when it is there."""
        try:
            journal = self._require_journal()
            if wait_ms and self._collecting >= SERVICE_COLLECTORS_MAX:
                raise HubBusy(f"{SERVICE_COLLECTORS_MAX} clients wait for results already: ask without waiting")
        except PregonError as error:
            self._broker.refuse(asker, id, error)
            return
        collector = _Collector(asker, id, self._broker.now_ms + wait_ms)
        if wait_ms:
            # Before the look: a result that is stored meanwhile finds who waits for it.
            self._collectors.setdefault(durable_id, []).append(collector)
            self._collecting += 1
            self._first_until_ms = min(self._first_until_ms, collector.until_ms)

        def then(found: Result | PregonError | None) -> None:
            if wait_ms and collector not in self._collectors.get(durable_id, ()):
                return  # It was told meanwhile.
            what = self._what_for(asker, found, durable_id)
            if wait_ms and isinstance(what, AnswerTimeout) and isinstance(found, Result) and found.state == WAITING:
                return
            if wait_ms:
                self._drop_collector(durable_id, collector)
            self._broker.replies.reply(asker, id, what)

        journal.look(durable_id, then)

    def _drop_collector(self, durable_id: str, collector: _Collector) -> None:
        waiting = self._collectors[durable_id]
        waiting.remove(collector)
        self._collecting -= 1
        if not waiting:
            del self._collectors[durable_id]

    @staticmethod
    def _what_for(asker: Asker, found: Result | PregonError | None, durable_id: str = "") -> Body | PregonError:
        if isinstance(found, PregonError):
            return found
        if found is None or (found.user and found.user != asker.user):
            return NotFound(f"there is no durable request {durable_id[:200]!r}, or its result is no longer kept")
        if found.state == WAITING:
            return AnswerTimeout(f"{found.id} is not answered yet: ask again, or wait longer")
        return found.body if found.state == ANSWERED else error_from_code(found.code, found.message)

    def tick(self, now_ms: float) -> None:
        """Those who waited long enough are told so; what could not be stored is tried again."""
        if now_ms >= self._first_until_ms:
            self._end_collecting(now_ms)
        if self._journal is not None and now_ms >= self._forget_ms:
            self._forget_ms = now_ms + _FORGET_MS
            self._journal.forget_old()
        if self._unsaved and now_ms >= self._retry_ms:
            self._retry_ms = now_ms + _RETRY_MS
            again, self._unsaved = self._unsaved, []
            for result, keep_ms in again:
                self._save(result, keep_ms)

    def _end_collecting(self, now_ms: float) -> None:
        self._first_until_ms = inf
        for durable_id, waiting in list(self._collectors.items()):
            for one in list(waiting):
                if one.until_ms > now_ms:
                    self._first_until_ms = min(self._first_until_ms, one.until_ms)
                    continue
                self._drop_collector(durable_id, one)
                late = AnswerTimeout(f"{durable_id[:200]} is not answered yet: ask again, or wait longer")
                self._broker.replies.reply(one.asker, one.id, late)


def _check_key(key: str) -> None:
    """Raises BadRequest for an id that could not stand in an address."""
    if len(key.encode()) > MESSAGE_ID_BYTES_MAX or not (key + "x").isprintable() or "/" in key or key in (".", ".."):
        raise BadRequest(f"a key is at most {MESSAGE_ID_BYTES_MAX} bytes of printable text without /, and not . or ..")
