"""Services as a caller of the hub may use them: ask, submit, collect, look, operate. Every door asks here.

Each verb takes who asks first, and is refused before anything is looked up.

    ask, submit, collect        whoever may publish: everybody on an open hub, and, unless keys are required, elsewhere
    look                        the scope read
    release or drop poison      the scope operate
    options, CURVE keys         the scope admin
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from pregon.errors import NotFound, PregonError, Unauthorized
from pregon.hub.gate import Gate
from pregon.limits import LIST_ROWS_MAX
from pregon.model.names import check_name
from pregon.model.service import CurveKey, Result
from pregon.security.callers import Caller
from pregon.security.curve import check_curve_key
from pregon.security.keys import ADMIN, OPERATE, READ
from pregon.services import view
from pregon.services.journal import HubJournal
from pregon.services.keyholders import Keyholders
from pregon.services.options import changed_options
from pregon.services.parts import Parts
from pregon.services.request import Body
from pregon.store.ticket import Ticket
from pregon.wire.services import RequestOptions

T = TypeVar("T")
Row = dict[str, Any]


class Loop(Protocol):
    """Where the broker lives."""

    def call(self, function: Callable[[Parts], T]) -> Ticket[T]:
        """Do something there, and answer."""
        ...

    def post(self, call: Callable[[], None]) -> None:
        """The same, without an answer."""
        ...


class ServicesDesk:
    """The verbs, for callers."""

    def __init__(self, gate: Gate, loop: Loop, journal: HubJournal, keyholders: Keyholders, describe: Row) -> None:
        self._gate = gate
        self._loop = loop
        self._journal = journal
        self._keyholders = keyholders
        self._describe = describe

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
            asked.append(parts.ask(name, body, options, _teller(ticket), caller.name))

        def give_up() -> None:
            self._loop.call(lambda parts: parts.cancel(asked[0]) if asked else None)

        ticket.give_up = give_up
        self._loop.call(begin).when_done(_failing(ticket))
        return ticket

    def collect(self, caller: Caller, durable_id: str, wait_ms: int) -> Ticket[Result]:
        """What is known of a durable request, its result if it comes in time."""
        self._require_asker(caller)
        ticket: Ticket[Result] = Ticket()

        def look(_outcome: Any = None) -> None:
            self._journal.find(durable_id).when_done(lambda found: self._show(caller, durable_id, found, ticket))

        def wait(parts: Parts) -> None:
            # Whatever it is told, the store has it, and says when.
            parts.collect(durable_id, wait_ms, look, caller.name)

        if wait_ms:
            self._loop.call(wait).when_done(_failing(ticket))
        else:
            look()
        return ticket

    def _show(self, caller: Caller, durable_id: str, found: Ticket[Result | None], ticket: Ticket[Result]) -> None:
        try:
            result = found.value()
            may_see = result is not None and (result.user in ("", caller.name) or self._gate.rules.may(caller, READ))
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
            options = changed_options(parts.broker.lines.options_of(name), values)
            parts.broker.lines.set_options(name, options)
            shown = {"type": name, "options": msgspec.to_builtins(options)}
            self._journal.set_options(name, options).when_done(_resolving(ticket, shown))

        self._loop.call(change).when_done(_failing(ticket))
        return ticket

    def reset_options(self, caller: Caller, name: str) -> Ticket[bool]:
        """Run a service as all the others; whether it was not."""
        self._gate.rules.require(caller, ADMIN)
        check_name("job type", name)

        ticket: Ticket[bool] = Ticket()

        def change(parts: Parts) -> None:
            had_own = name in parts.broker.lines.own_options
            parts.broker.lines.set_options(name, None)
            self._journal.set_options(name, None).when_done(_resolving(ticket, had_own))

        self._loop.call(change).when_done(_failing(ticket))
        return ticket

    def drop_poison(self, caller: Caller, number: int) -> Ticket[bool]:
        """Forget a request that was set aside."""
        self._gate.rules.require(caller, OPERATE)

        ticket: Ticket[bool] = Ticket()

        def drop(parts: Parts) -> None:
            found = parts.take_poison(number)
            if found.request.durable_id:
                self._journal.forget(found.request.durable_id).when_done(_resolving(ticket, True))
            else:
                ticket.resolve(True)

        self._loop.call(drop).when_done(_failing(ticket))
        return ticket

    def release_poison(self, caller: Caller, number: int) -> Ticket[Row]:
        """Have a durable request that was set aside worked on again."""
        self._gate.rules.require(caller, OPERATE)
        ticket: Ticket[Row] = Ticket()

        def release(parts: Parts) -> None:
            durable_id = parts.require_durable_poison(number).request.durable_id

            def released(stored: Ticket[None]) -> None:
                if not _pass_error(stored, ticket):
                    self._loop.call(lambda parts: parts.work_again(number)).when_done(
                        lambda _: ticket.resolve({"number": number, "durable_id": durable_id})
                    )

            self._journal.release(durable_id).when_done(released)

        self._loop.call(release).when_done(_failing(ticket))
        return ticket

    # Keys.

    def keep_key(self, caller: Caller, key: CurveKey) -> Ticket[CurveKey]:
        """Let a key in, instead of the one that has its name."""
        self._gate.rules.require(caller, ADMIN)
        return self._journal.keep_curve_key(check_curve_key(key), self._renew)

    def forget_key(self, caller: Caller, name: str) -> Ticket[bool]:
        """Let a key in no more: who came by it is given nothing any more."""
        self._gate.rules.require(caller, ADMIN)
        return self._journal.forget_curve_key(check_name("key", name), self._renew)

    def list_keys(self, caller: Caller) -> Sequence[CurveKey]:
        """Who may come in, by name."""
        self._gate.rules.require(caller, ADMIN)
        return self._keyholders.all()

    def _renew(self, keys: list[CurveKey]) -> None:
        self._keyholders.renew(keys)
        self._loop.call(lambda parts: parts.dismiss_without_right())


def _teller(ticket: Ticket[Body]) -> Callable[[Body | PregonError], None]:
    def tell(outcome: Body | PregonError) -> None:
        if isinstance(outcome, PregonError):
            ticket.fail(outcome)
        else:
            ticket.resolve(outcome)

    return tell


def _pass_error(begun: Ticket[Any], ticket: Ticket[Any]) -> bool:
    """Whether what was begun failed, and the other ticket with it."""
    try:
        begun.value()
    except PregonError as error:
        ticket.fail(error)
        return True
    return False


def _resolving(ticket: Ticket[T], value: T) -> Callable[[Ticket[Any]], None]:
    """A callback for what must be on disk before a ticket has its value."""

    def stored(first: Ticket[Any]) -> None:
        if not _pass_error(first, ticket):
            ticket.resolve(value)

    return stored


def _failing(ticket: Ticket[Any]) -> Callable[[Ticket[Any]], None]:
    """A callback for what is begun for the sake of a ticket."""

    def begun(first: Ticket[Any]) -> None:
        _pass_error(first, ticket)

    return begun
