"""How the demo is shown: a table that lives on a terminal, plain lines elsewhere, and at the end the proof.

Only what to show and how; what happens is `pregon.demo`'s.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pregon.cli.output import console, tell
from pregon.cli.traces import trace
from pregon.demo.bodies import BPS, CGN, CORTE, IMM
from pregon.demo.doors import TOPIC
from pregon.demo.play import Ending
from pregon.demo.proof import Said
from pregon.demo.stage import Look, Stage, Standing

_WIDTH_MAX = 100
_STATE_COLUMNS = 34
_LOOKS_PER_S = 8
_HOW = {
    IMM: Said("push, SOAP", "push, SOAP"),
    BPS: Said("push, CloudEvents, signed", "push, CloudEvents, firmados"),
    CORTE: Said("push, only Montevideo", "push, solo Montevideo"),
    CGN: Said("pull, once a day", "pull, una vez al día"),
}
_TERMS = {
    "accepted": Said("accepted", "aceptadas"),
    "acknowledged": Said("acknowledged", "confirmadas"),
    "pending": Said("pending", "pendientes"),
    "parked": Said("parked", "apartadas"),
    "expired": Said("expired", "vencidas"),
    "filtered": Said("filtered", "filtradas"),
}


class DemoScreen:
    """The audience of a play: shows what it is told, and how everybody is doing."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._out = console()
        self._is_live = self._out.is_terminal
        if self._is_live:
            self._out.width = min(self._out.width, _WIDTH_MAX)
            self._out.soft_wrap = False

    def live(self) -> AbstractContextManager[object]:
        """While this lasts, a terminal shows the table."""
        if not self._is_live:
            return nullcontext()
        return Live(console=self._out, get_renderable=self._draw, refresh_per_second=_LOOKS_PER_S)

    def tell(self, said: Said) -> None:
        """What happens; where there is no table that lives, also how everybody was doing just before."""
        if self._is_live:
            self._out.print(Text(f"▸ {tell(*said)}", style="bold"))
            return
        if (look := self._stage.look()).published:
            for line in _lines(look):
                self._out.print(f"    {escape(line)}")
        self._out.print(escape(tell(*said)))

    def show_ending(self, ending: Ending) -> None:
        """The story of a message, where everything is, and the verdict."""
        if ending.hero:
            self._show_story(ending.hero)
        self._show_accounts(ending)
        for doubt in ending.doubts:
            self._out.print(f"[bold red]✗[/] {escape(tell(*doubt))}")
        if ending.doubts:
            self._out.print(
                tell("[bold red]It does not add up: see above.[/]", "[bold red]Las cuentas no cierran: vea arriba.[/]")
            )
            return
        repeated = sum(body.repeated for body in ending.bodies)
        self._out.print(
            tell(
                "[bold green]✓[/] Everything that was published reached everybody who wanted it, in order, "
                f"exactly once ({repeated} repeated by the hub, dropped by their ids).",
                "[bold green]✓[/] Todo lo publicado llegó a todos los que lo querían, en orden, "
                f"exactamente una vez ({repeated} repetidas por el pregón, descartadas por su id).",
            )
        )

    # The table.

    def _draw(self) -> RenderableType:
        look = self._stage.look()
        table = Table(box=SIMPLE_HEAD, pad_edge=False, expand=False)
        table.add_column("", style="bold")
        table.add_column(tell("receives by", "recibe por"))
        table.add_column(tell("received", "recibidas"), justify="right", min_width=9)
        table.add_column(tell("waiting", "en espera"), justify="right", min_width=9)
        columns = _STATE_COLUMNS if self._out.width >= _WIDTH_MAX else None
        table.add_column(tell("state", "estado"), min_width=columns, overflow="ellipsis", no_wrap=True)
        for one in look.bodies:
            style = "red" if not one.is_up or one.failing else ""
            waiting = "?" if one.waiting is None else str(one.waiting)
            table.add_row(one.name, tell(*_HOW[one.name]), str(one.received), waiting, escape(_state(one)), style=style)
        hub = "" if look.is_hub_up else tell("  [bold red]the hub is dead[/]", "  [bold red]el pregón ha muerto[/]")
        return Padding(Group(Text.from_markup(f"[bold]DGREC[/] {escape(_published(look))}{hub}"), table), (1, 0, 0, 0))

    # The end.

    def _show_story(self, seq: int) -> None:
        self._out.print()
        self._out.print(tell("[bold]The story of one of them:[/]", "[bold]La historia de una de ellas:[/]"))
        self._out.print(f"[dim]$ pregon trace {TOPIC} {seq}[/]")
        trace(TOPIC, seq, hub=self._stage.hub.url)

    def _show_accounts(self, ending: Ending) -> None:
        self._out.print()
        self._out.print(tell("[bold]The accounting of the hub[/]", "[bold]Las cuentas del pregón[/]"))
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column("")
        for term in _TERMS.values():
            table.add_column(tell(*term), justify="right")
        table.add_column(tell("it has", "tiene"), justify="right", style="bold")
        for body in ending.bodies:
            counted = [str(body.account.get(term, "?")) for term in _TERMS]
            table.add_row(f"[bold]{body.name}[/]", *counted, str(len(body.seqs)))
        self._out.print(table)


def _published(look: Look) -> str:
    again = look.sent_again
    return tell(
        f"has published {look.published}: {look.by_soap} by SOAP, {look.by_rest} by REST; sent again {again}",
        f"ha publicado {look.published}: {look.by_soap} por SOAP, {look.by_rest} por REST; reenvíos {again}",
    )


def _state(one: Standing) -> str:
    if one.name == CGN:
        return tell(f"asked on {one.days} days", f"consultó {one.days} días")
    if one.failing:
        return tell(f"{one.failing}; attempts: {one.attempts}", f"{one.failing}; intentos: {one.attempts}")
    if not one.is_up:
        return tell("fallen", "caído")
    if one.waiting:
        return tell("catching up", "poniéndose al día")
    return tell("up to date", "al día")


def _lines(look: Look) -> list[str]:
    """The table for a pipe: a line each."""
    lines = [f"DGREC {_published(look)}"]
    for one in look.bodies:
        waiting = "?" if one.waiting is None else one.waiting
        counted = tell(f"received {one.received}, waiting {waiting}", f"recibidas {one.received}, en espera {waiting}")
        lines.append(f"{one.name:<5} {tell(*_HOW[one.name])}: {counted}; {_state(one)}")
    return lines
