"""Who is who: names to ids, and who may publish where, remembered between transactions.

Used only in the committer's thread. What it remembers is forgotten whenever the catalogue changes or a
transaction is undone, so it never outlives the rows it came from.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select

from pregon.errors import Disabled, Forbidden
from pregon.limits import SCHEMA_VERSIONS_MAX
from pregon.model.names import check_name
from pregon.store import catalog
from pregon.store.schema import producer, subscriber, topic

_REMEMBERED_MAX = 100_000
_TABLES = {"producer": producer, "subscriber": subscriber, "topic": topic}


@dataclass(frozen=True, slots=True)
class Rights:
    """A producer that may publish to a topic."""

    topic_id: int
    producer_id: int
    schema_mark: int = 0
    """Stands for the schema that the topic has now; 0 for one that never had any."""


def schema_mark(topic_id: int, version: int) -> int:
    """A number for a version of a topic's schema that no other topic has, not even one of the same name."""
    return topic_id * 2 * SCHEMA_VERSIONS_MAX + version if version else 0


class Directory:
    """Finds topics, producers and subscribers, and makes them on first use if that is allowed."""

    def __init__(self, auto_create: bool) -> None:
        self.auto_create = auto_create
        self._rights: dict[tuple[str, str], Rights] = {}

    def forget(self) -> None:
        """The catalogue changed."""
        self._rights.clear()

    def require_rights(
        self, connection: Connection, topic_name: str, producer_name: str, now_us: int, *, may_create: bool = True
    ) -> Rights:
        """The ids of both, made if need be, if this producer may publish to this topic.

        Raises NotFound, BadName, Forbidden, Disabled or LimitReached, and then has made neither. One who may not
        create is not told whether they exist: that answer is Forbidden, as for a topic that it was not granted.
        """
        found = self.find_rights(connection, topic_name, producer_name, may_create=may_create)
        if found is None:
            if not may_create:
                raise _not_granted(producer_name, topic_name)
            names = {"topic": topic_name, "producer": producer_name}
            self.find_or_create_all(connection, names, now_us)
            found = self.find_rights(connection, topic_name, producer_name)
            assert found is not None
        return found

    def find_rights(
        self, connection: Connection, topic_name: str, producer_name: str, *, may_create: bool = True
    ) -> Rights | None:
        """The same without making anything: None when one of them is to be made on first use.

        Who may not publish to the topic, or does not know whether it exists, is not told that it is disabled.
        """
        found = self._rights.get((topic_name, producer_name))
        if found is not None:
            return found
        row = connection.execute(
            select(topic.c.id, topic.c.restricted, topic.c.enabled, topic.c.schema_version).where(
                topic.c.name == topic_name, ~topic.c.deleted
            )
        ).first()
        who = connection.execute(
            select(producer.c.id, producer.c.enabled).where(producer.c.name == producer_name)
        ).first()
        producer_id = None if who is None else int(who.id)
        is_restricted = row is not None and row.restricted
        if row is not None and is_restricted and not catalog.may_publish(connection, producer_id, row.id):
            if not may_create:
                raise _not_granted(producer_name, topic_name)
            verb = "create" if producer_id is None else "update"
            raise Forbidden(
                f"{producer_name} may not publish to {topic_name}: "
                f"grant it with `pregon producer {verb} {producer_name} --topic {topic_name}`"
            )
        if may_create or (row is not None and who is not None):
            for kind, name, entry in (("topic", topic_name, row), ("producer", producer_name, who)):
                if entry is not None and not entry.enabled:
                    raise _disabled(kind, name, may_create)
        if row is None or producer_id is None:
            return None
        rights = Rights(row.id, producer_id, schema_mark(row.id, row.schema_version))
        self._remember(topic_name, producer_name, rights)
        return rights

    def knows_rights(self, topic_name: str, producer_name: str) -> bool:
        """Whether this producer is known to be allowed: may be asked in any thread."""
        return (topic_name, producer_name) in self._rights

    def _remember(self, topic_name: str, producer_name: str, rights: Rights) -> None:
        if len(self._rights) >= _REMEMBERED_MAX:
            self._rights.clear()
        self._rights[topic_name, producer_name] = rights

    def find_or_create_all(self, connection: Connection, names: dict[str, str], now_us: int) -> list[int]:
        """The ids of entries by kind and name; those that are missing are made if that is allowed, all or none."""
        found = {kind: catalog.find_id(connection, kind, name) for kind, name in names.items()}
        missing = [kind for kind, row_id in found.items() if row_id is None]
        for kind in missing:
            check_name(kind, names[kind])
            if not self.auto_create:
                raise catalog.not_there(kind, names[kind])
            catalog.require_room(connection, kind)
        return [
            catalog.insert_row(connection, _TABLES[kind], {"name": names[kind], "created_us": now_us})
            if row_id is None
            else row_id
            for kind, row_id in found.items()
        ]


def _disabled(kind: str, name: str, may_create: bool) -> Disabled:
    """Who may make entries may enable them too."""
    advice = f"`pregon {kind} update {name} --enable` enables it" if may_create else "ask the hub's administrator"
    return Disabled(f"the {kind} {name} is disabled, and nothing was stored: {advice}")


def _not_granted(producer_name: str, topic_name: str) -> Forbidden:
    """The same for a topic or producer that does not exist and for one that was not granted."""
    return Forbidden(
        f"{producer_name} may not publish to {topic_name}: one of them does not exist, or it was not granted; "
        "ask the hub's administrator"
    )
