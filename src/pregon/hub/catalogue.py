"""The verbs of the catalogue: entries, keys, signing secrets and schemas.

A part of `Hub`, which carries the changes out. A change that is given a note leaves it in the audit, in its own
transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection

from pregon import limits
from pregon.clock import WallClock
from pregon.hub import access, registry, schema_book, signing
from pregon.hub.access import NewKey, ShownKey
from pregon.hub.auditing import Note, audited
from pregon.hub.directory import Directory
from pregon.hub.keyring import Keyring
from pregon.hub.registry import CatalogOperation, Entry
from pregon.hub.schema_book import SchemaBook
from pregon.hub.settle import not_subscribed
from pregon.hub.signing import OVERLAP_MS_DEFAULT, ShownSecret
from pregon.model.catalog import PushState, SchemaVersion, SigningSecret, Subscriber
from pregon.security.guard import Guard
from pregon.security.keys import Key
from pregon.store import catalog
from pregon.store.keys import list_keys
from pregon.store.pushing import find_push_state
from pregon.store.secrets import list_secrets
from pregon.store.ticket import Ticket
from pregon.store.topic_schemas import list_versions

T = TypeVar("T")


class CatalogueVerbs:
    """What people register."""

    keyring: Keyring
    guard: Guard
    clock: WallClock
    _directory: Directory
    _book: SchemaBook

    def read(self, read: Callable[[Connection], T]) -> Ticket[T]:
        """Run a read in a reader thread."""
        raise NotImplementedError

    def submit(self, operation: Any) -> Ticket[Any]:
        """Have an operation carried out."""
        raise NotImplementedError

    def change(self, change: Callable[..., Any], note: Note | None = None) -> Ticket[Any]:
        """Have a change of the catalogue carried out: a function of the transaction and the directory."""
        return self.submit(audited(CatalogOperation(self._directory, change), note))

    def create(self, entry: Entry, note: Note | None = None) -> Ticket[Entry]:
        """Register a topic, producer, subscriber or subscription."""
        if isinstance(entry, Subscriber) and entry.endpoint:
            self.guard.check_url(entry.check().endpoint)
        return self.change(registry.create(entry), note)

    def update(
        self,
        kind: str,
        names: tuple[str, ...],
        values: dict[str, Any],
        expected: str = "",
        note: Note | None = None,
    ) -> Ticket[Entry]:
        """Change some fields of an entry; raises Changed if it is not as `expected` (see `registry.fingerprint`)."""
        if kind == "subscriber" and isinstance(values.get("endpoint"), str) and values["endpoint"]:
            self.guard.check_url(values["endpoint"])
        return self.change(registry.change_entry(kind, names, values, expected), note)

    def delete(self, kind: str, names: tuple[str, ...], expected: str = "", note: Note | None = None) -> Ticket[bool]:
        """Delete an entry, with its keys; answers with whether there was one."""
        return self.change(self.deleting(kind, names, expected), note)

    def deleting(self, kind: str, names: tuple[str, ...], expected: str = "") -> Callable[..., bool]:
        """The change that deletes an entry, with its keys."""
        return access.deleting(self.keyring, self._book, kind, names, registry.delete(kind, names, expected))

    def grant(self, producer: str, topic: str, *, is_granted: bool, note: Note | None = None) -> Ticket[Entry]:
        """Let a producer publish to a restricted topic, or no more; answers with the producer."""
        return self.change(registry.change_grant(producer, topic, is_granted), note)

    def show(self, kind: str, names: tuple[str, ...]) -> Ticket[Entry]:
        """One entry."""
        return self.read(lambda connection: registry.require_entry(connection, kind, names))

    def list(
        self, kind: str, *, after: tuple[str, ...] = (), names: tuple[str, ...] = (), rows_max: int = 100
    ) -> Ticket[list[Entry]]:
        """A page of entries."""
        return self.read(
            lambda connection: registry.list_entries(connection, kind, after=after, names=names, rows_max=rows_max)
        )

    # Keys and schemas.

    def create_key(self, wanted: NewKey, note: Note | None = None) -> Ticket[ShownKey]:
        """Make a key; the answer is the only one that has its secret."""
        return self.change(access.create_key(self.keyring, wanted), note)

    def revoke_key(self, kind: str, owner: str, key_id: str, note: Note | None = None) -> Ticket[bool]:
        """Revoke a key at once; answers with whether there was one."""
        return self.change(access.revoke_key(self.keyring, kind, owner, key_id), note)

    def list_keys(
        self, kind: str, owner: str = "", after: tuple[str, str] = ("", ""), rows_max: int = limits.LIST_ROWS_MAX
    ) -> Ticket[Sequence[Key]]:
        """A page of the keys of a kind, of one owner if it is named, without their secrets."""
        rows = max(1, min(rows_max, limits.LIST_ROWS_MAX))
        return self.read(lambda connection: [one.key for one in list_keys(connection, kind, owner, after, rows)])

    def set_schema(self, wanted: SchemaVersion, note: Note | None = None) -> Ticket[SchemaVersion]:
        """Give a topic another schema; the answer says whether it accepts all that the old one did."""
        return self.change(schema_book.set_schema(self._book, wanted), note)

    def compare_schema(self, wanted: SchemaVersion) -> Ticket[SchemaVersion]:
        """The same answer, without changing anything."""

        def read(connection: Connection) -> SchemaVersion:
            catalog.require_id(connection, "topic", wanted.topic)
            return schema_book.compare_schema(connection, wanted)

        return self.read(read)

    def list_schemas(self, topic: str, before: int = 0, rows_max: int = 100) -> Ticket[Sequence[SchemaVersion]]:
        """The versions of a topic's schema, newest first."""

        def read(connection: Connection) -> Sequence[SchemaVersion]:
            catalog.require_id(connection, "topic", topic)
            return list_versions(connection, topic, before, max(1, min(rows_max, limits.LIST_ROWS_MAX)))

        return self.read(read)

    # Push.

    def create_secret(
        self, subscriber: str, given: str = "", overlap_ms: int = OVERLAP_MS_DEFAULT, note: Note | None = None
    ) -> Ticket[ShownSecret]:
        """Give a subscriber a new signing secret; the answer is the only one that has it."""
        return self.change(signing.create_secret(subscriber, given, overlap_ms), note)

    def revoke_secret(self, subscriber: str, secret_id: str, note: Note | None = None) -> Ticket[bool]:
        """End a signing secret at once; answers with whether there was one."""
        return self.change(signing.revoke_secret(subscriber, secret_id), note)

    def list_secrets(self, subscriber: str) -> Ticket[Sequence[SigningSecret]]:
        """The signing secrets of a subscriber, newest first, without what is secret of them."""

        def read(connection: Connection) -> Sequence[SigningSecret]:
            catalog.require_id(connection, "subscriber", subscriber)
            return [one.known for one in list_secrets(connection, subscriber, self.clock.now_us())]

        return self.read(read)

    def push_state(self, topic: str, subscriber: str) -> Ticket[PushState]:
        """How pushing a subscription goes."""

        def read(connection: Connection) -> PushState:
            found = find_push_state(connection, topic, subscriber)
            if found is None:
                raise not_subscribed(topic, subscriber)
            return found

        return self.read(read)
