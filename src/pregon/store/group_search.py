"""Find groups by a part of their names, in any order: a list for people, as `catalog_search` has of the catalogue.

Promises:
- At most `LIST_ROWS_MAX` rows, and no private conversation for who may not see them.
"""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import Connection, func, or_, select

from pregon.errors import BadRequest
from pregon.limits import LIST_ROWS_MAX
from pregon.model.group import Group
from pregon.store.catalog_search import OFFSET_MAX, ListQuery
from pregon.store.groups import entry_of
from pregon.store.schema import topic
from pregon.store.schema_groups import causal_group, group_member

_groups, _members = causal_group.c, group_member.c


class GroupRow(msgspec.Struct, frozen=True, kw_only=True):
    """A group in a list."""

    group: Group
    members: int
    messages: int
    said_us: int
    """When something was last said in it; 0 for never."""


def search_groups(connection: Connection, query: ListQuery, *, is_all: bool) -> list[GroupRow]:
    """Groups, by name, members, messages or said; private conversations only for who sees all."""
    members = (
        select(func.count())
        .where(_members.group_id == _groups.id, _members.state == "in", _members.participant_id.is_not(None))
        .correlate(causal_group)
        .scalar_subquery()
        .label("members")
    )
    columns: dict[str, Any] = {
        "name": _groups.name,
        "members": members,
        "messages": topic.c.head_seq,
        "said": topic.c.accepted_us,
    }
    if query.sort not in columns:
        raise BadRequest(f"the list is sorted by one of {', '.join(columns)}, not by {query.sort[:40]!r}")
    statement = select(causal_group, topic.c.head_seq, topic.c.tail_seq, topic.c.accepted_us, members).join(
        topic, topic.c.id == _groups.topic_id
    )
    if not is_all:
        statement = statement.where(_groups.pair.is_(None))
    if query.q:
        found = (one.icontains(query.q, autoescape=True) for one in (_groups.name, _groups.description))
        statement = statement.where(or_(*found))
    by = columns[query.sort]
    page = (
        statement.order_by(by.desc() if query.descending else by.asc(), _groups.name)
        .limit(max(1, min(query.rows, LIST_ROWS_MAX)))
        .offset(max(0, min(query.offset, OFFSET_MAX)))
    )
    return [
        GroupRow(
            group=entry_of(row),
            members=row.members,
            messages=row.head_seq - row.tail_seq + 1,
            said_us=row.accepted_us,
        )
        for row in connection.execute(page)
    ]
