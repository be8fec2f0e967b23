"""The blocking producer: a thin loop around `outbox`, with a thread that sends what does not fill by itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping

from pregon.client.calls import as_outgoing
from pregon.client.destination import Destination
from pregon.client.link import unreachable
from pregon.client.links import LOOK_MS, open_link
from pregon.client.outbox import Outbox, ProducerOptions
from pregon.clock import monotonic_ms, wall_ns
from pregon.errors import HubStopping, PregonError
from pregon.model.message import Outgoing


class Producer:
    """Packs messages into batches and keeps several in flight.

    `send` returns at once while there is room, and waits when too many batches are unacknowledged. Leaving
    the `with` block waits until everything is on disk. An error of the hub is raised by the next call.
    """

    def __init__(self, destination: Destination, topic: str, producer: str, options: ProducerOptions) -> None:
        self.outbox = Outbox(topic, producer, options)
        self._link = open_link(destination, is_ordered=True)
        self._lock = threading.RLock()
        self._progress_ms = monotonic_ms()
        self._ask_again_ms = self._link.ask_again_ms
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
            if self._is_closed or self.outbox.failure is not None:
                self._require_open()
            if type(body) is bytes and id is None and key is None and content_type is None and headers is None:
                is_sealed = self.outbox.add_body(body, wall_ns() // 1_000)
            else:
                is_sealed = self.outbox.add(as_outgoing(body, id, key, content_type, headers), wall_ns() // 1_000)
            if is_sealed:
                self._wait_until(lambda: not self.outbox.is_full)

    def send_many(self, bodies: Iterable[bytes]) -> None:
        """Many messages that are only bodies, at a fraction of the price of as many `send`s."""
        rest = bodies if isinstance(bodies, list) else list(bodies)
        with self._lock:
            self._require_open()
            start = 0
            while start < len(rest):
                step = rest[start : start + self.outbox.options.batch_messages]
                start += self.outbox.add_bodies(step, wall_ns() // 1_000)
                if not self.outbox.has_unsealed:
                    self._wait_until(lambda: not self.outbox.is_full)

    def _require_open(self) -> None:
        if self._is_closed:
            raise HubStopping("the producer is closed: make another")
        if self.outbox.failure is not None:
            raise self.outbox.failure

    def flush(self) -> None:
        """Wait until everything sent so far is on disk."""
        with self._lock:
            self.outbox.seal()
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
            self._link.close()

    def _wait_until(self, is_met: Callable[[], bool]) -> None:
        self._progress_ms = monotonic_ms()
        self._pump(0)
        while self.outbox.failure is None and not is_met():
            if monotonic_ms() - self._progress_ms > self.outbox.options.timeout_ms:
                raise self.outbox.refusal or unreachable(self._link.address, self.outbox.options.timeout_ms)
            self._pump(LOOK_MS)
        if self.outbox.failure is not None:
            raise self.outbox.failure

    def _pump(self, wait_ms: float) -> None:
        """Send what is due, take what has come."""
        now_ms = monotonic_ms()
        for frames in self.outbox.due(now_ms, self._link.next_id):
            self._link.send(frames)
        pause_ms = self.outbox.retry_in_ms(now_ms)
        answer = self._link.receive(wait_ms if pause_ms is None else min(wait_ms, pause_ms))
        if answer is None and (self._link.was_reconnected() or now_ms - self._progress_ms > self._ask_again_ms):
            self._ask_again_ms += self._link.ask_again_ms
            self.outbox.reconnected()
        while answer is not None:
            if self.outbox.answered(answer, monotonic_ms()) is not None:
                self._progress_ms = monotonic_ms()
                self._ask_again_ms = self._link.ask_again_ms
            answer = self._link.receive(0)

    def _linger(self) -> None:
        """Send batches that do not fill by themselves, and take acknowledgements while the caller is busy."""
        pause_s = max(self.outbox.options.linger_ms, 1.0) / 2_000
        while not self._stopping.wait(pause_s):
            with self._lock:
                if self._is_closed or self.outbox.failure is not None:
                    continue
                self.outbox.linger(monotonic_ms())
                if not self.outbox.is_empty:
                    self._pump(0)
