"""Bearer tokens of an identity provider: OpenID Connect, signed JWTs.

A hub may trust one issuer. `OidcVerifier` keeps that issuer's public keys at hand and says who a token is and
which scopes it carries; what a scope allows is left to the permissions. PyJWT checks signatures.

Promises:
- A token is accepted only if it is signed with a key of the issuer, by an asymmetric algorithm that fits this key,
  for our audience, and within its time. What the token itself says about where keys are is never followed.
- `verify` never waits for the network: a thread of its own fetches the keys.
- A key that the issuer withdraws is forgotten together with the tokens that were accepted with it.
- The token is in no error and in no log line.
"""

from __future__ import annotations

import hashlib
import logging
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, NamedTuple

import jwt
import msgspec

from pregon import clock
from pregon.errors import KeysUnavailable, SettingsInvalid, Unauthorized
from pregon.limits import BEARER_BYTES_MAX, OIDC_KEYS_BYTES_MAX
from pregon.security.fetching import fetch_safely, is_safe_url
from pregon.security.issuer import ALGORITHMS, Key, discover, read_keys, require_endpoint

log = logging.getLogger("pregon.security")

_SIGNATURES = jwt.PyJWS()
_LEEWAY_S_MAX = 600
_FETCH_EVERY_MS = 600_000.0
_ASK_EVERY_MS = 30_000.0
"""Unknown keys make us fetch at most this often, whoever invents them."""
_RETRY_MS_MIN, _RETRY_MS_MAX = 1_000.0, 30_000.0
"""The wait after a failure, which doubles with each."""
_STOP_S_MAX = 10.0
_REMEMBERED_MAX = 10_000
"""Accepted tokens that need no second look; when there are more, all are looked at again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcOptions:
    """Whose tokens are accepted; raises SettingsInvalid for what could never be."""

    issuer: str
    """What `iss` must be, to the letter."""
    audience: str
    """What `aud` must be or contain."""
    keys: str = ""
    """A URL or file with the issuer's keys (a JWKS); empty: where the issuer's discovery document says."""
    scopes_claim: str = "scope"
    """The claim with the scopes: a text with spaces between them, or a list."""
    leeway_s: int = 30
    """How far the issuer's clock may be from ours."""

    def __post_init__(self) -> None:
        if not self.issuer or not self.audience or not self.scopes_claim:
            raise SettingsInvalid("an identity provider needs an issuer, an audience and the name of the scopes' claim")
        if not 0 <= self.leeway_s <= _LEEWAY_S_MAX:
            raise SettingsInvalid(f"the leeway for an identity provider's clock is 0 to {_LEEWAY_S_MAX} seconds")
        source = self.keys or self.issuer
        if not is_safe_url(source) and (not self.keys or "://" in source):
            raise SettingsInvalid(f"{source!r} must be https:// (http:// only on this machine) to fetch keys from it")


class Claims(msgspec.Struct, frozen=True):
    """What an accepted token says."""

    subject: str
    scopes: frozenset[str]
    expires_us: int
    """Its `exp`; the leeway is beyond it."""


class _Header(msgspec.Struct):
    alg: str
    kid: str | None = None


class _Payload(msgspec.Struct):
    iss: str
    aud: str | list[str]
    sub: Annotated[str, msgspec.Meta(min_length=1)]
    exp: int | float
    nbf: int | float = 0
    iat: int | float = 0


class _Keyring(NamedTuple):
    document: bytes
    keys: list[Key]
    accepted: dict[bytes, Claims]
    """By the token's digest. They are kept beside the keys they were checked with, to be forgotten with them."""


class _Schedule:
    """When to fetch. Pure: the time is given, in milliseconds of a clock that never jumps."""

    def __init__(self) -> None:
        self._next_ms = -math.inf
        self._ask_from_ms = -math.inf
        self._retry_ms = _RETRY_MS_MIN
        self.is_failing = False

    def wait_ms(self, now_ms: float) -> float:
        """How long until the next fetch; not more than 0 if it is due."""
        return self._next_ms - now_ms

    def ask(self, now_ms: float) -> None:
        """Somebody has a key that we do not know: fetch at once, or as soon as asking may again."""
        at_ms = max(now_ms, self._ask_from_ms)
        if at_ms < self._next_ms:
            self._next_ms = at_ms
            self._ask_from_ms = at_ms + _ASK_EVERY_MS

    def begin(self) -> None:
        """A fetch begins; who asks from now on may have seen a newer key than it brings."""
        self._next_ms = math.inf

    def end(self, now_ms: float, is_fetched: bool) -> None:
        """It ended."""
        self._next_ms = min(self._next_ms, now_ms + (_FETCH_EVERY_MS if is_fetched else self._retry_ms))
        self._retry_ms = _RETRY_MS_MIN if is_fetched else min(2 * self._retry_ms, _RETRY_MS_MAX)
        self.is_failing = not is_fetched


class OidcVerifier:
    """Checks the tokens of one issuer, from any thread."""

    def __init__(
        self,
        options: OidcOptions,
        fetch: Callable[[str], bytes] = partial(fetch_safely, bytes_max=OIDC_KEYS_BYTES_MAX),
        *,
        wall_us: Callable[[], int] = clock.wall_us,
        monotonic_ms: Callable[[], float] = clock.monotonic_ms,
    ) -> None:
        """`fetch` brings the bytes of a URL or file, or raises OSError: it is the only I/O."""
        self._options = options
        self._fetch = fetch
        self._wall_us = wall_us
        self._monotonic_ms = monotonic_ms
        self._keyring: _Keyring | None = None
        self._schedule = _Schedule()
        self._changed = threading.Condition()
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="pregon-oidc", daemon=True)

    def start(self) -> None:
        """Begin to fetch the keys: now, every ten minutes, and when a token names a key that is not among them."""
        self._thread.start()

    def stop(self) -> None:
        """Fetch no more; a fetch that hangs is left to the end of the process."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join(_STOP_S_MAX)

    def verify(self, token: str) -> Claims:
        """Who the token is, and its scopes; never waits for the network.

        Raises Unauthorized, which says why, and KeysUnavailable when the issuer's keys have never been fetched.
        """
        keyring, now_us = self._require_keyring(token), self._wall_us()
        digest = hashlib.sha256(token.encode()).digest()
        claims = keyring.accepted.get(digest)
        if claims is None:
            claims = _read_claims(self._read_signed(keyring, token), self._options, now_us)
        self._require_unexpired(claims, now_us)
        keyring.accepted[digest] = claims
        if len(keyring.accepted) > _REMEMBERED_MAX:
            keyring.accepted.clear()
        return claims

    def read_once(self, token: str) -> dict[str, Any]:
        """All that an acceptable token says, for who wants more than `verify` tells; it is not remembered.

        Raises like `verify`.
        """
        keyring, now_us = self._require_keyring(token), self._wall_us()
        signed = self._read_signed(keyring, token)
        self._require_unexpired(_read_claims(signed, self._options, now_us), now_us)
        return signed

    def _require_keyring(self, token: str) -> _Keyring:
        if not 0 < len(token) <= BEARER_BYTES_MAX or not token.isascii():
            raise Unauthorized(f"a token is 1 to {BEARER_BYTES_MAX} ASCII characters")
        keyring = self._keyring
        if keyring is None:
            _read_header(token)  # What is no token at all is refused even now: trying again would not help it.
            raise KeysUnavailable("the identity provider's keys have not been fetched yet: try again later")
        return keyring

    def _read_signed(self, keyring: _Keyring, token: str) -> dict[str, Any]:
        return _check_signature(token, self._require_key(keyring, _read_header(token)))

    def _require_unexpired(self, claims: Claims, now_us: int) -> None:
        if now_us >= claims.expires_us + self._options.leeway_s * 1_000_000:
            raise Unauthorized("the token has expired: get a new one from the identity provider")

    def _require_key(self, keyring: _Keyring, header: _Header) -> Key:
        named = [key for key in keyring.keys if header.kid in (key.kid, None)]
        if not named:
            with self._changed:
                self._schedule.ask(self._monotonic_ms())
                self._changed.notify()
            raise Unauthorized("the identity provider has no such key: if it is new, try again in half a minute")
        fitting = [key for key in named if header.alg in key.algorithms]
        if not fitting:
            raise Unauthorized("the token's algorithm does not fit the identity provider's key")
        if header.kid is None and len(fitting) > 1:
            raise Unauthorized("the token does not say which of the identity provider's keys signed it")
        return fitting[0]

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._is_stopping and (wait_ms := self._schedule.wait_ms(self._monotonic_ms())) > 0:
                    self._changed.wait(wait_ms / 1_000)
                if self._is_stopping:
                    return
            self.fetch_if_due()

    def fetch_if_due(self) -> None:
        """Fetch the keys if it is time to: what the thread does, for those who have no thread."""
        with self._changed:
            if self._schedule.wait_ms(self._monotonic_ms()) > 0:
                return
            self._schedule.begin()
        failure: Exception | None = None
        try:
            document = self._fetch(self._options.keys or self._discover())
            if self._keyring is None or self._keyring.document != document:
                self._keyring = _Keyring(document, read_keys(document), {})
        except Exception as error:  # The top of the thread's loop: whatever it was, it is tried again.
            failure = error
        self._note(failure)

    def _note(self, failure: Exception | None) -> None:
        """Set the next fetch, and say once when a streak of failures begins and once when it ends."""
        with self._changed:
            was_failing = self._schedule.is_failing
            self._schedule.end(self._monotonic_ms(), failure is None)
        fields = {"issuer": self._options.issuer, "has_keys": self._keyring is not None}
        if failure is not None and not was_failing:
            is_bug = not isinstance(failure, KeysUnavailable | OSError)
            fields["reason"] = str(failure)
            log.warning("identity provider's keys not fetched", extra=fields, exc_info=failure if is_bug else None)
        elif failure is None and was_failing:
            log.info("identity provider's keys fetched again", extra=fields)

    def _discover(self) -> str:
        """Where the issuer says that its keys are."""
        return require_endpoint(discover(self._options.issuer, self._fetch), "jwks_uri", "keys")


def _read_header(token: str) -> _Header:
    """What the token says of its signature: to be believed only once that has been checked."""
    try:
        raw = jwt.get_unverified_header(token)
        header = msgspec.convert(raw, _Header)
    except (jwt.PyJWTError, msgspec.ValidationError, ValueError, RecursionError) as error:
        raise Unauthorized("the token is not a well-formed JWT") from error
    if header.alg not in ALGORITHMS:
        raise Unauthorized("the token's algorithm is not accepted: the identity provider must sign with RSA, EC or Ed")
    if "crit" in raw or "b64" in raw:
        raise Unauthorized("the token asks for an extension that is not understood here")
    return header


def _check_signature(token: str, key: Key) -> dict[str, Any]:
    """The claims of the token, if this key signed them."""
    try:
        payload = _SIGNATURES.decode(token, key.public, algorithms=sorted(key.algorithms))
        return msgspec.json.decode(payload, type=dict[str, Any])
    except jwt.InvalidSignatureError as error:
        raise Unauthorized("the token's signature is not of the identity provider's key") from error
    except (jwt.PyJWTError, msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Unauthorized("the token is not a well-formed JWT") from error


def _read_claims(raw: dict[str, Any], options: OidcOptions, now_us: int) -> Claims:
    """What the signed claims say, if they are for us and not for later."""
    scopes = raw.get(options.scopes_claim, [])
    try:
        payload = msgspec.convert(raw, _Payload)
        scopes = msgspec.convert(scopes.split() if isinstance(scopes, str) else scopes, frozenset[str])
    except msgspec.ValidationError as error:
        raise Unauthorized(f"a claim of the token is missing or wrong: {error}") from error
    if payload.iss != options.issuer:
        raise Unauthorized("the token is of another issuer")
    if options.audience not in ([payload.aud] if isinstance(payload.aud, str) else payload.aud):
        raise Unauthorized("the token is for another audience")
    if max(_us(payload.nbf), _us(payload.iat)) > now_us + options.leeway_s * 1_000_000:
        raise Unauthorized("the token is not valid yet: check the clocks of the hub and of the identity provider")
    return Claims(payload.sub, scopes, _us(payload.exp))


def _us(seconds: float) -> int:
    return round(max(0, min(seconds, clock.INSTANT_US_MAX // 1_000_000)) * 1_000_000)
