"""Tokens of participants: how they look, and who shows one.

    ppt_17_kW3…        prefix, id of the participant, secret

The secret has 256 random bits and is shown once, when the participant is enrolled; what is kept is its SHA-256.
"""

from __future__ import annotations

import re
import secrets
from typing import Any

from sqlalchemy import Connection, Row

from pregon.errors import BadRequest, Unauthorized
from pregon.security.callers import Caller
from pregon.security.keys import hash_secret, is_secret
from pregon.store.groups import find_participant

PREFIX = "ppt"
_ID_DIGITS_MAX = 18
_OWN_SECRET = re.compile(r"[A-Za-z0-9_-]{40,100}", re.ASCII)


def make_token(own: str = "") -> tuple[str, bytes]:
    """A secret that nobody has, or one's own, and what is kept of it; raises BadRequest for one that can be guessed."""
    if own and not _OWN_SECRET.fullmatch(own):
        raise BadRequest("a secret of one's own has 40 to 100 random characters of A-Z a-z 0-9 _ -")
    secret = own or secrets.token_urlsafe(32)
    return secret, hash_secret(secret)


def write_token(participant_id: int, secret: str) -> str:
    """The token as it is shown."""
    return f"{PREFIX}_{participant_id}_{secret}"


def require_participant(connection: Connection, caller: Caller, token: str) -> Row[Any]:
    """The participant whose token is shown; raises Unauthorized, the same for all that is wrong with it."""
    prefix, _, rest = token.partition("_")
    digits, _, secret = rest.partition("_")
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= _ID_DIGITS_MAX
    row = find_participant(connection, int(digits)) if prefix == PREFIX and is_number else None
    is_right = is_secret(secret, row.secret_hash if row is not None else None)
    # Who enrolled with a key is known by it ever after: a token that leaked opens nothing without the key.
    if row is None or not is_right or (row.caller and row.caller != caller.name):
        raise Unauthorized("this is no token of a participant of this hub, or not yours: enroll, and show what you get")
    return row
