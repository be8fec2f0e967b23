"""Passwords: what one may be, what is kept of it, and whether it is the one.

What people choose is guessed more easily than a key, so what is kept is slow to compute: argon2id, with a salt of its
own, and its costs beside it so that they can be raised later.

Promises:
- Asking whether a password is right takes as much work when there is nothing to compare it with.
- The same letters are the same password, however a keyboard composes them (NFC).
- No error and no log repeats a password.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from pregon.errors import BadRequest
from pregon.limits import PASSWORD_CHARACTERS_MAX, PASSWORD_CHARACTERS_MIN

if TYPE_CHECKING:
    from argon2 import PasswordHasher


@dataclass(frozen=True, slots=True)
class Costs:
    """How much work a hash takes. These are the second choice of RFC 9106, and the defaults of argon2-cffi."""

    time: int = 3
    memory_kib: int = 64 * 1024
    lanes: int = 4


DEFAULT_COSTS = Costs()


def check_password_rules(name: str, password: str) -> None:
    """Raises BadRequest, saying why, for a password that this person may not have."""
    if not PASSWORD_CHARACTERS_MIN <= len(password) <= PASSWORD_CHARACTERS_MAX:
        raise BadRequest(f"a password has {PASSWORD_CHARACTERS_MIN} to {PASSWORD_CHARACTERS_MAX} characters")
    if len(set(password)) == 1:
        raise BadRequest("a password is more than one character repeated: choose several words")
    if password.casefold() == name.casefold():
        raise BadRequest("a password is not the name of who has it: choose several words")
    if _bytes_of(password) is None:
        raise BadRequest("the password has characters that cannot be written down: choose others")


def hash_password(password: str, costs: Costs = DEFAULT_COSTS) -> str:
    """What is kept of a password that `check_password_rules` allows; takes long."""
    encoded = _bytes_of(password)
    if encoded is None:
        raise BadRequest("the password has characters that cannot be written down: choose others")
    return _hasher(costs).hash(encoded)


def is_password(kept: str | None, given: str, costs: Costs = DEFAULT_COSTS) -> bool:
    """Whether the password is the one whose hash is kept; takes as long when there is none."""
    from argon2.exceptions import InvalidHashError, VerificationError

    # Made before anything is compared, so that the first question of a process tells no more than the others.
    nobody = _hash_of_nobody(costs)
    encoded = _bytes_of(given[: PASSWORD_CHARACTERS_MAX + 1]) or b""
    try:
        _hasher(costs).verify(kept or nobody, encoded)
    except (VerificationError, InvalidHashError):
        return False
    return kept is not None and len(given) <= PASSWORD_CHARACTERS_MAX


def needs_rehash(kept: str, costs: Costs = DEFAULT_COSTS) -> bool:
    """Whether a hash was made with other costs than these."""
    return _hasher(costs).check_needs_rehash(kept)


def _bytes_of(password: str) -> bytes | None:
    try:
        return unicodedata.normalize("NFC", password).encode()
    except UnicodeEncodeError:
        return None


@cache
def _hasher(costs: Costs) -> PasswordHasher:
    # Imported here, so that commands which ask for no password start without it.
    from argon2 import PasswordHasher

    return PasswordHasher(time_cost=costs.time, memory_cost=costs.memory_kib, parallelism=costs.lanes)


@cache
def _hash_of_nobody(costs: Costs) -> str:
    """Compared with when there is nobody of a name."""
    return _hasher(costs).hash(b"nobody")
