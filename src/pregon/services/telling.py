"""Who is told what by the desk of services: who asked, by its ticket; and the audit, by a note."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pregon.errors import PregonError
from pregon.hub.auditing import Note, note_of
from pregon.security.callers import Caller
from pregon.services.request import Body
from pregon.store.ticket import Ticket

SERVICE, REQUEST, CURVE_KEY = "service", "request", "curve-key"
"""What the audit calls them."""


def user_of(caller: Caller) -> str:
    """Whose a request is. No CURVE key has a name with a colon, so that none is taken for a key of the hub."""
    return f"key:{caller.name}" if caller.is_known else ""


def note_of_request(caller: Caller, action: str, durable_id: str, number: int = 0) -> Note:
    """The note of what is done to a request: by its id, or by the number under which it was set aside."""
    return note_of(caller, action, REQUEST, [durable_id or f"number {number}"])


def teller(ticket: Ticket[Body]) -> Callable[[Body | PregonError], None]:
    """What to call with the answer to a request, for who has the ticket."""

    def tell(outcome: Body | PregonError) -> None:
        if isinstance(outcome, PregonError):
            ticket.fail(outcome)
        else:
            ticket.resolve(outcome)

    return tell


def pass_error(begun: Ticket[Any], ticket: Ticket[Any]) -> bool:
    """Whether what was begun failed, and with it the ticket for whose sake it was."""
    try:
        begun.value()
    except PregonError as error:
        ticket.fail(error)
        return True
    return False
