"""The kinds of the catalogue that are the service broker's: listed, shown, changed like the others, kept elsewhere.

broker      show: where clients and workers connect
service     list; update: how it is run; delete: as all the others
worker      list
request     list: what workers have and what waits
recent      list: the last that ended
durable     list: by service and state; show: what is known of one
poison      list; create: work on it again; delete: forget it
curve-key   create, list, delete
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from pregon.errors import BadRequest, NotFound
from pregon.model.service import CurveKey
from pregon.security.callers import Caller
from pregon.services.desk import ServicesDesk
from pregon.services.poison import decode_number
from pregon.store.ticket import Ticket
from pregon.wire.commands import Command

KINDS = ("broker", "service", "worker", "request", "recent", "durable", "poison", "curve-key")


def carry_out(desk: ServicesDesk | None, caller: Caller, command: Command, header: Any, convert: Any) -> Ticket[Any]:
    """What a command does to one of these kinds; raises BadRequest for what cannot be done to it."""
    if desk is None:
        raise NotFound("this hub has no services: it was started without `services_front`")
    if command == Command.LIST:
        return _list(desk, caller, header.kind, [*header.names, "", ""], [*header.after, ""][0], header.max)
    if command == Command.SHOW:
        return _show(desk, caller, header.kind, header.names)
    if command == Command.UPDATE and header.kind == "service":
        return desk.set_options(caller, _only(header.names), header.values)
    if command == Command.CREATE:
        if header.kind == "curve-key":
            return desk.keep_key(caller, convert(header.entry, CurveKey))
        if header.kind == "poison":
            return desk.release_poison(caller, decode_number(str(header.entry.get("number", ""))))
    if command == Command.DELETE:
        return _delete(desk, caller, header.kind, _only(header.names))
    raise BadRequest(f"{command.name} does nothing to a {header.kind}")


def _list(
    desk: ServicesDesk, caller: Caller, kind: str, names: Sequence[str], after: str, rows_max: int
) -> Ticket[Any]:
    if kind == "service":
        return desk.list_services(caller)
    if kind == "worker":
        return desk.list_workers(caller)
    if kind == "request":
        return desk.list_requests(caller, rows_max)
    if kind == "recent":
        return desk.list_recent(caller, rows_max)
    if kind == "poison":
        return desk.list_poison(caller)
    if kind == "durable":
        return desk.list_durable(caller, names[0], names[1], after, rows_max)
    if kind == "curve-key":
        return _known(desk.list_keys(caller))
    raise BadRequest(f"a {kind} is shown, not listed")


def _show(desk: ServicesDesk, caller: Caller, kind: str, names: Sequence[str]) -> Ticket[Any]:
    if kind == "broker":
        return _known(desk.broker(caller))
    if kind == "durable":
        return desk.collect(caller, _only(names), 0)
    raise BadRequest(f"a {kind} is listed, not shown")


def _delete(desk: ServicesDesk, caller: Caller, kind: str, name: str) -> Ticket[Any]:
    if kind == "service":
        return desk.reset_options(caller, name)
    if kind == "poison":
        return desk.drop_poison(caller, decode_number(name))
    if kind == "curve-key":
        return desk.forget_key(caller, name)
    raise BadRequest(f"a {kind} cannot be deleted")


def _only(names: Sequence[str]) -> str:
    if len(names) != 1:
        raise BadRequest("name one")
    return names[0]


def _known(value: Any) -> Ticket[Any]:
    ticket: Ticket[Any] = Ticket()
    ticket.resolve(msgspec.to_builtins(value))
    return ticket
