"""The blocking client: a thin loop around what `calls` and `follower` decide.

A client has one link to its hub and may be used from several threads, one call at a time; a call that waits (a
long poll) holds the others up, so give a thread that follows a topic a client of its own. `close` waits for none:
calls under way end with HubStopping.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from typing import Any, Generic, TypeVar

from pregon.client import calls
from pregon.client.calls import Call, Published, Pulled, PullOptions, as_outgoing
from pregon.client.destination import Certificate, find_destination
from pregon.client.follower import Follower
from pregon.client.groups.group import Group
from pregon.client.groups.verbs import GroupVerbs
from pregon.client.link import DEFAULT_TIMEOUT_MS, unreachable
from pregon.client.links import LOOK_MS, open_link
from pregon.client.outbox import ProducerOptions
from pregon.client.producer import Producer
from pregon.client.services.broker_socket import broker_of
from pregon.client.services.sync_talk import SyncTalk
from pregon.client.services.verbs import ServiceVerbs
from pregon.clock import monotonic_ms
from pregon.errors import HubStopping, PregonError
from pregon.model.administration import AuditPage, AuditQuery
from pregon.model.message import Message, Outgoing
from pregon.model.subscription import Accounting
from pregon.model.trace import Story, TracePage, TraceQuery
from pregon.wire.frames import Answer

T = TypeVar("T")


class _Asked(Generic[T]):
    """A question on its way."""

    __slots__ = ("answer", "call", "request_id")

    def __init__(self, call: Call[T], request_id: int) -> None:
        self.call = call
        self.request_id = request_id
        self.answer: Answer | None = None


class Client(ServiceVerbs, GroupVerbs):
    """A connection to a hub, to its groups and to the services of its broker. Use it with `with`, or `close` it."""

    def __init__(
        self,
        hub: str | None = None,
        *,
        producer: str = "local",
        timeout_ms: float = DEFAULT_TIMEOUT_MS,
        key: str | None = None,
        ca: str | None = None,
        certificate: Certificate | None = None,
        curve: str | None = None,
    ) -> None:
        self._destination = find_destination(hub, key, ca, certificate)
        self.hub = self._destination.hub
        self.default_producer = producer
        self.timeout_ms = timeout_ms
        self._link = open_link(self._destination)
        self._asked: dict[int, _Asked[Any]] = {}
        self._lock = threading.RLock()
        self._curve = curve
        self._certificates: dict[str, Any] = {"ca": ca, "certificate": certificate}
        self._broker: SyncTalk | None = None
        self._groups: weakref.WeakSet[Group] = weakref.WeakSet()
        self._is_closed = False

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the connections back, those of its groups too; calls under way elsewhere end with HubStopping."""
        # Said before the lock is taken: who holds it in a long poll looks at this, and lets go.
        self._is_closed = True
        self._close_groups()
        if self._broker is not None:
            self._broker.close()
        with self._lock:
            self._link.close()

    def _require_open(self) -> None:
        if self._is_closed:
            raise HubStopping("the client is closed: make another")

    def _run(self, call: Call[T]) -> T:
        """Ask, wait for the answer, and ask again while the hub is busy or was away."""
        with self._lock:
            return self._finish(self._begin(call))

    def _begin(self, call: Call[T]) -> _Asked[T]:
        """Ask, and do not wait."""
        with self._lock:
            self._require_open()
            asked = _Asked(call, self._link.next_id())
            self._link.send(call.frames(asked.request_id), call.wait_ms)
            self._asked[asked.request_id] = asked
            return asked

    def _finish(self, asked: _Asked[T]) -> T:
        """Wait for the answer; ask again while the hub is busy."""
        with self._lock:
            deadline_ms = monotonic_ms() + self.timeout_ms + asked.call.wait_ms
            attempt = 0
            while True:
                try:
                    return asked.call.finish(self._wait(asked, deadline_ms))
                except PregonError as error:
                    delay_ms = calls.retry_delay_ms(error, attempt)
                    if self._is_closed or delay_ms is None or monotonic_ms() + delay_ms > deadline_ms:
                        raise
                attempt += 1
                time.sleep(delay_ms / 1_000)
                asked = self._begin(asked.call)

    def _wait(self, asked: _Asked[Any], deadline_ms: float) -> Answer:
        """The answer to one question; answers to others that were asked ahead are kept for them."""
        pause_ms = asked.call.wait_ms + self._link.ask_again_ms
        ask_again_ms = monotonic_ms() + pause_ms
        try:
            while asked.answer is None:
                self._require_open()
                now_ms = monotonic_ms()
                answer = self._link.receive(max(0.0, min(deadline_ms - now_ms, LOOK_MS)))
                if answer is not None:
                    if answer.id in self._asked:
                        self._asked[answer.id].answer = answer
                    continue
                if now_ms >= deadline_ms:
                    raise unreachable(self.hub, self.timeout_ms)
                if self._link.was_reconnected() or now_ms >= ask_again_ms:
                    ask_again_ms = now_ms + pause_ms
                    for other in self._asked.values():
                        if other.answer is None:
                            self._link.send(other.call.frames(other.request_id), other.call.wait_ms)
            return asked.answer
        finally:
            self._forget(asked)

    def _forget(self, asked: _Asked[Any]) -> None:
        """Its answer, if it still comes, is nobody's."""
        self._asked.pop(asked.request_id, None)
        if asked.answer is None:
            self._link.forget(asked.request_id)

    def _talk(self) -> SyncTalk:
        """The connection to the hub's broker, which the hub is asked for once."""
        if self._broker is None:
            with self._lock:
                if self._broker is None:
                    self._broker = SyncTalk(broker_of(self.show("broker"), "front", self._curve, self.hub))
        return self._broker

    def _sibling(self, hub: str = "") -> Client:
        manner: dict[str, Any] = {
            "producer": self.default_producer,
            "timeout_ms": self.timeout_ms,
            "curve": self._curve,
        }
        return Client(hub or self.hub, key=self._destination.key, **manner, **self._certificates)

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
        return Producer(self._destination, topic, self.default_producer, options or ProducerOptions())

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
    ) -> Generator[Message, None, None]:
        """Every message, as it comes. Each is acknowledged after the next is asked for; `until_empty` ends."""
        follower = Follower(topic, subscriber, PullOptions(max=max, wait_ms=0 if until_empty else wait_ms))
        with closing(self._follow(follower, until_empty)) as answers:
            for pulled in answers:
                for message in pulled:
                    yield message
                    follower.dealt_with(message.seq)

    def follow_batches(
        self, topic: str, subscriber: str, *, max: int = 500, wait_ms: int = 5_000, until_empty: bool = False
    ) -> Generator[Pulled, None, None]:
        """The same, an answer of up to `max` messages at a time, acknowledged as a whole."""
        follower = Follower(topic, subscriber, PullOptions(max=max, wait_ms=0 if until_empty else wait_ms))
        with closing(self._follow(follower, until_empty)) as answers:
            for pulled in answers:
                yield pulled
                if pulled.last_seq is not None:
                    follower.dealt_with(pulled.last_seq)

    def _follow(self, follower: Follower, until_empty: bool) -> Generator[Pulled, None, None]:
        """Answers one after another, the next asked for ahead; at the end, what was dealt with is acknowledged."""
        ahead: _Asked[Pulled] | None = None
        try:
            while True:
                pulled = self._finish(ahead or self._begin(follower.next_pull()))
                follower.pulled(pulled)
                if until_empty and not pulled.batches:
                    return
                call = follower.pull_ahead(pulled)
                ahead = None if call is None else self._begin(call)
                yield pulled
        finally:
            if ahead is not None:
                self._forget(ahead)
            last = follower.last_ack()
            if last is not None and not self._is_closed:
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

    def cancel(self, topic: str, subscriber: str, seqs: Sequence[int], reason: str = "") -> int:
        """Give pending or parked messages up, so that they are never delivered; returns how many."""
        return self._run(calls.cancel(topic, subscriber, seqs, reason))

    def parked(self, topic: str, subscriber: str, after_seq: int = 0) -> list[dict[str, Any]]:
        """What is set aside, by number."""
        return self._run(calls.parked(topic, subscriber, after_seq))

    def replay(self, topic: str, subscriber: str, *, from_seq: int | None = None, from_us: int | None = None) -> int:
        """Move a cursor back to a number or a time; returns the cursor."""
        return self._run(calls.replay(topic, subscriber, from_seq, from_us))

    def account(self, topic: str, subscriber: str) -> Accounting:
        """Where every message of a subscription is."""
        return self._run(calls.account(topic, subscriber))

    def traces(self, query: TraceQuery) -> TracePage:
        """A page of the traces that match, newest first; `next` of it is `before` of the next one, 0 at the end."""
        return self._run(calls.traces(query))

    def audit(self, query: AuditQuery) -> AuditPage:
        """A page of who changed what, newest first; `next` of it is `before` of the next one, 0 at the end."""
        return self._run(calls.audit(query))

    def story(self, topic: str, seq: int) -> Story:
        """All that is known of one message: what it is, what happened to it, where it stands for each subscription."""
        return self._run(calls.story(topic, seq))

    # The catalogue and the hub itself.

    def create(self, kind: str, /, **entry: Any) -> dict[str, Any]:
        """Register a topic, producer, subscriber or subscription; make a key; give a topic a schema."""
        return self._run(calls.create(kind, entry))

    def update(self, kind: str, /, *names: str, **values: Any) -> dict[str, Any]:
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

    def rehearse(self, subscriber: str, *, wait_ms: int = 10_000, **trial: str) -> dict[str, Any]:
        """Send a test to a subscriber's web service; what was sent and answered, and what a push had made of it."""
        return self._run(calls.rehearse(subscriber, trial, wait_ms))

    def ping(self) -> calls.HubVersion:
        """Is the hub there?"""
        return self._run(calls.ping())

    def status(self) -> dict[str, Any]:
        """How the hub is."""
        return self._run(calls.status())
