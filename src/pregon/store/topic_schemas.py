"""The versions of topics' schemas: add, find, list. What a schema means is in `schemas`."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, insert, select, update

from pregon.errors import LimitReached
from pregon.limits import SCHEMA_VERSIONS_MAX
from pregon.model.catalog import SchemaVersion
from pregon.store.schema import topic, topic_schema


def append_version(connection: Connection, topic_id: int, value: SchemaVersion) -> int:
    """Add the next version and make it the topic's; returns its number."""
    newest = connection.execute(select(topic.c.schema_version).where(topic.c.id == topic_id)).scalar_one()
    if newest >= SCHEMA_VERSIONS_MAX:
        raise LimitReached(f"{value.topic} has had {newest} schemas, its limit: begin a new topic")
    version = int(newest) + 1
    connection.execute(
        insert(topic_schema).values(
            topic_id=topic_id,
            version=version,
            kind=value.kind,
            text=value.text,
            compatible=value.compatible,
            reasons="\n".join(value.reasons),
            created_us=value.created_us,
        )
    )
    connection.execute(update(topic).where(topic.c.id == topic_id).values(schema_version=version))
    return version


def list_versions(connection: Connection, topic_name: str, before: int, rows_max: int) -> list[SchemaVersion]:
    """Versions of a topic's schema, newest first, before a version (0: from the newest on)."""
    statement = (
        select(topic_schema, topic.c.name.label("topic"))
        .join(topic, topic.c.id == topic_schema.c.topic_id)
        .where(topic.c.name == topic_name, ~topic.c.deleted)
        .order_by(topic_schema.c.version.desc())
        .limit(rows_max)
    )
    if before:
        statement = statement.where(topic_schema.c.version < before)
    return [_version(row) for row in connection.execute(statement)]


def current_schemas(connection: Connection) -> list[tuple[int, SchemaVersion]]:
    """The newest version of every topic that has one, with the topic's id."""
    statement = (
        select(topic_schema, topic.c.name.label("topic"))
        .join(topic, topic.c.id == topic_schema.c.topic_id)
        .where(topic_schema.c.version == topic.c.schema_version, ~topic.c.deleted)
    )
    return [(row.topic_id, _version(row)) for row in connection.execute(statement)]


def _version(row: Any) -> SchemaVersion:
    return SchemaVersion(
        topic=row.topic,
        version=row.version,
        kind=row.kind,
        text=row.text,
        compatible=row.compatible,
        reasons=tuple(row.reasons.split("\n")) if row.reasons else (),
        created_us=row.created_us,
    )
