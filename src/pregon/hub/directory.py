"""Who is who: names to ids, and who may publish where, remembered between transactions.

Used only in the committer's thread. What it remembers is forgotten whenever the catalogue changes or a
transaction is undone, so it never outlives the rows it came from.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select

from pregon.errors import Forbidden
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


class Directory:
    """Finds topics, producers and subscribers, and makes them on first use if that is allowed."""

    def __init__(self, auto_create: bool) -> None:
        self.auto_create = auto_create
        self._rights: dict[tuple[str, str], Rights] = {}

    def forget(self) -> None:
        """The catalogue changed."""
        self._rights.clear()

    def require_rights(self, connection: Connection, topic_name: str, producer_name: str, now_us: int) -> Rights:
        """The ids of both, made if need be, if this producer may publish to this topic.

        Raises NotFound, BadName, Forbidden or LimitReached, and then has made neither.
        """
        found = self.find_rights(connection, topic_name, producer_name)
        if found is None:
            found = Rights(
                *self.find_or_create_all(connection, {"topic": topic_name, "producer": producer_name}, now_us)
            )
            self._remember(topic_name, producer_name, found)
        return found

    def find_rights(self, connection: Connection, topic_name: str, producer_name: str) -> Rights | None:
        """The same without making anything: None when one of them is to be made on first use."""
        found = self._rights.get((topic_name, producer_name))
        if found is not None:
            return found
        row = connection.execute(
            select(topic.c.id, topic.c.restricted).where(topic.c.name == topic_name, ~topic.c.deleted)
        ).first()
        producer_id = catalog.find_id(connection, "producer", producer_name)
        is_restricted = row is not None and row.restricted
        if row is not None and is_restricted and not catalog.may_publish(connection, producer_id, row.id):
            verb = "create" if producer_id is None else "update"
            raise Forbidden(
                f"{producer_name} may not publish to {topic_name}: "
                f"grant it with `pregon producer {verb} {producer_name} --topic {topic_name}`"
            )
        if row is None or producer_id is None:
            return None
        rights = Rights(row.id, producer_id)
        self._remember(topic_name, producer_name, rights)
        return rights

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
