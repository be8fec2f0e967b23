"""The loop of a member of a group without a hub: a thread that moves bytes between `causal.peer` and `brokerless_mesh`.

Whoever uses the member, from whatever thread, does it under `lock`; what there is to send is left for the loop, which
is woken by its bell. What there is to show waits here until it is taken, and only then counts as seen.

Promises:
- What waits is bounded: with `events_max` things to show, messages that come are lost, and asked for again when there
  is room; who does not look for so long that nobody retains them is told what it missed.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence

from pregon.causal.peer import Peer
from pregon.causal.peer_bytes import JOIN, MESSAGE, REPAIR
from pregon.causal.peer_outputs import Delivered, Inside, Output, Refused, Send, Shown
from pregon.client.groups.brokerless_mesh import Mesh
from pregon.client.groups.brokerless_parcel import as_event
from pregon.client.groups.events import Event, GuardedOrder
from pregon.clock import monotonic_ms
from pregon.errors import HubStopping, InternalError, PregonError
from pregon.wire.bell import Bell

log = logging.getLogger(__name__)

OUTBOX_MAX = 10_000
_END_S = 15.0


class PeerLoop:
    """One member at work."""

    def __init__(self, peer: Peer, mesh: Mesh, pending: Sequence[Shown], events_max: int, tick_ms: float) -> None:
        self.peer = peer
        self.address = mesh.address
        self.lock = threading.RLock()
        self.order = GuardedOrder(peer.history, self.lock)
        self.on_change: Callable[[], None] = lambda: None
        """Called under the lock when there is something to show, or to know."""
        self.is_inside = False
        self.failure: PregonError | None = None
        """Why it is over."""
        self.unheard = 0
        """Own messages that some member has not reported yet, as of the last tick."""
        self._mesh = mesh
        self._bell = Bell()
        self._shown: deque[Shown] = deque(pending)
        self._events_max = events_max
        self._outbox: deque[Send] = deque()
        self._tick_ms = tick_ms
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="pregon-peer", daemon=True)

    def start(self, contacts: Sequence[str], *, founds: bool) -> None:
        """Begin; raises SettingsInvalid, BadRequest."""
        try:
            self._mesh.begin(self.peer.me, contacts, self._bell)
            with self.lock:
                now_ms = monotonic_ms()
                self._do(self.peer.found(now_ms) if founds else self.peer.join(now_ms))
        except PregonError:
            self._mesh.close()
            self._bell.close()
            raise
        self._thread.start()

    @property
    def is_full(self) -> bool:
        """Whether more to send must wait."""
        return len(self._outbox) >= OUTBOX_MAX

    @property
    def pending(self) -> list[Shown]:
        """What waits to be shown."""
        return list(self._shown)

    def take(self) -> Event | None:
        """The next thing to show, from now on seen; None if there is none."""
        with self.lock:
            while self._shown:
                shown = self._shown.popleft()
                event = as_event(shown, self._name_of(shown), self.order)
                self.peer.shown(shown)
                if event is not None:
                    return event
        return None

    def _name_of(self, shown: Shown) -> str:
        view = self.peer.members.get(shown.delivery.message.stamp.member) if isinstance(shown, Delivered) else None
        return view.name if view is not None else ""

    def act(self, outputs: list[Output]) -> None:
        """Have done what the peer wants done; under the lock."""
        self._do(outputs)
        self._bell.ring()

    def fail(self, error: PregonError) -> None:
        """It is over; the first reason counts."""
        with self.lock:
            self.failure = self.failure or error
            self.on_change()

    def close(self) -> None:
        """End the thread and give the sockets back."""
        with self.lock:
            self._is_closed = True
            self.failure = self.failure or HubStopping("this member of the group is closed")
            self.on_change()
        self._bell.ring()
        if self._thread is not threading.current_thread() and self._thread.is_alive():
            self._thread.join(_END_S)

    def _do(self, outputs: list[Output]) -> None:
        for output in outputs:
            if isinstance(output, Send):
                self._outbox.append(output)
            elif isinstance(output, Inside):
                self.is_inside = True
            elif isinstance(output, Refused):
                self.failure = self.failure or output.error
            else:
                self._shown.append(output)
        if any(not isinstance(output, Send) for output in outputs):
            self.on_change()

    def _run(self) -> None:
        try:
            self._go_round()
        except Exception as error:  # A bug must end in the hands of who waits, not in a thread that is no more.
            log.exception("the loop of a member of a group ended")
            self.fail(InternalError(f"the loop of this member ended: {error!r}"))
        finally:
            self._mesh.close()
            self._bell.close()

    def _go_round(self) -> None:
        tick_ms = 0.0
        while True:
            frames = self._mesh.wait(tick_ms - monotonic_ms())
            self._bell.hear()
            now_ms = monotonic_ms()
            with self.lock:
                for frame, source in frames:
                    if not self._is_overloaded(frame):
                        self._do(self.peer.receive(frame, now_ms, source))
                is_due = now_ms >= tick_ms
                if is_due:
                    tick_ms = now_ms + self._tick_ms
                    self._do(self.peer.tick(now_ms))
                    self.unheard = self.peer.unheard_count
                    self.on_change()
                sends, self._outbox = self._outbox, deque()
                # One who asks to join may be at an address that was another's, or its own before it came back.
                is_due |= not self.peer.is_in or any(frame[:1] == bytes((JOIN,)) for frame, _ in frames)
                is_due |= not all(self._mesh.reaches(send.to) for send in sends)
                addresses = self.peer.addresses if is_due else None
                is_closed = self._is_closed
            # Who is new is connected to before anything is said to it.
            if addresses is not None:
                self._mesh.connect(addresses)
            for send in sends:
                self._mesh.send(send.to, send.frame)
            if is_closed:
                return

    def _is_overloaded(self, frame: bytes) -> bool:
        """Whether a message must be lost because nobody looks at those before it."""
        return len(self._shown) >= self._events_max and frame[:1] in (bytes((MESSAGE,)), bytes((REPAIR,)))
