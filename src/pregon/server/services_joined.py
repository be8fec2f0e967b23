"""The service broker inside a hub: its parts joined with the hub's store, keys and rules."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pregon.edges.zmq.curve import CurveServer
from pregon.edges.zmq.services import ServicesDoor
from pregon.errors import PregonError
from pregon.hub.gate import Gate
from pregon.model.service import Entry
from pregon.security.curve import require_server_pair
from pregon.services.desk import ServicesDesk
from pregon.services.journal import HubJournal
from pregon.services.keyholders import AsTheHub, Keyholders
from pregon.services.options import ServiceOptions
from pregon.services.parts import Parts
from pregon.services.tracing import RequestTracer

log = logging.getLogger("pregon.services")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a broker listens, and what it does besides."""

    front: str
    back: str
    data: Path
    is_curve: bool = False
    """Whether only known CURVE keys come in."""
    is_traced: bool = True
    """Whether how each request ended is published to a topic."""


class JoinedServices:
    """A broker that keeps what is durable in a hub's store."""

    def __init__(self, place: Place, gate: Gate, options: ServiceOptions | None = None) -> None:
        hub = gate.hub
        self._journal = HubJournal(hub)
        keyholders = Keyholders(self._journal.curve_keys())
        curve = None
        if place.is_curve:
            curve = CurveServer(require_server_pair(place.data), keyholders)
        rights = keyholders if curve else AsTheHub(lambda: gate.rules.is_open or not gate.rules.require_keys)
        self._tracer = RequestTracer(hub, self._count_dropped) if place.is_traced else None
        self.parts = Parts(options, rights, self._journal)
        for name, options in self._journal.settings().items():
            self.parts.broker.lines.set_options(name, options)
        self.door = ServicesDoor(
            place.front,
            place.back,
            self.parts,
            curve=curve,
            traced=self._tracer.take if self._tracer else None,
        )
        self._journal.call_back_in(self.door.post)
        described: dict[str, Any] = {**self.addresses, "curve_key": curve.public if curve else ""}
        self.desk = ServicesDesk(gate, self.door, self._journal, keyholders, described)

    def _count_dropped(self, count: int) -> None:
        def add() -> None:
            self.parts.broker.counts.traces_dropped += count

        # In the broker's thread, which counts there too.
        self.door.post(add)

    @property
    def addresses(self) -> dict[str, str]:
        """Where clients and workers connect."""
        return {"front": self.door.front_address, "back": self.door.back_address}

    def start(self) -> None:
        """Go on with what was not finished, and open the door."""
        waiting, parked = self._journal.waiting(), self._journal.parked()
        self.door.post(lambda: _resume(self.parts, waiting, parked))
        if self._tracer is not None:
            self._tracer.start()
        self.door.start()

    def stop(self) -> None:
        """Close the door; what was finished until then is written while the hub still runs."""
        self.door.stop()
        if self._tracer is not None:
            self._tracer.stop()

    def give_back(self) -> None:
        """Give back what is never started."""
        self.door.give_back()


def _resume(parts: Parts, waiting: list[Entry], parked: list[tuple[Entry, str, int]]) -> None:
    """Go on with each; one that cannot be gone on with stays in the store, for the next start, and is logged."""
    for entry in waiting:
        _guarded(entry, partial(parts.durables.resume, entry))
    for entry, reason, size in parked:
        _guarded(entry, partial(parts.durables.shelve, entry, reason, size))


def _guarded(entry: Entry, go_on: Callable[[], None]) -> None:
    about = {"durable_id": entry.id, "service": entry.service}
    try:
        go_on()
    except PregonError as error:
        log.error("a durable request was not resumed", extra={**about, "code": error.code, "reason": str(error)})
    except Exception:  # Whatever is wrong with one of them, the others are not to wait for the next start.
        log.exception("a durable request was not resumed, by a bug", extra=about)
