"""What an identity provider publishes of itself: where its doors are, and the keys that it signs with.

Promises:
- A discovery document is taken only from the issuer that it names, to the letter.
- Nothing in it leads to a file, to plain HTTP across the network, or from across the network to this machine.
- A key that is weak, secret, or not for signatures is no key here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jwt
import msgspec

from pregon.errors import KeysUnavailable
from pregon.limits import OIDC_KEYS_MAX
from pregon.security.fetching import is_safe_url

_FITTING = {
    ("RSA", ""): frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}),
    ("EC", "P-256"): frozenset({"ES256"}),
    ("EC", "P-384"): frozenset({"ES384"}),
    ("EC", "P-521"): frozenset({"ES512"}),
    ("OKP", "Ed25519"): frozenset({"EdDSA"}),
    ("OKP", "Ed448"): frozenset({"EdDSA"}),
}
"""The algorithms of each type of key and curve; what is not here, such as a shared secret, verifies nothing."""
ALGORITHMS = frozenset().union(*_FITTING.values())
"""All with which a token may be signed."""
_PUBLIC_MEMBERS = ("kty", "crv", "n", "e", "x", "y")
_RSA_BITS_MIN = 2_048
"""Shorter RSA keys can be broken."""
_DISCOVERY = "/.well-known/openid-configuration"


class Key(NamedTuple):
    """A public key of the issuer."""

    kid: str | None
    algorithms: frozenset[str]
    public: Any


def discover(issuer: str, fetch: Callable[[str], bytes]) -> dict[str, Any]:
    """The issuer's discovery document; raises KeysUnavailable, or OSError when it cannot be fetched."""
    found = decode_document(fetch(issuer.rstrip("/") + _DISCOVERY))
    if found.get("issuer") != issuer:
        raise KeysUnavailable("the discovery document is of another issuer: write the issuer exactly as it does")
    return found


def require_endpoint(discovered: dict[str, Any], name: str, what: str) -> str:
    """An address in a discovery document (`what` says of which); raises KeysUnavailable for one that is not safe."""
    address = str(discovered.get(name, ""))
    # A file, or what listens only on this machine, is not for an issuer across the network to point at.
    is_near_enough = address.startswith(("https:", str(discovered["issuer"]).partition("/")[0]))
    if not is_safe_url(address) or not is_near_enough or not address.isascii() or not address.isprintable():
        raise KeysUnavailable(f"the discovery document has the {what} where they cannot be fetched safely")
    return address


def decode_document(document: bytes) -> dict[str, Any]:
    """A JSON object of the provider; raises KeysUnavailable."""
    try:
        return msgspec.json.decode(document, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise KeysUnavailable(f"the identity provider's document cannot be read: {error}") from error


def read_keys(document: bytes) -> list[Key]:
    """The keys of a JWKS that can verify tokens; raises KeysUnavailable if there is none."""
    entries = decode_document(document).get("keys")
    if not isinstance(entries, list) or len(entries) > OIDC_KEYS_MAX:
        raise KeysUnavailable(f"the identity provider's keys must be a list of at most {OIDC_KEYS_MAX}")
    keys = [key for entry in entries if (key := _find_key(entry))]
    if not keys:
        raise KeysUnavailable("the identity provider has no key that can verify a token")
    return keys


def _find_key(entry: Any) -> Key | None:
    """The key of a JWKS entry; None if it is no public key, is not for signatures, is too weak or is no entry."""
    try:
        algorithms = _FITTING.get((entry["kty"], entry.get("crv", "")), frozenset())
        if "alg" in entry:
            algorithms &= {entry["alg"]}
        if not algorithms or entry.get("use", "sig") != "sig" or "verify" not in entry.get("key_ops", ["verify"]):
            return None
        members = {name: entry[name] for name in _PUBLIC_MEMBERS if name in entry}
        public = jwt.PyJWK(members, algorithm=min(algorithms)).key
    except (jwt.PyJWTError, KeyError, TypeError, ValueError):
        return None  # A strange entry must not spoil the others.
    is_weak = entry["kty"] == "RSA" and public.key_size < _RSA_BITS_MIN
    return None if is_weak else Key(entry.get("kid"), algorithms, public)
