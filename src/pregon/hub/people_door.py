"""Who keeps the door of the administration pages: compares passwords, a few at a time, and counts those that fail.

Promises:
- However many try at once, so many passwords are hashed at a time and no more: each takes 64 MiB.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager

from pregon import limits
from pregon.errors import HubBusy
from pregon.security.attempts import Attempts
from pregon.security.passwords import Costs, check_password_rules, hash_password, is_password, needs_rehash

_TURN_S_MAX = 20.0
_AUDITED = "audited"


class Doorkeeper:
    """Passwords and failed attempts. For many threads; what it does with passwords takes long."""

    def __init__(self, costs: Costs, now_ms: Callable[[], float]) -> None:
        self._costs = costs
        self._now_ms = now_ms
        self._attempts = Attempts()
        self._lock = threading.Lock()
        self._hashing = threading.BoundedSemaphore(limits.PASSWORDS_AT_ONCE_MAX)

    def begin(self, name: str, address: str) -> Sequence[Hashable]:
        """Somebody tries to enter; what to take back if it succeeds. Raises RateLimited."""
        with self._lock:
            return self._attempts.begin(name, address, self._now_ms())

    def begin_with(self, key: Hashable, failures_max: int) -> Sequence[Hashable]:
        """Somebody tries something else that may fail only so often; raises RateLimited."""
        with self._lock:
            return self._attempts.begin_with(key, failures_max, self._now_ms())

    def succeed(self, begun: Sequence[Hashable], name: str = "", address: str = "") -> None:
        """It succeeded."""
        with self._lock:
            self._attempts.succeed(begun, name, address)

    def may_audit_failure(self) -> bool:
        """Whether this failure is written down: not when so many fail that they would fill the disk."""
        with self._lock:
            now_ms = self._now_ms()
            if self._attempts.failures(_AUDITED, now_ms) >= limits.ENTRY_AUDITED_FAILURES_MAX:
                return False
            self._attempts.count(_AUDITED, now_ms)
            return True

    def hash_new(self, name: str, password: str) -> str:
        """What is kept of a new password; raises BadRequest for one that this person may not have."""
        check_password_rules(name, password)
        with self._turn():
            return hash_password(password, self._costs)

    def hash_again(self, kept: str, password: str) -> str:
        """What is kept of a password that is right from now on; empty if that is as it was."""
        if not needs_rehash(kept, self._costs):
            return ""
        with self._turn():
            return hash_password(password, self._costs)

    def is_right(self, kept: str | None, password: str) -> bool:
        """Whether it is the password; takes as long when there is none."""
        with self._turn():
            return is_password(kept, password, self._costs)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """One of the few who hash at once; raises HubBusy."""
        if not self._hashing.acquire(timeout=_TURN_S_MAX):
            raise HubBusy("many people are entering at this moment: try again in a moment")
        try:
            yield
        finally:
            self._hashing.release()
