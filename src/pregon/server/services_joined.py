"""The service broker inside a hub: its parts joined with the hub's store, keys and rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pregon.edges.zmq.curve import CurveServer
from pregon.edges.zmq.services import ServicesDoor
from pregon.hub.gate import Gate
from pregon.model.service import Entry
from pregon.security.curve import require_server_pair
from pregon.services.desk import ServicesDesk
from pregon.services.journal import HubJournal
from pregon.services.keyholders import AsTheHub, Keyholders
from pregon.services.options import ServiceOptions
from pregon.services.parts import Parts
from pregon.services.tracing import RequestTracer
from pregon.settings import Settings


class JoinedServices:
    """A broker that keeps what is durable in a hub's store."""

    def __init__(self, settings: Settings, gate: Gate) -> None:
        hub = gate.hub
        self._journal = HubJournal(hub)
        keyholders = Keyholders(self._journal.curve_keys())
        curve = None
        if settings.services_curve:
            curve = CurveServer(require_server_pair(Path(settings.data)), keyholders)
        rights = keyholders if curve else AsTheHub(lambda: gate.rules.is_open or not gate.rules.require_keys)
        self._tracer = RequestTracer(hub) if settings.services_trace else None
        self._parts = Parts(ServiceOptions(), rights, self._journal)
        for name, options in self._journal.settings().items():
            self._parts.broker.lines.set_options(name, options)
        self.door = ServicesDoor(
            settings.services_front,
            settings.services_back,
            self._parts,
            curve=curve,
            traced=self._tracer.take if self._tracer else None,
        )
        self._journal.call_back_in(self.door.post)
        described: dict[str, Any] = {**self.addresses, "curve_key": curve.public if curve else ""}
        self.desk = ServicesDesk(gate, self.door, self._journal, keyholders, described)

    @property
    def addresses(self) -> dict[str, str]:
        """Where clients and workers connect."""
        return {"front": self.door.front_address, "back": self.door.back_address}

    def start(self) -> None:
        """Go on with what was not finished, and open the door."""
        waiting, parked = self._journal.waiting(), self._journal.parked()
        self.door.post(lambda: _resume(self._parts, waiting, parked))
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


def _resume(parts: Parts, waiting: list[Entry], parked: list[tuple[Entry, str]]) -> None:
    for entry in waiting:
        parts.durables.resume(entry)
    for entry, reason in parked:
        parts.durables.shelve(entry, reason)
