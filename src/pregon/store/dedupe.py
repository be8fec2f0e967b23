"""The memory of what was published already.

Single messages are remembered by their id. Batches are remembered by producer session and number: numbers
go 1, 2, 3 …, so a repeated one is recognised and a missing one is noticed, which keeps a producer's order
even when the hub refused one batch while the next was on its way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Connection, bindparam, delete, insert, select, tuple_, update

from pregon import limits
from pregon.errors import BatchOutOfOrder, SessionUnknown
from pregon.store.prepared import Prepared
from pregon.store.schema import dedupe, producer_session

_INSERT = Prepared(insert(dedupe), [column.name for column in dedupe.columns])


def _find_some(count: int) -> Prepared:
    """Look so many ids up at once."""
    return Prepared(
        select(dedupe.c.message_id, dedupe.c.seq).where(
            dedupe.c.topic_id == bindparam("topic_id"),
            dedupe.c.producer_id == bindparam("producer_id"),
            dedupe.c.message_id.in_([bindparam(f"id{number}") for number in range(count)]),
        )
    )


_FIND = {count: _find_some(count) for count in (1, 8, 64, 256)}
_SESSION_KEY = (
    producer_session.c.topic_id == bindparam("k_topic_id"),
    producer_session.c.producer_id == bindparam("k_producer_id"),
    producer_session.c.session == bindparam("k_session"),
)
_FIND_SESSION = Prepared(select(producer_session.c.batches).where(*_SESSION_KEY))
_UPDATE_SESSION = Prepared(
    update(producer_session).where(*_SESSION_KEY).values(batches=bindparam("new_batches"), at_us=bindparam("now_us"))
)
_INSERT_SESSION = Prepared(insert(producer_session), [column.name for column in producer_session.columns])
_IDS_AT_ONCE = 256
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[tuple[int, int, int]]).decode


def find_published(connection: Connection, topic_id: int, producer_id: int, ids: Sequence[str]) -> dict[str, int]:
    """Which of these ids were published before, with their numbers."""
    if len(ids) == 1:
        return dict(_FIND[1].run(connection, {"topic_id": topic_id, "producer_id": producer_id, "id0": ids[0]}))
    found: dict[str, int] = {}
    for start in range(0, len(ids), _IDS_AT_ONCE):
        some = ids[start : start + _IDS_AT_ONCE]
        # Statements of a few sizes, the rest filled with the last id: their texts are made once.
        size = next(size for size in _FIND if size >= len(some))
        values: dict[str, Any] = {f"id{row}": some[min(row, len(some) - 1)] for row in range(size)}
        found.update(_FIND[size].run(connection, {"topic_id": topic_id, "producer_id": producer_id, **values}))
    return found


def remember_published(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Remember ids: rows of topic_id, producer_id, message_id, seq, at_us."""
    _INSERT.run(connection, *rows)


@dataclass(frozen=True, slots=True)
class SessionKey:
    """A producer's session on a topic."""

    topic_id: int
    producer_id: int
    session: str

    def bind(self) -> dict[str, Any]:
        """As parameters of the statements."""
        return {"k_topic_id": self.topic_id, "k_producer_id": self.producer_id, "k_session": self.session}


class Session:
    """What is remembered of a producer session: its last batches."""

    def __init__(self, key: SessionKey, batches: list[tuple[int, int, int]], is_new: bool) -> None:
        self._key = key
        self._batches = batches
        self._is_new = is_new
        self._is_changed = False

    @classmethod
    def load(cls, connection: Connection, key: SessionKey) -> Session:
        """The session as stored, or a new one."""
        rows = _FIND_SESSION.run(connection, key.bind())
        return cls(key, _decode(rows[0][0]) if rows else [], not rows)

    def find(self, number: int) -> tuple[int, int] | None:
        """Base number and count of a batch stored before; None if it is the next one.

        Raises BatchOutOfOrder when an earlier one is missing, SessionUnknown when it is forgotten.
        """
        last = self._batches[-1][0] if self._batches else 0
        if number == last + 1:
            return None
        for known, base_seq, count in reversed(self._batches):
            if known == number:
                return base_seq, count
        if number > last + 1 and self._batches:
            raise BatchOutOfOrder(f"batch {number} came, but {last + 1} is missing: send from there on again")
        raise SessionUnknown(
            f"the hub does not remember batch {number} of session {self._key.session[:60]!r} (it keeps the last "
            f"{limits.SESSION_BATCHES_REMEMBERED}): begin a new session with batch 1"
        )

    def remember(self, number: int, base_seq: int, count: int) -> None:
        """The batch is stored."""
        self._batches.append((number, base_seq, count))
        del self._batches[: -limits.SESSION_BATCHES_REMEMBERED]
        self._is_changed = True

    def save_if_changed(self, connection: Connection, now_us: int) -> None:
        """Write what is remembered."""
        if not self._is_changed:
            return
        batches = _encode(self._batches)
        if self._is_new:
            values = {
                "topic_id": self._key.topic_id,
                "producer_id": self._key.producer_id,
                "session": self._key.session,
                "batches": batches,
                "at_us": now_us,
            }
            _INSERT_SESSION.run(connection, values)
            self._is_new = False
        else:
            _UPDATE_SESSION.run(connection, {**self._key.bind(), "new_batches": batches, "now_us": now_us})


class Forgetting:
    """Walks through the remembered ids little by little, forgetting the old ones, and begins again at the end.

    An index by time would make forgetting quicker and every publication slower.
    """

    def __init__(self) -> None:
        self._after: tuple[int, int, str] = (0, 0, "")

    def step(self, connection: Connection, before_us: int, rows_max: int) -> bool:
        """Look at the next `rows_max` ids; whether there are more to look at."""
        key = (dedupe.c.topic_id, dedupe.c.producer_id, dedupe.c.message_id)
        rows = connection.execute(
            select(*key, dedupe.c.at_us).where(tuple_(*key) > self._after).order_by(*key).limit(rows_max)
        ).all()
        for row in rows:
            if row.at_us < before_us:
                same = (column == value for column, value in zip(key, row, strict=False))
                connection.execute(delete(dedupe).where(*same))
        self._after = tuple(rows[-1][:3]) if len(rows) == rows_max else (0, 0, "")
        return len(rows) == rows_max


def forget_sessions(connection: Connection, before_us: int, rows_max: int) -> int:
    """Forget at most `rows_max` sessions not used since `before_us`; how many it was."""
    key = tuple(producer_session.primary_key.columns)
    old = select(*key).where(producer_session.c.at_us < before_us).order_by(producer_session.c.at_us).limit(rows_max)
    return connection.execute(delete(producer_session).where(tuple_(*key).in_(old))).rowcount
