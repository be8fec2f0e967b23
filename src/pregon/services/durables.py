"""Requests that must not be lost: stored before their client hears yes, and their result kept until it is collected.

    submit ──► stored ──► yes ──► worked on like any other ──► result stored ──► collected
                  │                      ▲
                  └── after a restart ───┘

The broker's memory has what waits, the journal the truth. A request may be worked on twice (its worker died, or the
broker was started anew); the journal keeps the first result and no other.

Promises:
- Yes is said only when the request is on disk, and a collector is told only what is on disk.
- A result that cannot be stored now is stored later; until then it is kept, within the limit of what may be under way.
- Whoever fails when it is told keeps nobody else from being told, and nothing from being worked on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Protocol, TypeVar

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
from pregon.services.request import Asker, Body, Key, Request
from pregon.wire.services import RequestOptions, body_bytes

log = logging.getLogger("pregon.services")
T = TypeVar("T")

FORGET_AT_ONCE = 1_000
"""Old results that a journal removes in one go."""
_RETRY_MS = 1_000.0
_FORGET_MS = 30_000.0
_NOBODY = Asker(b"durable")


class Journal(Protocol):
    """Where durable requests are kept. Each call calls back in the broker's thread, with an error if it failed."""

    def accept(self, entry: Entry, then: Callable[[bool | PregonError], None]) -> None:
        """Store it; True if it is new, False if the same was stored before, AlreadyExists if another has its id."""
        ...

    def attempted(self, durable_id: str, attempts: int) -> None:
        """A worker was lost with it."""
        ...

    def finish(self, result: Result, keep_ms: int, then: Callable[[bool | PregonError], None]) -> None:
        """Store its result, unless it has one; whether it had none."""
        ...

    def forget_old(self, then: Callable[[int | PregonError], None]) -> None:
        """Remove results that were kept for long enough, at most FORGET_AT_ONCE; how many it was."""
        ...

    def look(self, durable_id: str, then: Callable[[Result | PregonError | None], None]) -> None:
        """What is known of it."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _Collector:
    asker: Asker
    id: bytes
    durable_id: str
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
        self._collectors: dict[Key, _Collector] = {}
        self._waiting_for: dict[str, set[_Collector]] = {}
        """The same by the request whose result they want,"""
        self._of_client: dict[bytes, set[_Collector]] = {}
        """and by who would not be there any more if its client went: those inside the hub are not among them."""
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
        size = body_bytes(body)
        try:
            journal = self._require_journal()
            self._require_room(line, size)
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
            if accepted:
                self._work_on(entry, line, asker)
            self._broker.replies.accept(asker, id, entry.id)

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

    def resume(self, entry: Entry) -> None:
        """Go on with one that was stored before: by a broker that is no more, or set aside and released."""
        self._work_on(entry, self._broker.lines.require(entry.service))

    def require_room_again(self) -> None:
        """Raises LimitReached while no request that was set aside can be worked on again."""
        if self.count + self._accepting >= SERVICE_DURABLE_MAX:
            raise LimitReached(f"{SERVICE_DURABLE_MAX} durable requests wait for their results: release it later")

    def shelve(self, entry: Entry, reason: str, size: int | None = None) -> None:
        """Show one again that was set aside by a broker that is no more; its size, if its body is not all of it."""
        line = self._broker.lines.require(entry.service)
        request = Request(
            Asker(_NOBODY.identity, is_plain=True, user=entry.user), b"", line, entry.body, self._broker.now_ms
        )
        request.durable_id, request.attempts, request.is_done = entry.id, entry.attempts, True
        self._broker.poison.add(request, self._broker.now_ms, reason, size)

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
        for one in list(self._waiting_for.get(result.id, ())):
            self._drop_collector(one)
            self._tell(one, self._what_for(one.asker, result))

    def _tell(self, collector: _Collector, what: Body | PregonError) -> None:
        try:
            self._broker.replies.reply(collector.asker, collector.id, what)
        except Exception:  # Who is told inside the hub is not known here: the others are told all the same.
            log.exception("one that waited for a result failed by a bug")

    def collect(self, asker: Asker, id: bytes, durable_id: str, wait_ms: int) -> None:
        """The result of a durable request, now or when it is there; instead of what was wanted with the same id."""
        self.cancel_collecting(asker, id)
        try:
            journal = self._require_journal()
            if wait_ms and len(self._collectors) >= SERVICE_COLLECTORS_MAX:
                raise HubBusy(f"{SERVICE_COLLECTORS_MAX} clients wait for results already: ask without waiting")
        except PregonError as error:
            self._broker.refuse(asker, id, error)
            return
        collector = _Collector(asker, id, durable_id, self._broker.now_ms + wait_ms)
        if wait_ms:
            # Before the look: a result that is stored meanwhile finds who waits for it.
            self._add_collector(collector)

        def then(found: Result | PregonError | None) -> None:
            if wait_ms and self._collectors.get((asker.turn, id)) is not collector:
                return  # It was told meanwhile, or does not wait any more.
            what = self._what_for(asker, found, durable_id)
            if wait_ms:
                if isinstance(what, AnswerTimeout) and isinstance(found, Result) and found.state == WAITING:
                    return
                self._drop_collector(collector)
            self._tell(collector, what)

        journal.look(durable_id, then)

    def _add_collector(self, collector: _Collector) -> None:
        self._collectors[collector.asker.turn, collector.id] = collector
        self._waiting_for.setdefault(collector.durable_id, set()).add(collector)
        if collector.asker.tell is None:
            self._of_client.setdefault(collector.asker.identity, set()).add(collector)
        self._first_until_ms = min(self._first_until_ms, collector.until_ms)

    def _drop_collector(self, collector: _Collector) -> None:
        del self._collectors[collector.asker.turn, collector.id]
        _take_out(self._waiting_for, collector.durable_id, collector)
        if collector.asker.tell is None:
            _take_out(self._of_client, collector.asker.identity, collector)

    def cancel_collecting(self, asker: Asker, id: bytes) -> None:
        """Nobody waits any more for the result that was wanted with this id, if one was."""
        collector = self._collectors.get((asker.turn, id))
        if collector is not None:
            self._drop_collector(collector)

    def client_gone(self, identity: bytes) -> None:
        """Whoever waited for results at this identity does not any more."""
        for one in list(self._of_client.get(identity, ())):
            self._drop_collector(one)

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
            self._journal.forget_old(self._forgot)
        if self._unsaved and now_ms >= self._retry_ms:
            self._retry_ms = now_ms + _RETRY_MS
            again, self._unsaved = self._unsaved, []
            for result, keep_ms in again:
                self._save(result, keep_ms)

    def _forgot(self, count: int | PregonError) -> None:
        if not isinstance(count, PregonError) and count >= FORGET_AT_ONCE:
            self._forget_ms = 0.0  # There may be more: at the next tick, lest they come faster than they go.

    def _end_collecting(self, now_ms: float) -> None:
        self._first_until_ms = inf
        for one in list(self._collectors.values()):
            if one.until_ms > now_ms:
                self._first_until_ms = min(self._first_until_ms, one.until_ms)
                continue
            self._drop_collector(one)
            self._tell(one, AnswerTimeout(f"{one.durable_id[:200]} is not answered yet: ask again, or wait longer"))


def _take_out(sets: dict[T, set[_Collector]], name: T, collector: _Collector) -> None:
    sets[name].discard(collector)
    if not sets[name]:
        del sets[name]


def _check_key(key: str) -> None:
    """Raises BadRequest for an id that could not stand in an address."""
    if len(key.encode()) > MESSAGE_ID_BYTES_MAX or not (key + "x").isprintable() or "/" in key or key in (".", ".."):
        raise BadRequest(f"a key is at most {MESSAGE_ID_BYTES_MAX} bytes of printable text without /, and not . or ..")
