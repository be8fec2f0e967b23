"""`pregon keys`: the CURVE keys of clients and workers, and which job types each opens.

A pair is made here and its secret written to a file, once; the hub only learns the public part.

    pregon keys create tarifas --serve 'tarifas.*' --output tarifas.json
    PREGON_CURVE=tarifas.json python worker.py
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Protocol

import msgspec
import typer
from rich.markup import escape

from pregon.cli.connect import HubOption, JsonOption, connect
from pregon.cli.key_places import open_directory
from pregon.cli.keys import DataOption
from pregon.cli.output import console, show_fields, show_rows, tell
from pregon.errors import AlreadyExists, BadRequest, NotFound

app = typer.Typer(
    help="CURVE keys: who may ask for and serve which job types, over an encrypted connection.", no_args_is_help=True
)

_NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Whose key it is")]
_AskOption = Annotated[
    list[str] | None,
    typer.Option("--ask", metavar="TYPE", help="A job type that it may ask for, or a pattern; may be repeated"),
]
_ServeOption = Annotated[
    list[str] | None,
    typer.Option("--serve", metavar="TYPE", help="A job type that it may serve, or a pattern; may be repeated"),
]


class _Place(Protocol):
    """Who has the keys."""

    def server_key(self) -> str:
        """The broker's public key; empty if it has none."""
        ...

    def keep(self, key: dict[str, Any]) -> dict[str, Any]:
        """Let one in."""
        ...

    def list(self) -> list[dict[str, Any]]:
        """All of them."""
        ...

    def forget(self, name: str) -> bool:
        """Let one in no more."""
        ...


class _RunningHub:
    def __init__(self, client: Any) -> None:
        self._client = client

    def server_key(self) -> str:
        return str(self._client.show("broker")["curve_key"])

    def keep(self, key: dict[str, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = self._client.create("curve-key", **key)
        return kept

    def list(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._client.list("curve-key")
        return rows

    def forget(self, name: str) -> bool:
        return bool(self._client.delete("curve-key", name))


class _Directory:
    def __init__(self, data: Path, journal: Any) -> None:
        self._data = data
        self._journal = journal

    def server_key(self) -> str:
        from pregon.security.curve import require_server_pair

        return require_server_pair(self._data).public

    def keep(self, key: dict[str, Any]) -> dict[str, Any]:
        from pregon.model.service import CurveKey
        from pregon.security.curve import check_curve_key

        checked = check_curve_key(msgspec.convert(key, CurveKey))
        kept: dict[str, Any] = msgspec.to_builtins(self._journal.keep_curve_key(checked, lambda _: None).result())
        return kept

    def list(self) -> list[dict[str, Any]]:
        return [msgspec.to_builtins(one) for one in self._journal.curve_keys()]

    def forget(self, name: str) -> bool:
        return bool(self._journal.forget_curve_key(name, lambda _: None).result())


@contextmanager
def _open(hub: str | None, data: Path | None) -> Iterator[_Place]:
    if data is None:
        with connect(hub) as client:
            yield _RunningHub(client)
        return
    if hub is not None:
        raise BadRequest("--hub asks a hub that is running, --data works in the directory of one that is not: give one")
    with open_directory(data, may_make=True) as opened:
        from pregon.services.journal import HubJournal

        yield _Directory(data, HubJournal(opened))


@app.command("create")
def create(
    name: _NameArgument,
    output: Annotated[Path, typer.Option("--output", metavar="FILE", help="Where the pair goes; it must not exist")],
    ask: _AskOption = None,
    serve: _ServeOption = None,
    data: DataOption = None,
    hub: HubOption = None,
) -> None:
    """Make a pair of keys, let its public part in, and write the file that its owner uses (PREGON_CURVE)."""
    from pregon.security.curve import make_pair, write_key_file

    with _open(hub, data) as place:
        server = place.server_key()
        if not server:
            raise BadRequest("this hub's services have no CURVE: start it with --services-curve")
        if any(row["name"] == name for row in place.list()):
            raise AlreadyExists(f"{name} has a key already: delete it first, or choose another name")
        pair = make_pair(name, server)
        # The file first: a key that is let in and that nobody has would be of no use.
        write_key_file(output, pair)
        try:
            place.keep({"name": name, "public": pair.public, "asks": ask or [], "serves": serve or []})
        except BaseException:  # Whatever it was, the file would open nothing.
            output.unlink(missing_ok=True)
            raise
    console(stderr=True).print(
        tell(
            f"{escape(name)} comes in with {escape(str(output))}: give it to its owner, who names it in PREGON_CURVE.",
            f"{escape(name)} entra con {escape(str(output))}: entréguelo a su dueño, que lo nombra en PREGON_CURVE.",
        )
    )


@app.command("allow")
def allow(
    name: _NameArgument,
    public: Annotated[str, typer.Argument(metavar="PUBLIC", help="Its public key, 40 characters")],
    ask: _AskOption = None,
    serve: _ServeOption = None,
    data: DataOption = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a key in that its owner made: only its public part is shown to anybody."""
    with _open(hub, data) as place:
        kept = place.keep({"name": name, "public": public, "asks": ask or [], "serves": serve or []})
    show_fields(kept, as_json=as_json)


@app.command("list")
def list_keys(data: DataOption = None, hub: HubOption = None, as_json: JsonOption = False) -> None:
    """Who may come in, and which job types each opens."""
    with _open(hub, data) as place:
        rows = place.list()
    columns = ("name", "public", "asks", "serves", "created_us")
    show_rows(rows, columns, as_json=as_json, empty=tell("none", "ninguna"))


@app.command("delete")
def delete(name: _NameArgument, data: DataOption = None, hub: HubOption = None) -> None:
    """Let a key in no more; who serves by it is given nothing any more, at once."""
    with _open(hub, data) as place:
        if not place.forget(name):
            raise NotFound(f"there is no CURVE key of {name}")


@app.command("server")
def server(data: DataOption = None, hub: HubOption = None) -> None:
    """The broker's public key, by which clients and workers know that it is the right one."""
    with _open(hub, data) as place:
        typer.echo(place.server_key())
