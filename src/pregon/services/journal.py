"""Durable requests in the hub's store: the journal of the broker, and what else of services is kept there.

Each change is an operation of the committer, so that many requests share one sync. Answers come back through `post`,
in the broker's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import msgspec

from pregon.errors import AlreadyExists, LimitReached, NotFound, PregonError
from pregon.hub.auditing import Note, audited, write_note
from pregon.hub.hub import Hub
from pregon.limits import CURVE_KEYS_MAX, LIST_ROWS_MAX, SERVICE_DURABLE_MAX, SERVICE_POISON_MAX, SERVICE_RESULTS_MAX
from pregon.model.service import PARKED, WAITING, CurveKey, Entry, Result
from pregon.services.durables import FORGET_AT_ONCE
from pregon.services.options import ServiceOptions
from pregon.services.poison import beginning
from pregon.store import curve_keys, service_requests
from pregon.store.change import Change
from pregon.store.ticket import Ticket
from pregon.store.transaction import Transaction
from pregon.wire.services import body_bytes

T = TypeVar("T")
Post = Callable[[Callable[[], None]], None]


@dataclass(slots=True)
class _Changes:
    """How many rows more a transaction leaves; less than nothing for fewer."""

    count: int = 0


class HubJournal:
    """Keeps durable requests in a hub's store."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._post: Post = lambda call: call()
        self._stored = hub.read_at_start(service_requests.count_requests)
        """Rows on disk, as far as this process knows; only the committer's thread changes it."""

    def call_back_in(self, post: Post) -> None:
        """Where answers are given."""
        self._post = post

    def _submit(self, change: Callable[[Transaction], T], size_bytes: int = 300, note: Note | None = None) -> Ticket[T]:
        return self._hub.submit(audited(Change(change, size_bytes), note))

    def _changes_in(self, transaction: Transaction) -> _Changes:
        """What a transaction does to the number of rows; it counts once that is on disk."""
        changes: _Changes | None = transaction.gathered.get(self)
        if changes is None:
            transaction.gathered[self] = changes = _Changes()
            transaction.after_commit.append(partial(self._committed, changes))
        return changes

    def _committed(self, changes: _Changes) -> None:
        self._stored += changes.count

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
            if service_requests.has_request(transaction.connection, entry):
                return False
            if self._stored + self._changes_in(transaction).count >= SERVICE_RESULTS_MAX:
                raise LimitReached(
                    f"{SERVICE_RESULTS_MAX} durable requests and results are kept: shorten keep_results_ms"
                )
            service_requests.insert_request(transaction.connection, entry, transaction.now_us)
            self._changes_in(transaction).count += 1
            return True

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

    def parked(self) -> list[tuple[Entry, str, int]]:
        """What it had set aside, why, and how large; of the bodies, which may be large, as much as is shown."""
        now_us = self._hub.clock.now_us()
        return self._hub.read_at_start(
            lambda connection: [
                (msgspec.structs.replace(entry, body=beginning(entry.body)), reason, body_bytes(entry.body))
                for entry, reason in service_requests.entries_in(connection, PARKED, now_us, SERVICE_POISON_MAX)
            ]
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

    def note(self, note: Note) -> Ticket[None]:
        """Leave a note of what somebody did that is not in the store."""
        return self._submit(lambda transaction: write_note(transaction, note))

    def forget(self, durable_id: str, job_type: str = "", note: Note | None = None) -> Ticket[bool]:
        """Remove a request that does not wait, and its result; whether there was one, of that type if one is named."""

        def change(transaction: Transaction) -> bool:
            existed = service_requests.delete_request(transaction.connection, durable_id, job_type)
            self._changes_in(transaction).count -= existed
            return existed

        return self._submit(change, note=note)

    def release(self, durable_id: str, job_type: str = "", note: Note | None = None) -> Ticket[Entry]:
        """Have one that was set aside wait again; the whole of it, to be worked on."""

        def change(transaction: Transaction) -> Entry:
            entry = service_requests.release_request(transaction.connection, durable_id, job_type)
            if entry is None:
                raise NotFound(f"no durable request {durable_id[:200]!r} is set aside")
            return entry

        return self._submit(change, note=note)

    def forget_old(self, then: Callable[[int | PregonError], None]) -> None:
        """Remove results that were kept for long enough."""

        def change(transaction: Transaction) -> int:
            count = service_requests.forget_results(transaction.connection, transaction.now_us, FORGET_AT_ONCE)
            self._changes_in(transaction).count -= count
            return count

        self._tell(lambda: self._submit(change), then)

    def set_options(self, service: str, options: ServiceOptions | None, note: Note | None = None) -> Ticket[None]:
        """Remember how a service is run."""
        text = None if options is None else msgspec.json.encode(options).decode()
        return self._submit(
            lambda transaction: service_requests.set_setting(transaction.connection, service, text), 500, note
        )

    def keep_curve_key(
        self, key: CurveKey, renew: Callable[[list[CurveKey]], None], note: Note | None = None
    ) -> Ticket[CurveKey]:
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

        return self._submit(change, note=note)

    def forget_curve_key(
        self, name: str, renew: Callable[[list[CurveKey]], None], note: Note | None = None
    ) -> Ticket[bool]:
        """Let a key in no more."""

        def change(transaction: Transaction) -> bool:
            existed = curve_keys.delete_curve_key(transaction.connection, name)
            self._renew_after(transaction, renew)
            return existed

        return self._submit(change, note=note)

    @staticmethod
    def _renew_after(transaction: Transaction, renew: Callable[[list[CurveKey]], None]) -> None:
        keys = curve_keys.list_curve_keys(transaction.connection)
        transaction.after_commit.append(lambda: renew(keys))
