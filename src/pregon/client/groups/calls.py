"""What is asked of a hub about groups: each verb as a request to send and a way to read its answer. Pure."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import msgspec

from pregon.client.calls import Call, Pulled, list_entries, update
from pregon.client.calls import create as create_entry
from pregon.client.calls import delete as delete_entry
from pregon.client.calls import show as show_entry
from pregon.client.groups.events import GroupMember
from pregon.errors import AnswerMalformed
from pregon.limits import LIST_ROWS_MAX
from pregon.model import group as model
from pregon.model.group import NATIVE, DeliveryRow, Participant, topic_of
from pregon.wire import commands as c
from pregon.wire import groups as g

READ_MESSAGES_MAX = 500
"""Messages of one answer to a member that reads."""
READ_BYTES_MAX = 1024 * 1024
"""Their Arrow bytes, but for the first, which always goes."""


def _as_it_is(answer: Any, _payload: Sequence[Any]) -> Any:
    return answer


def enroll(name: str) -> Call[Participant]:
    """Take part under a name."""
    # A secret of one's own: asked again because the answer was lost, the hub knows who asks.
    made = create_entry("participant", {"name": name, "secret": secrets.token_urlsafe(32)})
    return Call(made.header, (), lambda answer, payload: _participant(made.read(answer, payload)))


def rename(token: str, name: str) -> Call[Participant]:
    """Take part under another name."""
    changed = update("participant", (token,), {"name": name})
    return Call(
        changed.header, (), lambda answer, payload: _participant({"token": token} | changed.read(answer, payload))
    )


def retire(token: str) -> Call[bool]:
    """Take part no more, in any group."""
    return delete_entry("participant", (token,))


def _participant(row: dict[str, Any]) -> Participant:
    try:
        return msgspec.convert(row, Participant)
    except msgspec.ValidationError as error:
        raise AnswerMalformed(f"the hub's answer is no participant: {error}") from error


def create(group: str, token: str) -> Call[dict[str, Any]]:
    """Make an open group."""
    return create_entry("group", {"name": group, "token": token})


def show(group: str, token: str) -> Call[dict[str, Any]]:
    """A group, as its entry says, and its members."""
    return show_entry("group", (group, token))


def list_groups(token: str, after: str, rows_max: int) -> Call[list[dict[str, Any]]]:
    """A page of groups, by name; private ones only if they are the participant's."""
    return list_entries("group", (token,) if token else (), (after,) if after else (), rows_max)


def list_members(group: str, token: str) -> Call[list[GroupMember]]:
    """Who is in a group, and who of them is here."""
    listed = list_entries("member", (group, token) if token else (group,), (), LIST_ROWS_MAX)

    def read(answer: c.Rows, payload: Sequence[Any]) -> list[GroupMember]:
        try:
            rows = msgspec.convert(listed.read(answer, payload), list[model.GroupMember])
        except msgspec.ValidationError as error:
            raise AnswerMalformed(f"the hub's answer has no members: {error}") from error
        return [GroupMember(row.member, row.name, row.is_here) for row in rows if row.number]

    return Call(listed.header, (), read)


def join(group: str, token: str, member: int = 0, number: int = 0) -> Call[g.Joined]:
    """Become a member that keeps its own clock, or come back as one."""
    return Call(g.Join(group=group, token=token, kind=NATIVE, member=member, number=number), (), _as_it_is)


def private(token: str, other: str) -> Call[g.Joined]:
    """The conversation of two."""
    return Call(g.Private(token=token, with_=other), (), _as_it_is)


def leave(group: str, token: str) -> Call[g.Sent]:
    """Announce that one leaves."""
    return Call(g.Leave(group=group, token=token), (), _as_it_is)


def mine(token: str, version: int = 0, wait_ms: int = 0) -> Call[g.Memberships]:
    """The groups of a participant."""
    return Call(g.Mine(token=token, version=version, wait_ms=wait_ms), (), _as_it_is, wait_ms)


def send(header: g.Send, body: bytes) -> Call[g.Sent]:
    """Store a message."""
    return Call(header, (body,), _as_it_is)


def read(group: str, token: str, after_seq: int, wait_ms: int) -> Call[Pulled]:
    """What comes after a number of the log."""
    header = g.Read(
        group=group,
        token=token,
        after_seq=after_seq,
        max=READ_MESSAGES_MAX,
        bytes_max=READ_BYTES_MAX,
        wait_ms=wait_ms,
    )
    return Call(header, (), lambda answer, payload: Pulled(topic_of(group), answer, payload), wait_ms)


def report(group: str, token: str, rows: list[DeliveryRow]) -> Call[int]:
    """Tell what was shown, and when; how many of them are kept."""
    return Call(g.Report(group=group, token=token, rows=rows), (), lambda answer, _: int(answer.count))
