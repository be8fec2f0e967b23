"""Keys: how they look, how they are made, and what is kept of them.

    pgn_3f9c2a71b04d_kW3…        prefix, id, secret

The id is public and finds the row; the secret has 256 random bits and is shown once, when the key is made. What
is kept is its SHA-256: a slow hash protects what people choose, and nobody chooses these.

Promises:
- Comparing takes the same time whatever is presented.
- Nothing here logs, and no error repeats what was presented.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field

import msgspec

from pregon.errors import BadRequest
from pregon.limits import BODY_BYTES_MAX, DESCRIPTION_CHARACTERS_MAX

PREFIX = "pgn"
PRODUCER, SUBSCRIBER, TOKEN = "producer", "subscriber", "token"
OWNER_KINDS = (PRODUCER, SUBSCRIBER, TOKEN)
ADMIN, OPERATE, READ = "admin", "operate", "read"
SCOPES = {
    ADMIN: "everything but to speak in the name of others: the catalogue, keys, and what operate and read may",
    OPERATE: "park, unpark, cancel and replay for any subscription, and what read may",
    READ: "the catalogue, any message by number, traces, accounting and metrics",
}
_RATE_MAX = 1_000_000
_NOTHING = hashlib.sha256(b"").digest()


@dataclass(frozen=True, slots=True)
class Secret:
    """A new key: `text` is shown once, `hash` is kept."""

    id: str
    text: str = field(repr=False)
    hash: bytes = field(repr=False)


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a key. Its secret is not."""

    id: str
    kind: str
    """Whose it is: a producer's, a subscriber's, or a token of its own."""
    owner: str
    scopes: tuple[str, ...] = ()
    """What a token may do."""
    label: str = ""
    requests_per_s: int | None = None
    """Requests beyond this in a second are refused. None: no limit."""
    body_bytes_max: int | None = None
    """Bodies larger than this are refused. None: the hub's limit."""
    created_us: int = 0
    expires_us: int | None = None
    """When it stops being valid. None: never."""

    def check(self) -> Key:
        """Itself, if its values make sense; raises BadRequest."""
        if self.kind not in OWNER_KINDS:
            raise BadRequest(f"a key is of a {', '.join(OWNER_KINDS)}, not of a {self.kind[:40]!r}")
        unknown = sorted(set(self.scopes) - set(SCOPES))
        if unknown or bool(self.scopes) != (self.kind == TOKEN):
            raise BadRequest(f"a token has one or more scopes of {', '.join(SCOPES)}; other keys have none")
        if len(self.label) > DESCRIPTION_CHARACTERS_MAX:
            raise BadRequest(f"a label has at most {DESCRIPTION_CHARACTERS_MAX} characters")
        for name, value, most in (
            ("requests_per_s", self.requests_per_s, _RATE_MAX),
            ("body_bytes_max", self.body_bytes_max, BODY_BYTES_MAX),
        ):
            if value is not None and not 0 < value <= most:
                raise BadRequest(f"{name} is 1 to {most}; leave it out for none of its own")
        return self


def make_secret() -> Secret:
    """A key that nobody has."""
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    return Secret(key_id, f"{PREFIX}_{key_id}_{secret}", hash_secret(secret))


def split_key(presented: str) -> tuple[str, str] | None:
    """The id and the secret of what was presented, or None if it does not look like a key."""
    prefix, _, rest = presented.partition("_")
    key_id, _, secret = rest.partition("_")
    return (key_id, secret) if prefix == PREFIX and len(key_id) == 12 and secret else None


def hash_secret(secret: str) -> bytes:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def is_secret(secret: str, kept: bytes | None) -> bool:
    """Whether the secret is the one whose hash is kept; takes as long when there is none."""
    return hmac.compare_digest(hash_secret(secret), kept or _NOTHING) and kept is not None
