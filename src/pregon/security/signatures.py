"""Signing what is pushed, as Standard Webhooks does it: HMAC-SHA256 over the message's id, the time and the body.

Only the signature: which secrets a subscriber has, and until when, is the catalogue's.

Promises:
- What `sign` says can be checked by any library of Standard Webhooks, with any one of the secrets.
- A secret is at least 24 random bytes; nothing here logs or shows one.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets as randomness
from collections.abc import Sequence

from pregon.errors import BadRequest

SECRET_PREFIX = "whsec_"
SECRET_BYTES = 32
SECRET_BYTES_MIN, SECRET_BYTES_MAX = 24, 64
_TEXT_CHARACTERS_MAX = 200
_VERSION = "v1"


def sign(secrets: Sequence[bytes], message_id: str, timestamp_s: int, body: bytes) -> str:
    """The value of `webhook-signature`: one signature for each secret, in their order, which is the newest first."""
    signed = b"%b.%d.%b" % (message_id.encode(), timestamp_s, body)
    return " ".join(f"{_VERSION},{_signature(secret, signed)}" for secret in secrets)


def _signature(secret: bytes, signed: bytes) -> str:
    return base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode()


def new_secret() -> bytes:
    """A secret that nobody has."""
    return randomness.token_bytes(SECRET_BYTES)


def encode_secret(secret: bytes) -> str:
    """A secret as people and libraries hand it on: `whsec_` and base64."""
    return SECRET_PREFIX + base64.b64encode(secret).decode()


def decode_secret(text: str) -> bytes:
    """The secret that a text is, with or without its prefix; raises BadRequest, without showing it."""
    encoded = text.strip().removeprefix(SECRET_PREFIX)
    try:
        secret = base64.b64decode(encoded, validate=True) if len(encoded) <= _TEXT_CHARACTERS_MAX else b""
    except (binascii.Error, ValueError):
        secret = b""
    if not SECRET_BYTES_MIN <= len(secret) <= SECRET_BYTES_MAX:
        raise BadRequest(
            f"a signing secret is {SECRET_PREFIX} and {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX} random bytes in base64"
        )
    return secret
