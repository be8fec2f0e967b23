"""`pregon subscriber`: create, list, show, update, delete; how messages are pushed to it is among what is set.

Its signing secrets are in `push`, tests of its web service in `rehearsal`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from pregon.cli.catalog import AfterOption, DescriptionOption, NameArgument, delete_one, show_list, show_one
from pregon.cli.connect import HubOption, JsonOption, MaxOption, connect, parse_duration_ms
from pregon.cli.output import show_fields
from pregon.cli.push import secret
from pregon.cli.rehearsal import rehearse
from pregon.model.catalog import BLOCK, CLOUDEVENTS, PARK, PULL, PUSH, RAW, SOAP

app = typer.Typer(help="Subscribers: who receives.", no_args_is_help=True)
app.add_typer(secret, name="secret")
app.command("test")(rehearse)


class Mode(StrEnum):
    """How messages reach a subscriber."""

    pull = PULL
    push = PUSH


class Format(StrEnum):
    """How a pushed message is written."""

    cloudevents = CLOUDEVENTS
    soap = SOAP
    raw = RAW


class Poison(StrEnum):
    """What becomes of a message that is refused too often."""

    block = BLOCK
    park = PARK


ModeOption = Annotated[
    Mode | None, typer.Option("--mode", help="push: send messages to its endpoint. pull: let them wait until it asks")
]
EndpointOption = Annotated[
    str | None, typer.Option("--endpoint", metavar="URL", help="Its web service, to which messages are pushed")
]
FormatOption = Annotated[Format | None, typer.Option("--format", help="How a pushed message is written")]
TimeLimitOption = Annotated[
    str | None, typer.Option("--time-limit", metavar="DURATION", help="How long it may take to answer a push: 10s")
]
RateOption = Annotated[
    int | None, typer.Option("--rate", metavar="N", help="Pushes a second at most, all its topics together; 0: any")
]
ParallelOption = Annotated[
    int | None,
    typer.Option("--parallel", metavar="N", help="Pushes at once in a subscription; those of a key stay in order"),
]
AttemptsOption = Annotated[
    int | None, typer.Option("--attempts", metavar="N", help="Attempts of a message that it refuses, then --on-poison")
]
DelayFirstOption = Annotated[
    str | None, typer.Option("--delay-first", metavar="DURATION", help="Wait about so long after the first failure: 1s")
]
DelayMaxOption = Annotated[
    str | None, typer.Option("--delay-max", metavar="DURATION", help="Wait at most so long between attempts: 5m")
]
PoisonOption = Annotated[
    Poison | None,
    typer.Option("--on-poison", help="block: try a message that it refuses for ever. park: set it aside"),
]
EnabledOption = Annotated[
    bool | None, typer.Option("--enable/--disable", help="Whether messages are pushed to it; they wait if not")
]


def _push_options(
    time_limit: str | None,
    rate: int | None,
    parallel: int | None,
    attempts: int | None,
    delays: tuple[str | None, str | None],
    on_poison: Poison | None,
) -> dict[str, Any]:
    """What was said of how to push."""
    given: dict[str, Any] = {
        "time_limit_ms": parse_duration_ms(time_limit),
        "rate_per_s": rate,
        "parallel": parallel,
        "attempts_max": attempts,
        "delay_ms_first": parse_duration_ms(delays[0]),
        "delay_ms_max": parse_duration_ms(delays[1]),
        "on_poison": None if on_poison is None else on_poison.value,
    }
    said = {name: value for name, value in given.items() if value is not None}
    return {**said, "rate_per_s": None} if rate == 0 else said


def _values(
    description: str | None, mode: Mode | None, endpoint: str | None, format: Format | None, enabled: bool | None
) -> dict[str, Any]:
    """What was said besides."""
    given: dict[str, Any] = {
        "description": description,
        "mode": None if mode is None else mode.value,
        "endpoint": endpoint,
        "format": None if format is None else format.value,
        "enabled": enabled,
    }
    return {name: value for name, value in given.items() if value is not None}


@app.command("create")
def create(
    name: NameArgument,
    description: DescriptionOption = None,
    mode: ModeOption = None,
    endpoint: EndpointOption = None,
    format: FormatOption = None,
    time_limit: TimeLimitOption = None,
    rate: RateOption = None,
    parallel: ParallelOption = None,
    attempts: AttemptsOption = None,
    delay_first: DelayFirstOption = None,
    delay_max: DelayMaxOption = None,
    on_poison: PoisonOption = None,
    enabled: EnabledOption = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Register a subscriber. In mode push its messages are sent to its endpoint, and can still be pulled."""
    values = _values(description, mode, endpoint, format, enabled)
    push = _push_options(time_limit, rate, parallel, attempts, (delay_first, delay_max), on_poison)
    with connect(hub) as client:
        show_fields(client.create("subscriber", name=name, **values, push=push), as_json=as_json)


@app.command("update")
def update(
    name: NameArgument,
    description: DescriptionOption = None,
    mode: ModeOption = None,
    endpoint: EndpointOption = None,
    format: FormatOption = None,
    time_limit: TimeLimitOption = None,
    rate: RateOption = None,
    parallel: ParallelOption = None,
    attempts: AttemptsOption = None,
    delay_first: DelayFirstOption = None,
    delay_max: DelayMaxOption = None,
    on_poison: PoisonOption = None,
    enabled: EnabledOption = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a subscriber; what is not named stays. --enable resumes pushes that the hub, or somebody, stopped."""
    values = _values(description, mode, endpoint, format, enabled)
    push = _push_options(time_limit, rate, parallel, attempts, (delay_first, delay_max), on_poison)
    with connect(hub) as client:
        if push:
            values["push"] = {**client.show("subscriber", name)["push"], **push}
        show_fields(client.update("subscriber", name, **values), as_json=as_json)


@app.command("list")
def list_(hub: HubOption = None, after: AfterOption = "", max: MaxOption = 100, as_json: JsonOption = False) -> None:
    """List subscribers, by name."""
    show_list("subscriber", hub, after, max, as_json)


@app.command("show")
def show(name: NameArgument, hub: HubOption = None, as_json: JsonOption = False) -> None:
    """Show a subscriber."""
    show_one("subscriber", (name,), hub, as_json)


@app.command("delete")
def delete(name: NameArgument, hub: HubOption = None, as_json: JsonOption = False) -> None:
    """Delete a subscriber and its subscriptions; its traces stay."""
    delete_one("subscriber", (name,), hub, as_json)
