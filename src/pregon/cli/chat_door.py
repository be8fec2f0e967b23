"""`pregon chat door`: plain ZeroMQ clients talk to a room."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from pregon.cli.chat_hub import address_of, opener_of
from pregon.cli.connect import HubOption, JsonOption, parse_duration_ms
from pregon.cli.output import console, reader_may_leave, show_json, tell
from pregon.errors import BadRequest
from pregon.settings import is_reachable_elsewhere

if TYPE_CHECKING:
    from pregon.chat.plain_door import DoorOptions, PlainDoor

commands = typer.Typer()
_NICKS_MAX = 1_000


@commands.command("door")
def door(
    room: Annotated[str, typer.Option("--room", metavar="ROOM", help="The room; one that is not there is made")],
    pull: Annotated[
        str, typer.Option("--pull", metavar="tcp://HOST:PORT", help="Where plain clients push [nick, text]")
    ] = "tcp://127.0.0.1:9999",
    pub: Annotated[
        str, typer.Option("--pub", metavar="tcp://HOST:PORT", help="Where they subscribe to [nick, text]")
    ] = "tcp://127.0.0.1:9998",
    nicks: Annotated[int, typer.Option("--nicks", metavar="N", help="So many nicks at once at most")] = 200,
    silence: Annotated[
        str, typer.Option("--silence", metavar="DURATION", help="Who pushes nothing for so long is gone")
    ] = "30m",
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let plain ZeroMQ clients (PUSH [nick, text], SUB) talk to a room, until Ctrl-C."""
    # Imported here, so that every other command starts without it.
    from pregon.chat.input_line import Mistake, read_room
    from pregon.chat.plain_door import DoorOptions
    from pregon.chat.words import say

    name = read_room(room)
    if isinstance(name, Mistake):
        raise BadRequest(say(tell("en", "es"), name.text, **name.values))
    if not 1 <= nicks <= _NICKS_MAX:
        raise BadRequest(f"--nicks is from 1 to {_NICKS_MAX}")
    silence_ms = parse_duration_ms(silence)
    assert silence_ms is not None, "there is a default"
    options = DoorOptions(room=name, pull=pull, pub=pub, visitors_max=nicks, silence_ms=silence_ms)
    asyncio.run(_keep_open(address_of(hub), options, as_json=as_json))


async def _keep_open(hub: str, options: DoorOptions, *, as_json: bool) -> None:
    from pregon.chat.people import People
    from pregon.chat.plain_door import PlainDoor

    loop, me = asyncio.get_running_loop(), asyncio.current_task()
    assert me is not None, "this runs in a task"
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, me.cancel)
    try:
        async with (
            opener_of(hub)(None) as client,
            PlainDoor(client, People(client.hub, purpose="door"), options) as plain,
        ):
            _warn(plain)
            with reader_may_leave():
                _greet(plain, as_json=as_json)
            try:
                await plain.run()
            finally:
                _tell_counts(plain, as_json=as_json)
    except asyncio.CancelledError:
        pass  # Somebody wants it closed.


def _warn(plain: PlainDoor) -> None:
    for address in filter(is_reachable_elsewhere, (plain.pull_address, plain.pub_address)):
        text = tell(
            f"{address} can be reached from other machines: whoever reaches it may speak under any free nick",
            f"{address} es accesible desde otras máquinas: quien llegue puede hablar con cualquier nick libre",
        )
        console(stderr=True).print(f"[bold yellow]{tell('warning', 'aviso')}[/]  {escape(text)}")


def _greet(plain: PlainDoor, *, as_json: bool) -> None:
    if as_json:
        show_json({"room": plain.options.room, "pull": plain.pull_address, "pub": plain.pub_address})
        return
    out = console()
    room = escape(plain.options.room)
    out.print(tell(f"[bold]The door of {room} is open.[/]", f"[bold]La puerta de {room} está abierta.[/]"))
    out.print(f"  PUSH {tell('to', 'a')}:  [cyan]{escape(plain.pull_address)}[/]")
    out.print(f"  SUB {tell('to', 'a')}:   [cyan]{escape(plain.pub_address)}[/]")
    out.print(tell("Close it with Ctrl-C.", "Se cierra con Ctrl-C."))
    sys.stdout.flush()


def _tell_counts(plain: PlainDoor, *, as_json: bool) -> None:
    counts = dict(sorted(plain.visitors.counts.items()))
    if as_json:
        show_json({"counts": counts})
    elif counts:
        console().print(escape(", ".join(f"{name} {count}" for name, count in counts.items())))
