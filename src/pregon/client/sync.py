"""The blocking client: a thin loop around what `calls`, `outbox` and `follower` decide.

A client has one connection and may be used from several threads, one call at a time; a call that waits (a
long poll) holds the others up, so give a thread that follows a topic a client of its own.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import zmq

from pregon.addresses import DEFAULT_HUB, HUB_VARIABLE
from pregon.client import calls
from pregon.client.calls import Call, Published, Pulled, PullOptions, as_outgoing
from pregon.client.follower import Follower
from pregon.client.link import (
    DEFAULT_TIMEOUT_MS,
    Handshakes,
    open_monitor,
    open_socket,
    request_ids,
    unreachable,
)
from pregon.client.outbox import Outbox, ProducerOptions
from pregon.clock import monotonic_ms, wall_us
from pregon.errors import HubStopping, PregonError
from pregon.model.message import Message, Outgoing
from pregon.model.subscription import Accounting
from pregon.model.trace import Trace, TraceQuery
from pregon.wire.frames import Answer, decode_answer

T = TypeVar("T")
_LOOK_MS = 50
"""How often a client that waits looks whether it was reconnected."""


class _Connection:
    """A socket, its monitor, and the numbers of its requests. For one thread at a time."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._socket = open_socket(zmq.Context.instance(), address)
        self._monitor = open_monitor(self._socket)
        self._handshakes = Handshakes()
        self._ids = request_ids()

    def next_id(self) -> int:
        return next(self._ids)

    def send(self, frames: list[Any]) -> None:
        self._socket.send_multipart(frames, copy=len(frames) < 3)

    def receive(self, wait_ms: float) -> Answer | None:
        """The next answer, or None if none comes in time."""
        if not self._socket.poll(wait_ms):
            return None
        return decode_answer(self._socket.recv_multipart(zmq.NOBLOCK))

    def was_reconnected(self) -> bool:
        """Whether the connection was lost and found again since this was last asked."""
        found = False
        while self._monitor.poll(0):
            found = self._handshakes.took(self._monitor.recv_multipart(zmq.NOBLOCK)) or found
        return found

    def close(self) -> None:
        self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close(linger=0)


class Client:
    """A connection to a hub. Use it as a context manager, or `close` it."""

    def __init__(
        self, hub: str | None = None, *, producer: str = "local", timeout_ms: float = DEFAULT_TIMEOUT_MS
    ) -> None:
        self.hub = hub or os.environ.get(HUB_VARIABLE, DEFAULT_HUB)
        self.default_producer = producer
        self.timeout_ms = timeout_ms
        self._connection = _Connection(self.hub)
        self._lock = threading.RLock()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the connection back."""
        with self._lock:
            self._connection.close()

    def _run(self, call: Call[T]) -> T:
        """Ask, wait for the answer, and ask again while the hub is busy or was away."""
        deadline_ms = monotonic_ms() + self.timeout_ms + call.wait_ms
        attempt = 0
        with self._lock:
            while True:
                try:
                    return self._ask(call, deadline_ms)
                except PregonError as error:
                    delay_ms = calls.retry_delay_ms(error, attempt)
                    if delay_ms is None or monotonic_ms() + delay_ms > deadline_ms:
                        raise
                    attempt += 1
                    time.sleep(delay_ms / 1_000)

    def _ask(self, call: Call[T], deadline_ms: float) -> T:
        request_id = self._connection.next_id()
        self._connection.was_reconnected()
        self._connection.send(call.frames(request_id))
        while True:
            left_ms = deadline_ms - monotonic_ms()
            if left_ms <= 0:
                raise unreachable(self.hub, self.timeout_ms)
            answer = self._connection.receive(min(left_ms, _LOOK_MS))
            if answer is not None and answer.id == request_id:
                return call.finish(answer)
            if answer is None and self._connection.was_reconnected():
                self._connection.send(call.frames(request_id))

    # Messages.

    def publish(
        self,
        topic: str,
        body: bytes | str | Outgoing,
        *,
        id: str | None = None,
        key: str | None = None,
        content_type: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Published:
        """Publish one message; returns when it is on the hub's disk."""
        message = as_outgoing(body, id, key, content_type, headers)
        return self._run(calls.publish(topic, self.default_producer, message))

    def producer(self, topic: str, options: ProducerOptions | None = None) -> Producer:
        """A producer that packs messages into batches, over a connection of its own."""
        return Producer(self.hub, topic, self.default_producer, options or ProducerOptions())

    def pull(
        self,
        topic: str,
        subscriber: str,
        *,
        ack: int | None = None,
        epoch: int | None = None,
        max: int = 500,
        wait_ms: int = 0,
    ) -> Pulled:
        """What is pending; acknowledges up to `ack` first, and waits up to `wait_ms` for something new."""
        return self._run(calls.pull(topic, subscriber, ack, epoch, PullOptions(max=max, wait_ms=wait_ms)))

    def follow(
        self, topic: str, subscriber: str, *, max: int = 500, wait_ms: int = 5_000, until_empty: bool = False
    ) -> Iterator[Message]:
        """Every message, as it comes. Each is acknowledged when the next is asked for; `until_empty` ends."""
        follower = Follower(topic, subscriber, PullOptions(max=max, wait_ms=0 if until_empty else wait_ms))
        try:
            while True:
                pulled = self._run(follower.next_pull())
                follower.pulled(pulled)
                if until_empty and not pulled.batches:
                    return
                for message in pulled:
                    yield message
                    follower.dealt_with(message.seq)
        finally:
            last = follower.last_ack()
            if last is not None:
                self._run(last)

    def read(self, topic: str, first_seq: int, last_seq: int | None = None, *, max: int = 500) -> Pulled:
        """Messages by number, whoever subscribed."""
        return self._run(calls.read(topic, first_seq, last_seq, PullOptions(max=max)))

    def ack(self, topic: str, subscriber: str, seq: int, epoch: int | None = None) -> int:
        """Acknowledge everything up to a number; returns the cursor when it is on disk."""
        return self._run(calls.ack(topic, subscriber, seq, epoch))

    # Exceptions, replays, what is known.

    def park(self, topic: str, subscriber: str, seqs: Sequence[int], reason: str = "") -> int:
        """Set pending messages aside, so that the ones after them go on; returns how many."""
        return self._run(calls.park(topic, subscriber, seqs, reason))

    def unpark(self, topic: str, subscriber: str, seqs: Sequence[int] = ()) -> int:
        """Deliver parked messages again, all of them if no numbers are given; returns how many."""
        return self._run(calls.unpark(topic, subscriber, seqs))

    def parked(self, topic: str, subscriber: str, after_seq: int = 0) -> list[dict[str, Any]]:
        """What is set aside, by number."""
        return self._run(calls.parked(topic, subscriber, after_seq))

    def replay(self, topic: str, subscriber: str, *, from_seq: int | None = None, from_us: int | None = None) -> int:
        """Move a cursor back to a number or a time; returns the cursor."""
        return self._run(calls.replay(topic, subscriber, from_seq, from_us))

    def account(self, topic: str, subscriber: str) -> Accounting:
        """Where every message of a subscription is."""
        return self._run(calls.account(topic, subscriber))

    def traces(self, query: TraceQuery) -> list[Trace]:
        """Traces that match, newest first."""
        return self._run(calls.traces(query))

    # The catalogue and the hub itself.

    def create(self, kind: str, **entry: Any) -> dict[str, Any]:
        """Register a topic, producer, subscriber or subscription."""
        return self._run(calls.create(kind, entry))

    def update(self, kind: str, *names: str, **values: Any) -> dict[str, Any]:
        """Change some fields of an entry."""
        return self._run(calls.update(kind, names, values))

    def delete(self, kind: str, *names: str) -> bool:
        """Delete an entry; whether there was one."""
        return self._run(calls.delete(kind, names))

    def show(self, kind: str, *names: str) -> dict[str, Any]:
        """One entry."""
        return self._run(calls.show(kind, names))

    def list(
        self, kind: str, *, names: Sequence[str] = (), after: Sequence[str] = (), max: int = 100
    ) -> list[dict[str, Any]]:
        """A page of entries, by name, after a name."""
        return self._run(calls.list_entries(kind, names, after, max))

    def ping(self) -> calls.HubVersion:
        """Is the hub there?"""
        return self._run(calls.ping())

    def status(self) -> dict[str, Any]:
        """How the hub is."""
        return self._run(calls.status())


class Producer:
    """Packs messages into batches and keeps several in flight.

    `send` returns at once while there is room, and waits when too many batches are unacknowledged. Leaving
    the `with` block waits until everything is on disk. An error of the hub is raised by the next call.
    """

    def __init__(self, hub: str, topic: str, producer: str, options: ProducerOptions) -> None:
        self.outbox = Outbox(topic, producer, options)
        self._connection = _Connection(hub)
        self._lock = threading.RLock()
        self._progress_ms = monotonic_ms()
        self._oldest_ms: float | None = None
        self._is_closed = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._linger, name="pregon-producer", daemon=True)
        self._thread.start()

    def __enter__(self) -> Producer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # After an error in the block, what was sent before it is still given a chance, without hiding the error.
        try:
            self.close()
        except PregonError:
            if kind is None:
                raise

    def send(
        self,
        body: bytes | str | Outgoing,
        *,
        id: str | None = None,
        key: str | None = None,
        content_type: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """One more message; waits while too much is in flight. Raises what a batch before it met with."""
        with self._lock:
            if self._is_closed:
                raise HubStopping("the producer is closed: make another")
            if self._oldest_ms is None:
                self._oldest_ms = monotonic_ms()
            if type(body) is bytes and id is None and key is None and content_type is None and headers is None:
                is_sealed = self.outbox.add_body(body, wall_us())
            else:
                is_sealed = self.outbox.add(as_outgoing(body, id, key, content_type, headers), wall_us())
            if is_sealed:
                self._oldest_ms = None
                self._wait_until(lambda: not self.outbox.is_full)

    def flush(self) -> None:
        """Wait until everything sent so far is on disk."""
        with self._lock:
            self.outbox.seal()
            self._oldest_ms = None
            self._wait_until(lambda: self.outbox.is_empty)

    def close(self) -> None:
        """Flush, and give the connection back."""
        if self._is_closed:
            return
        try:
            self.flush()
        finally:
            self._is_closed = True
            self._stopping.set()
            self._thread.join()
            self._connection.close()

    def _wait_until(self, is_met: Callable[[], bool]) -> None:
        self._progress_ms = monotonic_ms()
        self._pump(0)
        while self.outbox.failure is None and not is_met():
            if monotonic_ms() - self._progress_ms > self.outbox.options.timeout_ms:
                raise unreachable(self._connection.address, self.outbox.options.timeout_ms)
            self._pump(_LOOK_MS)
        if self.outbox.failure is not None:
            raise self.outbox.failure

    def _pump(self, wait_ms: float) -> None:
        """Send what is due, take what has come."""
        now_ms = monotonic_ms()
        for frames in self.outbox.due(now_ms, self._connection.next_id):
            self._connection.send(frames)
        pause_ms = self.outbox.retry_in_ms(now_ms)
        answer = self._connection.receive(wait_ms if pause_ms is None else min(wait_ms, pause_ms))
        if answer is None and self._connection.was_reconnected():
            self.outbox.reconnected()
        while answer is not None:
            if self.outbox.answered(answer, monotonic_ms()) is not None:
                self._progress_ms = monotonic_ms()
            answer = self._connection.receive(0)

    def _linger(self) -> None:
        """Send batches that do not fill by themselves, and take acknowledgements while the caller is busy."""
        pause_s = max(self.outbox.options.linger_ms, 1.0) / 1_000
        while not self._stopping.wait(pause_s):
            with self._lock:
                if self._is_closed or self.outbox.failure is not None:
                    continue
                oldest_ms = self._oldest_ms
                if oldest_ms is not None and monotonic_ms() - oldest_ms >= self.outbox.options.linger_ms:
                    self.outbox.seal()
                    self._oldest_ms = None
                if not self.outbox.is_empty:
                    self._pump(0)
