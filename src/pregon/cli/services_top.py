"""The screen of `pregon services top`: services, workers and what waits, with rates since the last look."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from pregon.cli.output import console, printable, tell
from pregon.clock import monotonic_ms

if TYPE_CHECKING:
    from pregon.client import Client

_WORKERS_SHOWN = 20
_REQUESTS_SHOWN = 8
_STYLES = {"ready": "green", "leaving": "yellow", "lost": "bold red"}


class Rates:
    """How many requests a second each service has answered between two looks."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[float, int]] = {}

    def of(self, name: str, answered: int, now_ms: float) -> float | None:
        """Since the last look; None at the first."""
        before = self._seen.get(name)
        self._seen[name] = (now_ms, answered)
        if before is None or now_ms <= before[0]:
            return None
        return max(0.0, (answered - before[1]) * 1_000 / (now_ms - before[0]))


def render_top(
    services: list[dict[str, Any]], workers: list[dict[str, Any]], requests: list[dict[str, Any]], rates: Rates
) -> RenderableType:
    """The whole screen."""
    now_ms = monotonic_ms()
    waiting = sum(one["waiting"] for one in services if not one["version"])
    title = Text.assemble(
        ("pregon services  ", "bold"),
        tell(
            f"{len(workers)} workers, {waiting} waiting",
            f"{len(workers)} trabajadores, {waiting} en espera",
        ),
    )
    shown = sorted(services, key=lambda one: (-one["waiting"], one["type"], one["version"]))
    return Group(
        title,
        _services(shown, rates, now_ms),
        Text(),
        _workers(sorted(workers, key=lambda one: (one["state"] == "ready", -one["in_hand"], one["name"]))),
        Text(),
        _requests(requests),
    )


def _table(*columns: tuple[str, str]) -> Table:
    table = Table(box=None, header_style="bold cyan", pad_edge=False)
    for name, justify in columns:
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    return table


def _services(rows: list[dict[str, Any]], rates: Rates, now_ms: float) -> Table:
    table = _table(
        (tell("service", "servicio"), "left"),
        (tell("policy", "política"), "left"),
        (tell("workers", "trabaj."), "right"),
        (tell("free", "libres"), "right"),
        (tell("waiting", "espera"), "right"),
        (tell("oldest ms", "más antigua ms"), "right"),
        (tell("in hand", "en curso"), "right"),
        (tell("answered/s", "respond./s"), "right"),
        (tell("answered", "respondidas"), "right"),
        (tell("failed", "fallidas"), "right"),
        ("ms", "right"),
    )
    for one in rows:
        name = one["type"] + (f"@{one['version']}" if one["version"] else "")
        rate = rates.of(name, one["answered"], now_ms)
        style = "bold red" if one["waiting"] and not one["workers"] else "yellow" if one["waiting"] else ""
        table.add_row(
            escape(name), one["options"]["policy"], str(one["workers"]), f"{one['free']}/{one['slots']}",
            str(one["waiting"]), str(one["waiting_ms"]), str(one["in_hand"]), "-" if rate is None else f"{rate:,.0f}",
            f"{one['answered']:,}", str(one["failed"]), f"{one['work_ms']:.1f}", style=style,
        )  # fmt: skip
    return table


def _workers(rows: list[dict[str, Any]]) -> RenderableType:
    table = _table(
        (tell("worker", "trabajador"), "left"),
        (tell("serves", "sirve"), "left"),
        (tell("state", "estado"), "left"),
        (tell("load", "carga"), "right"),
        (tell("in hand", "en curso"), "right"),
        (tell("heard ms ago", "oído hace ms"), "right"),
        (tell("answered", "respondidas"), "right"),
        (tell("failed", "fallidas"), "right"),
        (tell("lost", "perdido"), "right"),
    )
    for one in rows[:_WORKERS_SHOWN]:
        table.add_row(
            escape(printable(one["name"])[:30]), escape(", ".join(one["types"])[:40]), one["state"],
            f"{one['load']:.2f}", f"{one['in_hand']}/{one['slots']}", str(one["heard_ms_ago"]),
            f"{one['answered']:,}", str(one["failed"]), str(one["lost"]), style=_STYLES.get(one["state"], ""),
        )  # fmt: skip
    more = len(rows) - _WORKERS_SHOWN
    return Group(table, Text(tell(f"and {more} more", f"y {more} más"), style="dim")) if more > 0 else table


def _requests(rows: list[dict[str, Any]]) -> RenderableType:
    if not rows:
        return Text(tell("nothing under way", "nada en curso"), style="dim")
    table = _table(
        (tell("request to", "petición a"), "left"),
        (tell("state", "estado"), "left"),
        (tell("since ms", "desde hace ms"), "right"),
        (tell("worker", "trabajador"), "left"),
        (tell("client", "cliente"), "left"),
        (tell("attempts", "intentos"), "right"),
    )
    for one in sorted(rows, key=lambda one: -one["since_ms"])[:_REQUESTS_SHOWN]:
        table.add_row(
            escape(one["service"]), one["state"], str(one["since_ms"]), escape(printable(one["worker"])[:30]),
            escape(printable(one["client"])[:30]), str(one["attempts"]),
        )  # fmt: skip
    return table


def _look(client: Client, rates: Rates) -> RenderableType:
    return render_top(client.list("service"), client.list("worker"), client.list("request", max=500), rates)


def show_top(client: Client, every_ms: int, *, once: bool) -> None:
    """Show it, and again and again."""
    out, rates = console(), Rates()
    if once or not out.is_terminal:
        out.print(_look(client, rates))
        return
    # Ctrl-C is how one leaves it, and no failure.
    with suppress(KeyboardInterrupt), Live(_look(client, rates), console=out, screen=True, auto_refresh=False) as live:
        while True:
            time.sleep(every_ms / 1_000)
            live.update(_look(client, rates), refresh=True)
