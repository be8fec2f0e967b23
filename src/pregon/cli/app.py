"""The program: its commands, and the one place where an error becomes a message and an exit status."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from pregon.cli import (
    admins,
    audit,
    benchmark,
    catalog,
    chat,
    curve_keys,
    demo,
    doctor,
    group,
    keys,
    messages,
    pipeline,
    proxy,
    requests,
    schemas,
    serve,
    services,
    subscriber,
    subscription,
    traces,
)
from pregon.cli.output import show_error, tell
from pregon.errors import PregonError
from pregon.version import __version__

app = typer.Typer(
    name="pregon",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pregon {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version")
    ] = False,
) -> None:
    """A message hub for organisations that must tell each other things and be able to prove it.

    A hub with an administrator asks for a key: commands present the one in the variable PREGON_KEY. It is never an
    option, because the arguments of a process are seen by everybody on its machine.
    """


app.add_typer(serve.commands)
app.add_typer(demo.commands)
app.add_typer(messages.commands)
app.add_typer(catalog.topic, name="topic")
app.add_typer(catalog.producer, name="producer")
app.add_typer(subscriber.app, name="subscriber")
app.add_typer(subscription.app, name="subscription")
app.add_typer(schemas.app, name="schema")
app.add_typer(keys.key, name="key")
app.add_typer(keys.token, name="token")
app.add_typer(curve_keys.app, name="keys")
app.add_typer(admins.app, name="admin")
app.add_typer(services.app, name="services")
app.add_typer(group.app, name="group")
app.add_typer(chat.app, name="chat")
app.add_typer(requests.commands)
app.add_typer(proxy.commands)
app.add_typer(traces.commands)
app.add_typer(audit.commands)
app.add_typer(doctor.commands)
app.add_typer(pipeline.app, name="pipeline")
app.add_typer(benchmark.commands)


def main() -> None:
    """Run the command line; errors become a line on standard error and an exit status."""
    try:
        app()
    except PregonError as error:
        show_error(error, as_json="--json" in sys.argv)
        sys.exit(error.exit_status)
    except KeyboardInterrupt:
        sys.stderr.write(tell("interrupted\n", "interrumpido\n"))
        sys.exit(130)
