"""Durable requests in the hub's store: the journal of the broker, and what else of services is kept there.

Each change is an operation of the committer, so that many requests share one sync. Answers come back through `post`,
in the broker's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from pregon.errors import AlreadyExists, LimitReached, NotFound, PregonError
from pregon.hub.hub import Hub
from pregon.limits import CURVE_KEYS_MAX, LIST_ROWS_MAX, SERVICE_DURABLE_MAX, SERVICE_POISON_MAX, SERVICE_RESULTS_MAX
from pregon.model.service import PARKED, WAITING, CurveKey, Entry, Result
from pregon.services.options import ServiceOptions
from pregon.store import curve_keys, service_requests
from pregon.store.ticket import Ticket
from pregon.store.transaction import Transaction
from pregon.wire.services import body_bytes

T = TypeVar("T")
Post = Callable[[Callable[[], None]], None]


class _Change(Generic[T]):
    """An operation of the committer."""

    is_durable = True

    def __init__(self, change: Callable[[Transaction], T], size_bytes: int = 300) -> None:
        self._change = change
        self.size_bytes = size_bytes
        self.ticket: Ticket[T] = Ticket()

    def apply(self, transaction: Transaction) -> None:
        """Carry it out."""
        transaction.results.append((self.ticket, self._change(transaction)))


class HubJournal:
    """Keeps durable requests in a hub's store."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._post: Post = lambda call: call()
        self._stored = hub.read_at_start(service_requests.count_requests)
        """Rows, as far as this process knows; only the committer's thread changes it."""

    def call_back_in(self, post: Post) -> None:
        """Where answers are given."""
        self._post = post

    def _submit(self, change: Callable[[Transaction], T], size_bytes: int = 300) -> Ticket[T]:
        return self._hub.submit(_Change(change, size_bytes))

    def _tell(self, make: Callable[[], Ticket[Any]], then: Callable[[Any], None]) -> None:
        """Call back with the answer of a ticket, or with the error that came instead of it."""

        def done(ticket: Ticket[Any]) -> None:
            try:
                answer = ticket.value()
            except PregonError as error:
                answer = error
            self._post(lambda: then(answer))

        try:
            make().when_done(done)
        except PregonError as error:
            refusal = error
            self._post(lambda: then(refusal))

    # What the broker asks for.

    def accept(self, entry: Entry, then: Callable[[bool | PregonError], None]) -> None:
        """Store it."""

        def change(transaction: Transaction) -> bool:
            if self._stored >= SERVICE_RESULTS_MAX:
                raise LimitReached(f"{SERVICE_RESULTS_MAX} durable requests and results are kept: collect some")
            is_new = service_requests.insert_request(transaction.connection, entry, transaction.now_us)
            self._stored += is_new
            return is_new

        self._tell(lambda: self._submit(change, body_bytes(entry.body) + 300), then)

    def attempted(self, durable_id: str, attempts: int) -> None:
        """A worker was lost with it."""

        def change(transaction: Transaction) -> None:
            service_requests.note_attempts(transaction.connection, durable_id, attempts)

        self._tell(lambda: self._submit(change), lambda _: None)

    def finish(self, result: Result, keep_ms: int, then: Callable[[bool | PregonError], None]) -> None:
        """Store its result, unless it has one."""

        def change(transaction: Transaction) -> bool:
            return service_requests.end_request(transaction.connection, result, transaction.now_us, keep_ms)

        self._tell(lambda: self._submit(change, body_bytes(result.body) + 300), then)

    def look(self, durable_id: str, then: Callable[[Result | PregonError | None], None]) -> None:
        """What is known of it."""
        self._tell(lambda: self.find(durable_id), then)

    # At the start.

    def waiting(self) -> list[Entry]:
        """What a broker that is no more had not finished, the oldest first."""
        now_us = self._hub.clock.now_us()
        return self._hub.read_at_start(
            lambda connection: [
                entry for entry, _ in service_requests.entries_in(connection, WAITING, now_us, SERVICE_DURABLE_MAX)
            ]
        )

    def parked(self) -> list[tuple[Entry, str]]:
        """What it had set aside, and why."""
        now_us = self._hub.clock.now_us()
        return self._hub.read_at_start(
            lambda connection: list(service_requests.entries_in(connection, PARKED, now_us, SERVICE_POISON_MAX))
        )

    def settings(self) -> dict[str, ServiceOptions]:
        """How services are run that are not run as all the others."""
        kept = self._hub.read_at_start(service_requests.list_settings)
        return {name: msgspec.json.decode(text, type=ServiceOptions) for name, text in kept.items()}

    def curve_keys(self) -> list[CurveKey]:
        """Who may come in."""
        return self._hub.read_at_start(curve_keys.list_curve_keys)

    # What people ask for.

    def find(self, durable_id: str) -> Ticket[Result | None]:
        """What is known of a durable request."""
        return self._hub.read(lambda connection: service_requests.find_result(connection, durable_id))

    def list_requests(self, service: str, state: str, after: str, rows_max: int) -> Ticket[list[dict[str, Any]]]:
        """Durable requests, by id."""
        rows = max(1, min(rows_max, LIST_ROWS_MAX))
        return self._hub.read(
            lambda connection: service_requests.list_requests(connection, service, state, after, rows)
        )

    def forget(self, durable_id: str) -> Ticket[bool]:
        """Remove a request and its result; whether there was one."""

        def change(transaction: Transaction) -> bool:
            existed = service_requests.delete_request(transaction.connection, durable_id)
            self._stored -= existed
            return existed

        return self._submit(change)

    def release(self, durable_id: str) -> Ticket[None]:
        """Have one that was set aside wait again."""

        def change(transaction: Transaction) -> None:
            if not service_requests.release_request(transaction.connection, durable_id):
                raise NotFound(f"no durable request {durable_id!r} is set aside")

        return self._submit(change)

    def forget_old(self) -> None:
        """Remove results that were kept for long enough."""

        def change(transaction: Transaction) -> int:
            count = service_requests.forget_results(transaction.connection, transaction.now_us, 1_000)
            self._stored -= count
            return count

        self._tell(lambda: self._submit(change), lambda _: None)

    def set_options(self, service: str, options: ServiceOptions | None) -> Ticket[None]:
        """Remember how a service is run."""
        text = None if options is None else msgspec.json.encode(options).decode()
        return self._submit(
            lambda transaction: service_requests.set_setting(transaction.connection, service, text), 500
        )

    def keep_curve_key(self, key: CurveKey, renew: Callable[[list[CurveKey]], None]) -> Ticket[CurveKey]:
        """Let a key in; who checks keys knows before the answer is given."""

        def change(transaction: Transaction) -> CurveKey:
            connection = transaction.connection
            if curve_keys.count_curve_keys(connection) >= CURVE_KEYS_MAX:
                raise LimitReached(f"{CURVE_KEYS_MAX} CURVE keys are known already: delete some")
            owner = curve_keys.find_owner(connection, key.public)
            if owner not in (None, key.name):
                raise AlreadyExists(f"this key is {owner}'s already: each has a pair of its own")
            kept = msgspec.structs.replace(key, created_us=transaction.now_us)
            curve_keys.insert_curve_key(connection, kept)
            self._renew_after(transaction, renew)
            return kept

        return self._submit(change)

    def forget_curve_key(self, name: str, renew: Callable[[list[CurveKey]], None]) -> Ticket[bool]:
        """Let a key in no more."""

        def change(transaction: Transaction) -> bool:
            existed = curve_keys.delete_curve_key(transaction.connection, name)
            self._renew_after(transaction, renew)
            return existed

        return self._submit(change)

    @staticmethod
    def _renew_after(transaction: Transaction, renew: Callable[[list[CurveKey]], None]) -> None:
        keys = curve_keys.list_curve_keys(transaction.connection)
        transaction.after_commit.append(lambda: renew(keys))
