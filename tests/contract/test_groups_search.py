"""Groups for who looks for one, and what the audit says of who changed them."""

from __future__ import annotations

import pytest

from pregon.errors import BadRequest, NotFound, Unauthorized
from pregon.hub.access import NewKey
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.model.administration import AuditQuery
from pregon.security.callers import ANYBODY, Caller, scopes_of
from pregon.store.catalog_search import ListQuery
from pregon.wire.groups import Private

from .group_stage import GROUP, Stage

ADMINISTRATOR = Caller(name="administrator ana", scopes=scopes_of(("admin",)))
READER = Caller(name="administrator rita", scopes=scopes_of(("read",)))


def names(stage: Stage, caller: Caller, **query: object) -> list[str]:
    """The groups that a search finds."""
    found = stage.desk.search(caller, ListQuery(**query)).result()  # type: ignore[arg-type]
    return [one.group.name for one in found]


def converse(stage: Stage) -> str:
    """A private conversation of two."""
    stage.enroll("eva")
    stage.enroll("luis")
    return stage.desk.private(ANYBODY, Private(token=stage.tokens["eva"], with_="luis")).result().group


def test_groups_are_found_by_a_part_of_their_names_in_any_order(stage: Stage) -> None:
    stage.make("cocina", description="What we eat")
    stage.make("taller")
    stage.join("eva", "cocina")
    stage.join("luis", "cocina")
    stage.join("eva", "taller")
    stage.send("eva", "hola", "taller")

    by_members = names(stage, READER, sort="members", descending=True)
    by_time = names(stage, READER, sort="said", descending=True)

    assert by_members == ["cocina", "taller", GROUP]
    assert by_time[0] == "taller"
    assert names(stage, READER, q="EAT") == ["cocina"]
    assert names(stage, READER, q="%") == []
    assert names(stage, READER, rows=1, offset=1) == [GROUP]
    with pytest.raises(BadRequest):
        names(stage, READER, sort="colour")


def test_a_row_says_how_many_are_in_and_what_was_said(stage: Stage) -> None:
    stage.join("eva")
    stage.send("eva", "hola")

    (row,) = stage.desk.search(READER, ListQuery()).result()

    assert (row.members, row.messages) == (1, 3)
    assert row.said_us > 0


def test_private_conversations_are_found_by_who_administers_and_by_nobody_else(stage: Stage) -> None:
    private = converse(stage)

    assert names(stage, READER) == [GROUP]
    assert names(stage, ANYBODY) == [GROUP]
    assert set(names(stage, ADMINISTRATOR)) == {GROUP, private}


def test_who_may_not_read_finds_nothing(stage: Stage, hub: Hub) -> None:
    hub.create_key(NewKey(kind="token", owner="admin", scopes=("admin",))).result()

    with pytest.raises(Unauthorized):
        stage.desk.search(ANYBODY, ListQuery())


def test_who_changes_a_group_is_in_the_audit(stage: Stage, hub: Hub) -> None:
    member = stage.join("eva").member
    stage.desk.update_group(ADMINISTRATOR, GROUP, {"description": "new"}).result()
    stage.desk.remove_member(ADMINISTRATOR, GROUP, member).result()
    stage.desk.remove_member(ADMINISTRATOR, GROUP, 99).result()
    stage.desk.delete_group(ADMINISTRATOR, GROUP).result()
    with pytest.raises(NotFound):
        stage.desk.update_group(ADMINISTRATOR, GROUP, {"description": "newer"}).result()

    found = Gate(hub).audit(READER, AuditQuery(kind="group")).result()

    assert [(one.who, one.action, one.detail) for one in reversed(found)] == [
        ("", "create", ""),
        ("administrator ana", "update", '{"description":"new"}'),
        ("administrator ana", "remove", f'{{"member":{member}}}'),
        ("administrator ana", "delete", ""),
    ]


def test_what_is_done_to_a_private_conversation_is_told_to_who_administers(stage: Stage, hub: Hub) -> None:
    private = converse(stage)
    stage.desk.delete_group(ADMINISTRATOR, private).result()

    told = [
        [one.object for one in Gate(hub).audit(who, AuditQuery(action="delete")).result()]
        for who in (READER, ADMINISTRATOR)
    ]

    assert told == [[], [private]]
