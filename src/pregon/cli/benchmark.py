"""`pregon bench`: measure this machine, ours beside the physical limit and, if they are installed, other brokers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

commands = typer.Typer()


@commands.command("bench")
def bench(
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the work: a first impression")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="SCENARIO",
            help="Only this scenario (batches, single, fan-out, growth, doors, traces, push, services, groups, spark)",
        ),
    ] = None,
    peers: Annotated[
        bool, typer.Option("--peers/--no-peers", help="Measure Redis, NATS and RabbitMQ beside it")
    ] = False,
    install: Annotated[
        bool, typer.Option("--install", help="Install missing peers from Debian's packages (as root)")
    ] = False,
    directory: Annotated[
        Path | None, typer.Option("--directory", metavar="DIR", help="Where to put data while measuring")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="Also write the results as JSON")
    ] = None,
) -> None:
    """Run the benchmarks: ratios measured in one run, on loopback, with the method that docs describe."""
    from pregon.bench.rounds import Plan
    from pregon.bench.run import run_benchmarks

    run_benchmarks(
        Plan(
            quick=quick,
            only=tuple(only or ()),
            peers=peers,
            install=install,
            directory=directory,
            output=output,
        )
    )
