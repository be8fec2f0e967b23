"""The keys of the hub in memory, and who is who by them.

Every request is looked up here, so nothing is read from the store: the ring is read at the start and renewed
after each commit that changed a key, before whoever changed it is told.

Promises:
- A key works from when its maker is told of it until it is revoked, expires, or its owner is deleted.
- No answer says which part of a key was wrong.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Protocol

from pregon.clock import monotonic_ms, wall_us
from pregon.errors import Unauthorized
from pregon.limits import BEARER_BYTES_MAX
from pregon.security.callers import ANYBODY, Caller, Rules, caller_of_claims, scopes_of
from pregon.security.keys import ADMIN, PRODUCER, SUBSCRIBER, TOKEN, Key, is_secret, split_key
from pregon.security.rates import Rates
from pregon.store.keys import KeptKey, is_expired

_UNKNOWN = "the key is unknown, wrong, revoked or expired: ask the hub's administrator for another"


class Claims(Protocol):
    """What an identity provider says of a token's bearer."""

    @property
    def subject(self) -> str:
        """Its name."""
        ...

    @property
    def scopes(self) -> frozenset[str]:
        """What it may do."""
        ...


class TokenVerifier(Protocol):
    """Who checks the tokens of an identity provider."""

    def verify(self, token: str) -> Claims:
        """What it says; raises Unauthorized or Unavailable."""
        ...


class Keyring:
    """Finds who presents a key."""

    def __init__(self, *, require_keys: bool = False, verifier: TokenVerifier | None = None) -> None:
        self._require_keys = require_keys
        self._verifier = verifier
        self._by_id: dict[str, tuple[KeptKey, Caller]] = {}
        self._by_owner: dict[tuple[str, str], list[Key]] = {}
        self._rates = Rates()
        self._rates_lock = threading.Lock()
        self._rules = self._make_rules()

    def renew(self, kept: Iterable[KeptKey]) -> None:
        """These are the keys now."""
        by_id: dict[str, tuple[KeptKey, Caller]] = {}
        by_owner: dict[tuple[str, str], list[Key]] = {}
        for one in kept:
            by_id[one.key.id] = (one, _caller(one.key))
            by_owner.setdefault((one.key.kind, one.key.owner), []).append(one.key)
        self._by_id, self._by_owner = by_id, by_owner
        self._rules = self._make_rules()

    def renewer(self, kept: list[KeptKey]) -> Callable[[], None]:
        """What a transaction does after its commit."""
        return lambda: self.renew(kept)

    def _make_rules(self) -> Rules:
        has_admin = _has_admin(key for keys in self._by_owner.values() for key in keys)
        # An administrator's token that has expired still tells that the hub is not open.
        return Rules(not has_admin and self._verifier is None, self._require_keys, self._has_key)

    def would_open(self, kept: Iterable[KeptKey]) -> bool:
        """Whether anybody could administer the hub if these were its keys, and now not everybody can."""
        return not self._rules.is_open and self._verifier is None and not _has_admin(one.key for one in kept)

    @property
    def rules(self) -> Rules:
        """What anybody may do as things are now."""
        return self._rules

    def _has_key(self, kind: str, name: str) -> bool:
        # An expired key still protects its owner: it must be revoked to let everybody in again.
        return (kind, name) in self._by_owner

    def identify(self, presented: str, *, is_counted: bool = True) -> Caller:
        """Who presents this; raises Unauthorized, RateLimited, or Unavailable while an issuer's keys are missing.

        A request is counted; a look whether a key is still valid is not.
        """
        if not presented:
            return ANYBODY
        if len(presented) > BEARER_BYTES_MAX:
            raise Unauthorized(f"a key or token has at most {BEARER_BYTES_MAX} bytes")
        parts = split_key(presented)
        if parts is None:
            return self._identify_by_claims(presented)
        kept, caller = self._by_id.get(parts[0], (None, ANYBODY))
        is_right = is_secret(parts[1], kept.secret_hash if kept else None)
        if not is_right or kept is None or is_expired(kept.key, wall_us()):
            raise Unauthorized(_UNKNOWN)
        if kept.key.requests_per_s is not None and is_counted:
            with self._rates_lock:
                self._rates.take(kept.key.id, kept.key.requests_per_s, monotonic_ms())
        return caller

    def _identify_by_claims(self, presented: str) -> Caller:
        if self._verifier is None:
            raise Unauthorized(_UNKNOWN)
        claims = self._verifier.verify(presented)
        return caller_of_claims(claims.subject, claims.scopes)


def _has_admin(keys: Iterable[Key]) -> bool:
    return any(key.kind == TOKEN and ADMIN in key.scopes for key in keys)


def _caller(key: Key) -> Caller:
    return Caller(
        name=f"{key.kind} {key.owner}",
        key_id=key.id,
        producers=frozenset([key.owner] if key.kind == PRODUCER else []),
        subscribers=frozenset([key.owner] if key.kind == SUBSCRIBER else []),
        scopes=scopes_of(key.scopes),
        body_bytes_max=key.body_bytes_max,
    )
