"""Who is in a group, as one member was shown it, and what an event of the log means for it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from pregon.causal.message import CausalMessage
from pregon.causal.stamps import Stamp, decode_stamp
from pregon.client.groups.events import (
    GroupEvent,
    GroupMember,
    GroupMessage,
    MemberGone,
    MemberJoined,
    MemberLeft,
    MemberRenamed,
    Order,
)
from pregon.client.groups.records import Arrival, own_headers
from pregon.errors import BadRequest
from pregon.model.group import ANSWERS_HEADER, GONE, JOINED, LEFT, MESSAGE, RENAMED


class _About(msgspec.Struct):
    """What the hub says of a member."""

    member: int
    name: str
    old: str = ""


class View:
    """The members that were shown to have joined and not to have left."""

    def __init__(self, order: Order, members: Iterable[GroupMember] = ()) -> None:
        self._order = order
        self._members = {member.number: member for member in members}

    @property
    def members(self) -> tuple[GroupMember, ...]:
        """All of them, by number."""
        return tuple(self._members[number] for number in sorted(self._members))

    def __contains__(self, number: int) -> bool:
        return number in self._members

    def put(self, member: GroupMember) -> None:
        """It is a member."""
        self._members[member.number] = member

    def see(self, members: Iterable[GroupMember]) -> None:
        """The hub says who of them is here."""
        for member in members:
            if member.number in self._members:
                known = self._members[member.number]
                self._members[member.number] = GroupMember(known.number, known.name, member.is_here)

    def show(
        self, message: CausalMessage, waited_for: Stamp | None = None, *, is_history: bool = False
    ) -> GroupEvent | None:
        """What a message of the log is for who looks, if it is an event; the members are as it says from now on."""
        arrival: Arrival = message.body
        record = arrival.message
        shared: dict[str, Any] = {
            "stamp": message.stamp,
            "member": message.stamp.member,
            "name": record.key or "",
            "after": message.after,
            "seq": record.seq,
            "at_us": record.accepted_us,
            "waited_for": waited_for,
            "is_history": is_history,
            "order": self._order,
        }
        if arrival.kind == MESSAGE:
            return self._show_message(arrival, shared)
        if arrival.kind == JOINED:
            self._members[message.stamp.member] = GroupMember(message.stamp.member, record.key or "")
            return MemberJoined(**shared)
        if arrival.kind == LEFT:
            self._members.pop(message.stamp.member, None)
            return MemberLeft(**shared)
        return self._show_said_by_hub(arrival, shared)

    def _show_message(self, arrival: Arrival, shared: dict[str, Any]) -> GroupMessage:
        record = arrival.message
        known = self._members.get(shared["member"])
        if known is not None and not known.is_here:
            self._members[known.number] = GroupMember(known.number, known.name)
        return GroupMessage(
            **shared,
            body=record.body,
            content_type=record.content_type,
            headers=own_headers(record),
            answers=_answered(record.headers.get(ANSWERS_HEADER, "")),
            sent_us=record.published_us,
        )

    def _show_said_by_hub(self, arrival: Arrival, shared: dict[str, Any]) -> GroupEvent | None:
        if arrival.kind not in (GONE, RENAMED):
            # That somebody is about to join or leave changes nothing yet.
            return None
        try:
            about = msgspec.json.decode(arrival.message.body, type=_About)
        except msgspec.DecodeError:
            return None
        if about.member not in self._members:
            # One that never came to join, or the place from which a member of another hub reads this log.
            return None
        shared |= {"member": about.member, "name": about.name}
        if arrival.kind == GONE:
            del self._members[about.member]
            return MemberGone(**shared)
        self._members[about.member] = GroupMember(about.member, about.name, self._members[about.member].is_here)
        return MemberRenamed(**shared, old=about.old)


def _answered(text: str) -> Stamp | None:
    try:
        return decode_stamp(text) if text else None
    except BadRequest:
        return None
