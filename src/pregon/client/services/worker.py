"""A worker: functions offered to a broker, from hello to goodbye.

One thread has the sockets and never runs a function of the user (but for those that are `inline`), so beats are
answered while others work. What came of a work is left in a queue, with a bell; messages come and go in bursts.

Promises:
- `leave` says goodbye, answers what is under way within `drain_ms`, and gives the rest back to the broker.
- What a function does, or does not do, harms its own request only.
"""

from __future__ import annotations

import logging
import os
import signal
import socket as stdlib_socket
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Unpack

import zmq

from pregon.client.services.broker_socket import Broker
from pregon.client.services.place import Place, find_broker
from pregon.client.services.post import Post
from pregon.client.services.service import Outcome, Service, log
from pregon.client.services.staff import Staff
from pregon.client.services.worker_talk import Work
from pregon.clock import monotonic_ms
from pregon.errors import HubStopping, PregonError, SettingsInvalid, Unavailable
from pregon.limits import SERVICE_TYPES_MAX
from pregon.wire.bell import Bell

DRAIN_MS = 30_000
_TICK_MS = 50
_LOAD_FRESH_MS = 250.0
_FIND_MS = 2_000.0
_FIND_AGAIN_S = 1.0
_LAST_WORDS_MS = 1_000


def machine_load() -> float:
    """How busy this machine is: processes that want to run, for each of its processors, over the last minute."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


class Worker:
    """Serves one or more services. Use it with `with`, or `start` it and `stop` it; `serve` does it for a program."""

    def __init__(
        self,
        *services: Service[..., Any],
        back: str | None = None,
        name: str = "",
        load: Callable[[], float] | None = None,
        drain_ms: float = DRAIN_MS,
        **place: Unpack[Place],
    ) -> None:
        """Raises SettingsInvalid for services that cannot be served together, or at all."""
        self.name = name or f"{stdlib_socket.gethostname()}-{os.getpid()}"
        self.failure: PregonError | None = None
        """Why it ended without being asked to."""
        self.answered = 0
        self.failed = 0
        """Requests that were answered with an error."""
        self._back = back
        self._place = place
        self._read_load = load or machine_load
        self._load_at_ms = 0.0
        self._drain_ms = drain_ms
        self._bell: Bell | None = None
        """There from the start of the thread on."""
        self._outcomes: deque[tuple[Work, Outcome]] = deque()
        self._staff = Staff(_checked(services), self._done, self._done_here)
        self._services = services
        self._posts: dict[str, Post] = {}
        """By the type of what is served there."""
        self._thread = threading.Thread(target=self._run, name="pregon-worker", daemon=True)
        self._welcome = threading.Event()
        self._is_leaving = False
        """We were told to leave; `_has_left` when the broker has been told."""
        self._has_left = False
        self._leave_until_ms: float | None = None
        self._ended = threading.Event()

    def __enter__(self) -> Worker:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> Worker:
        """Begin to serve, in a thread of its own; once."""
        self._bell = Bell()
        self._thread.start()
        return self

    def wait_until_ready(self, timeout_s: float = 10.0) -> bool:
        """Wait until the broker has taken it in; whether it has. Raises why it never will."""
        is_welcome = self._welcome.wait(timeout_s)
        if self.failure is not None:
            raise self.failure
        return is_welcome and self._thread.is_alive()

    def leave(self) -> None:
        """Say goodbye, finish what is under way, and end; asked twice, end at once. Does not wait."""
        if self._is_leaving:
            self._drain_ms = 0.0
            self._leave_until_ms = None
        self._is_leaving = True
        self._ended.set()
        if self._bell is not None:
            self._bell.ring()

    def stop(self) -> None:
        """Leave, and wait for the end; raises why it ended by itself, if it did."""
        self.leave()
        self.join()

    def join(self) -> None:
        """Wait for the end; raises why it ended by itself, if it did."""
        while self._thread.is_alive():
            # Not for ever at once, so that signals get their turn.
            self._thread.join(0.5)
        if self.failure is not None:
            raise self.failure

    def _done(self, work: Work, outcome: Outcome) -> None:
        """What came of a work, from whichever thread it ran in."""
        self._outcomes.append((work, outcome))
        if self._bell is not None:
            self._bell.ring()

    def _done_here(self, work: Work, outcome: Outcome) -> None:
        """The same, from the thread with the socket, which need not be woken."""
        self._outcomes.append((work, outcome))

    # The thread with the sockets.

    def _run(self) -> None:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        bell = self._bell
        assert bell is not None
        try:
            broker = self._find_broker()
            if broker is not None:
                self._open(broker, context)
                self._staff.start()
                self._serve(bell)
        except PregonError as error:
            self.failure = error
            log.error("the worker %s cannot serve: %s", self.name, error)
        except Exception as error:  # The thread's last chance to say what became of it.
            self.failure = HubStopping(f"the worker failed: {error!r}; its log has more")
            log.exception("the worker %s failed", self.name)
        finally:
            self._staff.close()
            for post in self._posts.values():
                post.close(_LAST_WORDS_MS)
            # Waits until the last words are sent, and no longer than they linger.
            context.term()
            self._welcome.set()
            bell.close()

    def _find_broker(self) -> Broker | None:
        """Where the broker is, as soon as somebody tells; None if we are told to leave first."""
        while not self._is_leaving:
            try:
                return find_broker("back", self._back, _FIND_MS, **self._place)
            except Unavailable as error:
                log.warning("the worker %s asks again where the broker is: %s", self.name, error)
            self._ended.wait(_FIND_AGAIN_S)
        return None

    def _open(self, broker: Broker, context: zmq.Context[zmq.Socket[bytes]]) -> None:
        for one in self._services:
            self._posts[one.type] = Post(one, self.name[:200], broker, context)
        log.info("the worker %s goes to %s", self.name, broker.address)

    def _serve(self, bell: Bell) -> None:
        posts, poller = self._posts.values(), zmq.Poller()
        poller.register(bell, zmq.POLLIN)
        self._refresh_load(monotonic_ms())
        for post in posts:
            poller.register(post.socket, zmq.POLLIN)
            post.talk.begin(monotonic_ms())
        tick_at_ms = 0.0
        while not self._is_over():
            for post in posts:
                post.send()
            ready = {which for which, _ in poller.poll(_TICK_MS)}
            now_ms = monotonic_ms()
            if bell.fileno() in ready:
                bell.hear()
            for post in posts:
                if post.socket in ready:
                    for work in post.take(now_ms):
                        self._staff.give(work)
                if post.talk.dropped:
                    self._drop(post)
            self._answer(now_ms)
            if now_ms >= tick_at_ms or self._is_leaving != self._has_left:
                tick_at_ms = now_ms + _TICK_MS
                self._tick(poller, now_ms)
        for post in posts:
            post.send()

    def _is_over(self) -> bool:
        if not self._has_left or self._outcomes:
            return False
        if all(post.talk.is_done for post in self._posts.values()):
            return True
        now_ms = monotonic_ms()
        if self._leave_until_ms is None:
            self._leave_until_ms = now_ms + self._drain_ms
        if now_ms < self._leave_until_ms:
            return False
        log.warning("the worker %s leaves %d requests for others to do", self.name, self._busy())
        for post in self._posts.values():
            post.talk.give_back_rest(now_ms)
        return True

    def _busy(self) -> int:
        return sum(post.talk.busy for post in self._posts.values())

    def _answer(self, now_ms: float) -> None:
        """Say what came of what was done."""
        outcomes, posts = self._outcomes, self._posts
        while outcomes:
            work, outcome = outcomes.popleft()
            if type(outcome) is list:
                self.answered += 1
            else:
                self.failed += 1
            talk = posts[work.name].talk
            talk.answer(work, outcome, now_ms)
            talk.ended(work)
            self._staff.ended(work)

    def _drop(self, post: Post) -> None:
        dropped, post.talk.dropped = post.talk.dropped, []
        for work in dropped:
            self._staff.drop(work)

    def _tick(self, poller: zmq.Poller, now_ms: float) -> None:
        """Time has passed: beats, limits, connections."""
        self._refresh_load(now_ms)
        for work, failure in self._staff.overdue(now_ms):
            self._posts[work.name].talk.answer(work, failure, now_ms)
        for post in self._posts.values():
            post.tick(now_ms, poller)
        if self._is_leaving and not self._has_left:
            self._has_left = True
            log.info("the worker %s leaves, with %d requests under way", self.name, self._busy())
            for post in self._posts.values():
                post.talk.leave(now_ms)
        if not self._welcome.is_set() and all(post.talk.is_welcome for post in self._posts.values()):
            log.info("the worker %s serves %s", self.name, self._staff)
            self._welcome.set()

    def _refresh_load(self, now_ms: float) -> None:
        if now_ms >= self._load_at_ms:
            self._load_at_ms = now_ms + _LOAD_FRESH_MS
            try:
                load = float(self._read_load())
                for post in self._posts.values():
                    post.talk.told_load(load)
            except Exception:  # The user's own function: without a new load the last one stands.
                log.exception("the load of the worker %s cannot be told", self.name)
                self._load_at_ms = now_ms + 60_000


def _checked(services: tuple[Service[..., Any], ...]) -> tuple[Service[..., Any], ...]:
    types = [one.type for one in services if isinstance(one, Service)]
    if len(types) < len(services):
        raise SettingsInvalid('a worker serves functions that are services: decorate them with @service("name")')
    if not 1 <= len(types) <= SERVICE_TYPES_MAX:
        raise SettingsInvalid(f"a worker serves 1 to {SERVICE_TYPES_MAX} services, not {len(types)}")
    twice = {one for one in types if types.count(one) > 1}
    if twice:
        raise SettingsInvalid(f"a worker serves each service once: {', '.join(sorted(twice))}")
    return services


def serve(
    *services: Service[..., Any],
    back: str | None = None,
    name: str = "",
    load: Callable[[], float] | None = None,
    drain_ms: float = DRAIN_MS,
    **place: Unpack[Place],
) -> None:
    """Serve until SIGTERM or SIGINT; then say goodbye, finish what is under way within `drain_ms`, and return.

    A second signal ends it at once. Raises what keeps it from serving. Logs to standard error, unless the program has
    set up its logs.
    """
    if not logging.getLogger().handlers:
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    worker = Worker(*services, back=back, name=name, load=load, drain_ms=drain_ms, **place)
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            before[number] = signal.signal(number, lambda *_: worker.leave())
    try:
        worker.start().join()
    finally:
        for taken, handler in before.items():
            signal.signal(taken, handler)
