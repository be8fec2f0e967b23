"""Services as a caller of the hub may use them: ask, submit, collect, look, operate. Every door asks here.

Each verb takes who asks first, and is refused before anything is looked up.

    ask, submit, collect        whoever may publish: everybody on an open hub, and, unless keys are required, elsewhere
    look                        the scope read
    release or drop poison,     the scope operate
    forget durable requests
    options, CURVE keys         the scope admin
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from pregon.errors import NotFound, PregonError, Unauthorized
from pregon.hub.auditing import Note, note_of, set_fields
from pregon.hub.gate import Gate
from pregon.limits import LIST_ROWS_MAX
from pregon.model.names import check_name
from pregon.model.service import CurveKey, Entry, Result
from pregon.security.callers import Caller
from pregon.security.curve import check_curve_key
from pregon.security.keys import ADMIN, OPERATE, READ
from pregon.services import view
from pregon.services.journal import HubJournal
from pregon.services.keyholders import Keyholders
from pregon.services.options import ServiceOptions, changed_options
from pregon.services.parts import Parts
from pregon.services.request import Body
from pregon.services.telling import CURVE_KEY, SERVICE, note_of_request, pass_error, teller, user_of
from pregon.store.ticket import Ticket
from pregon.wire.services import RequestOptions

T = TypeVar("T")
U = TypeVar("U")
Row = dict[str, Any]


class Loop(Protocol):
    """Where the broker lives."""

    def call(self, function: Callable[[Parts], T]) -> Ticket[T]:
        """Do something there, and answer."""
        ...


class ServicesDesk:
    """The verbs, for callers."""

    def __init__(self, gate: Gate, loop: Loop, journal: HubJournal, keyholders: Keyholders, describe: Row) -> None:
        self._gate = gate
        self._loop = loop
        self._journal = journal
        self._keyholders = keyholders
        self._describe = describe
        self._options_on_their_way: dict[str, ServiceOptions | None] = {}
        """Of services, to the disk; None for as all the others. Only the broker's thread looks at it."""

    def broker(self, caller: Caller) -> Row:
        """Where clients and workers connect, and the key by which they know the broker."""
        self._require_asker(caller)
        return self._describe

    # Requests.

    def ask(self, caller: Caller, name: str, body: Body, options: RequestOptions) -> Ticket[Body]:
        """Have a request answered, or, if it is durable, its id when it is on disk."""
        self._require_asker(caller)
        check_name("job type", name)
        ticket: Ticket[Body] = Ticket()
        asked: list[bytes] = []

        def begin(parts: Parts) -> None:
            asked.append(parts.ask(name, body, options, teller(ticket), user_of(caller)))

        ticket.give_up = lambda: self._tell_broker(lambda parts: [*map(parts.cancel, asked)])
        self._begin(ticket, begin)
        return ticket

    def collect(self, caller: Caller, durable_id: str, wait_ms: int) -> Ticket[Result]:
        """What is known of a durable request, its result if it comes in time."""
        self._require_asker(caller)
        ticket: Ticket[Result] = Ticket()
        begun: list[bytes] = []

        def look(_outcome: Any = None) -> None:
            try:
                self._journal.find(durable_id).when_done(lambda found: self._show(caller, durable_id, found, ticket))
            except PregonError as error:
                ticket.fail(error)

        def wait(parts: Parts) -> None:
            # Whatever it is told, the store has it, and says when.
            begun.append(parts.collect(durable_id, wait_ms, look, user_of(caller)))

        if wait_ms:
            ticket.give_up = lambda: self._tell_broker(lambda parts: [*map(parts.cancel_collecting, begun)])
            self._begin(ticket, wait)
        else:
            look()
        return ticket

    def _show(self, caller: Caller, durable_id: str, found: Ticket[Result | None], ticket: Ticket[Result]) -> None:
        try:
            result = found.value()
            may_see = result is not None and (
                result.user in ("", user_of(caller)) or self._gate.rules.may(caller, READ)
            )
            if result is None or not may_see:
                raise NotFound(f"there is no durable request {durable_id[:200]!r}, or its result is no longer kept")
        except PregonError as error:
            ticket.fail(error)
        else:
            ticket.resolve(result)

    def list_durable(
        self, caller: Caller, service: str = "", state: str = "", after: str = "", rows_max: int = LIST_ROWS_MAX
    ) -> Ticket[list[Row]]:
        """Durable requests, by id."""
        self._gate.rules.require(caller, READ)
        if service:
            check_name("job type", service.partition("@")[0])
        return self._journal.list_requests(service, state, after, rows_max)

    def _require_asker(self, caller: Caller) -> None:
        rules = self._gate.rules
        if rules.require_keys and not rules.is_open and not caller.is_known:
            raise Unauthorized("this hub asks for a key: present one")

    # What there is.

    def list_services(self, caller: Caller) -> Ticket[list[Row]]:
        """Every service, by name."""
        return self._look(caller, lambda parts: view.list_services(parts.broker))

    def list_workers(self, caller: Caller) -> Ticket[list[Row]]:
        """Every worker, by name."""
        return self._look(caller, lambda parts: view.list_workers(parts.broker))

    def list_requests(self, caller: Caller, rows_max: int = LIST_ROWS_MAX) -> Ticket[list[Row]]:
        """What workers have, and what waits."""
        return self._look(caller, lambda parts: view.list_requests(parts.broker, rows_max))

    def list_recent(self, caller: Caller, rows_max: int = LIST_ROWS_MAX) -> Ticket[list[Row]]:
        """The last requests that ended, the newest first."""
        return self._look(caller, lambda parts: view.list_recent(parts.broker, rows_max))

    def list_poison(self, caller: Caller) -> Ticket[list[Row]]:
        """Requests that were set aside."""
        return self._look(caller, lambda parts: view.list_poison(parts.broker))

    def counts(self, caller: Caller) -> Ticket[Row]:
        """What the broker has counted."""
        return self._look(caller, lambda parts: parts.broker.counts.all())

    def _look(self, caller: Caller, look: Callable[[Parts], T]) -> Ticket[T]:
        self._gate.rules.require(caller, READ)
        return self._loop.call(look)

    # Operate.

    def set_options(self, caller: Caller, name: str, values: Row) -> Ticket[Row]:
        """Run a service in another way, from now on and after a restart; the options it has then."""
        self._gate.rules.require(caller, ADMIN)
        check_name("job type", name)

        ticket: Ticket[Row] = Ticket()

        def change(parts: Parts) -> None:
            lines = parts.broker.lines
            before = self._options_on_their_way.get(name, lines.own_options.get(name)) or lines.options
            options = changed_options(before, values)
            answer = {"type": name, "options": msgspec.to_builtins(options)}
            self._write_options(ticket, name, options, answer, note_of(caller, "update", SERVICE, [name], values))

        self._begin(ticket, change)
        return ticket

    def reset_options(self, caller: Caller, name: str) -> Ticket[bool]:
        """Run a service as all the others; whether it was not."""
        self._gate.rules.require(caller, ADMIN)
        check_name("job type", name)
        ticket: Ticket[bool] = Ticket()

        def change(parts: Parts) -> None:
            before = self._options_on_their_way.get(name, parts.broker.lines.own_options.get(name))
            note = None if before is None else note_of(caller, "reset", SERVICE, [name])
            self._write_options(ticket, name, None, before is not None, note)

        self._begin(ticket, change)
        return ticket

    def _write_options(
        self, ticket: Ticket[T], name: str, options: ServiceOptions | None, answer: T, note: Note | None
    ) -> None:
        """To the disk, then to the broker. Called in its thread; who comes meanwhile changes what is on its way."""
        stored = self._journal.set_options(name, options, note)
        self._options_on_their_way[name] = options

        def arrived(parts: Parts, is_stored: bool) -> None:
            if self._options_on_their_way.get(name) is options:
                self._options_on_their_way.pop(name, None)
            if is_stored:
                parts.broker.lines.set_options(name, options)
                ticket.resolve(answer)

        def then(stored: Ticket[None]) -> None:
            if pass_error(stored, ticket):
                self._tell_broker(lambda parts: arrived(parts, False))
            else:
                self._begin(ticket, lambda parts: arrived(parts, True))

        stored.when_done(then)

    # What was set aside, and what has ended.

    def drop_poison(self, caller: Caller, number: int) -> Ticket[bool]:
        """Forget a request that was set aside."""
        self._gate.rules.require(caller, OPERATE)
        ticket: Ticket[bool] = Ticket()

        def drop(parts: Parts) -> None:
            found = parts.broker.poison.find(number)
            if found is not None and found.request.durable_id:
                note = note_of_request(caller, "drop", found.request.durable_id)
                forgotten = self._journal.forget(found.request.durable_id, note=note)
                self._when_stored(forgotten, ticket, lambda parts, _: parts.broker.poison.take(number) is not None)
            else:
                parts.take_poison(number)
                ticket.resolve(True)
                # It was in no store, so there is no transaction to be part of: a hub that is busy is not waited for.
                with contextlib.suppress(PregonError):
                    self._journal.note(note_of_request(caller, "drop", "", number))

        self._begin(ticket, drop)
        return ticket

    def release_poison(self, caller: Caller, number: int) -> Ticket[Row]:
        """Have a durable request that was set aside worked on again."""
        self._gate.rules.require(caller, OPERATE)
        ticket: Ticket[Row] = Ticket()
        self._begin(
            ticket,
            lambda parts: self._release(parts, ticket, caller, parts.require_durable_poison(number).request.durable_id),
        )
        return ticket

    def release_durable(self, caller: Caller, job_type: str, durable_id: str) -> Ticket[Row]:
        """The same by its id, also when it is no longer among those that are shown as set aside."""
        self._gate.rules.require(caller, OPERATE)
        check_name("job type", job_type)
        ticket: Ticket[Row] = Ticket()
        self._begin(ticket, lambda parts: self._release(parts, ticket, caller, durable_id, job_type))
        return ticket

    def _release(self, parts: Parts, ticket: Ticket[Row], caller: Caller, durable_id: str, job_type: str = "") -> None:
        parts.durables.require_room_again()
        number = parts.broker.poison.number_of(durable_id)

        def resume(parts: Parts, entry: Entry) -> Row:
            parts.resume_poison(number, entry)
            return {"number": number, "durable_id": durable_id}

        note = note_of_request(caller, "release", durable_id)
        self._when_stored(self._journal.release(durable_id, job_type, note), ticket, resume)

    def forget_durable(self, caller: Caller, job_type: str, durable_id: str) -> Ticket[bool]:
        """Forget a durable request that has ended or was set aside; NotPending for one that waits."""
        self._gate.rules.require(caller, OPERATE)
        check_name("job type", job_type)
        ticket: Ticket[bool] = Ticket()

        def drop(parts: Parts, existed: bool) -> bool:
            if not existed:
                raise NotFound(f"{job_type} has no durable request {durable_id[:200]!r}")
            parts.broker.poison.take(parts.broker.poison.number_of(durable_id))
            return True

        note = note_of_request(caller, "forget", durable_id)
        self._when_stored(self._journal.forget(durable_id, job_type, note), ticket, drop)
        return ticket

    # Keys.

    def keep_key(self, caller: Caller, key: CurveKey) -> Ticket[CurveKey]:
        """Let a key in, instead of the one that has its name."""
        self._gate.rules.require(caller, ADMIN)
        note = note_of(caller, "create", CURVE_KEY, [key.name], set_fields(key, without=("name", "created_us")))
        return self._journal.keep_curve_key(check_curve_key(key), self._renew, note)

    def forget_key(self, caller: Caller, name: str) -> Ticket[bool]:
        """Let a key in no more: who came by it is given nothing any more."""
        self._gate.rules.require(caller, ADMIN)
        note = note_of(caller, "delete", CURVE_KEY, [name])
        return self._journal.forget_curve_key(check_name("key", name), self._renew, note)

    def list_keys(self, caller: Caller) -> Sequence[CurveKey]:
        """Who may come in, by name."""
        self._gate.rules.require(caller, ADMIN)
        return self._keyholders.all()

    def _renew(self, keys: list[CurveKey]) -> None:
        self._keyholders.renew(keys)
        self._tell_broker(lambda parts: parts.dismiss_without_right())

    # The broker's thread.

    def _begin(self, ticket: Ticket[Any], function: Callable[[Parts], object]) -> None:
        """Have something done there for the sake of a ticket, which fails if that does."""

        def done(begun: Ticket[object]) -> None:
            pass_error(begun, ticket)

        try:
            self._loop.call(function).when_done(done)
        except PregonError as error:
            ticket.fail(error)

    def _when_stored(self, stored: Ticket[T], ticket: Ticket[U], apply: Callable[[Parts, T], U]) -> None:
        """When something is on disk, have the broker know, and only then answer."""

        def then(stored: Ticket[T]) -> None:
            if not pass_error(stored, ticket):
                self._begin(ticket, lambda parts: ticket.resolve(apply(parts, stored.value())))

        stored.when_done(then)

    def _tell_broker(self, function: Callable[[Parts], object]) -> None:
        """Have something done there that nobody waits for; a broker that stops need not know."""
        with contextlib.suppress(PregonError):
            self._loop.call(function)
