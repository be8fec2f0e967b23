"""Where a worker stands for one of its services: a socket to the broker's back, and what is said over it.

Each service has a post of its own, so that the broker knows how many of its calls there is room for. All the posts of a
worker are looked after by one thread.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import zmq

from pregon.client.services.broker_socket import Broker, BrokerSocket
from pregon.client.services.conversation import refused_key
from pregon.client.services.service import Service
from pregon.client.services.worker_talk import Work, WorkerTalk

_AT_ONCE = 500


class Post:
    """One service at one broker. For one thread."""

    def __init__(
        self, of: Service[..., Any], name: str, broker: Broker, context: zmq.Context[zmq.Socket[bytes]]
    ) -> None:
        self.talk = WorkerTalk([of.type], name, of.manner.slots)
        self._link = BrokerSocket(broker, "worker", context)
        self._unsent: deque[list[bytes]] = deque()
        """What ZeroMQ had no room for: answers, as many as there are slots, and beats."""

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
        if talk.refusal is not None:
            raise talk.refusal
        if talk.wants_new_socket:
            poller.unregister(link.socket)
            link.renew()
            poller.register(link.socket, zmq.POLLIN)
            self._unsent.clear()
        if talk.wants_new_socket or news.is_reconnected:
            talk.reconnected(now_ms)

    def close(self, linger_ms: int) -> None:
        """Give the socket back."""
        self._link.close(linger_ms)
