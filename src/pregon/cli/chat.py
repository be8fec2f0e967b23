"""`pregon chat`: rooms on a terminal; and the door through which plain ZeroMQ clients talk to one."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from pregon.cli.chat_door import commands
from pregon.cli.chat_hub import address_of, opener_of
from pregon.cli.connect import HubOption
from pregon.cli.output import reader_may_leave, tell
from pregon.errors import BadRequest, HubUnreachable, SettingsInvalid

_DEFAULT = "enter"
LANGUAGES = ("en", "es")


class _Chat(TyperGroup):
    """`pregon chat plaza` is `pregon chat enter plaza`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments, with the command that people leave out."""
        if not args or (args[0] not in self.commands and args[0] != "--help"):
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_Chat,
    help="Chat in rooms: `pregon chat ROOM` is `pregon chat enter ROOM`.",
    no_args_is_help=False,
)
app.add_typer(commands)
LanguageOption = Annotated[
    str | None, typer.Option("--lang", metavar="en|es", help="The language; else that of the locale")
]


@app.command(_DEFAULT)
def enter(
    rooms: Annotated[
        list[str] | None, typer.Argument(metavar="[ROOM]...", help="Rooms to go into; one that is not there is made")
    ] = None,
    nick: Annotated[str, typer.Option("--nick", metavar="NAME", help="Who you are; else who you were last")] = "",
    hub: HubOption = None,
    lang: LanguageOption = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget who you were, and let the name go")] = False,
    plain_text: Annotated[
        bool, typer.Option("--plain-text", help="Lines, for pipes and screen readers, instead of a screen")
    ] = False,
) -> None:
    """Chat in rooms. Type /help there to see what can be typed."""
    # Imported here, so that every other command starts without it.
    from pregon.chat.input_line import Mistake, read_room
    from pregon.chat.people import People
    from pregon.chat.talk import Wanted
    from pregon.chat.words import say

    language, address = _language(lang), address_of(hub)
    names = [read_room(room) for room in rooms or ()]
    for name in names:
        if isinstance(name, Mistake):
            raise BadRequest(say(language, name.text, **name.values))
    wanted = Wanted(open_client=opener_of(address), nick=nick, rooms=[*map(str, names)], is_fresh=fresh)
    people = People(address)
    if plain_text or not (sys.stdin.isatty() and sys.stdout.isatty()):
        from pregon.chat.plain_lines import chat_in_lines

        with reader_may_leave():
            asyncio.run(chat_in_lines(language, people, wanted))
        return
    try:
        from pregon.chat.screen import ChatScreen
    except ModuleNotFoundError as error:
        raise SettingsInvalid(
            tell(
                "the screen of the chat needs textual: pip install 'pregon[chat]'; or use --plain-text",
                "la pantalla del chat necesita textual: pip install 'pregon[chat]'; o use --plain-text",
            )
        ) from error
    from pregon.chat.talk import Talk

    screen = ChatScreen(language, lambda conversation: Talk(conversation, people, wanted))
    screen.run()
    if screen.failure is not None:
        raise screen.failure
    if screen.talk.unsent:
        typer.echo(say(language, "unsent", count=screen.talk.unsent), err=True)
    if screen.talk.unsaid:
        raise HubUnreachable(say(language, "unsaid", hub=address, count=screen.talk.unsaid))


def _language(wanted: str | None) -> str:
    if wanted is not None and wanted not in LANGUAGES:
        raise BadRequest(f"--lang is {' or '.join(LANGUAGES)}, not {wanted[:20]!r}")
    return wanted or tell("en", "es")
