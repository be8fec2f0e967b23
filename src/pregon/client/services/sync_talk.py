"""The blocking loop around a conversation with the broker, for any number of threads.

There is no thread of its own: of the callers that wait, one leads. It alone touches the socket, and takes the others'
answers for them; when it has its own, another leads. So a caller alone goes from its request to its answer without
waking anybody, and a thousand of them share one connection.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable

import zmq

from pregon.client.services.ask import Ask, Waited
from pregon.client.services.broker_socket import Broker
from pregon.client.services.exchange import LOOK_MS, Exchange
from pregon.clock import monotonic_ms
from pregon.errors import HubBusy, HubStopping
from pregon.wire.bell import Bell


class SyncTalk:
    """A connection to the front of a broker."""

    def __init__(self, broker: Broker) -> None:
        self._exchange = Exchange(broker)
        self._bell = Bell()
        self._poller = zmq.Poller()
        self._poller.register(self._bell, zmq.POLLIN)
        self.watch()
        self._lead = threading.Lock()
        """Whoever has it leads: the exchange is its."""
        self._begun: deque[Ask] = deque()
        """Asked by anybody, for who leads to send; `_ended` likewise, to cancel."""
        self._ended: deque[Ask] = deque()
        self._followers: dict[threading.Event, None] = {}
        self._look_at_ms = 0.0
        self._is_closed = False

    def watch(self) -> None:
        """Wait for the socket, too."""
        self._poller.register(self._exchange.link.socket, zmq.POLLIN)

    def unwatch(self) -> None:
        """No longer."""
        self._poller.unregister(self._exchange.link.socket)

    def run(self, ask: Ask) -> Ask:
        """Ask, and wait until it is done."""
        self.start((ask,))
        try:
            self.wait(lambda: ask.is_done, ask)
        except BaseException:  # Whatever ends the waiting, Ctrl-C too, the broker is told that nobody waits.
            self.give_up((ask,))
            raise
        return ask

    def start(self, asks: Iterable[Ask]) -> None:
        """Ask, and do not wait."""
        self._require_open()
        self._begun.extend(asks)
        self._nudge()

    def give_up(self, asks: Iterable[Ask]) -> None:
        """Nobody waits for these any more."""
        self._ended.extend(asks)
        self._nudge()

    def _nudge(self) -> None:
        """Have what is new sent: by ourselves if nobody leads."""
        if self._lead.acquire(blocking=False):
            try:
                self._send_new(monotonic_ms())
            finally:
                self._lead.release()
        else:
            self._bell.ring()

    def wait(self, is_met: Callable[[], bool], waited: Waited) -> None:
        """Wait for something that becomes true by answers."""
        while not is_met():
            if self._lead.acquire(blocking=False):
                try:
                    while not is_met():
                        self._pump()
                finally:
                    self._lead.release()
                    self._pass_on()
                    if self._ended:
                        # Given up by somebody who found us still leading: nobody else may come to tell the broker.
                        self._nudge()
            else:
                self._follow(is_met, waited)

    def _follow(self, is_met: Callable[[], bool], waited: Waited) -> None:
        """Let another lead, until there is an answer or it is our turn; never for long."""
        turn = threading.Event()
        self._followers[turn] = None
        try:
            waited.waiter = turn
            # After that, and not before: what was finished in between would wake nobody.
            if not is_met():
                turn.wait(LOOK_MS / 1_000)
        finally:
            waited.waiter = None
            del self._followers[turn]
            if not self._lead.locked():
                self._pass_on()

    def _pass_on(self) -> None:
        """Wake one of those who wait, to lead."""
        for turn in list(self._followers):
            if not turn.is_set():
                turn.set()
                return

    def _pump(self) -> None:
        """Send what is due and take what has come, waiting a little for it."""
        now_ms = monotonic_ms()
        self._require_open()
        self._send_new(now_ms)
        if now_ms >= self._look_at_ms:
            self._look_at_ms = now_ms + LOOK_MS
            self._exchange.look(now_ms, self)
        elif ready := self._poller.poll(LOOK_MS):
            if len(ready) > 1 or ready[0][0] is not self._exchange.link.socket:
                self._bell.hear()
            self._exchange.take(monotonic_ms())

    def _send_new(self, now_ms: float) -> None:
        """What was asked and given up since; after the end it is only told so."""
        while self._begun:
            ask = self._begun.popleft()
            try:
                self._require_open()
                self._exchange.begin(ask, now_ms)
            except (HubBusy, HubStopping) as error:
                ask.fail(error)
        while self._ended:
            ask = self._ended.popleft()
            if not self._is_closed:
                self._exchange.give_up(ask)

    def _require_open(self) -> None:
        if self._is_closed:
            raise HubStopping("the client is closed: make another")

    def close(self) -> None:
        """Give the connection back; who waits is told so."""
        if self._is_closed:
            return
        self._is_closed = True
        self._bell.ring()
        with self._lead:
            self._send_new(monotonic_ms())
            self._exchange.close(HubStopping("the client was closed"))
            self._bell.close()
