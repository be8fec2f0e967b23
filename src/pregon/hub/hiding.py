"""What does not exist and what is not the caller's, answered alike: nobody learns from a refusal what there is."""

from __future__ import annotations

from typing import Any

from pregon.errors import Forbidden, NotFound, PregonError
from pregon.security.callers import Caller, not_for
from pregon.store.ticket import Ticket


def hide(ticket: Ticket[Any], caller: Caller, what: str) -> Ticket[Any]:
    """The same answer, but "there is none" and "not yours" become one: what nobody can tell apart."""
    hidden: Ticket[Any] = Ticket()
    hidden.give_up = ticket.abandon

    def done(resolved: Ticket[Any]) -> None:
        try:
            hidden.resolve(resolved.value())
        except (NotFound, Forbidden):
            hidden.fail(not_for(caller, what))
        except PregonError as error:
            hidden.fail(error)

    ticket.when_done(done)
    return hidden
