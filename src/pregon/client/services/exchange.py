"""A conversation over its socket: what both loops around it, blocking and with asyncio, do alike. It never waits."""

from __future__ import annotations

from collections import deque
from typing import Protocol

from pregon.client.services.ask import Ask
from pregon.client.services.broker_socket import Broker, BrokerSocket, garbled, refused_key
from pregon.client.services.conversation import Conversation
from pregon.errors import PregonError

LOOK_MS = 50
"""How often a loop looks at the time and at the connection while something is under way."""
_LAST_WORDS_MS = 100
AT_ONCE = 500
"""Messages that are taken before anything else gets its turn."""


class Watcher(Protocol):
    """The loop, which waits for the socket."""

    def watch(self) -> None:
        """There is a socket to wait for."""
        ...

    def unwatch(self) -> None:
        """It is about to be closed."""
        ...


class Exchange:
    """Sends what the conversation says, over one socket after another. For one thread at a time."""

    def __init__(self, broker: Broker) -> None:
        self.link = BrokerSocket(broker, "client")
        self._conversation = Conversation(broker.address)
        self._unsent: deque[list[bytes]] = deque()
        """What ZeroMQ had no room for; as bounded as what is under way."""
        self._doubt: PregonError | None = None

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to look after."""
        return not len(self._conversation) and not self._unsent

    def begin(self, ask: Ask, now_ms: float) -> None:
        """Send a new one; raises HubBusy when too many are under way."""
        self._send(self._conversation.begin(ask, now_ms))

    def give_up(self, ask: Ask) -> None:
        """Nobody waits for it any more."""
        frames = self._conversation.give_up(ask)
        if frames is not None:
            self._send(frames)

    def _send(self, frames: list[bytes]) -> None:
        if self._unsent or not self.link.send(frames):
            self._unsent.append(frames)

    def take(self, now_ms: float) -> bool:
        """Take what has come; whether there may be more."""
        count = 0
        took = self._conversation.took
        for frames in self.link.receive_waiting(AT_ONCE):
            took(frames, now_ms)
            count += 1
        return count == AT_ONCE

    def look(self, now_ms: float, watcher: Watcher) -> None:
        """Time has passed: send again what must be, over a new socket if need be."""
        conversation, link = self._conversation, self.link
        # What has come counts before silence does.
        self.take(now_ms)
        news = link.news()
        if news.is_refused:
            conversation.end(refused_key(link.broker.address))
        if news.is_garbled:
            self._doubt = garbled(link.broker.address)
        elif link.is_connected:
            self._doubt = None
        again = conversation.look(now_ms, is_connected=link.is_connected, doubt=self._doubt)
        if conversation.wants_new_socket:
            watcher.unwatch()
            link.renew()
            watcher.watch()
        if conversation.wants_new_socket or news.is_reconnected:
            self._unsent.clear()
            again = conversation.reconnected(now_ms)
        while self._unsent and link.send(self._unsent[0]):
            self._unsent.popleft()
        for frames in again:
            self._send(frames)

    def close(self, error: PregonError) -> None:
        """Give the socket back; who waits is told why."""
        for frames in self._conversation.end(error):
            self.link.send(frames)
        self.link.close(linger_ms=_LAST_WORDS_MS)
