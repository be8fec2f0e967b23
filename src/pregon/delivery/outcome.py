"""What became of one attempt to push a message, and what an HTTP status means for it.

Pure: a status, headers and a time in, a verdict out. When a push is tried again is left to others.

Promises:
- Every status has a kind: `classify` never raises.
- `reason` is short, has one line of printable text and never what a subscriber wrote there, but for a SOAP fault,
  of which it has the beginning, made harmless.
"""

from __future__ import annotations

import http
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

from pregon.limits import PUSH_DELAY_MS_MAX

DELIVERED = "delivered"
"""The subscriber has it."""
REFUSED = "refused"
"""The subscriber answered, and does not want this message."""
UNREACHABLE = "unreachable"
"""The endpoint did not answer, or not for itself: no message would get through now."""
GONE = "gone"
"""The endpoint is no more, and says so."""
KINDS = (DELIVERED, REFUSED, UNREACHABLE, GONE)

REASON_CHARACTERS_MAX = 200

_GONE = 410
_WAIT = frozenset({408, 425, 429})
"""Statuses of the 4xx that speak of the moment, not of the message."""
_REFUSALS = frozenset({500, 501, 505})
"""Statuses of the 5xx that the program itself gives, about this message; the others come from what stands before it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one attempt."""

    kind: str
    """One of KINDS."""
    reason: str
    """For traces and people: `HTTP 503 Service Unavailable`, `no answer in 10000 ms`."""
    status: int = 0
    """The HTTP status of the answer; 0 if there was none."""
    retry_after_ms: int | None = None
    """How long the subscriber asks to be left alone; None if it does not say."""
    latency_ms: int = 0
    """How long it took until the answer began, or until there was none."""

    @property
    def is_delivered(self) -> bool:
        """Whether the subscriber has the message."""
        return self.kind == DELIVERED


def classify(status: int) -> str:
    """The kind of outcome that a final HTTP status is."""
    if 200 <= status < 300:
        return DELIVERED
    if status == _GONE:
        return GONE
    if 300 <= status < 500:
        return UNREACHABLE if status in _WAIT else REFUSED
    return REFUSED if status in _REFUSALS else UNREACHABLE


def describe_status(status: int) -> str:
    """A status for people, with our words for it: the subscriber's own could say anything."""
    known = _PHRASES.get(status)
    return f"HTTP {status} {known}" if known else f"HTTP {status}"


_PHRASES = {one.value: one.phrase for one in http.HTTPStatus}


def read_retry_after(text: str | None, now_s: int) -> int | None:
    """How long a Retry-After asks to wait, in seconds or until a date; None for what is neither.

    At most `PUSH_DELAY_MS_MAX`, whatever it asks for, and nothing for a date that has passed.
    """
    if text is None:
        return None
    text = text.strip()
    if text.isascii() and text.isdigit():
        # More digits than any bound has need not be made a number.
        seconds = int(text) if len(text) < 12 else PUSH_DELAY_MS_MAX
    else:
        try:
            moment = parsedate_to_datetime(text[:100])
            # A date without a zone is in GMT, as HTTP has its dates.
            seconds = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()) - now_s
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
    return max(0, min(seconds * 1_000, PUSH_DELAY_MS_MAX))


def shorten_reason(text: str) -> str:
    """A text in one printable line of bounded length, whatever was in it."""
    line = " ".join(text[: 4 * REASON_CHARACTERS_MAX].split())
    line = "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in line)
    return line if len(line) <= REASON_CHARACTERS_MAX else f"{line[: REASON_CHARACTERS_MAX - 1]}…"
