"""Where a worker stands for one of its services: a socket to the broker's back, and what is said over it.

Each service has a post of its own, so that the broker knows how many of its calls there is room for. All the posts of a
worker are looked after by one thread.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import zmq

from pregon.client.services.broker_socket import Broker, BrokerSocket, garbled, refused_key
from pregon.client.services.service import Service, log
from pregon.client.services.worker_talk import Work, WorkerTalk

_AT_ONCE = 500
_WARN_AFTER_MS = 5_000.0


class Post:
    """One service at one broker. For one thread."""

    def __init__(
        self, of: Service[..., Any], name: str, broker: Broker, context: zmq.Context[zmq.Socket[bytes]]
    ) -> None:
        self.talk = WorkerTalk([of.type], name, of.manner.slots)
        self._link = BrokerSocket(broker, "worker", context)
        self._unsent: deque[list[bytes]] = deque()
        """What ZeroMQ had no room for: answers, as many as there are slots, and beats."""
        self._began_ms = 0.0
        self._is_warned = False

    @property
    def socket(self) -> Any:
        """What the poller watches."""
        return self._link.socket

    def take(self, now_ms: float) -> list[Work]:
        """What has come: the work in it."""
        take = self.talk.take
        works = [take(frames, now_ms) for frames in self._link.receive_waiting(_AT_ONCE)]
        return [work for work in works if work is not None]

    def send(self) -> None:
        """What is to be said."""
        link, unsent = self._link, self._unsent
        if not unsent:
            outgoing = self.talk.outgoing
            for index, frames in enumerate(outgoing):
                if not link.send(frames):
                    unsent.extend(outgoing[index:])
                    break
            outgoing.clear()
            return
        unsent.extend(self.talk.outgoing)
        self.talk.outgoing.clear()
        while unsent and link.send(unsent[0]):
            unsent.popleft()

    def tick(self, now_ms: float, poller: zmq.Poller) -> None:
        """Time has passed; raises why the broker will never take us."""
        talk, link = self.talk, self._link
        talk.tick(now_ms)
        news = link.news()
        if news.is_refused:
            raise refused_key(link.broker.address)
        self._warn(now_ms, news.is_garbled)
        if talk.refusal is not None:
            raise talk.refusal
        if talk.wants_new_socket:
            poller.unregister(link.socket)
            link.renew()
            poller.register(link.socket, zmq.POLLIN)
            self._unsent.clear()
        if talk.wants_new_socket or news.is_reconnected:
            talk.reconnected(now_ms)

    def _warn(self, now_ms: float, is_garbled: bool) -> None:
        """Say once why nothing happens."""
        self._began_ms = self._began_ms or now_ms
        if self._is_warned or self.talk.is_welcome:
            return
        if is_garbled:
            self._is_warned = True
            log.warning("%s", garbled(self._link.broker.address))
        elif now_ms - self._began_ms > _WARN_AFTER_MS:
            self._is_warned = True
            log.warning("no broker answers at %s yet: is it running there?", self._link.broker.address)

    def close(self, linger_ms: int) -> None:
        """Give the socket back."""
        self._link.close(linger_ms)
