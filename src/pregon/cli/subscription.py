"""`pregon subscription`: create, list, show with its accounting, update, delete; pause, resume; park, unpark, cancel,
replay, push."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from pregon.cli.catalog import delete_one
from pregon.cli.connect import HubOption, JsonOption, MaxOption, connect, parse_duration_ms
from pregon.cli.output import console, show_fields, show_json, show_rows, tell
from pregon.clock import parse_us
from pregon.errors import BadFilter, BadRequest
from pregon.limits import FILTER_BYTES_MAX

app = typer.Typer(help="Subscriptions: a subscriber's place in a topic.", no_args_is_help=True)

TopicArgument = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name")]
SubscriberArgument = Annotated[str, typer.Argument(metavar="SUBSCRIBER", help="The subscriber's name")]
SeqsArgument = Annotated[list[int], typer.Argument(metavar="SEQ...", help="Message numbers")]
PendingMaxOption = Annotated[
    int | None, typer.Option("--pending-max", help="Let the oldest expire when more than this are pending")
]
PendingAgeOption = Annotated[
    str | None,
    typer.Option("--pending-age", metavar="DURATION", help="Let messages expire after so long: 30d, 12h"),
]
FilterOption = Annotated[
    str | None,
    typer.Option(
        "--filter", metavar="JSON|@FILE", help='Which messages it wants: \'{"header": "region", "equals": "sur"}\''
    ),
]


@app.command("create")
def create(
    topic: TopicArgument,
    subscriber: SubscriberArgument,
    start: Annotated[
        str, typer.Option("--from", metavar="earliest|latest|SEQ", help="The first message that it gets")
    ] = "earliest",
    pending_max: PendingMaxOption = None,
    pending_age: PendingAgeOption = None,
    filter: FilterOption = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Subscribe. Without limits, messages wait until they are acknowledged; without a filter it gets all of them."""
    wanted = "" if filter is None else _read_filter(filter)
    with connect(hub) as client:
        entry = client.create(
            "subscription",
            topic=topic,
            subscriber=subscriber,
            start=start,
            pending_max=pending_max,
            pending_age_ms=parse_duration_ms(pending_age),
            filter=wanted,
        )
    show_fields(entry, as_json=as_json)


@app.command("update")
def update(
    topic: TopicArgument,
    subscriber: SubscriberArgument,
    pending_max: PendingMaxOption = None,
    pending_age: PendingAgeOption = None,
    no_limits: Annotated[bool, typer.Option("--no-limits", help="Messages wait until they are acknowledged")] = False,
    filter: FilterOption = None,
    no_filter: Annotated[bool, typer.Option("--no-filter", help="It gets all messages")] = False,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a subscription's limits or filter; what is not named stays. A new filter looks at what is pending."""
    values: dict[str, Any] = {"pending_max": None, "pending_age_ms": None} if no_limits else {}
    if pending_max is not None:
        values["pending_max"] = pending_max
    if pending_age is not None:
        values["pending_age_ms"] = parse_duration_ms(pending_age)
    if filter is not None and no_filter:
        raise BadRequest("--filter gives it a filter, --no-filter takes it away: say one")
    if filter is not None or no_filter:
        values["filter"] = "" if filter is None else _read_filter(filter)
    with connect(hub) as client:
        show_fields(client.update("subscription", topic, subscriber, **values), as_json=as_json)


@app.command("list")
def list_(
    topic: Annotated[str, typer.Option("--topic", help="Only of this topic")] = "",
    subscriber: Annotated[str, typer.Option("--subscriber", help="Only of this subscriber")] = "",
    max: MaxOption = 100,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """List subscriptions."""
    with connect(hub) as client:
        rows = client.list("subscription", names=[topic, subscriber], max=max)
    columns = ("topic", "subscriber", "first_seq", "acked_seq", "paused", "pending_max", "pending_age_ms", "filter")
    show_rows(rows, columns, as_json=as_json, empty=tell("none yet", "todavía no hay ninguna"))


@app.command("show")
def show(
    topic: TopicArgument, subscriber: SubscriberArgument, hub: HubOption = None, as_json: JsonOption = False
) -> None:
    """Show a subscription, and where every one of its messages is."""
    with connect(hub) as client:
        entry = client.show("subscription", topic, subscriber)
        accounting = msgspec.to_builtins(client.account(topic, subscriber))
    show_fields({**entry, **accounting}, as_json=as_json)


@app.command("push")
def push(
    topic: TopicArgument, subscriber: SubscriberArgument, hub: HubOption = None, as_json: JsonOption = False
) -> None:
    """Show how pushing it goes: whether it fails, since when and why, and when it is tried again."""
    with connect(hub) as client:
        state = client.show("push", topic, subscriber)
    if not as_json:
        # 0 is not 1970 but never.
        state = {name: (value or None) if name.endswith("_us") else value for name, value in state.items()}
    show_fields(state, as_json=as_json)


@app.command("pause")
def pause(
    topic: TopicArgument, subscriber: SubscriberArgument, hub: HubOption = None, as_json: JsonOption = False
) -> None:
    """Push nothing in it until it is resumed; everything waits, and can be pulled."""
    with connect(hub) as client:
        entry = client.update("subscription", topic, subscriber, paused=True)
    done = tell(
        f"{topic} {subscriber} paused: what comes waits, and can be pulled",
        f"{topic} {subscriber} en pausa: lo que llega espera, y puede pedirse",
    )
    _show_done(entry, done, as_json)


@app.command("resume")
def resume(
    topic: TopicArgument, subscriber: SubscriberArgument, hub: HubOption = None, as_json: JsonOption = False
) -> None:
    """Push again what waits in a paused subscription, at once and in order."""
    with connect(hub) as client:
        entry = client.update("subscription", topic, subscriber, paused=False)
    done = tell(
        f"{topic} {subscriber} resumed: what waits is pushed now",
        f"{topic} {subscriber} reanudada: lo que espera se envía ahora",
    )
    _show_done(entry, done, as_json)


@app.command("delete")
def delete(
    topic: TopicArgument, subscriber: SubscriberArgument, hub: HubOption = None, as_json: JsonOption = False
) -> None:
    """Unsubscribe; what was pending is given up, the traces stay."""
    delete_one("subscription", (topic, subscriber), hub, as_json)


@app.command("park")
def park(
    topic: TopicArgument,
    subscriber: SubscriberArgument,
    seqs: SeqsArgument,
    reason: Annotated[str, typer.Option("--reason", help="Why, for the traces")] = "",
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set pending messages aside, so that the ones after them go on."""
    with connect(hub) as client:
        _show_count(client.park(topic, subscriber, seqs, reason), as_json)


@app.command("unpark")
def unpark(
    topic: TopicArgument,
    subscriber: SubscriberArgument,
    seqs: Annotated[list[int] | None, typer.Argument(metavar="[SEQ]...", help="Message numbers; none: all")] = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Deliver parked messages again, before anything else."""
    with connect(hub) as client:
        _show_count(client.unpark(topic, subscriber, seqs or []), as_json)


@app.command("cancel")
def cancel(
    topic: TopicArgument,
    subscriber: SubscriberArgument,
    seqs: SeqsArgument,
    reason: Annotated[str, typer.Option("--reason", help="Why, for the traces")] = "",
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give pending or parked messages up: they are never delivered, and count as expired."""
    with connect(hub) as client:
        _show_count(client.cancel(topic, subscriber, seqs, reason), as_json)


@app.command("parked")
def parked(
    topic: TopicArgument, subscriber: SubscriberArgument, hub: HubOption = None, as_json: JsonOption = False
) -> None:
    """List what is set aside."""
    with connect(hub) as client:
        rows = client.parked(topic, subscriber)
    show_rows(rows, ("seq", "returned", "at_us", "reason"), as_json=as_json, empty=tell("nothing", "nada"))


@app.command("replay")
def replay(
    topic: TopicArgument,
    subscriber: SubscriberArgument,
    from_seq: Annotated[int | None, typer.Option("--from", metavar="SEQ", help="From this number")] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help="From the first accepted then: 2026-11-15T10:00:00Z"),
    ] = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Move a subscription back: what comes after is delivered again."""
    try:
        from_us = None if since is None else parse_us(since)
    except ValueError as error:
        raise BadRequest(f"{since!r} is not a time: write 2026-11-15T10:00:00Z") from error
    with connect(hub) as client:
        acked_seq = client.replay(topic, subscriber, from_seq=from_seq, from_us=from_us)
    if as_json:
        show_json({"acked_seq": acked_seq})
    else:
        console().print(tell(f"the next message is {acked_seq + 1}", f"el próximo mensaje es {acked_seq + 1}"))


def _read_filter(text: str) -> str:
    """The filter that was written, or that is in the file that was named; what it says is for the hub to check."""
    if not text.startswith("@"):
        wanted = text
    else:
        try:
            with Path(text[1:]).open("rb") as file:
                wanted = file.read(FILTER_BYTES_MAX + 1).decode()
        except OSError as error:
            raise BadRequest(f"{text[1:]} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise BadFilter(f"{text[1:]} is not UTF-8: a filter is JSON") from error
    if not wanted.strip():
        raise BadFilter("the filter is empty: write one, or leave it out to get all messages")
    return wanted


def _show_done(entry: dict[str, Any], done: str, as_json: bool) -> None:
    if as_json:
        show_json(entry)
    else:
        console().print(done)


def _show_count(count: int, as_json: bool) -> None:
    if as_json:
        show_json({"count": count})
    else:
        english, spanish = ("message", "mensaje") if count == 1 else ("messages", "mensajes")
        console().print(tell(f"{count} {english}", f"{count} {spanish}"))
