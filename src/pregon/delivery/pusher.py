"""The pusher: a thread with an event loop in which every subscription that is pushed has its line.

It follows what the hub writes: a publication wakes the lines of its topic, a change of a subscription touches its
line, a change of the catalogue has the lines renewed. Lines that have nothing to do cost nothing but their memory.

Promises:
- Lines never wait for each other, but for the endpoint that they share.
- `stop` lets what is on its way come back for a moment, writes that down, and returns in less than two seconds.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

import uvloop
from sqlalchemy import Connection

from pregon import limits
from pregon.clock import monotonic_ms, wall_us
from pregon.delivery.attempt import Poster
from pregon.delivery.desk import PushDesk, Tries
from pregon.delivery.figures import Figures
from pregon.delivery.line import Line
from pregon.delivery.notices import Notifier
from pregon.delivery.party import Party
from pregon.delivery.reading import RecentMessages
from pregon.delivery.rehearsal import Rehearsal, Trial
from pregon.delivery.rehearsals import Stage, TakesNote
from pregon.errors import HubStopping, PregonError
from pregon.hub.bridge import Bridge
from pregon.hub.hub import Hub
from pregon.model.batch import StoredBatch
from pregon.store.pushing import PushedSubscriber, PushedSubscription, list_pushed, list_pushed_subscribers
from pregon.store.secrets import KeptSecret, list_secrets
from pregon.store.ticket import Ticket
from pregon.store.transaction import Accepted, Transaction

if TYPE_CHECKING:
    from pregon.delivery.telemetry import Telemetry

log = logging.getLogger("pregon.delivery")
_STOP_S = 1.0
_SETTLE_S = 0.3
_RENEW_AGAIN_S = 1.0
_FRESH_BYTES_MAX = 64 * limits.KIB
"""What is kept of a topic's newest batches between two looks at the news."""
_Names = tuple[str, str]
_Book = tuple[list[PushedSubscriber], list[PushedSubscription], list[KeptSecret]]


def _read_book(connection: Connection) -> _Book:
    return list_pushed_subscribers(connection), list_pushed(connection), list_secrets(connection)


class Pusher:
    """Pushes."""

    def __init__(
        self,
        hub: Hub,
        figures: Figures,
        notifier: Notifier,
        *,
        telemetry: Telemetry | None = None,
        may_redirect: bool = False,
    ) -> None:
        self._hub = hub
        self._figures = figures
        self._notifier = notifier
        self._telemetry = telemetry
        self._may_redirect = may_redirect
        self._bridge = Bridge(hub.committer)
        self._desk: PushDesk | None = None
        self._stage: Stage | None = None
        self._parties: dict[str, Party] = {}
        self._lines: dict[_Names, Line] = {}
        self._by_topic: dict[str, list[Line]] = {}
        self._news_lock = threading.Lock()
        self._moved: dict[str, list[StoredBatch] | None] = {}
        """Topics in which something may be pending, each with all that was published, or None if it is to be read."""
        self._touched: set[_Names] = set()
        self._resumed: set[_Names] = set()
        self._is_renewal_wanted = True
        self._is_renewing = False
        self._is_told = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news: asyncio.Event | None = None
        self._ready = threading.Event()
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="pregon-push", daemon=True)

    def start(self) -> None:
        """Begin to push, with what came while nobody did."""
        self._hub.follow(self)
        self._thread.start()
        self._ready.wait()

    def stop(self) -> None:
        """Push no more."""
        self._is_stopping = True
        self._tell()
        if self._thread.is_alive():
            self._thread.join()

    def rehearse(self, subscriber: str, trial: Trial, note: TakesNote) -> Ticket[Rehearsal]:
        """Send a subscriber's web service a test that was checked; nothing but the answer to this comes of it."""
        loop, stage, ticket = self._loop, self._stage, Ticket[Rehearsal]()
        try:
            if loop is None or stage is None or self._is_stopping:
                raise RuntimeError("no loop")
            loop.call_soon_threadsafe(stage.begin, subscriber, trial, note, ticket)
        except RuntimeError as error:
            raise HubStopping("nothing is pushed now: the hub is starting or stopping") from error
        return ticket

    def committed(self, transaction: Transaction) -> None:
        """Called in the committer's thread after each transaction."""
        with self._news_lock:
            self._is_renewal_wanted |= transaction.is_catalogue_changed
            by_topic, lines = self._by_topic, self._lines
            # While lines are renewed nobody knows which there will be: everything is noted.
            notes_all = self._is_renewal_wanted or self._is_renewing
            accepted = [one for one in transaction.accepted if notes_all or one.topic in by_topic]
            moved = [topic for topic in transaction.moved if notes_all or topic in by_topic]
            touched = [names for names in transaction.touched if notes_all or names in lines]
            if not accepted and not moved and not touched and not self._is_renewal_wanted:
                return
            for one in accepted:
                self._note_accepted(one)
            self._moved.update(dict.fromkeys(moved))
            self._touched.update(touched)
            self._resumed.update(transaction.resumed)
        self._tell()

    def _note_accepted(self, accepted: Accepted) -> None:
        """Keep what was published for who stands right before it, as long as it is little."""
        gathered = self._moved.setdefault(accepted.topic, [])
        if gathered is None:
            return
        gathered.append(accepted.batch)
        if (
            sum(batch.count for batch in gathered) > limits.PUSH_READ_MESSAGES_MAX
            or sum(len(batch.arrow) for batch in gathered) > _FRESH_BYTES_MAX
        ):
            self._moved[accepted.topic] = None

    def _tell(self) -> None:
        """Wake the loop, once for whatever has gathered."""
        if self._is_told and not self._is_stopping:
            return
        self._is_told = True
        loop, news = self._loop, self._news
        if loop is not None and news is not None:
            try:
                loop.call_soon_threadsafe(news.set)
            except RuntimeError:
                # The loop has ended.
                return

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._news = asyncio.get_running_loop(), asyncio.Event()
        self._bridge.attach()
        poster = Poster(self._hub.guard, may_redirect=self._may_redirect)
        await poster.start()
        self._desk = PushDesk(
            self._hub,
            self._bridge,
            poster,
            RecentMessages(),
            self._figures,
            self._notifier,
            self._telemetry,
            asyncio.Semaphore(limits.PUSHES_AT_ONCE_MAX),
            asyncio.Semaphore(limits.PROBES_AT_ONCE_MAX),
        )
        self._stage = Stage(self._hub, self._bridge, poster)
        self._news.set()
        self._ready.set()
        while not self._is_stopping:
            await self._news.wait()
            self._news.clear()
            self._is_told = False
            await self._take_news()
        await self._stage.close()
        await self._end()
        await poster.close()

    async def _take_news(self) -> None:
        with self._news_lock:
            self._is_renewing, self._is_renewal_wanted = self._is_renewal_wanted, False
        if self._is_renewing and not self._is_stopping:
            await self._renew()
        with self._news_lock:
            self._is_renewing = False
            moved, self._moved = self._moved, {}
            touched, self._touched = self._touched, set()
            resumed, self._resumed = self._resumed, set()
        for names in resumed:
            self._resume(names)
        for names in touched:
            line = self._lines.get(names)
            if line is not None and not line.is_closing:
                line.touch()
        for topic, fresh in moved.items():
            for line in self._by_topic.get(topic, ()):
                line.wake(fresh or ())

    def _resume(self, names: _Names) -> None:
        """Somebody wants what waits in a subscription to be pushed now, however long it was to wait."""
        party, line = self._parties.get(names[1]), self._lines.get(names)
        if party is not None:
            party.try_at_once()
        if line is not None and not line.is_closing:
            line.begin_anew()

    async def _renew(self) -> None:
        """Have a line for each subscription that is pushed now, and close the others."""
        try:
            book = await self._bridge.answer(self._hub.read(_read_book))
        except PregonError as error:
            log.warning("pushes not renewed", extra={"code": error.code, "reason": str(error)})
            self._is_renewal_wanted = True
            asyncio.get_running_loop().call_later(_RENEW_AGAIN_S, self._tell)
            return
        subscribers, subscriptions, secrets = book
        changed = self._renew_parties(subscribers, secrets)
        wanted = {(one.topic, one.subscriber): one for one in subscriptions}
        for names, line in list(self._lines.items()):
            if names not in wanted:
                line.close()
                if line.is_at_rest:
                    del self._lines[names]
        for names, one in wanted.items():
            self._renew_line(names, one, is_changed=one.subscriber in changed)
        by_topic: dict[str, list[Line]] = {}
        for (topic, _), line in self._lines.items():
            by_topic.setdefault(topic, []).append(line)
        self._by_topic = by_topic

    def _renew_parties(self, subscribers: Iterable[PushedSubscriber], secrets: Iterable[KeptSecret]) -> set[str]:
        """The subscribers whose entry changed."""
        by_name: dict[str, list[KeptSecret]] = {}
        for secret in secrets:
            by_name.setdefault(secret.known.subscriber, []).append(secret)
        changed: set[str] = set()
        parties: dict[str, Party] = {}
        for one in subscribers:
            party = self._parties.get(one.name)
            if party is None:
                party = Party(one, by_name.get(one.name, ()))
            elif party.change(one, by_name.get(one.name, ())):
                changed.add(one.name)
            parties[one.name] = party
        self._parties = parties
        return changed

    def _renew_line(self, names: _Names, one: PushedSubscription, *, is_changed: bool) -> None:
        line, party = self._lines.get(names), self._parties[one.subscriber]
        if line is None:
            assert self._desk is not None
            line = self._lines[names] = Line(self._desk, party, one.topic, one.id, self._remember(party, one))
            if one.has_pending:
                line.wake()
        elif is_changed or line.is_closing or line.subscription_id != one.id:
            line.party, line.subscription_id = party, one.id
            line.begin_anew()

    def _remember(self, party: Party, one: PushedSubscription) -> Tries | None:
        """What was failing when the hub stopped goes on waiting as long as it was to."""
        if not one.attempts:
            return None
        next_try_ms = monotonic_ms() + max(0, one.next_try_us - wall_us()) / 1_000
        if one.attempts > one.refusals:
            party.endpoint.failures = max(party.endpoint.failures, one.attempts - one.refusals)
            party.endpoint.next_try_ms = max(party.endpoint.next_try_ms, next_try_ms)
        return Tries(one.attempts, one.refusals, next_try_ms)

    async def _end(self) -> None:
        """Let what is on its way come back, for a moment, and have it written."""
        for line in self._lines.values():
            line.close()
        tasks = [line.task for line in self._lines.values() if line.task is not None]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_STOP_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(_SETTLE_S):
                await asyncio.gather(*(line.settle() for line in self._lines.values()))
