"""What the commands about groups ask of the desk, and their kinds of the catalogue.

group         create, show, list, update, delete; with a token: in the name of who takes part
participant   create (enroll), list; by its token: update (rename), delete (retire)
member        list, of a group; delete: take it off
group-trace   show: who sent and who was shown what, in a part of a group's log
relation      show: how a message of a group stands to another
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from pregon.edges.dispatch_answers import Written, convert, one_frame, two_names, write_count, write_messages
from pregon.errors import BadRequest
from pregon.groups.desk import GroupsDesk
from pregon.limits import INTEGER_MAX
from pregon.model.group import Group
from pregon.security.callers import Caller
from pregon.store.ticket import Ticket, then
from pregon.wire import groups as g
from pregon.wire.commands import Command

KINDS = ("group", "participant", "member", "group-trace", "relation")
_Answered = tuple[Ticket[Any], Callable[[Any], Written]]


class _NewParticipant(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Who wants to take part."""

    name: str
    secret: str = ""


def carry_out(desk: GroupsDesk | None, caller: Caller, header: Any, payload: Sequence[Any]) -> _Answered:
    """What a command about groups does, and how to write its answer."""
    assert desk is not None, "a hub has groups"
    if isinstance(header, g.Send):
        return desk.send(caller, header, bytes(one_frame(payload))), _as_it_is
    if isinstance(header, g.Read):
        return desk.read(caller, header), lambda read: write_messages(
            read.batches, [], head_seq=read.head_seq, tail_seq=read.tail_seq
        )
    if isinstance(header, g.Report):
        return desk.report(caller, header), write_count
    verbs: dict[type[Any], Callable[[Caller, Any], Ticket[Any]]] = {
        g.Join: desk.join,
        g.Leave: desk.leave,
        g.Mine: desk.mine,
        g.Private: desk.private,
    }
    return verbs[type(header)](caller, header), _as_it_is


def _as_it_is(answer: Any) -> Written:
    return answer, ()


def change_entry(desk: GroupsDesk | None, caller: Caller, command: Command, header: Any) -> Ticket[Any]:
    """What a command about entries does to one of these kinds; raises BadRequest for what cannot be done to it."""
    assert desk is not None, "a hub has groups"
    kind = header.kind
    if command == Command.LIST:
        return _list(desk, caller, header)
    if command == Command.SHOW:
        return _show(desk, caller, kind, [*header.names, "", "", "", ""])
    if command == Command.CREATE and kind == "participant":
        new = convert(header.entry, _NewParticipant)
        return desk.enroll(caller, new.name, new.secret)
    if command == Command.CREATE and kind == "group":
        values = dict(header.entry)
        token = str(values.pop("token", ""))
        return desk.create_group(caller, convert(values, Group), token)
    if command == Command.UPDATE and kind == "participant":
        name = header.values.get("name")
        if set(header.values) != {"name"} or not isinstance(name, str):
            raise BadRequest("of a participant, only the name can be changed")
        return desk.rename(caller, _only(header.names), name)
    if command == Command.UPDATE and kind == "group":
        return desk.update_group(caller, _only(header.names), header.values)
    if command == Command.DELETE and kind == "participant":
        return desk.retire(caller, _only(header.names))
    if command == Command.DELETE and kind == "group":
        return desk.delete_group(caller, _only(header.names))
    if command == Command.DELETE and kind == "member":
        group, member = two_names(header.names, "a member by its group and its number")
        return desk.remove_member(caller, group, _number(member))
    raise BadRequest(f"{command.name} does nothing to a {kind}")


def _list(desk: GroupsDesk, caller: Caller, header: Any) -> Ticket[Any]:
    names, after = [*header.names, "", ""], [*header.after, ""][0]
    if header.kind == "group":
        return desk.list_groups(caller, names[0], after, header.max)
    if header.kind == "member":
        return desk.list_members(caller, names[0], names[1])
    if header.kind == "participant":
        found = desk.list_participants(caller, after, header.max)
        return then(found, lambda participants: [{"name": name} for name in participants])
    raise BadRequest(f"a {header.kind} is shown, not listed")


def _show(desk: GroupsDesk, caller: Caller, kind: str, names: Sequence[str]) -> Ticket[Any]:
    if kind == "group":
        return desk.show_group(caller, names[0], names[1])
    if kind == "group-trace":
        last_seq = _number(names[2]) if names[2] else INTEGER_MAX
        return desk.diagram_data(caller, names[0], _number(names[1] or "1"), last_seq, names[3])
    if kind == "relation":
        found = desk.relation(caller, names[0], names[1], names[2], names[3])
        return then(found, lambda relation: {"relation": relation})
    raise BadRequest(f"a {kind} is listed, not shown")


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise BadRequest(f"{text[:40]!r} is not the number of a message")
    return int(text)


def _only(names: Sequence[str]) -> str:
    if len(names) != 1:
        raise BadRequest("name one")
    return names[0]
