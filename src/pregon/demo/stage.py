"""Who takes part in the demo, joined: the hub in its process, the registry, the bodies, and how each is doing.

Promises:
- All of it is in a temporary directory and on ports that the system gives; leaving removes the directory, closes the
  web services and ends the hub, however the demo ends.
- What `look` says comes from the hub and from the bodies' own ledgers; nothing is guessed.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from pregon.demo.bodies import BPS, CGN, CORTE, IMM, Ledger, PullingBody, SignedBody, SoapBody
from pregon.demo.doors import TOPIC, Doors
from pregon.demo.hub_process import HubProcess
from pregon.demo.news import FILTER
from pregon.demo.proof import Evidence
from pregon.demo.registry import Registry
from pregon.demo.repeating import Repeating
from pregon.errors import HubUnreachable
from pregon.model.catalog import CLOUDEVENTS, PUSH, RAW, SOAP

NAMES = (IMM, BPS, CORTE, CGN)
_PUBLISH_EVERY_S = 0.3
_DAY_S = 6.0
_LOOK_EVERY_S = 0.25
_DELAY_MS_FIRST = 500
_DELAY_MS_MAX = 2_000


@dataclass(frozen=True, slots=True)
class Standing:
    """How one body is doing."""

    name: str
    received: int
    repeated: int
    waiting: int | None
    """What the hub holds for it; None while nobody can be asked."""
    failing: str
    """Why pushing to it fails; empty while it does not."""
    attempts: int
    is_up: bool
    """Whether its web service listens; who has none is always up."""
    days: int
    """How often it has asked, if it pulls."""


@dataclass(frozen=True, slots=True)
class Look:
    """Everything at one moment."""

    published: int
    by_soap: int
    by_rest: int
    sent_again: int
    is_hub_up: bool
    bodies: tuple[Standing, ...]

    def of(self, name: str) -> Standing:
        """How a body is doing."""
        return next(one for one in self.bodies if one.name == name)


class Stage:
    """Use it as a context manager. `pace` 2 is twice as fast."""

    def __init__(self, pace: float) -> None:
        self.pace = pace
        self._directory = Path(tempfile.mkdtemp(prefix="pregon-demo-"))
        self.hub = HubProcess(self._directory)
        self.doors = Doors(self.hub.url)
        self.registry = Registry(self.doors)
        self.imm = SoapBody()
        self.bps = SignedBody("ce-pregonsequence")
        self.corte = SignedBody("pregon-seq")
        self.cgn = PullingBody(CGN, self.doors)
        self.publishing = Repeating(self.registry.publish_one, _PUBLISH_EVERY_S / pace)
        self.days = Repeating(self.cgn.collect, _DAY_S / pace)
        self._watching = Repeating(self.watch, min(_LOOK_EVERY_S, 1 / pace))
        self._accounts: dict[str, dict[str, int]] = {}
        self._pushes: dict[str, dict[str, Any]] = {}

    def __enter__(self) -> Stage:
        for body in (self.imm, self.bps, self.corte):
            body.service.come_up()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        threads = (self.publishing, self.days, self._watching)
        for one in threads:
            one.ask_to_stop()
        self.doors.close()
        for one in threads:
            one.stop()
        self.hub.close()
        for body in (self.imm, self.bps, self.corte):
            body.service.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def open_hub(self) -> None:
        """Start the hub and register who takes part, as an administrator does by REST."""
        self.hub.start()
        create = self.doors.create
        delays = {"delay_ms_first": self._ms(_DELAY_MS_FIRST), "delay_ms_max": self._ms(_DELAY_MS_MAX)}
        create("topics", name=TOPIC)
        for name, format, body in ((IMM, SOAP, self.imm), (BPS, CLOUDEVENTS, self.bps), (CORTE, RAW, self.corte)):
            create("subscribers", name=name, mode=PUSH, format=format, endpoint=body.service.url, push=delays)
            if isinstance(body, SignedBody):
                body.learn(create(f"subscribers/{name}/secrets")["secret"])
        for name in NAMES:
            wanted: dict[str, Any] = {"filter": FILTER} if name == CORTE else {}
            create(f"topics/{TOPIC}/subscriptions", subscriber=name, **wanted)
        self._watching.start()

    def check(self) -> None:
        """Raise what went wrong in the hub or in a thread, if something did."""
        self.hub.require_alive()
        for one in (self.publishing, self.days, self._watching):
            one.check()

    def look(self) -> Look:
        """How everybody is doing."""
        registry = self.registry
        return Look(
            len(registry.published),
            registry.by_soap,
            registry.by_rest,
            registry.sent_again,
            self.hub.is_up,
            tuple(self._standing(name) for name in NAMES),
        )

    def evidence(self, pulled: frozenset[int]) -> list[Evidence]:
        """What each body has, and what the hub says of it now; `pulled` is what BPS did while it was down."""
        everything = [one.seq for one in self.registry.published]
        found = []
        for name in NAMES:
            body = self._body(name)
            signed = body if isinstance(body, SignedBody) else None
            found.append(
                Evidence(
                    name=name,
                    expected=self.registry.of_montevideo if name == CORTE else everything,
                    seqs=body.ledger.seqs,
                    cis=body.ledger.cis,
                    account=self.doors.account(name),
                    repeated=body.ledger.repeated,
                    forged=signed.forged if signed else 0,
                    pulled=pulled if name == BPS else frozenset(),
                    pushed=frozenset(signed.pushed) if signed else frozenset(),
                )
            )
        return found

    def _ms(self, ms: int) -> int:
        return max(10, round(ms / self.pace))

    def _body(self, name: str) -> SoapBody | SignedBody | PullingBody:
        bodies: dict[str, SoapBody | SignedBody | PullingBody] = {
            IMM: self.imm,
            BPS: self.bps,
            CORTE: self.corte,
            CGN: self.cgn,
        }
        return bodies[name]

    def _standing(self, name: str) -> Standing:
        body = self._body(name)
        ledger: Ledger = body.ledger
        account, push = self._accounts.get(name), self._pushes.get(name, {})
        return Standing(
            name=name,
            received=len(ledger),
            repeated=ledger.repeated,
            waiting=account["pending"] if account is not None and self.hub.is_up else None,
            failing=str(push.get("last_failure", "")) if push.get("failing_since_at") else "",
            attempts=int(push.get("attempts", 0)),
            is_up=isinstance(body, PullingBody) or body.service.is_up,
            days=body.days if isinstance(body, PullingBody) else 0,
        )

    def watch(self) -> None:
        """Ask the hub how each subscription stands; while it is down, what is known stays as it is."""
        try:
            for name in NAMES:
                self._accounts[name] = self.doors.account(name)
                if name != CGN:
                    self._pushes[name] = self.doors.push_state(name)
        except HubUnreachable:
            return
