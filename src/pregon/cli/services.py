"""`pregon services`: run a service broker by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pregon.addresses import DEFAULT_SERVICES_BACK, DEFAULT_SERVICES_FRONT
from pregon.cli.greeting import greet_services
from pregon.cli.serve import allow_many_files, listen_for_stop, tune_interpreter
from pregon.cli.services_view import (
    AnswerOption,
    AttemptsOption,
    BeatOption,
    LivenessOption,
    PatienceOption,
    PolicyOption,
    QueueOption,
    WaitOption,
    commands,
)

app = typer.Typer(invoke_without_command=True, no_args_is_help=False)
app.add_typer(commands)


@app.callback(help="Run a service broker, without a hub; or look at the one of a hub.")
def run(
    context: typer.Context,
    front: Annotated[
        str, typer.Option("--front", metavar="tcp://HOST:PORT", help="Where clients connect")
    ] = DEFAULT_SERVICES_FRONT,
    back: Annotated[
        str, typer.Option("--back", metavar="tcp://HOST:PORT", help="Where workers connect")
    ] = DEFAULT_SERVICES_BACK,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Keep durable requests here; none without it")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="A TOML file: options, and [service.NAME] tables")
    ] = None,
    policy: PolicyOption = None,
    liveness: LivenessOption = None,
    beat_ms: BeatOption = None,
    patience: PatienceOption = None,
    answer_ms: AnswerOption = None,
    attempts: AttemptsOption = None,
    queue: QueueOption = None,
    wait_ms: WaitOption = None,
    curve: Annotated[bool, typer.Option("--curve", help="Let only the CURVE keys in that `pregon keys` knows")] = False,
    open_to_all: Annotated[
        bool, typer.Option("--open-to-all", help="Listen beyond this machine without CURVE keys")
    ] = False,
    log_level: Annotated[str, typer.Option("--log-level", help="debug, info, warning or error")] = "info",
) -> None:
    """Run a broker until SIGTERM or SIGINT."""
    if context.invoked_subcommand is not None:
        return
    # Imported here, so that every other command starts without the broker.
    from pregon.logs import configure_logs
    from pregon.server.services_alone import AloneSettings, ServicesServer

    options: dict[str, Any] = {
        "policy": policy, "liveness": liveness, "beat_ms": beat_ms, "patience": patience, "answer_ms": answer_ms,
        "attempts_max": attempts, "queue_max": queue, "wait_ms": wait_ms,
    }  # fmt: skip
    configure_logs(log_level)
    allow_many_files()
    settings = AloneSettings(
        front=front,
        back=back,
        data=data,
        config=config,
        curve=curve,
        open_to_all=open_to_all,
        options={name: value for name, value in options.items() if value is not None},
    )
    stop = listen_for_stop()
    with ServicesServer(settings) as server:
        tune_interpreter()
        greet_services(server.front, server.back)
        stop.wait()
