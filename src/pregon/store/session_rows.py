"""What a producer stored under one of its sessions: which batches, and where their messages are in the log.

What a session is, and how a repeated batch is recognised by it, is in `dedupe`; this only looks.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection, bindparam, select

from pregon.model.runs import Run
from pregon.store.prepared import Prepared
from pregon.store.schema import producer, producer_session, topic

SESSION_BYTES_MAX = 200
"""Length of a session's name, in UTF-8."""

_FIND = Prepared(
    select(topic.c.id, topic.c.tail_seq, producer_session.c.batches)
    .select_from(
        producer_session.join(topic, topic.c.id == producer_session.c.topic_id).join(
            producer, producer.c.id == producer_session.c.producer_id
        )
    )
    .where(
        topic.c.name == bindparam("topic"),
        ~topic.c.deleted,
        producer.c.name == bindparam("producer"),
        producer_session.c.session == bindparam("session"),
    )
)
_decode = msgspec.msgpack.Decoder(list[tuple[int, int, int]]).decode


@dataclass(frozen=True, slots=True)
class SessionBatches:
    """The batches of a session that the hub remembers: number, first message and how many of each, oldest first."""

    topic_id: int
    tail_seq: int
    """The oldest message that the log still has."""
    batches: list[tuple[int, int, int]]

    @property
    def first_number(self) -> int:
        """The oldest batch that is remembered."""
        return self.batches[0][0]

    @property
    def next_number(self) -> int:
        """The batch that is to come."""
        return self.batches[-1][0] + 1

    def runs(self, from_number: int) -> list[Run]:
        """The messages of the batches from a number on; batches that follow each other in the log are one run."""
        runs: list[Run] = []
        for number, base_seq, count in self.batches:
            if number < from_number:
                continue
            last_seq = base_seq + count - 1
            if runs and runs[-1][1] + 1 == base_seq:
                runs[-1] = (runs[-1][0], last_seq)
            else:
                runs.append((base_seq, last_seq))
        return runs


def find_session_batches(
    connection: Connection, topic_name: str, producer_name: str, session: str
) -> SessionBatches | None:
    """What is remembered of a producer's session on a topic; None if nothing is."""
    rows = _FIND.run(connection, {"topic": topic_name, "producer": producer_name, "session": session})
    if not rows:
        return None
    topic_id, tail_seq, packed = rows[0]
    batches = _decode(packed)
    return SessionBatches(topic_id, tail_seq, batches) if batches else None
