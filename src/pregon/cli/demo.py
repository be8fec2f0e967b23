"""`pregon demo`: see it work, in half a minute, on this machine, without touching anything."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from pregon.addresses import KEY_VARIABLE
from pregon.cli.output import LANGUAGE_VARIABLE, reader_may_leave
from pregon.errors import BadRequest

commands = typer.Typer()

_QUICK_PACE = 12.0
_PACE_MIN, _PACE_MAX = 0.1, 20.0
LANGUAGES = ("es", "en")


@commands.command("demo")
def demo(
    quick: Annotated[bool, typer.Option("--quick", help="As fast as it goes: to check, not to watch")] = False,
    pace: Annotated[float, typer.Option("--pace", metavar="N", help="2 is twice as fast, 0.5 half as fast")] = 1.0,
    language: Annotated[
        str | None, typer.Option("--language", metavar="es|en", help="In Spanish or English; else as the locale says")
    ] = None,
) -> None:
    """Watch a registry publish, four bodies receive, one of them fall, the hub die, and nothing get lost."""
    if not _PACE_MIN <= pace <= _PACE_MAX:
        raise BadRequest(f"--pace is {_PACE_MIN:g} to {_PACE_MAX:g}, not {pace:g}")
    if language is not None:
        if language not in LANGUAGES:
            raise BadRequest(f"--language is {' or '.join(LANGUAGES)}, not {language[:20]!r}")
        os.environ[LANGUAGE_VARIABLE] = language
    # The hub of the demo is open: a key of the user's is for another one.
    os.environ.pop(KEY_VARIABLE, None)
    # Imported here, so that every other command starts without it.
    from pregon.cli.demo_screen import DemoScreen
    from pregon.demo.play import Play
    from pregon.demo.stage import Stage

    ending = None
    with reader_may_leave(), _all_signals_as_ctrl_c() as be_deaf, Stage(_QUICK_PACE if quick else pace) as stage:
        try:
            screen = DemoScreen(stage)
            with screen.live():
                ending = Play(stage, screen).perform()
            screen.show_ending(ending)
        finally:
            be_deaf()
    if ending is not None and ending.doubts:
        raise typer.Exit(1)


@contextmanager
def _all_signals_as_ctrl_c() -> Iterator[Callable[[], None]]:
    """Whatever asks this program to end does as Ctrl-C; gives what to call when the end begins, which nothing stops."""
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.default_int_handler) for number in signals}

    def be_deaf() -> None:
        for number in signals:
            signal.signal(number, signal.SIG_IGN)

    try:
        yield be_deaf
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
