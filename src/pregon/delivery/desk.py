"""What the lines of a pusher share, and what each remembers of a message that failed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pregon.delivery.attempt import Poster
from pregon.delivery.figures import Figures
from pregon.delivery.notices import Notifier
from pregon.delivery.reading import RecentMessages
from pregon.hub.bridge import Bridge
from pregon.hub.hub import Hub

if TYPE_CHECKING:
    from pregon.delivery.telemetry import Telemetry


@dataclass(slots=True)
class PushDesk:
    """What all lines share."""

    hub: Hub
    bridge: Bridge
    poster: Poster
    recent: RecentMessages
    figures: Figures
    notifier: Notifier
    telemetry: Telemetry | None
    slots: asyncio.Semaphore
    """For pushes to endpoints that answer."""
    probes: asyncio.Semaphore
    """For those to endpoints that fail: however many hang, the others have room."""


@dataclass(slots=True)
class Tries:
    """How often a message failed, how often because it was refused, and when it is tried again."""

    attempts: int = 0
    refusals: int = 0
    next_try_ms: float = 0.0
