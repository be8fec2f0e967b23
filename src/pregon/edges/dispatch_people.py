"""The kind of the catalogue that is the people of the administration pages.

administrator   create: with `name`, `password`, `role`; update: `password`, `role`, `enabled`; list; delete

A password takes a tenth of a second to hash, which no door can wait for: each of these is done in a thread of its own,
a few at a time.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import msgspec

from pregon.edges.dispatch_answers import convert
from pregon.errors import BadRequest, HubBusy, InternalError, PregonError
from pregon.hub.people import PERSON, People
from pregon.limits import PASSWORDS_AT_ONCE_MAX
from pregon.model.administration import ADMINISTRATOR
from pregon.security.callers import Caller
from pregon.store.ticket import Ticket
from pregon.wire.commands import Command

log = logging.getLogger("pregon.edges")

KINDS = (PERSON,)


class _NewPerson(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Somebody to let in."""

    name: str
    password: str
    role: str = ADMINISTRATOR


class _ChangedPerson(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What to change of somebody."""

    password: str | None = None
    role: str | None = None
    enabled: bool | None = None


class PeopleDesk:
    """Carries out what a command asks to do with people."""

    def __init__(self, people: People) -> None:
        self._people = people
        self._turns = threading.BoundedSemaphore(PASSWORDS_AT_ONCE_MAX * 2)

    def carry_out(self, caller: Caller, command: Command, header: Any) -> Ticket[Any]:
        """What a command does to people; raises BadRequest for what cannot be done to them, HubBusy for too many."""
        people = self._people
        if command == Command.LIST:
            return self._apart(lambda: people.list(caller))
        if command == Command.CREATE:
            new = convert(header.entry, _NewPerson)
            return self._apart(lambda: people.create(caller, new.name, new.password, new.role))
        if command == Command.UPDATE:
            name, wanted = _only(header.names), convert(header.values, _ChangedPerson)
            return self._apart(lambda: people.change(caller, name, **msgspec.structs.asdict(wanted)))
        if command == Command.DELETE:
            name = _only(header.names)
            return self._apart(lambda: people.remove(caller, name))
        raise BadRequest(f"{command.name} does nothing to an {PERSON}")

    def _apart(self, work: Callable[[], Any]) -> Ticket[Any]:
        """Have it done by a thread of its own."""
        if not self._turns.acquire(blocking=False):
            raise HubBusy("several people are being changed at this moment: try again in a moment")
        ticket: Ticket[Any] = Ticket()

        def run() -> None:
            try:
                ticket.resolve(work())
            except PregonError as error:
                ticket.fail(error)
            except Exception:  # The top of a thread: who asked is told, and the log says why.
                log.exception("a change of people failed by a bug")
                ticket.fail(InternalError("the hub failed to carry this out; its log says why"))
            finally:
                self._turns.release()

        threading.Thread(target=run, name="pregon-people", daemon=True).start()
        return ticket


def _only(names: list[str]) -> str:
    if len(names) != 1:
        raise BadRequest(f"name one {PERSON}")
    return names[0]
