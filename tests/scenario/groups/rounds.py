"""Members of a group that wait for something to be said."""

from __future__ import annotations

from pregon.client.groups.events import GroupEvent, GroupMessage, MemberJoined
from pregon.client.groups.group import Group

_PATIENCE_S = 15.0


def hear_text(group: Group) -> GroupMessage:
    """The next message; who comes and goes meanwhile is passed over."""
    event = _next(group)
    while not isinstance(event, GroupMessage):
        event = _next(group)
    return event


def hear(group: Group, name: str) -> MemberJoined:
    """Until somebody of that name has joined."""
    event = _next(group)
    while not (isinstance(event, MemberJoined) and event.name == name):
        event = _next(group)
    return event


def _next(group: Group) -> GroupEvent:
    event = group.poll(_PATIENCE_S)
    assert event is not None, "nothing was said"
    return event
