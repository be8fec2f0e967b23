"""The schemas of topics, compiled, and how a topic gets another.

Publications are checked in the thread of the door that took them, before anything is queued; the writer only
compares the version, and checks again in the rare case that the schema has changed on the way.

Promises:
- Once a new schema is acknowledged, nothing that does not fit it is stored.
- What does not fit is refused with where and why, and nothing of its request is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from sqlalchemy import Connection

from pregon.errors import BadSchema, SchemaMismatch
from pregon.hub.directory import Directory, schema_mark
from pregon.model.catalog import SchemaVersion
from pregon.schemas import check
from pregon.schemas.check import Checker, compile_schema
from pregon.schemas.compatibility import SchemaText, compare
from pregon.store import catalog
from pregon.store.topic_schemas import append_version, current_schemas, list_versions
from pregon.store.transaction import Transaction

NONE = "none"
NOT_CHECKED = -1
"""A mark that no schema has."""
KINDS = (*check.KINDS, NONE)


class SchemaBook:
    """What each topic's messages must be."""

    def __init__(self) -> None:
        self._checkers: dict[str, tuple[int, Checker | None]] = {}
        """By topic: the mark of its schema, and who checks it."""

    def load(self, connection: Connection) -> None:
        """Read all of it, at the start."""
        self._checkers = {
            one.topic: (schema_mark(topic_id, one.version), _compile(one))
            for topic_id, one in current_schemas(connection)
        }

    def has_schema(self, topic: str) -> bool:
        """Whether the topic has, or had, one."""
        return topic in self._checkers

    def check(self, topic: str, bodies: Sequence[bytes]) -> int:
        """The mark of the schema that all the bodies fit, 0 for none; raises SchemaMismatch."""
        found = self._checkers.get(topic)
        if found is None:
            return 0
        mark, checker = found
        if checker is not None:
            _check(topic, checker, bodies)
        return mark

    def check_again(self, connection: Connection, topic: str, mark: int, bodies: Sequence[bytes]) -> None:
        """Check against the schema that the store has now, which is not the one that was checked."""
        if not mark:
            return
        known, checker = self._checkers.get(topic, (0, None))
        if known != mark:
            (newest,) = list_versions(connection, topic, 0, 1)
            checker = _compile(newest)
        if checker is not None:
            _check(topic, checker, bodies)

    def renewer(self, topic: str, mark: int, checker: Checker | None) -> Callable[[], None]:
        """What a transaction does after its commit."""

        def renew() -> None:
            self._checkers = {**self._checkers, topic: (mark, checker)}

        return renew

    def forgetter(self, topic: str) -> Callable[[], None]:
        """What a transaction that deleted a topic does after its commit."""

        def forget() -> None:
            self._checkers = {name: one for name, one in self._checkers.items() if name != topic}

        return forget


def _check(topic: str, checker: Checker, bodies: Sequence[bytes]) -> None:
    for row, body in enumerate(bodies):
        try:
            checker.check(body)
        except SchemaMismatch as error:
            where = f"message {row + 1} of the batch: " if len(bodies) > 1 else ""
            raise SchemaMismatch(f"{where}it does not fit the schema of {topic}: {error}") from error


def _compile(value: SchemaVersion) -> Checker | None:
    return None if value.kind == NONE else compile_schema(value.kind, value.text)


def set_schema(book: SchemaBook, wanted: SchemaVersion) -> Callable[[Transaction, Directory], SchemaVersion]:
    """The change that gives a topic another schema; raises BadSchema for one that cannot be used."""
    if wanted.kind not in KINDS:
        raise BadSchema(f"{wanted.kind[:40]!r} is not a kind of schema: use one of {', '.join(KINDS)}")
    checker = _compile(wanted)

    def change(transaction: Transaction, _directory: Directory) -> SchemaVersion:
        connection = transaction.connection
        topic_id = catalog.require_id(connection, "topic", wanted.topic)
        value = compare_schema(connection, wanted)
        value = msgspec.structs.replace(value, created_us=transaction.now_us)
        value = msgspec.structs.replace(value, version=append_version(connection, topic_id, value))
        mark = schema_mark(topic_id, value.version)
        transaction.after_commit.append(book.renewer(value.topic, mark, checker))
        return value

    return change


def compare_schema(connection: Connection, wanted: SchemaVersion) -> SchemaVersion:
    """The wanted schema with whether it accepts all that the topic's schema of now does."""
    _compile(wanted)
    old = next(iter(list_versions(connection, wanted.topic, 0, 1)), None)
    new = _text(wanted)
    if new is None:
        return msgspec.structs.replace(wanted, text="", compatible="yes", reasons=())
    verdict = compare(_text(old), new)
    return msgspec.structs.replace(wanted, compatible=verdict.answer, reasons=tuple(verdict.reasons[:20]))


def _text(value: SchemaVersion | None) -> SchemaText | None:
    return None if value is None or value.kind == NONE else SchemaText(value.kind, value.text)
