"""A client's side of PGS/1: what is under way, when to say it again, and when to stop waiting.

Pure: frames and the time go in, frames come out; `sync_talk` and `aio_talk` are the loops around it.

It is the reliable client of request and reply: what has no answer after a while is sent again, over a new socket if
the broker was not heard from either, always with the same id and from the same identity, so that the broker takes it
for the request that it is. What the broker refuses for the moment is put off, longer each time.

Promises:
- An ask is finished once, at the latest when its own time is over.
- It is sent at most `retries` times more because of silence, or because nobody served it.
- Who is no longer waited for is cancelled at the broker.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from pregon.client.services.ask import Ask
from pregon.errors import (
    AnswerMalformed,
    AnswerTimeout,
    BadRequest,
    HubBusy,
    HubStopping,
    HubUnreachable,
    KeysUnavailable,
    PregonError,
    QueueFull,
    RateLimited,
    ServiceUnserved,
    StoreFailed,
    VersionUnserved,
)
from pregon.wire.services import ACCEPTED, ANSWER, CANCEL, ERROR, MAGIC, decode_failure, encode_head, error_of

UNDER_WAY_MAX = 10_000
"""Asks under way at once in one client."""
SILENCE_MS_MIN = 1_000.0
"""A shorter silence is no reason to ask again."""
_PAUSE_MS_FIRST = 20.0
_PAUSE_MS_MAX = 2_000.0
_NEVER = float("inf")
_WORKERS_COME_MS = 5_000.0
"""Workers of a broker that was started anew say hello within this time: until then nobody serves anything there."""

# Nothing of these was begun: they may be asked again as long as the caller waits.
_NOT_NOW = (QueueFull, HubBusy, HubStopping, RateLimited, KeysUnavailable, StoreFailed)


class Conversation:
    """What one client asks of one broker."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.heard_ms = -_NEVER
        """When the broker was last heard from."""
        self.wants_new_socket = False
        """The broker is silent: the loop is to open another socket, and then call `reconnected`."""
        self.strays = 0
        """Messages that were no answer to anything under way: late ones, mostly."""
        self._reconnected_ms = -_NEVER
        self._asks: dict[bytes, Ask] = {}
        self._numbers = itertools.count(1)

    def __len__(self) -> int:
        """How many are under way."""
        return len(self._asks)

    def begin(self, ask: Ask, now_ms: float) -> list[bytes]:
        """One more: what to send. Raises HubBusy when too many are under way."""
        if len(self._asks) >= UNDER_WAY_MAX:
            raise HubBusy(f"{UNDER_WAY_MAX} requests of this client are under way: wait for some of them")
        ask.id = next(self._numbers).to_bytes(8, "big")
        ask.started_ms = now_ms
        ask.until_ms = now_ms + ask.timeout_ms
        self._asks[ask.id] = ask
        return self._send(ask, now_ms)

    def _send(self, ask: Ask, now_ms: float) -> list[bytes]:
        ask.tries += 1
        ask.sent_ms = now_ms
        ask.is_put_off = False
        silence_ms = max(SILENCE_MS_MIN, ask.timeout_ms / (ask.retries + 1))
        ask.resend_ms = now_ms + silence_ms if ask.tries <= ask.retries else _NEVER
        return ask.frames(now_ms)

    def took(self, frames: Sequence[bytes], now_ms: float) -> None:
        """A message of the broker came."""
        self.heard_ms = now_ms
        head = frames[0]
        if head[:4] != MAGIC or len(head) < 13:
            self.strays += 1
            return
        ask = self._asks.get(head[5:13])
        if ask is None:
            self.strays += 1
            return
        kind = head[4]
        if kind == ANSWER and len(frames) > 1:
            del self._asks[ask.id]
            ask.finish(list(frames[1:]))
        elif kind == ACCEPTED:
            del self._asks[ask.id]
            ask.finish([head[13:]])
        elif kind == ERROR:
            self._refused(ask, _failure_in(head[13:]), now_ms)
        else:
            self._fail(ask, AnswerMalformed("the broker's answer has no body, or is of a kind that answers nothing"))

    def _refused(self, ask: Ask, error: PregonError, now_ms: float) -> None:
        # Where nobody served it, somebody was waited for already: it is asked again as often as the caller allows.
        is_new = now_ms - self._reconnected_ms < _WORKERS_COME_MS
        nobody = isinstance(error, ServiceUnserved) or (isinstance(error, VersionUnserved) and is_new)
        may_again = isinstance(error, _NOT_NOW) or (nobody and (is_new or ask.tries <= ask.retries))
        pause_ms = min(_PAUSE_MS_MAX, _PAUSE_MS_FIRST * 2.0 ** min(ask.pauses, 10))
        if not may_again or now_ms + pause_ms >= ask.until_ms:
            self._fail(ask, error)
            return
        ask.refusal = error
        ask.is_put_off = True
        ask.pauses += 1
        ask.resend_ms = now_ms + pause_ms
        if isinstance(error, _NOT_NOW):
            ask.tries -= 1

    def _fail(self, ask: Ask, error: PregonError) -> None:
        self._asks.pop(ask.id, None)
        ask.fail(error)

    def look(self, now_ms: float, *, is_connected: bool, doubt: PregonError | None = None) -> list[list[bytes]]:
        """What is to be sent because time has passed; to be asked several times a second.

        `doubt` is why the broker may never be reached: the error for who waited for it in vain.
        """
        sent: list[list[bytes]] = []
        for ask in list(self._asks.values()):
            if now_ms >= ask.until_ms:
                self._fail(ask, doubt or self._too_late(ask, is_connected))
                sent.append(encode_cancel(ask))
            elif now_ms >= ask.resend_ms:
                # Nothing at all was heard since it was sent: the socket itself may be to blame.
                self.wants_new_socket = self.wants_new_socket or self.heard_ms < ask.sent_ms
                sent.append(self._send(ask, now_ms))
        return sent

    def reconnected(self, now_ms: float) -> list[list[bytes]]:
        """The connection was lost and found again: everything under way that was not put off, once more."""
        self.wants_new_socket = False
        self._reconnected_ms = now_ms
        return [ask.frames(now_ms) for ask in self._asks.values() if not ask.is_put_off]

    def give_up(self, ask: Ask) -> list[bytes] | None:
        """The caller waits no more: what to tell the broker, if it has it."""
        return encode_cancel(ask) if self._asks.pop(ask.id, None) is not None else None

    def end(self, error: PregonError) -> list[list[bytes]]:
        """Nothing more will be answered, and why; what to tell the broker, if it can be told."""
        asks = list(self._asks.values())
        for ask in asks:
            self._fail(ask, error)
        return [encode_cancel(ask) for ask in asks]

    def _too_late(self, ask: Ask, is_connected: bool) -> PregonError:
        if ask.refusal is not None:
            return ask.refusal
        if self.heard_ms < ask.started_ms and not is_connected:
            return HubUnreachable(
                f"no broker answered at {self.address} in {ask.timeout_ms:.0f} ms: is it running there? "
                "(`pregon serve`, or `pregon services`)"
            )
        return AnswerTimeout(
            f"no answer in {ask.timeout_ms:.0f} ms: is there a worker for it? Allow more with timeout_ms"
        )


def encode_cancel(ask: Ask) -> list[bytes]:
    """Nobody waits for this one any more."""
    return [encode_head(CANCEL, ask.id)]


def _failure_in(tail: bytes) -> PregonError:
    try:
        return error_of(decode_failure(tail))
    except BadRequest as error:
        malformed = AnswerMalformed(f"the broker refused, in words that cannot be read: {error}")
        malformed.__cause__ = error
        return malformed
