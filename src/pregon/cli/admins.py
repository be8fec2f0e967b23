"""`pregon admin`: the people who enter the administration pages with a password.

    pregon admin create ana --data pregon-data           asks for the password, twice; the hub is stopped
    pregon admin create ana --data pregon-data < file    takes the first line of the file
    pregon admin create ana                              the hub runs, and PREGON_KEY has a token that administers

Promises:
- No command takes a password as an argument, shows one, or writes one anywhere.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import msgspec
import typer
from rich.markup import escape

from pregon.cli.connect import HubOption, JsonOption, connect
from pregon.cli.key_places import open_directory, who_has_directory
from pregon.cli.keys import DataOption
from pregon.cli.output import console, show_json, show_rows, tell
from pregon.errors import BadRequest, NotFound
from pregon.limits import PASSWORD_CHARACTERS_MAX
from pregon.model.administration import ADMINISTRATOR, OPERATOR, READER

if TYPE_CHECKING:
    from pregon.client import Client
    from pregon.hub.people import People

app = typer.Typer(
    help="People: who enters the administration pages with a password.",
    no_args_is_help=True,
)

_KIND = "administrator"
_COLUMNS = ("name", "role", "enabled", "created_us", "changed_us")


class Role(StrEnum):
    """What a person may do; each includes the ones before it."""

    reader = READER
    operator = OPERATOR
    administrator = ADMINISTRATOR


_NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The person's name, to enter with")]
_RoleMetavar = "reader|operator|administrator"


class _Place(Protocol):
    """Who has the people."""

    def create(self, name: str, password: str, role: str) -> dict[str, Any]:
        """Let somebody in."""
        ...

    def list(self) -> list[dict[str, Any]]:
        """Everybody."""
        ...

    def change(self, name: str, **values: Any) -> dict[str, Any]:
        """Change somebody."""
        ...

    def remove(self, name: str) -> bool:
        """Let somebody in no more; whether there was one."""
        ...


class _RunningHub:
    def __init__(self, client: Client) -> None:
        self._client = client

    def create(self, name: str, password: str, role: str) -> dict[str, Any]:
        return self._client.create(_KIND, name=name, password=password, role=role)

    def list(self) -> list[dict[str, Any]]:
        return self._client.list(_KIND)

    def change(self, name: str, **values: Any) -> dict[str, Any]:
        return self._client.update(_KIND, name, **values)

    def remove(self, name: str) -> bool:
        return self._client.delete(_KIND, name)


class _Directory:
    def __init__(self, people: People) -> None:
        self._people = people
        self._caller = who_has_directory()

    def create(self, name: str, password: str, role: str) -> dict[str, Any]:
        made: dict[str, Any] = msgspec.to_builtins(self._people.create(self._caller, name, password, role))
        return made

    def list(self) -> list[dict[str, Any]]:
        return [msgspec.to_builtins(one) for one in self._people.list(self._caller)]

    def change(self, name: str, **values: Any) -> dict[str, Any]:
        changed: dict[str, Any] = msgspec.to_builtins(self._people.change(self._caller, name, **values))
        return changed

    def remove(self, name: str) -> bool:
        return self._people.remove(self._caller, name)


@contextmanager
def _open_people(hub: str | None, data: Path | None, *, may_make: bool = False) -> Iterator[_Place]:
    """The people of the hub that is named, or of a directory; `may_make`: one that is not there is made."""
    if data is None:
        with connect(hub) as client:
            yield _RunningHub(client)
        return
    if hub is not None:
        raise BadRequest("--hub asks a hub that is running, --data works in the directory of one that is not: give one")
    with open_directory(data, may_make) as opened:
        from pregon.hub.gate import Gate

        yield _Directory(Gate(opened).people)


@app.command("create")
def create(
    name: _NameArgument,
    role: Annotated[Role, typer.Option("--role", metavar=_RoleMetavar, help="What this person may do")] = (
        Role.administrator
    ),
    data: DataOption = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let somebody enter. The password is asked for, or is the first line of standard input."""
    password = _read_password(name)
    with _open_people(hub, data, may_make=True) as people:
        made = people.create(name, password, role.value)
    _show(made, as_json, tell(f"{name} may enter as {role.value}", f"{name} puede entrar como {role.value}"))


@app.command("list")
def list_(data: DataOption = None, hub: HubOption = None, as_json: JsonOption = False) -> None:
    """List who may enter."""
    with _open_people(hub, data) as people:
        rows = people.list()
    show_rows(rows, _COLUMNS, as_json=as_json, empty=tell("nobody", "nadie"))


@app.command("password")
def password(name: _NameArgument, data: DataOption = None, hub: HubOption = None, as_json: JsonOption = False) -> None:
    """Give somebody another password, who must enter again. It is asked for, or read from standard input."""
    new = _read_password(name)
    with _open_people(hub, data) as people:
        changed = people.change(name, password=new)
    _show(changed, as_json, tell(f"{name} has another password", f"{name} tiene otra contraseña"))


@app.command("role")
def role(
    name: _NameArgument,
    wanted: Annotated[Role, typer.Argument(metavar=_RoleMetavar, help="What this person may do")],
    data: DataOption = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give somebody another role, who must enter again."""
    with _open_people(hub, data) as people:
        changed = people.change(name, role=wanted.value)
    _show(changed, as_json, tell(f"{name} is {wanted.value}", f"{name} es {wanted.value}"))


@app.command("enable")
def enable(name: _NameArgument, data: DataOption = None, hub: HubOption = None, as_json: JsonOption = False) -> None:
    """Let somebody enter again who was disabled."""
    with _open_people(hub, data) as people:
        changed = people.change(name, enabled=True)
    _show(changed, as_json, tell(f"{name} may enter", f"{name} puede entrar"))


@app.command("disable")
def disable(name: _NameArgument, data: DataOption = None, hub: HubOption = None, as_json: JsonOption = False) -> None:
    """Let somebody enter no more, and end what is open of theirs, until they are enabled again."""
    with _open_people(hub, data) as people:
        changed = people.change(name, enabled=False)
    _show(changed, as_json, tell(f"{name} may not enter", f"{name} no puede entrar"))


@app.command("delete")
def delete(name: _NameArgument, data: DataOption = None, hub: HubOption = None, as_json: JsonOption = False) -> None:
    """Remove somebody. The last one who administers stays."""
    with _open_people(hub, data) as people:
        existed = people.remove(name)
    if not existed:
        raise NotFound(f"there is no person {name[:160]}: `pregon admin list` shows who there is")
    if not as_json:
        console().print(escape(tell(f"{name} removed", f"{name} fue quitado")))


def _show(person: dict[str, Any], as_json: bool, said: str) -> None:
    if as_json:
        show_json(person)
    else:
        console().print(escape(said))


def _read_password(name: str) -> str:
    """A password: asked for twice at a terminal, without showing it; elsewhere the first line of standard input."""
    if sys.stdin.isatty():
        return _ask_twice(name)
    # A character has at most four bytes; what is longer is refused by its length.
    line = sys.stdin.buffer.readline(4 * PASSWORD_CHARACTERS_MAX + 4)
    try:
        text = line.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise BadRequest("the password on standard input is not UTF-8") from error
    if not text:
        raise BadRequest("give the password as the first line of standard input, or run this at a terminal")
    return text


def _ask_twice(name: str) -> str:
    from getpass import getpass

    try:
        first = getpass(tell(f"Password of {name}: ", f"Contraseña de {name}: "))
        second = getpass(tell("Once more: ", "Otra vez: "))
    except EOFError as error:
        raise BadRequest("no password was given") from error
    if first != second:
        raise BadRequest("the two passwords are not the same: nothing was changed")
    return first
