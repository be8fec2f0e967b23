"""Who is who: names to ids, and who may publish where, remembered between transactions.

Used only in the committer's thread. What it remembers is forgotten whenever the catalogue changes or a
transaction is undone, so it never outlives the rows it came from.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select

from pregon.errors import Forbidden, NotFound
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
        """The ids of both, if this producer may publish to this topic; raises NotFound, BadName or Forbidden."""
        found = self._rights.get((topic_name, producer_name))
        if found is None:
            found = self._look_up(connection, topic_name, producer_name, now_us)
            if len(self._rights) >= _REMEMBERED_MAX:
                self._rights.clear()
            self._rights[topic_name, producer_name] = found
        return found

    def _look_up(self, connection: Connection, topic_name: str, producer_name: str, now_us: int) -> Rights:
        # Both names are checked before either is made: a rejected operation must not have written.
        check_name("topic", topic_name)
        check_name("producer", producer_name)
        topic_id = self.find_or_create(connection, "topic", topic_name, now_us)
        producer_id = self.find_or_create(connection, "producer", producer_name, now_us)
        restricted = connection.execute(select(topic.c.restricted).where(topic.c.id == topic_id)).scalar_one()
        if restricted and not catalog.may_publish(connection, producer_id, topic_id):
            raise Forbidden(
                f"{producer_name} may not publish to {topic_name}: "
                f"grant it with `pregon producer create {producer_name} --topic {topic_name}`"
            )
        return Rights(topic_id, producer_id)

    def find_or_create(self, connection: Connection, kind: str, name: str, now_us: int) -> int:
        """The id; made now if there is none and that is allowed, else raises NotFound."""
        row_id = catalog.find_id(connection, kind, name)
        if row_id is not None:
            return row_id
        if not self.auto_create:
            raise NotFound(f"there is no {kind} {name!r}: create it with `pregon {kind} create {name}`")
        check_name(kind, name)
        return catalog.insert_row(connection, _TABLES[kind], {"name": name, "created_us": now_us})
