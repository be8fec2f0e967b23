"""Rows of groups, of their members and of who takes part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, bindparam, delete, func, insert, or_, select, update

from pregon.model.group import Group
from pregon.store.prepared import Prepared
from pregon.store.schema import topic
from pregon.store.schema_groups import causal_group, group_member, participant

_groups, _members, _people = causal_group.c, group_member.c, participant.c
_COUNT = Prepared(
    update(group_member)
    .where(_members.group_id == bindparam("of_group"), _members.member == bindparam("of_member"))
    .values(
        name=bindparam("new_name"),
        kind=bindparam("new_kind"),
        state=bindparam("new_state"),
        number=bindparam("new_number"),
        sent_seq=bindparam("new_sent_seq"),
        seen_seq=bindparam("new_seen_seq"),
        joined_seq=bindparam("new_joined_seq"),
        left_seq=bindparam("new_left_seq"),
        subscriber=bindparam("new_subscriber"),
    )
)
_MARK = Prepared(
    update(causal_group)
    .where(_groups.id == bindparam("of_group"))
    .values(frontier=bindparam("new_frontier"), numbered=bindparam("new_numbered"))
)
_IN = ("joining", "in")
_MEMBERSHIP = Prepared(
    select(_members.member, _members.joined_seq, _groups.history, _groups.traced)
    .join(causal_group, _groups.id == _members.group_id)
    .where(
        _groups.name == bindparam("of_group"),
        _members.participant_id == bindparam("of_participant"),
        or_(_members.state == _IN[0], _members.state == _IN[1]),
    )
)


# Who takes part.


def find_participant(connection: Connection, participant_id: int) -> Row[Any] | None:
    """The row of a participant."""
    return connection.execute(select(participant).where(_people.id == participant_id)).first()


def find_participant_by_name(connection: Connection, folded: str) -> Row[Any] | None:
    """The row of who is called so."""
    return connection.execute(select(participant).where(_people.folded == folded)).first()


def count_participants(connection: Connection) -> int:
    """How many there are."""
    return connection.execute(select(func.count()).select_from(participant)).scalar_one()


def insert_participant(connection: Connection, values: Mapping[str, Any]) -> int:
    """One more; its id."""
    key = connection.execute(insert(participant).values(**values)).inserted_primary_key
    assert key is not None
    return int(key[0])


def rename_participant(connection: Connection, participant_id: int, name: str, folded: str) -> None:
    """It has another name."""
    connection.execute(update(participant).where(_people.id == participant_id).values(name=name, folded=folded))


def delete_participant(connection: Connection, participant_id: int) -> None:
    """It is gone; its members are nobody's."""
    connection.execute(
        update(group_member).where(_members.participant_id == participant_id).values(participant_id=None)
    )
    connection.execute(delete(participant).where(_people.id == participant_id))


def list_participants(connection: Connection, after: str, rows_max: int) -> list[str]:
    """Names, in the order in which they are compared."""
    statement = select(_people.name).where(_people.folded > after).order_by(_people.folded).limit(rows_max)
    return [row.name for row in connection.execute(statement)]


# Groups.


def insert_group(connection: Connection, entry: Group, topic_id: int, pair: str | None, now_us: int) -> int:
    """One more; its id."""
    key = connection.execute(
        insert(causal_group).values(
            name=entry.name,
            topic_id=topic_id,
            description=entry.description,
            access=entry.access,
            allowed="\n".join(entry.allowed),
            history=entry.history,
            traced=entry.traced,
            pair=pair,
            stride=entry.stride,
            place=entry.offset,
            created_us=now_us,
        )
    ).inserted_primary_key
    assert key is not None
    return int(key[0])


def update_group(connection: Connection, group_id: int, entry: Group) -> None:
    """What may be changed of a group."""
    connection.execute(
        update(causal_group)
        .where(_groups.id == group_id)
        .values(
            description=entry.description,
            access=entry.access,
            allowed="\n".join(entry.allowed),
            history=entry.history,
            traced=entry.traced,
        )
    )


def delete_group(connection: Connection, group_id: int) -> None:
    """It is gone, with its members."""
    connection.execute(delete(group_member).where(_members.group_id == group_id))
    connection.execute(delete(causal_group).where(_groups.id == group_id))


def count_groups(connection: Connection) -> int:
    """How many there are."""
    return connection.execute(select(func.count()).select_from(causal_group)).scalar_one()


def find_group(connection: Connection, name: str) -> Row[Any] | None:
    """The row of a group, with the head of its log."""
    return connection.execute(_with_topic().where(_groups.name == name)).first()


def find_group_of_pair(connection: Connection, pair: str) -> str | None:
    """The name of the conversation of two."""
    return connection.execute(select(_groups.name).where(_groups.pair == pair)).scalar()


def _with_topic() -> Any:
    return select(causal_group, topic.c.head_seq, topic.c.tail_seq).join(topic, topic.c.id == _groups.topic_id)


def list_groups(
    connection: Connection, after: str, rows_max: int, *, participant_id: int, is_all: bool
) -> list[Row[Any]]:
    """Groups by name, with how many members they have; private ones only for their members, or for who sees all."""
    count = (
        select(func.count())
        .where(_members.group_id == _groups.id, _members.state == "in", _members.participant_id.is_not(None))
        .correlate(causal_group)
        .scalar_subquery()
    )
    statement = _with_topic().add_columns(count.label("members"))
    if not is_all:
        mine = select(_members.group_id).where(_members.participant_id == participant_id, _members.state.in_(_IN))
        statement = statement.where(or_(_groups.pair.is_(None), _groups.id.in_(mine)))
    return list(connection.execute(statement.where(_groups.name > after).order_by(_groups.name).limit(rows_max)))


def entry_of(row: Row[Any]) -> Group:
    """A group as its entry says."""
    return Group(
        name=row.name,
        description=row.description,
        access=row.access,
        allowed=tuple(row.allowed.split("\n")) if row.allowed else (),
        history=row.history,
        traced=row.traced,
        stride=row.stride,
        offset=row.place,
        is_private=row.pair is not None,
    )


def list_members(connection: Connection, group_id: int, left_after: int | None = None) -> Sequence[Row[Any]]:
    """Who is in or about to be; and who left after a number of the log, if one is given."""
    which: ColumnElement[bool] = _members.state.in_(_IN)
    if left_after is not None:
        which = or_(which, _members.left_seq > left_after)
    statement = select(group_member).where(_members.group_id == group_id, which).order_by(_members.member)
    return list(connection.execute(statement))


def list_memberships(connection: Connection, participant_id: int, rows_max: int) -> list[Row[Any]]:
    """The groups of a participant, by name."""
    mine = and_(_members.participant_id == participant_id, _members.state.in_(_IN))
    statement = (
        select(
            _groups.id,
            _groups.name,
            _groups.pair,
            _members.member,
            _members.kind,
            _members.seen_seq,
            topic.c.head_seq,
        )
        .join(group_member, _members.group_id == _groups.id)
        .join(topic, topic.c.id == _groups.topic_id)
        .where(mine)
        .order_by(_groups.name)
        .limit(rows_max)
    )
    return list(connection.execute(statement))


def find_membership(connection: Connection, group: str, participant_id: int) -> tuple[int, int, bool, bool] | None:
    """The member that a participant is in a group, where it joined, and whether there is history and tracing."""
    found = _MEMBERSHIP.run(connection, {"of_group": group, "of_participant": participant_id})
    return (int(found[0][0]), int(found[0][1]), bool(found[0][2]), bool(found[0][3])) if found else None


def insert_member(connection: Connection, values: Mapping[str, Any]) -> None:
    """One more."""
    connection.execute(insert(group_member).values(**values))


def update_members(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """How far members have come."""
    _COUNT.run(connection, *rows)


def mark_group(connection: Connection, group_id: int, frontier: str, numbered: int) -> None:
    """What the newest part of its log comes to."""
    _MARK.run(connection, {"of_group": group_id, "new_frontier": frontier, "new_numbered": numbered})
