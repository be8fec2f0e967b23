"""The asyncio client: the same conversation as `sync`, driven by an event loop.

One link, any number of calls at once: answers find their calls by the request's number.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

from pregon.client import calls
from pregon.client.aio_producer import AsyncProducer
from pregon.client.calls import Call, Published, Pulled, PullOptions, as_outgoing
from pregon.client.destination import Certificate, find_destination
from pregon.client.follower import Follower
from pregon.client.groups.aio_group import AsyncGroup
from pregon.client.groups.aio_verbs import AsyncGroupVerbs
from pregon.client.link import DEFAULT_TIMEOUT_MS, unreachable
from pregon.client.links import AsyncioLink, open_asyncio_link
from pregon.client.outbox import ProducerOptions
from pregon.client.services.aio_talk import AsyncTalk
from pregon.client.services.aio_verbs import AsyncServiceVerbs
from pregon.client.services.broker_socket import broker_of
from pregon.clock import monotonic_ms
from pregon.errors import HubStopping, PregonError
from pregon.model.administration import AuditPage, AuditQuery
from pregon.model.message import Message, Outgoing
from pregon.model.subscription import Accounting
from pregon.model.trace import Story, TracePage, TraceQuery
from pregon.wire.frames import Answer

T = TypeVar("T")
CALLS_AT_ONCE_MAX = 1_000
"""Calls under way at once; one more waits for a place, so that neither side's queue overflows."""


class AsyncClient(AsyncServiceVerbs, AsyncGroupVerbs):
    """A connection to a hub, to its groups and to the services of its broker, for asyncio. Use it with `async with`."""

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
        self._link: AsyncioLink | None = None
        self._in_flight: dict[int, tuple[Call[Any], asyncio.Future[Answer]]] = {}
        self._resends: set[asyncio.Task[None]] = set()
        self._places = asyncio.Semaphore(CALLS_AT_ONCE_MAX)
        self._curve = curve
        self._certificates: dict[str, Any] = {"ca": ca, "certificate": certificate}
        self._broker: AsyncTalk | None = None
        self._groups: weakref.WeakSet[AsyncGroup] = weakref.WeakSet()
        self._finding = asyncio.Lock()

    async def __aenter__(self) -> AsyncClient:
        self._connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Give the connections back, those of its groups too; calls under way end with HubStopping."""
        await self._close_groups()
        broker, self._broker = self._broker, None
        if broker is not None:
            await broker.close()
        connection, self._link = self._link, None
        if connection is not None:
            for _, future in self._in_flight.values():
                if not future.done():
                    future.set_exception(HubStopping("the client was closed"))
            await connection.close()

    def _connect(self) -> AsyncioLink:
        if self._link is None:
            self._link = open_asyncio_link(self._destination, self._take, self._reconnected)
        return self._link

    def _take(self, answer: Answer) -> None:
        _, future = self._in_flight.get(answer.id, (None, None))
        if future is not None and not future.done():
            future.set_result(answer)

    def _reconnected(self) -> None:
        """Everything in flight goes again."""
        task = asyncio.create_task(self._resend())
        self._resends.add(task)
        task.add_done_callback(self._resends.discard)

    async def _resend(self) -> None:
        for request_id, (call, future) in list(self._in_flight.items()):
            if self._link is not None and not future.done():
                await self._link.send(call.frames(request_id), call.wait_ms)

    async def _run(self, call: Call[T]) -> T:
        """Ask, wait for the answer, and ask again while the hub is busy or was away."""
        deadline_ms = monotonic_ms() + self.timeout_ms + call.wait_ms
        attempt = 0
        while True:
            try:
                async with self._places:
                    return await self._ask(call, deadline_ms)
            except PregonError as error:
                delay_ms = calls.retry_delay_ms(error, attempt)
                if self._link is None or delay_ms is None or monotonic_ms() + delay_ms > deadline_ms:
                    raise
                attempt += 1
                await asyncio.sleep(delay_ms / 1_000)

    async def _ask(self, call: Call[T], deadline_ms: float) -> T:
        connection = self._connect()
        request_id = connection.next_id()
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._in_flight[request_id] = (call, future)
        try:
            while not future.done():
                left_ms = deadline_ms - monotonic_ms()
                if left_ms <= 0:
                    raise unreachable(self.hub, self.timeout_ms)
                await connection.send(call.frames(request_id), call.wait_ms)
                # Sent again now and then, in case the answer was dropped on the way.
                pause_ms = min(left_ms, call.wait_ms + connection.ask_again_ms)
                await asyncio.wait([future], timeout=pause_ms / 1_000)
            return call.finish(future.result())
        finally:
            del self._in_flight[request_id]
            if not future.done():
                connection.forget(request_id)

    async def _talk(self) -> AsyncTalk:
        """The connection to the hub's broker, which the hub is asked for once."""
        if self._broker is None:
            async with self._finding:
                if self._broker is None:
                    self._broker = AsyncTalk(broker_of(await self.show("broker"), "front", self._curve, self.hub))
        return self._broker

    def _sibling(self, hub: str = "") -> AsyncClient:
        manner: dict[str, Any] = {"producer": self.default_producer, "timeout_ms": self.timeout_ms}
        key, curve = self._destination.key, self._curve
        return AsyncClient(hub or self.hub, key=key, curve=curve, **manner, **self._certificates)

    # Messages.

    async def publish(
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
        return await self._run(calls.publish(topic, self.default_producer, message))

    def producer(self, topic: str, options: ProducerOptions | None = None) -> AsyncProducer:
        """A producer that packs messages into batches, over a connection of its own."""
        return AsyncProducer(self._destination, topic, self.default_producer, options or ProducerOptions())

    async def pull(
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
        return await self._run(calls.pull(topic, subscriber, ack, epoch, PullOptions(max=max, wait_ms=wait_ms)))

    async def follow(
        self, topic: str, subscriber: str, *, max: int = 500, wait_ms: int = 5_000, until_empty: bool = False
    ) -> AsyncGenerator[Message, None]:
        """Every message, as it comes. Each is acknowledged after the next is asked for; `until_empty` ends."""
        follower = Follower(topic, subscriber, PullOptions(max=max, wait_ms=0 if until_empty else wait_ms))
        async with aclosing(self._follow(follower, until_empty)) as answers:
            async for pulled in answers:
                for message in pulled:
                    yield message
                    follower.dealt_with(message.seq)

    async def follow_batches(
        self, topic: str, subscriber: str, *, max: int = 500, wait_ms: int = 5_000, until_empty: bool = False
    ) -> AsyncGenerator[Pulled, None]:
        """The same, an answer of up to `max` messages at a time, acknowledged as a whole."""
        follower = Follower(topic, subscriber, PullOptions(max=max, wait_ms=0 if until_empty else wait_ms))
        async with aclosing(self._follow(follower, until_empty)) as answers:
            async for pulled in answers:
                yield pulled
                if pulled.last_seq is not None:
                    follower.dealt_with(pulled.last_seq)

    async def _follow(self, follower: Follower, until_empty: bool) -> AsyncGenerator[Pulled, None]:
        """Answers one after another, the next asked for ahead; at the end, what was dealt with is acknowledged."""
        ahead: asyncio.Task[Pulled] | None = None
        try:
            while True:
                pulled = await (ahead or self._run(follower.next_pull()))
                ahead = None
                follower.pulled(pulled)
                if until_empty and not pulled.batches:
                    return
                call = follower.pull_ahead(pulled)
                if call is not None:
                    ahead = asyncio.create_task(self._run(call))
                yield pulled
        finally:
            if ahead is not None:
                ahead.cancel()
                await asyncio.gather(ahead, return_exceptions=True)
            last = follower.last_ack()
            if last is not None and self._link is not None:
                await self._run(last)

    async def read(self, topic: str, first_seq: int, last_seq: int | None = None, *, max: int = 500) -> Pulled:
        """Messages by number, whoever subscribed."""
        return await self._run(calls.read(topic, first_seq, last_seq, PullOptions(max=max)))

    async def ack(self, topic: str, subscriber: str, seq: int, epoch: int | None = None) -> int:
        """Acknowledge everything up to a number; returns the cursor when it is on disk."""
        return await self._run(calls.ack(topic, subscriber, seq, epoch))

    # Exceptions, replays, what is known.

    async def park(self, topic: str, subscriber: str, seqs: Sequence[int], reason: str = "") -> int:
        """Set pending messages aside, so that the ones after them go on; returns how many."""
        return await self._run(calls.park(topic, subscriber, seqs, reason))

    async def unpark(self, topic: str, subscriber: str, seqs: Sequence[int] = ()) -> int:
        """Deliver parked messages again, all of them if no numbers are given; returns how many."""
        return await self._run(calls.unpark(topic, subscriber, seqs))

    async def cancel(self, topic: str, subscriber: str, seqs: Sequence[int], reason: str = "") -> int:
        """Give pending or parked messages up, so that they are never delivered; returns how many."""
        return await self._run(calls.cancel(topic, subscriber, seqs, reason))

    async def parked(self, topic: str, subscriber: str, after_seq: int = 0) -> list[dict[str, Any]]:
        """What is set aside, by number."""
        return await self._run(calls.parked(topic, subscriber, after_seq))

    async def replay(
        self, topic: str, subscriber: str, *, from_seq: int | None = None, from_us: int | None = None
    ) -> int:
        """Move a cursor back to a number or a time; returns the cursor."""
        return await self._run(calls.replay(topic, subscriber, from_seq, from_us))

    async def account(self, topic: str, subscriber: str) -> Accounting:
        """Where every message of a subscription is."""
        return await self._run(calls.account(topic, subscriber))

    async def traces(self, query: TraceQuery) -> TracePage:
        """A page of the traces that match, newest first; `next` of it is `before` of the next one, 0 at the end."""
        return await self._run(calls.traces(query))

    async def audit(self, query: AuditQuery) -> AuditPage:
        """A page of who changed what, newest first; `next` of it is `before` of the next one, 0 at the end."""
        return await self._run(calls.audit(query))

    async def story(self, topic: str, seq: int) -> Story:
        """All that is known of one message: what it is, what happened to it, where it stands for each subscription."""
        return await self._run(calls.story(topic, seq))

    # The catalogue and the hub itself.

    async def create(self, kind: str, /, **entry: Any) -> dict[str, Any]:
        """Register a topic, producer, subscriber or subscription; make a key; give a topic a schema."""
        return await self._run(calls.create(kind, entry))

    async def update(self, kind: str, /, *names: str, **values: Any) -> dict[str, Any]:
        """Change some fields of an entry."""
        return await self._run(calls.update(kind, names, values))

    async def delete(self, kind: str, *names: str) -> bool:
        """Delete an entry; whether there was one."""
        return await self._run(calls.delete(kind, names))

    async def show(self, kind: str, *names: str) -> dict[str, Any]:
        """One entry."""
        return await self._run(calls.show(kind, names))

    async def list(
        self, kind: str, *, names: Sequence[str] = (), after: Sequence[str] = (), max: int = 100
    ) -> list[dict[str, Any]]:
        """A page of entries, by name, after a name."""
        return await self._run(calls.list_entries(kind, names, after, max))

    async def rehearse(self, subscriber: str, *, wait_ms: int = 10_000, **trial: str) -> dict[str, Any]:
        """Send a test to a subscriber's web service; what was sent and answered, and what a push had made of it."""
        return await self._run(calls.rehearse(subscriber, trial, wait_ms))

    async def ping(self) -> calls.HubVersion:
        """Is the hub there?"""
        return await self._run(calls.ping())

    async def status(self) -> dict[str, Any]:
        """How the hub is."""
        return await self._run(calls.status())
