"""What commands show: tables and colours for people on a terminal, JSON for programs, two languages.

With `--json` every result is one JSON value a line on standard output, and an error one JSON object on
standard error. People get English, or Spanish when `PREGON_LANG` or the locale says so.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pregon.clock import format_us
from pregon.errors import PregonError
from pregon.model.message import Message

_PIPE_COLUMNS = 400
LANGUAGE_VARIABLE = "PREGON_LANG"


def tell(english: str, spanish: str) -> str:
    """The text in the reader's language."""
    for variable in (LANGUAGE_VARIABLE, "LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(variable)
        if value:
            return spanish if value.lower().startswith("es") else english
    return english


class _Console(Console):
    """rich's console, but that a reader who leaves is told to the caller instead of ending the program."""

    def on_broken_pipe(self) -> None:
        """Called by rich when nobody reads any more."""
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """Where people read."""
    out = _Console(stderr=stderr, highlight=False, soft_wrap=True, emoji=False)
    if not out.is_terminal and "COLUMNS" not in os.environ:
        # In a pipe a row is a line, however long: `grep` must find it.
        out.width = _PIPE_COLUMNS
    return out


def show_json(value: Any) -> None:
    """One JSON value on one line of standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()


def _plain(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return tell("yes", "sí") if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(one)}" for name, one in value.items() if one) or "-"
    if isinstance(value, list | tuple):
        return ", ".join(_plain(one) for one in value) or "-"
    if isinstance(value, int) and abs(value) >= 10_000:
        return f"{value:,}"
    return printable(str(value))


def printable(text: str) -> str:
    """Text from outside without what could move a terminal's cursor or change its state."""
    return "".join(one if one.isprintable() or one == "\t" else "\N{REPLACEMENT CHARACTER}" for one in text)


def _readable(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with its instants written out."""
    return {
        (name.removesuffix("_us") if name.endswith("_us") else name): (
            format_us(value) if name.endswith("_us") and value else value
        )
        for name, value in row.items()
    }


def show_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], *, as_json: bool, empty: str) -> None:
    """Rows as a table, or as JSON lines."""
    if as_json:
        for row in rows:
            show_json(row)
        return
    if not rows:
        console().print(f"[dim]{escape(empty)}[/dim]")
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    shown = [column.removesuffix("_us") for column in columns]
    for column in shown:
        numeric = all(isinstance(_readable(row).get(column), int) for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        readable = _readable(row)
        table.add_row(*(escape(_plain(readable.get(column))) for column in shown))
    console().print(table)


def show_fields(row: Mapping[str, Any], *, as_json: bool) -> None:
    """One thing, a field a line, or as JSON."""
    if as_json:
        show_json(row)
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in _readable(row).items():
        table.add_row(escape(name), escape(_plain(value)))
    console().print(table)


def show_messages(messages: Iterable[Message], *, as_json: bool, raw: bool) -> None:
    """Messages: a line each for people, JSON lines, or only the bodies."""
    out = console()
    for message in messages:
        if raw:
            sys.stdout.buffer.write(message.body + b"\n")
            sys.stdout.buffer.flush()
        elif as_json:
            show_json({**message.describe(), **_body_fields(message.body)})
        else:
            text = escape(printable(message.text))
            why = f"  [dim]({escape(printable(message.matched))})[/]" if message.matched else ""
            out.print(
                f"[bold cyan]{message.seq}[/]  [green]{escape(message.producer)}[/]  "
                f"[dim]{format_us(message.accepted_us)}[/]  {text}{why}"
            )


def _body_fields(body: bytes) -> dict[str, str]:
    """The body for JSON: as text if it is UTF-8, else in base 64."""
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        import base64

        return {"body_base64": base64.b64encode(body).decode()}


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """`pregon follow | head`: whoever read us has had enough, which is no error."""
    try:
        yield
    except BrokenPipeError:
        # What is left in the buffer must not complain again when the program ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_error(error: PregonError, *, as_json: bool) -> None:
    """An error, on standard error."""
    if as_json:
        entry = {"code": error.code, "message": str(error), "retryable": error.is_retryable}
        sys.stderr.write(json.dumps(entry, ensure_ascii=False) + "\n")
    else:
        console(stderr=True).print(f"[bold red]error[/] [dim]{error.code}[/]  {escape(str(error))}")
