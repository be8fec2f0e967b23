"""What publications share: who publishes where, what it must fit, and where it was stored.

A body is checked against its topic's schema in the thread of the door that took it; the writer checks again what was
not checked, or was checked against another schema than the topic has when it is written.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pyarrow as pa

from pregon.errors import Forbidden, SchemaMismatch
from pregon.hub.counters import Counters
from pregon.hub.directory import Directory, Rights
from pregon.hub.schema_book import NOT_CHECKED, SchemaBook
from pregon.model.batch import StoredBatch
from pregon.model.group import TOPIC_PREFIX
from pregon.model.ids import NewId
from pregon.model.message import Outgoing
from pregon.store.transaction import Accepted, Transaction


class Published(msgspec.Struct, frozen=True):
    """Where messages were stored: the number of the first, how many, and whether they were there already."""

    seq: int
    count: int = 1
    duplicate: bool = False


class Way(msgspec.Struct, frozen=True, gc=False):
    """Who publishes where, and what is known of it before it is queued."""

    topic: str
    producer: str
    may_create: bool = True
    """Whether topic and producer may be made on first use."""
    schema_mark: int = 0
    """The schema that the bodies were found to fit (see `hub.directory.Rights`); 0 for none."""


def require_not_of_group(topic: str) -> None:
    """Raises Forbidden for the topic of a group: only its members send there, through the group."""
    if topic.startswith(TOPIC_PREFIX):
        raise Forbidden(f"{topic[:160]} belongs to a group: join the group, and send to it")


def is_named(message: Outgoing) -> bool:
    """Whether it has an id that somebody may have published before."""
    return message.id is not None and type(message.id) is not NewId


class PublishContext:
    """What publications share."""

    def __init__(self, directory: Directory, counters: Counters, book: SchemaBook) -> None:
        self.directory = directory
        self.counters = counters
        self._book = book

    def way_of(
        self, topic: str, producer: str, may_create: bool, bodies: Sequence[bytes], *, may_be_known: bool
    ) -> Way:
        """The way of a publication whose bodies fit the topic's schema; raises SchemaMismatch.

        What may have been stored when the topic had another schema, and what comes from one who may not look around,
        is left to the writer, who knows what was published before and who may publish.
        """
        if not may_create and not self.directory.knows_rights(topic, producer):
            return Way(topic, producer, may_create, NOT_CHECKED)
        try:
            return Way(topic, producer, may_create, self._book.check(topic, bodies))
        except SchemaMismatch:
            if not may_be_known:
                raise
            return Way(topic, producer, may_create, NOT_CHECKED)

    def require_rights(self, transaction: Transaction, way: Way) -> Rights:
        """The rights of who publishes; raises if it has none."""
        return self.directory.require_rights(
            transaction.connection, way.topic, way.producer, transaction.now_us, may_create=way.may_create
        )

    def require_fit(
        self, transaction: Transaction, way: Way, rights: Rights, bodies: Sequence[bytes] | pa.RecordBatch
    ) -> None:
        """Raises SchemaMismatch for bodies that were not checked against the schema of now, and do not fit it."""
        if rights.schema_mark != way.schema_mark:
            texts = bodies.column("body").to_pylist() if isinstance(bodies, pa.RecordBatch) else bodies
            self._book.check_again(transaction.connection, way.topic, rights.schema_mark, texts)

    def accepted(self, transaction: Transaction, topic: str, batch: StoredBatch) -> None:
        """Note for after the commit that a batch was added."""
        transaction.accepted.append(Accepted(topic, batch))
        self.counters.messages_accepted += batch.count
        self.counters.bytes_accepted += len(batch.arrow)
