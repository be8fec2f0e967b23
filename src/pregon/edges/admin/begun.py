"""Entries that were begun here and go on at an identity provider, until somebody comes back with one.

Each is known by a state that nobody can guess, belongs to one browser, and ends when it is taken or grows old. Who asks
says what time it is.

Promises:
- Memory is bounded: beyond so many, the oldest is forgotten, and its owner begins again.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, field

BEGUN_MAX = 1_000
BEGUN_MS_MAX = 600_000.0
"""For how long somebody may be at the provider."""


def _random() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """An entry under way."""

    browser: str
    """A mark that only the browser has in which it began."""
    redirect_uri: str
    """Where the provider sends that browser back to."""
    back: str
    """The page that was wanted."""
    begun_ms: float
    state: str = field(default_factory=_random)
    nonce: str = field(default_factory=_random)
    """What the provider's token must repeat: one that was made for another entry does not."""
    verifier: str = field(default_factory=_random)
    """The secret of PKCE: who has only seen the code go by cannot use it."""


class BegunEntries:
    """All that are under way."""

    def __init__(self) -> None:
        self._by_state: OrderedDict[str, Begun] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, begun: Begun) -> None:
        """One more."""
        with self._lock:
            self._by_state[begun.state] = begun
            while len(self._by_state) > BEGUN_MAX:
                self._by_state.popitem(last=False)

    def take(self, state: str, browser: str, now_ms: float) -> Begun | None:
        """The entry of a state, once; None if there is none, it is too old, or it is another browser's."""
        with self._lock:
            begun = self._by_state.get(state)
            if begun is None or not hmac.compare_digest(begun.browser.encode(), browser.encode()):
                return None
            del self._by_state[state]
        return begun if now_ms < begun.begun_ms + BEGUN_MS_MAX else None
