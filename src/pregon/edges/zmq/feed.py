"""The live feed: an XPUB socket on which every accepted message appears after its commit.

    [topic, header, body]     header: JSON, without the body

Any plain SUB socket in any language may subscribe by topic prefix. The feed shows what happens now and
keeps nothing: a subscriber that is slow or away misses messages, and sees it by the gap in `seq`; what must
not be missed is pulled. Batches are only taken apart while somebody is subscribed to their topic. A SUB socket
presents no key, so a hub that has an administrator shows nothing here.
"""

from __future__ import annotations

import logging
import queue
from collections.abc import Sequence

import msgspec
import zmq

from pregon import limits
from pregon.edges.zmq.door import Door
from pregon.edges.zmq.sockets import receive_waiting
from pregon.hub.gate import Gate
from pregon.model.group import TOPIC_PREFIX
from pregon.security.callers import ANYBODY
from pregon.security.keys import READ
from pregon.store.transaction import Accepted

log = logging.getLogger("pregon.edges")

_SUBSCRIPTIONS_AT_ONCE = 1_000
_PREFIXES_MAX = 200


class Feed(Door):
    """Shows what was accepted."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], address: str, gate: Gate) -> None:
        super().__init__("feed", context, zmq.XPUB, address)
        self._gate = gate
        self._counters = gate.hub.counters
        self._batches: queue.Queue[Accepted] = queue.Queue(limits.FEED_QUEUE_BATCHES_MAX)
        self._subscribed: set[bytes] = set()
        self._prefixes: tuple[bytes, ...] = ()

    def accepted(self, batches: Sequence[Accepted]) -> None:
        """Called by the committer: queue what somebody is subscribed to, and never wait."""
        if not self._prefixes or not self._gate.rules.may(ANYBODY, READ):
            return
        for one in batches:
            # What is said in groups is for their members.
            if not one.topic.startswith(TOPIC_PREFIX) and one.topic.encode().startswith(self._prefixes):
                try:
                    self._batches.put_nowait(one)
                except queue.Full:
                    self._counters.feed_batches_dropped += 1
        self._bell.ring()

    def _serve(self, poller: zmq.Poller) -> None:
        while not self._is_stopping:
            poller.poll()
            self._bell.hear()
            self._take_subscriptions()
            while not self._batches.empty() and not self._is_stopping:
                try:
                    self._show(self._batches.get_nowait())
                except Exception:  # The top of the thread's loop: one batch that cannot be shown must not end it.
                    log.exception("a batch could not be shown")
                self._take_subscriptions()
        self._socket.close(linger=0)

    def _take_subscriptions(self) -> None:
        """XPUB says which prefixes somebody is subscribed to: 1 and the prefix, or 0 and the prefix."""
        prefixes = self._subscribed
        for frames in receive_waiting(self._socket, _SUBSCRIPTIONS_AT_ONCE):
            if frames[0][:1] == b"\x01":
                prefixes.add(frames[0][1:])
            elif frames[0][:1] == b"\x00":
                prefixes.discard(frames[0][1:])
        self._subscribed = prefixes
        # With very many, everything is taken apart and ZeroMQ alone chooses: the committer must not look long.
        self._prefixes = tuple(prefixes) if len(prefixes) <= _PREFIXES_MAX else (b"",)

    def _show(self, accepted: Accepted) -> None:
        topic = accepted.topic.encode()
        for message in accepted.batch.messages(accepted.topic):
            header = msgspec.json.encode(message.describe())
            self._socket.send_multipart([topic, header, message.body])
            self._counters.feed_messages += 1
