"""Searches of which a page may be short and still have a next one: as many rows as somebody asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from pregon.clock import parse_us
from pregon.errors import BadRequest
from pregon.model.administration import AuditPage
from pregon.model.trace import TracePage

P = TypeVar("P", TracePage, AuditPage)


def gather(ask: Callable[[Any], P], query: Any) -> P:
    """Ask for page after page until there are as many as `query.max`, or no more."""
    found = ask(query)
    while found.next and len(found) < query.max:
        page = ask(msgspec.structs.replace(query, before=found.next, max=query.max - len(found)))
        found.extend(page)
        found.next = page.next
    return found


def parse_instant(text: str | None) -> int:
    """A time that somebody wrote, in microseconds since 1970, 0 for none; raises BadRequest."""
    try:
        return 0 if text is None else parse_us(text)
    except ValueError as error:
        raise BadRequest(f"{text!r} is not a time: write 2026-11-15T10:00:00Z") from error
