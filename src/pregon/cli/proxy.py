"""`pregon proxy`: a bare forwarder between two addresses, at the speed of libzmq's own loop."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from pregon.cli.connect import JsonOption
from pregon.cli.output import console, reader_may_leave, show_json, tell
from pregon.errors import BadRequest, InternalError, SettingsInvalid
from pregon.settings import is_reachable_elsewhere

if TYPE_CHECKING:
    from pregon.patterns import Forwarder

commands = typer.Typer()

_WAIT_S = 0.2
# Who connects to the front and to the back, in both languages.
_PEOPLE = {
    "router-dealer": (("clients (REQ, DEALER)", "clientes (REQ, DEALER)"), ("workers (REP)", "trabajadores (REP)")),
    "xsub-xpub": (("publishers (PUB)", "publicadores (PUB)"), ("subscribers (SUB)", "suscriptores (SUB)")),
    "pull-push": (("pushers (PUSH)", "emisores (PUSH)"), ("pullers (PULL)", "receptores (PULL)")),
}


@commands.command("proxy")
def proxy(
    kind: Annotated[str, typer.Argument(metavar="router-dealer|xsub-xpub|pull-push", help="What it forwards between")],
    front: Annotated[
        str, typer.Option("--front", metavar="ADDRESS", help="Where clients, publishers or pushers connect to")
    ],
    back: Annotated[
        str, typer.Option("--back", metavar="ADDRESS", help="Where workers, subscribers or pullers connect to")
    ],
    capture: Annotated[
        str, typer.Option("--capture", metavar="ADDRESS", help="Where a SUB sees everything that passes")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Forward between two addresses, tcp://HOST:PORT or ipc://PATH. It keeps nothing, and asks nobody who they are."""
    if kind not in _PEOPLE:
        raise BadRequest(f"a proxy is {', '.join(_PEOPLE)}, not {kind[:40]!r}")
    for address in (front, back, capture):
        if address.startswith("inproc://"):
            raise SettingsInvalid(
                f"{address[:200]} is for one process, and a proxy is between processes: use tcp or ipc"
            )
    # Imported here, so that every other command starts without it.
    from pregon.cli.serve import allow_many_files, listen_for_stop
    from pregon.patterns import Forwarder

    stop = listen_for_stop()
    allow_many_files()
    with Forwarder(kind, front, back, capture) as forwarder:
        _warn(forwarder)
        with reader_may_leave():
            _greet(kind, forwarder, as_json=as_json)
        # Waiting in slices: a signal's handler only runs when the main thread comes back to the interpreter.
        while not stop.is_set:
            if forwarder.wait(_WAIT_S):
                raise InternalError("the forwarder ended by itself: its log, on standard error, says why")


def _warn(forwarder: Forwarder) -> None:
    out = console(stderr=True)
    for address in filter(is_reachable_elsewhere, (forwarder.front, forwarder.back, forwarder.capture)):
        text = tell(
            f"{address} can be reached from other machines: whoever reaches it may use it, and nobody is asked who "
            "they are",
            f"{address} es accesible desde otras máquinas: quien llegue hasta ahí puede usarla, y a nadie se le "
            "pregunta quién es",
        )
        out.print(f"[bold yellow]{tell('warning', 'aviso')}[/]  {escape(text)}")


def _greet(kind: str, forwarder: Forwarder, *, as_json: bool) -> None:
    if as_json:
        show_json(
            {"kind": kind, "front": forwarder.front, "back": forwarder.back, "capture": forwarder.capture or None}
        )
        return
    out = console()
    out.print(tell("[bold]The proxy is running.[/] Connect:", "[bold]El proxy está en marcha.[/] Conecte:"))
    ends = [*zip(_PEOPLE[kind], (forwarder.front, forwarder.back), strict=True)]
    if forwarder.capture:
        ends.append((("who watches (SUB)", "quien observa (SUB)"), forwarder.capture))
    for who, address in ends:
        out.print(f"  {tell(*who) + ':':<24} [cyan]{escape(address)}[/]")
    out.print(tell("It keeps nothing. Stop with Ctrl-C.", "No guarda nada. Se detiene con Ctrl-C."))
    sys.stdout.flush()
