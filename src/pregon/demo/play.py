"""The play: what happens in the demo, scene by scene, and at the end the proof that nothing was lost.

1. DGREC publishes deaths, by SOAP and by REST; IMM and BPS get them by push, CORTE those of Montevideo, CGN asks
   once a day.
2. The web service of BPS falls. Its news wait at the hub; the others notice nothing.
3. BPS asks for one of the news that it missed, by SOAP, and acknowledges it.
4. The hub is killed with `kill -9`, and started again.
5. The web service of BPS comes back, and gets the rest, in order, without anybody doing anything.

A scene goes on when what it is about has happened, not when a time has passed; time is only given to who watches.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pregon.clock import monotonic_ms
from pregon.demo.bodies import BPS, CGN, CORTE, IMM
from pregon.demo.proof import Evidence, Said, find_doubts
from pregon.demo.stage import Stage

_WAIT_S_MAX = 60.0
_WAIT_S_IN_DOUBT = 3.0
_LOOK_S = 0.02
_FEW = 3


class Audience(Protocol):
    """Who is told what happens."""

    def tell(self, said: Said) -> None:
        """A scene begins, or something happened in it."""
        ...


@dataclass(frozen=True, slots=True)
class Ending:
    """How it ended."""

    bodies: list[Evidence]
    doubts: list[Said]
    """What does not add up: nothing, if all is well."""
    hero: int
    """The number of a message that failed, was tried again, and arrived; 0 if there is none."""


class Play:
    """One performance."""

    def __init__(self, stage: Stage, audience: Audience) -> None:
        self._stage = stage
        self._tell = audience.tell
        self._pause = threading.Event()
        self._pulled = 0
        self._doubts: list[Said] = []

    def perform(self) -> Ending:
        """All scenes; raises HubStopping when the hub ends by itself."""
        self._open()
        self._push()
        self._fall()
        self._pull_one()
        self._kill_hub()
        self._recover()
        self._finish()
        return self._prove()

    # The scenes.

    def _open(self) -> None:
        self._stage.open_hub()
        self._say(
            f"A hub runs at {self._stage.hub.url}: a topic, fallecidos, and four bodies subscribed to it.",
            f"Un pregón corre en {self._stage.hub.url}: un tópico, fallecidos, y cuatro organismos suscriptos.",
        )

    def _push(self) -> None:
        stage = self._stage
        self._say(
            "The civil registry, DGREC, publishes deaths, by SOAP and by REST in turn. IMM gets them by push as SOAP, "
            "BPS as signed CloudEvents, CORTE only those of Montevideo; CGN asks once a day, here every few seconds.",
            "El Registro Civil, DGREC, publica fallecimientos, por SOAP y por REST por turno. La IMM los recibe por "
            "push como SOAP, el BPS como CloudEvents firmados, la CORTE solo los de Montevideo; la CGN consulta una "
            "vez al día, aquí cada pocos segundos.",
        )
        stage.publishing.start()
        stage.days.start()
        self._until(
            Said("IMM, BPS and CORTE got news", "la IMM, el BPS y la CORTE recibieran novedades"),
            lambda: all(self._has(one, _FEW) for one in (IMM, BPS, CORTE)),
        )
        self._dwell(5)

    def _fall(self) -> None:
        stage = self._stage
        stage.bps.service.fall()
        self._say(
            "The web service of BPS falls: nobody listens there. The hub keeps its news; nobody else notices.",
            "El servicio web del BPS se cae: allí no escucha nadie. El pregón guarda sus novedades; nadie más lo nota.",
        )
        self._until(
            Said("the hub knew that BPS fell, and news waited", "el pregón supiera que el BPS cayó, con novedades"),
            lambda: bool(stage.look().of(BPS).failing) and (stage.look().of(BPS).waiting or 0) > _FEW,
        )
        self._dwell(4)

    def _pull_one(self) -> None:
        self._pulled = self._stage.bps.pull_one(self._stage.doors, BPS)
        self._say(
            f"BPS asks by SOAP for what it missed, gets {self._pulled}, acknowledges it: not to be pushed any more.",
            f"El BPS consulta por SOAP lo que perdió, obtiene la {self._pulled} y la confirma: no se le envía más.",
        )
        self._dwell(3)

    def _kill_hub(self) -> None:
        stage = self._stage
        before = len(stage.registry.published)
        pid = stage.hub.kill()
        self._say(
            f"Worse: kill -9 {pid}, the hub is dead. DGREC goes on sending what has no answer, with the same id.",
            f"Peor: kill -9 {pid}, el pregón ha muerto. La DGREC sigue enviando lo que no tiene respuesta, "
            "con el mismo id.",
        )
        again = stage.registry.sent_again
        self._until(
            Said("DGREC sent something again", "la DGREC reenviara algo"),
            lambda: stage.registry.sent_again > again,
        )
        self._dwell(2)
        stage.hub.start()
        self._say(
            "The hub is started again on the same data, and goes on where it was.",
            "El pregón arranca de nuevo con los mismos datos, y sigue donde estaba.",
        )
        self._until(
            Said("DGREC published, and IMM got, news again", "la DGREC publicara, y la IMM recibiera, otra vez"),
            lambda: len(stage.registry.published) >= before + _FEW and self._has(IMM, before + 1),
        )
        self._dwell(3)

    def _recover(self) -> None:
        stage = self._stage
        published = len(stage.registry.published)
        missed = published - len(stage.bps.ledger)
        stage.bps.service.come_up()
        self._say(
            f"The web service of BPS is back, {missed} behind. No operator does anything.",
            f"El servicio web del BPS ha vuelto, {missed} atrás. Ningún operador hace nada.",
        )
        # Up to what there was when it came back: on a slow machine DGREC may publish faster than anybody receives.
        self._until(Said("BPS caught up", "el BPS se pusiera al día"), lambda: self._has(BPS, published))
        self._dwell(4)

    def _finish(self) -> None:
        stage = self._stage
        stage.publishing.stop()
        stage.days.stop()
        stage.check()
        published = len(stage.registry.published)
        self._say(
            f"DGREC has published {published}, and stops. CGN asks one last time. Does it add up?",
            f"La DGREC ha publicado {published}, y termina. La CGN consulta por última vez. ¿Cierran las cuentas?",
        )
        stage.cgn.collect()
        self._until(Said("nothing waited any more", "nada quedara en espera"), self._is_all_settled)
        stage.watch()

    # What the scenes are made of.

    def _say(self, english: str, spanish: str) -> None:
        self._tell(Said(english, spanish))

    def _dwell(self, seconds: float) -> None:
        """Give who watches the time to see it."""
        end_ms = monotonic_ms() + 1_000 * seconds / self._stage.pace
        while (left_ms := end_ms - monotonic_ms()) > 0:
            self._stage.check()
            self._pause.wait(min(left_ms / 1_000, _LOOK_S))

    def _until(self, what: Said, has_happened: Callable[[], bool]) -> None:
        """Wait until something has happened. What does not in time is a doubt; the play goes on, to show the rest."""
        limit_s = _WAIT_S_IN_DOUBT if self._doubts else _WAIT_S_MAX
        last_ms = monotonic_ms() + limit_s * 1_000
        while not has_happened():
            self._stage.check()
            if monotonic_ms() > last_ms:
                self._doubts.append(
                    Said(
                        f"waited {limit_s:.0f} s in vain until {what.english}",
                        f"se esperó {limit_s:.0f} s en vano a que {what.spanish}",
                    )
                )
                return
            self._pause.wait(_LOOK_S)

    def _has(self, name: str, count: int) -> bool:
        return self._stage.look().of(name).received >= count

    def _is_all_settled(self) -> bool:
        accounts = [self._stage.doors.account(name) for name in (IMM, BPS, CORTE, CGN)]
        return all(account["pending"] == 0 for account in accounts)

    # The end.

    def _prove(self) -> Ending:
        stage = self._stage
        bodies = stage.evidence(frozenset({self._pulled}))
        published = [one.seq for one in stage.registry.published]
        doubts = self._doubts + find_doubts(published, stage.registry.cis, bodies)
        hero = self._find_hero()
        if not hero:
            doubts.append(
                Said(
                    "no message of BPS failed and was delivered later: the traces miss something",
                    "ninguna novedad del BPS falló y se entregó después: a las trazas les falta algo",
                )
            )
        return Ending(bodies, doubts, hero)

    def _find_hero(self) -> int:
        """The message that failed most often and was delivered in the end; 0 if there is none."""
        delivered = self._stage.doors.traces(subscriber=BPS, kind="delivered")
        failed = Counter(int(one["first_seq"]) for one in self._stage.doors.traces(subscriber=BPS, kind="failed"))
        for seq, _ in failed.most_common():
            if any(one["first_seq"] <= seq <= one["last_seq"] for one in delivered):
                return seq
        return 0
