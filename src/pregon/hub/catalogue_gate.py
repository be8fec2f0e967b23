"""The gate's verbs of the catalogue: entries, keys, signing secrets and schemas, for callers. A part of `Gate`.

Each change leaves a note of who asked for it in the audit (see `auditing`), without anything that is secret.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pregon.hub import private_topics
from pregon.hub.access import NewKey, ShownKey
from pregon.hub.auditing import Note, note_of, set_fields
from pregon.hub.hiding import hide
from pregon.hub.hub import Hub
from pregon.hub.keyring import Keyring
from pregon.hub.registry import Entry
from pregon.hub.signing import OVERLAP_MS_DEFAULT, ShownSecret
from pregon.hub.way import require_not_of_group
from pregon.limits import LIST_ROWS_MAX
from pregon.model.catalog import SchemaVersion, SigningSecret, Subscription, Topic
from pregon.security.callers import Caller
from pregon.security.keys import ADMIN, PRODUCER, READ, SUBSCRIBER, Key
from pregon.store.ticket import Ticket

KEY, SCHEMA, SECRET = "key", "schema", "secret"
"""What the audit calls what is no entry of the catalogue."""


class CatalogueGate:
    """What people register, for callers."""

    hub: Hub
    _keyring: Keyring

    def create(self, caller: Caller, entry: Entry) -> Ticket[Entry]:
        """Register an entry."""
        self._keyring.rules.require(caller, ADMIN)
        if isinstance(entry, Topic):
            require_not_of_group(entry.name)
        elif isinstance(entry, Subscription):
            private_topics.require_not_private(caller, entry.topic)
        return self.hub.create(entry, _note_of_entry(caller, entry))

    def update(
        self, caller: Caller, kind: str, names: tuple[str, ...], values: dict[str, Any], expected: str = ""
    ) -> Ticket[Entry]:
        """Change some fields of an entry."""
        self._keyring.rules.require(caller, ADMIN)
        private_topics.require_entry_not_private(caller, kind, names)
        return self.hub.update(kind, names, values, expected, note_of(caller, "update", kind, names, values))

    def delete(self, caller: Caller, kind: str, names: tuple[str, ...], expected: str = "") -> Ticket[bool]:
        """Delete an entry."""
        self._keyring.rules.require(caller, ADMIN)
        require_not_of_group(names[0] if kind == "topic" and names else "")
        private_topics.require_entry_not_private(caller, kind, names)
        return self.hub.delete(kind, names, expected, note_of(caller, "delete", kind, names))

    def grant(self, caller: Caller, producer: str, topic: str, *, is_granted: bool) -> Ticket[Entry]:
        """Let a producer publish to a restricted topic, or no more."""
        self._keyring.rules.require(caller, ADMIN)
        require_not_of_group(topic)
        note = note_of(caller, "grant" if is_granted else "ungrant", PRODUCER, [producer], {"topic": topic})
        return self.hub.grant(producer, topic, is_granted=is_granted, note=note)

    def show(self, caller: Caller, kind: str, names: tuple[str, ...]) -> Ticket[Entry]:
        """One entry: any for readers, their own for producers and subscribers."""
        own = {PRODUCER: caller.producers, SUBSCRIBER: caller.subscribers, "subscription": caller.subscribers}
        if self._keyring.rules.may(caller, READ):
            private_topics.require_entry_not_private(caller, kind, names)
            return self.hub.show(kind, names)
        if not names or names[-1] not in own.get(kind, ()):
            self._keyring.rules.require(caller, READ)
        return hide(self.hub.show(kind, names), caller, f"the {kind} {' '.join(names)}")

    def list(
        self,
        caller: Caller,
        kind: str,
        *,
        after: tuple[str, ...] = (),
        names: tuple[str, ...] = (),
        rows_max: int = 100,
    ) -> Ticket[list[Entry]]:
        """A page of entries: any for readers, its own subscriptions for a subscriber."""
        is_own = kind == "subscription" and len(names) > 1 and names[1] in caller.subscribers
        if is_own or private_topics.may_see_private(caller):
            return self.hub.list(kind, after=after, names=names, rows_max=rows_max)
        self._keyring.rules.require(caller, READ)
        private_topics.require_entry_not_private(caller, kind, names)
        return self.hub.read(lambda connection: private_topics.list_others(connection, kind, after, names, rows_max))

    def create_key(self, caller: Caller, wanted: NewKey) -> Ticket[ShownKey]:
        """Make a key."""
        self._keyring.rules.require(caller, ADMIN)
        said = set_fields(wanted, without=("kind", "owner"))
        return self.hub.create_key(wanted, note_of(caller, "create", KEY, [wanted.kind, wanted.owner], said, ("id",)))

    def revoke_key(self, caller: Caller, kind: str, owner: str, key_id: str) -> Ticket[bool]:
        """Revoke a key."""
        self._keyring.rules.require(caller, ADMIN)
        return self.hub.revoke_key(kind, owner, key_id, note_of(caller, "revoke", KEY, [kind, owner], {"id": key_id}))

    def list_keys(
        self,
        caller: Caller,
        kind: str,
        owner: str = "",
        after: tuple[str, str] = ("", ""),
        rows_max: int = LIST_ROWS_MAX,
    ) -> Ticket[Sequence[Key]]:
        """A page of the keys of a kind or of an owner, without their secrets."""
        self._keyring.rules.require(caller, ADMIN)
        return self.hub.list_keys(kind, owner, after, rows_max)

    def set_schema(self, caller: Caller, wanted: SchemaVersion) -> Ticket[SchemaVersion]:
        """Give a topic another schema."""
        self._keyring.rules.require(caller, ADMIN)
        private_topics.require_not_private(caller, wanted.topic)
        said = {"kind": wanted.kind, "characters": len(wanted.text)}
        return self.hub.set_schema(wanted, note_of(caller, "update", SCHEMA, [wanted.topic], said, ("version",)))

    def compare_schema(self, caller: Caller, wanted: SchemaVersion) -> Ticket[SchemaVersion]:
        """Whether a schema would accept all that the topic's schema of now does."""
        self._keyring.rules.require(caller, READ)
        private_topics.require_not_private(caller, wanted.topic)
        return self.hub.compare_schema(wanted)

    def list_schemas(
        self, caller: Caller, topic: str, before: int = 0, rows_max: int = 100
    ) -> Ticket[Sequence[SchemaVersion]]:
        """The versions of a topic's schema."""
        self._keyring.rules.require(caller, READ)
        private_topics.require_not_private(caller, topic)
        return self.hub.list_schemas(topic, before, rows_max)

    # Signing secrets.

    def create_secret(
        self, caller: Caller, subscriber: str, given: str = "", overlap_ms: int = OVERLAP_MS_DEFAULT
    ) -> Ticket[ShownSecret]:
        """Give a subscriber a new signing secret."""
        self._keyring.rules.require(caller, ADMIN)
        said = {"overlap_ms": overlap_ms, "is_own": bool(given)}
        note = note_of(caller, "create", SECRET, [subscriber], said, ("id",))
        return self.hub.create_secret(subscriber, given, overlap_ms, note)

    def revoke_secret(self, caller: Caller, subscriber: str, secret_id: str) -> Ticket[bool]:
        """End a signing secret at once."""
        self._keyring.rules.require(caller, ADMIN)
        note = note_of(caller, "revoke", SECRET, [subscriber], {"id": secret_id})
        return self.hub.revoke_secret(subscriber, secret_id, note)

    def list_secrets(self, caller: Caller, subscriber: str) -> Ticket[Sequence[SigningSecret]]:
        """The signing secrets of a subscriber, without what is secret of them."""
        self._keyring.rules.require(caller, ADMIN)
        return self.hub.list_secrets(subscriber)


def _note_of_entry(caller: Caller, entry: Entry) -> Note:
    """The note of an entry that is created."""
    kind = type(entry).__name__.lower()
    names = (entry.topic, entry.subscriber) if isinstance(entry, Subscription) else (entry.name,)
    return note_of(caller, "create", kind, names, set_fields(entry, without=("name", "topic", "subscriber")))
