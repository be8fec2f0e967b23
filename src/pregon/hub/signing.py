"""Make, rotate and revoke the secrets with which pushes are signed.

A new secret ends the old ones, after an overlap in which every push is signed with both: the subscriber learns the
new one meanwhile and refuses nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

from pregon.errors import BadRequest, LimitReached
from pregon.hub.directory import Directory
from pregon.limits import SIGNING_SECRETS_MAX
from pregon.model.catalog import NUMBER_MAX, SigningSecret
from pregon.security.signatures import decode_secret, encode_secret, new_secret
from pregon.store import catalog
from pregon.store.secrets import (
    KeptSecret,
    delete_expired_secrets,
    delete_secret,
    expire_secrets,
    insert_secret,
    list_secrets,
)
from pregon.store.transaction import Transaction

OVERLAP_MS_DEFAULT = 24 * 60 * 60 * 1_000


class ShownSecret(SigningSecret, frozen=True, kw_only=True):
    """A secret that has just been made, as `whsec_…`: nobody can show it again."""

    secret: str


def create_secret(
    subscriber: str, given: str = "", overlap_ms: int = OVERLAP_MS_DEFAULT
) -> Callable[[Transaction, Directory], ShownSecret]:
    """The change that gives a subscriber a new secret, its own if it brings one; raises BadRequest."""
    if not 0 <= overlap_ms <= NUMBER_MAX:
        raise BadRequest(f"overlap_ms is 0 to {NUMBER_MAX}")
    secret = decode_secret(given) if given else new_secret()
    secret_id = secrets.token_hex(6)

    def change(transaction: Transaction, _directory: Directory) -> ShownSecret:
        connection, now_us = transaction.connection, transaction.now_us
        subscriber_id = catalog.require_id(connection, "subscriber", subscriber)
        known_secrets = list_secrets(connection, subscriber, now_us)
        # The newest is the first, also of two that are made in one moment.
        created_us = max([now_us, *(one.known.created_us + 1 for one in known_secrets)])
        valid = known_secrets if overlap_ms else []
        if len(valid) >= SIGNING_SECRETS_MAX:
            raise LimitReached(f"{subscriber} has {len(valid)} secrets that are valid: revoke one first")
        expire_secrets(connection, subscriber_id, now_us + overlap_ms * 1_000)
        delete_expired_secrets(connection, subscriber_id, now_us)
        known = SigningSecret(id=secret_id, subscriber=subscriber, created_us=created_us)
        insert_secret(connection, subscriber_id, KeptSecret(known, secret))
        return ShownSecret(id=secret_id, subscriber=subscriber, created_us=created_us, secret=encode_secret(secret))

    return change


def revoke_secret(subscriber: str, secret_id: str) -> Callable[[Transaction, Directory], bool]:
    """The change that ends a secret at once; answers with whether there was one."""

    def change(transaction: Transaction, _directory: Directory) -> bool:
        subscriber_id = catalog.require_id(transaction.connection, "subscriber", subscriber)
        return delete_secret(transaction.connection, subscriber_id, secret_id)

    return change
