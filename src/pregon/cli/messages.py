"""`pregon publish`, `pregon pull`, `pregon follow`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from pregon.cli.connect import TIMEOUT_MS, HubOption, JsonOption, MaxOption, TimeoutOption, connect
from pregon.cli.output import console, reader_may_leave, show_json, show_messages, tell
from pregon.errors import BadRequest
from pregon.security.keys import split_key

commands = typer.Typer()

TopicArgument = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name")]
AsOption = Annotated[str, typer.Option("--as", metavar="SUBSCRIBER", help="Which subscriber receives")]
RawOption = Annotated[bool, typer.Option("--raw", help="Only the bodies, a line each")]


@commands.command("publish")
def publish(
    topic: TopicArgument,
    body: Annotated[
        list[str] | None,
        typer.Argument(metavar="[BODY]...", help="Messages; none: lines from standard input"),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Publish this file as one message")
    ] = None,
    lines: Annotated[bool, typer.Option("--lines", help="With --file: each of its lines is a message")] = False,
    producer: Annotated[str, typer.Option("--producer", metavar="NAME", help="Who publishes")] = "local",
    id: Annotated[
        str | None, typer.Option("--id", help="The message's id: publishing it again stores nothing new")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="The message's own key: not yours, which is read from PREGON_KEY")
    ] = None,
    content_type: Annotated[str | None, typer.Option("--content-type", help="The content type of the body")] = None,
    header: Annotated[
        list[str] | None, typer.Option("--header", metavar="NAME=VALUE", help="A header; may be repeated")
    ] = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
    timeout: TimeoutOption = TIMEOUT_MS,
) -> None:
    """Publish messages and wait until they are on the hub's disk."""
    if key is not None and split_key(key) is not None:
        # Whoever mistakes the one key for the other would publish a secret, to everybody who reads the topic.
        raise BadRequest("--key is the message's key; the key with which you show who you are goes in PREGON_KEY")
    options: dict[str, Any] = {
        "key": key,
        "content_type": content_type,
        "headers": _parse_headers(header or []),
    }
    with connect(hub, producer=producer, timeout_ms=timeout) as client:
        if body or (file is not None and not lines):
            if id is not None and len(body or []) > 1:
                raise BadRequest("--id names one message, and there are several")
            # An argument that is no text is published byte for byte, as the terminal gave it.
            bodies: list[str | bytes] = [_text_or_bytes(one) for one in body] if body else [_read(file)]
            for one in bodies:
                published = client.publish(topic, one, id=id, **options)
                _show_published(topic, published.seq, published.duplicate, as_json)
            return
        if id is not None:
            raise BadRequest("--id names one message: give its body or a --file")
        count, last_seq = _publish_lines(client, topic, file, options)
    if as_json:
        show_json({"topic": topic, "count": count, "last_seq": last_seq})
    else:
        english, spanish = ("message", "mensaje publicado") if count == 1 else ("messages", "mensajes publicados")
        console().print(tell(f"{count:,} {english} published to {topic}", f"{count:,} {spanish} en {topic}"))


def _publish_lines(client: Any, topic: str, file: Path | None, options: dict[str, Any]) -> tuple[int, int | None]:
    """Publish each line, in batches, with a progress bar if somebody watches."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TransferSpeedColumn

    from pregon.client.outbox import ProducerOptions, Receipt

    last_seq: int | None = None

    def received(receipt: Receipt) -> None:
        nonlocal last_seq
        last_seq = receipt.first_seq + receipt.count - 1
        progress.update(task, completed=out.outbox.acknowledged, total=out.outbox.sent)

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TransferSpeedColumn())
    bar_console = console(stderr=True)
    with Progress(*columns, console=bar_console, disable=not bar_console.is_terminal, transient=True) as progress:
        task = progress.add_task(tell("publishing", "publicando"), total=None)
        with client.producer(topic, ProducerOptions(on_receipt=received)) as out:
            for line in _lines(file):
                out.send(line.decode(errors="surrogateescape").encode(errors="surrogateescape"), **options)
    return out.outbox.acknowledged, last_seq


def _lines(file: Path | None) -> Iterator[bytes]:
    """The lines of a file or of standard input, without their ends."""
    if file is None:
        for line in sys.stdin.buffer:
            yield line.rstrip(b"\r\n")
        return
    try:
        with file.open("rb") as lines:
            for line in lines:
                yield line.rstrip(b"\r\n")
    except OSError as error:
        raise BadRequest(f"{file} cannot be read: {error.strerror}") from error


def _text_or_bytes(argument: str) -> str | bytes:
    try:
        argument.encode()
    except UnicodeEncodeError:
        return os.fsencode(argument)
    return argument


def _read(file: Path | None) -> bytes:
    assert file is not None
    try:
        return file.read_bytes()
    except OSError as error:
        raise BadRequest(f"{file} cannot be read: {error.strerror}") from error


def _parse_headers(pairs: list[str]) -> dict[str, str]:
    headers = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise BadRequest(f"{pair!r} is not NAME=VALUE")
        headers[name] = value
    return headers


def _show_published(topic: str, seq: int, duplicate: bool, as_json: bool) -> None:
    if as_json:
        show_json({"topic": topic, "seq": seq, "duplicate": duplicate})
    else:
        note = tell(" (published before)", " (ya publicado)") if duplicate else ""
        console().print(f"{topic} [bold cyan]{seq}[/]{note}")


@commands.command("pull")
def pull(
    topic: TopicArgument,
    subscriber: AsOption = "local",
    max: MaxOption = 500,
    wait: Annotated[int, typer.Option("--wait", metavar="MS", help="Wait so long for something new")] = 0,
    ack: Annotated[bool, typer.Option("--ack/--no-ack", help="Acknowledge what was shown")] = True,
    raw: RawOption = False,
    hub: HubOption = None,
    as_json: JsonOption = False,
    timeout: TimeoutOption = TIMEOUT_MS,
) -> None:
    """Show what is pending for a subscriber, and acknowledge it."""
    with connect(hub, timeout_ms=timeout) as client:
        pulled = client.pull(topic, subscriber, max=max, wait_ms=wait)
        with reader_may_leave():
            show_messages(pulled, as_json=as_json, raw=raw)
            sys.stdout.flush()
            if pulled.last_seq is not None and ack:
                client.ack(topic, subscriber, pulled.last_seq, pulled.epoch)
        if not pulled.batches and not as_json and not raw:
            console(stderr=True).print(
                f"[dim]{tell(f'nothing pending for {subscriber}', f'no hay novedades pendientes para {subscriber}')}[/]"
            )


@commands.command("follow")
def follow(
    topic: TopicArgument,
    subscriber: AsOption = "local",
    max: Annotated[int, typer.Option("--max", help="Messages asked for at once")] = 500,
    until_empty: Annotated[bool, typer.Option("--until-empty", help="End when nothing is pending")] = False,
    raw: RawOption = False,
    hub: HubOption = None,
    as_json: JsonOption = False,
    timeout: TimeoutOption = TIMEOUT_MS,
) -> None:
    """Show messages as they come, acknowledging each when the next is shown; Ctrl-C ends."""
    with connect(hub, timeout_ms=timeout) as client:
        messages = client.follow(topic, subscriber, max=max, wait_ms=2_000, until_empty=until_empty)
        with closing(messages), reader_may_leave():
            show_messages(messages, as_json=as_json, raw=raw)
