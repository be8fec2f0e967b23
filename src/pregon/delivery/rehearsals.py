"""Tests of subscribers' web services: who may ask for one, and those that are under way.

A test goes to the endpoint of a subscriber that has one, whether messages are pushed there or not: before it is
switched to push, while it is disabled, while it fails.

Promises:
- No subscription, trace, figure, notice, nor what is known of the endpoint is touched: only the web service notices.
- The audit says who had it sent, and where to, before anything is sent.
- At most `REHEARSALS_AT_ONCE_MAX` are under way; one more gets HubBusy.
- Every ticket is answered, at the latest after the subscriber's time limit, or with HubStopping when the hub stops.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from sqlalchemy import Connection

from pregon.clock import wall_us
from pregon.delivery.attempt import Poster, Target
from pregon.delivery.rehearsal import Rehearsal, Trial, rehearse
from pregon.errors import BadRequest, HubBusy, HubStopping, InternalError, PregonError
from pregon.hub.bridge import Bridge
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.limits import REHEARSALS_AT_ONCE_MAX
from pregon.model.names import check_name
from pregon.security.callers import Caller
from pregon.security.keys import OPERATE, SUBSCRIBER
from pregon.store import catalog
from pregon.store.secrets import list_secrets
from pregon.store.ticket import Ticket

log = logging.getLogger("pregon.delivery")

TakesNote = Callable[[Target], Ticket[None]]
"""Leaves a note in the audit of what is about to be sent there."""


class Stage:
    """Where rehearsals take place: the pusher's event loop."""

    def __init__(self, hub: Hub, bridge: Bridge, poster: Poster) -> None:
        self._hub = hub
        self._bridge = bridge
        self._poster = poster
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def begin(self, subscriber: str, trial: Trial, note: TakesNote, ticket: Ticket[Rehearsal]) -> None:
        """Answer the ticket with how it went; in the loop."""
        if self._is_closed:
            ticket.fail(_stopping())
            return
        if len(self._tasks) >= REHEARSALS_AT_ONCE_MAX:
            ticket.fail(HubBusy(f"{REHEARSALS_AT_ONCE_MAX} web services are being tested: come back in a moment"))
            return
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._rehearse(subscriber, trial, note, ticket))
        self._tasks.add(task)

        def ended(_task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            # Also one that was given up before it had begun.
            if not ticket.is_done:
                ticket.fail(_stopping())

        def give_up() -> None:
            try:
                loop.call_soon_threadsafe(task.cancel)
            except RuntimeError:
                return  # The loop has ended, and the task with it.

        task.add_done_callback(ended)
        ticket.give_up = give_up

    async def _rehearse(self, subscriber: str, trial: Trial, note: TakesNote, ticket: Ticket[Rehearsal]) -> None:
        try:
            reading = self._hub.read(lambda connection: require_target(connection, subscriber))
            target = await self._bridge.answer(reading)
            # First: who gives up before the answer comes has had it sent all the same.
            await self._bridge.answer(note(target))
            rehearsal = await rehearse(self._poster, target, trial)
        except PregonError as error:
            ticket.fail(error)
        except Exception:  # The top of a task: who waits must be told, whatever broke.
            log.exception("a rehearsal failed by a bug", extra={"subscriber": subscriber})
            ticket.fail(InternalError("the hub failed to carry this out; its log says why"))
        else:
            ticket.resolve(rehearsal)

    async def close(self) -> None:
        """Give up those that are under way."""
        self._is_closed = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _stopping() -> HubStopping:
    return HubStopping("the hub is stopping: test again in a moment")


def require_target(connection: Connection, name: str) -> Target:
    """Where and how messages are, or would be, pushed to a subscriber; raises NotFound, BadName, BadRequest."""
    found = catalog.list_subscribers(connection, "", 1, check_name("subscriber", name))
    if not found:
        raise catalog.not_there("subscriber", name)
    (entry,) = found
    if not entry.endpoint:
        raise BadRequest(
            f"{name} has no endpoint to test: set one with `pregon subscriber update {name} --endpoint URL`"
        )
    return Target(
        subscriber=name,
        endpoint=entry.endpoint,
        format=entry.format,
        time_limit_ms=entry.push.time_limit_ms,
        secrets=tuple(one.secret for one in list_secrets(connection, name, wall_us())),
    )


class Rehearses(Protocol):
    """Who can send a test: the pusher."""

    def rehearse(self, subscriber: str, trial: Trial, note: TakesNote) -> Ticket[Rehearsal]:
        """Send it, once it is noted."""
        ...


class Rehearsals:
    """The desk, for callers: every door asks here."""

    def __init__(self, pusher: Rehearses, gate: Gate) -> None:
        self._pusher = pusher
        self._gate = gate

    def rehearse(self, caller: Caller, subscriber: str, trial: Trial | None = None) -> Ticket[Rehearsal]:
        """Send a test to a subscriber's web service, for who operates the hub."""
        self._gate.rules.require(caller, OPERATE)
        checked = (trial or Trial()).check()

        def note(target: Target) -> Ticket[None]:
            told = {"endpoint": target.endpoint, "topic": checked.topic}
            return self._gate.note_test(caller, SUBSCRIBER, target.subscriber, told)

        return self._pusher.rehearse(subscriber, checked, note)
