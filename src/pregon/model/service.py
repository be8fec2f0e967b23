"""Durable requests to services as they are stored, and the keys of who asks and serves."""

from __future__ import annotations

import msgspec

WAITING, ANSWERED, FAILED, PARKED = STATES = ("waiting", "answered", "failed", "parked")
"""Of a durable request: without a result; with an answer; with an error; set aside as poison."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A durable request to be worked on."""

    id: str
    service: str
    """A job type, or one with a version (`sqrt@2`)."""
    body: list[bytes]
    priority: int
    user: str = ""
    deadline_in_ms: int | None = None
    """From when it was accepted, or loaded again."""
    attempts: int = 0


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a durable request: its state, and its result if it has one."""

    id: str
    service: str
    state: str
    user: str = ""
    body: list[bytes] = []
    """The answer."""
    code: str = ""
    message: str = ""
    """Why there is none."""
    attempts: int = 0
    submitted_us: int = 0
    ended_us: int | None = None


class CurveKey(msgspec.Struct, frozen=True, kw_only=True):
    """The public key of a client or worker, and what it may do. Its secret is not known here."""

    name: str
    public: str
    """In Z85, 40 characters."""
    asks: tuple[str, ...] = ()
    """Job types that it may ask for: names, or patterns with `*`."""
    serves: tuple[str, ...] = ()
    """Job types that it may serve."""
    created_us: int = 0
