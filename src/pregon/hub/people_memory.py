"""The sessions that were asked for lately, in memory, so that a page costs no look into the store.

Promises:
- A session that this process ended is gone at once, also for who was reading it from the store meanwhile.
- What another process did to a session is noticed within `FRESH_MS`.
- Memory is bounded: the ones that were asked for longest ago are forgotten first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from pregon.limits import ADMIN_SESSIONS_MAX
from pregon.model.administration import Session

FRESH_MS = 5_000
"""For how long the store is not asked again."""


@dataclass(slots=True)
class _Known:
    session: Session
    read_ms: float
    written_us: int
    """`seen_us` as the store has it, or is about to."""


class SessionMemory:
    """Sessions by the hash of their token. For many threads."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._lock = threading.Lock()
        self.ended = 0
        """How often sessions were ended: who reads one from the store says how often it was when it began to."""

    def find(self, token_hash: bytes, now_ms: float) -> Session | None:
        """The session, if it was read from the store a moment ago."""
        with self._lock:
            known = self._known.get(token_hash)
            if known is None or now_ms - known.read_ms >= FRESH_MS:
                return None
            self._known.move_to_end(token_hash)
            return known.session

    def keep(self, token_hash: bytes, session: Session, now_ms: float, ended: int) -> Session:
        """Remember what the store says, unless sessions were ended since; with the latest that is known of its use."""
        with self._lock:
            before = self._known.get(token_hash)
            if before is not None and before.session.seen_us > session.seen_us:
                session = msgspec.structs.replace(session, seen_us=before.session.seen_us)
            if ended == self.ended:
                written_us = session.seen_us if before is None else before.written_us
                self._known[token_hash] = _Known(session, now_ms, written_us)
                while len(self._known) > ADMIN_SESSIONS_MAX:
                    self._known.popitem(last=False)
            return session

    def note_use(self, token_hash: bytes, now_us: int, every_us: int) -> bool:
        """Something is done in a session; whether it is time to write that down."""
        with self._lock:
            known = self._known.get(token_hash)
            if known is None:
                return False
            known.session = msgspec.structs.replace(known.session, seen_us=max(now_us, known.session.seen_us))
            if now_us - known.written_us < every_us:
                return False
            known.written_us = now_us
            return True

    def end(self, token_hashes: Iterable[bytes]) -> None:
        """These are no more."""
        with self._lock:
            self.ended += 1
            for token_hash in token_hashes:
                self._known.pop(token_hash, None)
