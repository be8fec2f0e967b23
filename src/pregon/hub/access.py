"""Make, rotate and revoke keys, those of a deleted owner too.

A new key does not end the old ones unless that is asked for: `overlap_ms` says for how long the others of the
same owner stay valid, so that programs can be given the new one meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pregon.clock import INSTANT_US_MAX
from pregon.errors import BadRequest, LimitReached
from pregon.hub.directory import Directory
from pregon.hub.keyring import Keyring
from pregon.hub.schema_book import SchemaBook
from pregon.model.catalog import NUMBER_MAX
from pregon.model.names import check_name
from pregon.security.keys import TOKEN, Key, make_secret
from pregon.store import catalog, keys
from pregon.store.transaction import Transaction

_LAST = "this is the last token that administers the hub: make another before you revoke it"


class NewKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key to make, and how long the owner's other keys stay valid (None: as long as they were)."""

    kind: str
    owner: str
    scopes: tuple[str, ...] = ()
    label: str = ""
    requests_per_s: int | None = None
    body_bytes_max: int | None = None
    lifetime_ms: int | None = None
    overlap_ms: int | None = None


class ShownKey(Key, frozen=True, kw_only=True):
    """A key that has just been made, with its secret: nobody can show it again."""

    secret: str


def create_key(keyring: Keyring, wanted: NewKey) -> Callable[[Transaction, Directory], ShownKey]:
    """The change that makes a key; raises BadRequest for values that no key may have."""
    for name, value in (("lifetime_ms", wanted.lifetime_ms), ("overlap_ms", wanted.overlap_ms)):
        if value is not None and not 0 <= value <= NUMBER_MAX:
            raise BadRequest(f"{name} is 0 to {NUMBER_MAX}")
    secret = make_secret()
    fields = msgspec.structs.asdict(wanted)
    lifetime_ms, overlap_ms = fields.pop("lifetime_ms"), fields.pop("overlap_ms")
    checked = Key(id=secret.id, **fields).check()
    check_name(checked.kind, checked.owner)

    def change(transaction: Transaction, _directory: Directory) -> ShownKey:
        connection, now_us = transaction.connection, transaction.now_us
        if checked.kind != TOKEN:
            catalog.require_id(connection, checked.kind, checked.owner)
        # Before anything is written: what is refused must change nothing.
        keys.require_room(connection, checked.kind, checked.owner, now_us)
        expires_us = None if lifetime_ms is None else min(now_us + lifetime_ms * 1_000, INSTANT_US_MAX)
        key = msgspec.structs.replace(checked, created_us=now_us, expires_us=expires_us)
        mine = (checked.kind, checked.owner)
        left = [
            one
            for one in keys.list_keys(connection)
            if (one.key.kind, one.key.owner) != mine or not (overlap_ms == 0 or keys.is_expired(one.key, now_us))
        ]
        if keyring.would_open([*left, keys.KeptKey(key, secret.hash)]):
            raise LimitReached(_LAST)
        if overlap_ms is not None:
            keys.expire_keys(connection, checked.kind, checked.owner, now_us + overlap_ms * 1_000)
        # What expired is of no more use: the new one tells from now on that this owner has a key.
        keys.delete_expired(connection, checked.kind, checked.owner, now_us)
        keys.insert_key(connection, keys.KeptKey(key, secret.hash))
        renew(transaction, keyring)
        return ShownKey(**msgspec.structs.asdict(key), secret=secret.text)

    return change


def revoke_key(keyring: Keyring, kind: str, owner: str, key_id: str) -> Callable[[Transaction, Directory], bool]:
    """The change that revokes a key at once; answers with whether there was one.

    The last administrator's token stays: without it everybody would be one.
    """
    named = (kind, owner, key_id)

    def change(transaction: Transaction, _directory: Directory) -> bool:
        connection = transaction.connection
        left = [one for one in keys.list_keys(connection) if (one.key.kind, one.key.owner, one.key.id) != named]
        if keyring.would_open(left):
            raise LimitReached(_LAST)
        existed = keys.delete_key(connection, kind, owner, key_id)
        renew(transaction, keyring)
        return existed

    return change


def deleting(
    keyring: Keyring,
    book: SchemaBook,
    kind: str,
    names: tuple[str, ...],
    change: Callable[[Transaction, Directory], bool],
) -> Callable[[Transaction, Directory], bool]:
    """The change that deletes an entry, and what goes with it: a topic's schema, the keys of the others."""

    def change_both(transaction: Transaction, directory: Directory) -> bool:
        existed = change(transaction, directory)
        if kind == "topic":
            transaction.after_commit.append(book.forgetter(names[0]))
            # Who waits for news of it is told that there will be none.
            transaction.moved.add(names[0])
        elif kind != "subscription" and existed:
            keys.delete_keys_of(transaction.connection, kind, names[0])
            renew(transaction, keyring)
        return existed

    return change_both


def renew(transaction: Transaction, keyring: Keyring) -> None:
    """Have the ring renewed once the transaction is on disk."""
    transaction.after_commit.append(keyring.renewer(keys.list_keys(transaction.connection)))
