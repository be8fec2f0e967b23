"""Entries that were begun here and go on at an identity provider, until somebody comes back with one.

Each is known by a state that nobody can guess or make: it says when the entry began, and where, sealed for one browser
with a secret of this process. So an entry needs no place in memory from which others could push it out. It ends when it
is taken, grows old, or the hub is started again. Who asks says what time it is.

Promises:
- However many others begin an entry, or who they are, an entry is as good as before. Only the page that was wanted is
  forgotten beyond so many, the oldest first: its owner comes to the overview.
- An entry is taken once. Beyond so many that were taken within their time the oldest is forgotten; the provider, which
  takes a code once, then refuses it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import threading
from collections import OrderedDict
from typing import NamedTuple, TypeVar

import msgspec

T = TypeVar("T")

WANTED_MAX = 1_000
"""For how many entries the page that was wanted is remembered."""
TAKEN_MAX = 10_000
BEGUN_MS_MAX = 600_000.0
"""For how long somebody may be at the provider."""
_OVERVIEW = "/admin"
_STATE_CHARACTERS_MAX = 4_000


class Begun(NamedTuple):
    """An entry under way."""

    state: str
    redirect_uri: str
    """Where the provider sends that browser back to."""
    back: str
    """The page that was wanted."""
    nonce: str
    """What the provider's token must repeat: one that was made for another entry does not."""
    verifier: str
    """The secret of PKCE: who has only seen the code go by cannot use it."""


class _Said(msgspec.Struct, frozen=True, array_like=True):
    """What a state says."""

    begun_ms: float
    redirect_uri: str
    random: str


class BegunEntries:
    """All that are under way. For many threads."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)
        self._wanted: OrderedDict[str, str] = OrderedDict()
        self._taken: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, browser: str, redirect_uri: str, back: str, now_ms: float) -> Begun:
        """One more; `browser` is a mark that only the browser has in which it begins."""
        said = msgspec.json.encode(_Said(now_ms, redirect_uri, secrets.token_urlsafe(16)))
        told = _text(said)
        state = f"{told}.{self._seal('state', told, browser)}"
        with self._lock:
            _keep(self._wanted, state, back, WANTED_MAX)
        return self._begun(state, redirect_uri, back)

    def take(self, state: str, browser: str, now_ms: float) -> Begun | None:
        """The entry of a state, once; None if there is none, it is too old, or it is another browser's."""
        told, _, seal = state.partition(".")
        if len(state) > _STATE_CHARACTERS_MAX or not state.isascii():
            return None
        if not hmac.compare_digest(seal, self._seal("state", told, browser)):
            return None
        # Sealed, so it was written here.
        said = msgspec.json.decode(base64.urlsafe_b64decode(told + "=" * (-len(told) % 4)), type=_Said)
        with self._lock:
            back = self._wanted.pop(state, _OVERVIEW)
            if state in self._taken or now_ms >= said.begun_ms + BEGUN_MS_MAX:
                return None
            _keep(self._taken, state, None, TAKEN_MAX)
        return self._begun(state, said.redirect_uri, back)

    def _begun(self, state: str, redirect_uri: str, back: str) -> Begun:
        return Begun(state, redirect_uri, back, self._seal("nonce", state), self._seal("verifier", state))

    def _seal(self, purpose: str, *texts: str) -> str:
        """What only this process can make of these texts."""
        return _text(hmac.digest(self._secret, msgspec.json.encode([purpose, *texts]), hashlib.sha256))


def _keep(kept: OrderedDict[str, T], key: str, value: T, most: int) -> None:
    kept[key] = value
    while len(kept) > most:
        kept.popitem(last=False)


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
