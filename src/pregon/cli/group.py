"""`pregon group`: create, list, show, update, delete; who is in it; and what was said, as a diagram."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pregon.cli.connect import HubOption, JsonOption, MaxOption, connect
from pregon.cli.group_trace import commands, participant_token
from pregon.cli.output import console, show_fields, show_rows, tell
from pregon.errors import BadRequest, NotFound
from pregon.model.group import HOSTED, INVITED, OPEN

app = typer.Typer(help="Groups: members whose messages come in causal order.", no_args_is_help=True)
app.add_typer(commands)

_NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The group's name")]
_DescriptionOption = Annotated[str | None, typer.Option("--description", help="What it is, for people")]
_InvitedOption = Annotated[
    bool | None, typer.Option("--invited/--open", help="Only who is named by --invite may join, or whoever comes")
]
_InviteOption = Annotated[
    list[str] | None, typer.Option("--invite", metavar="NAME", help="Who may join; may be repeated")
]
_HistoryOption = Annotated[
    bool | None, typer.Option("--history/--no-history", help="Whether new members may read what was said before")
]
_TracedOption = Annotated[
    bool | None, typer.Option("--traced/--no-traced", help="Whether it is kept when each member was shown what")
]
_COLUMNS = ("name", "members", "head_seq", "access", "description")
_MEMBER_COLUMNS = ("member", "name", "kind", "is_here", "number", "joined_seq")


def _token() -> list[str]:
    """Who asks, if the user is a participant: private groups are told only to who is in them."""
    token = participant_token()
    return [token] if token else []


def _given(
    description: str | None,
    invited: bool | None,
    invite: list[str] | None,
    history: bool | None,
    traced: bool | None,
) -> dict[str, Any]:
    """The fields that were named; to invite somebody is to make it a group by invitation."""
    is_invited = True if invite and invited is None else invited
    if invite and not is_invited:
        raise BadRequest("--invite is for a group by invitation: leave --open out")
    fields: dict[str, Any] = {
        "description": description,
        "access": None if is_invited is None else INVITED if is_invited else OPEN,
        "allowed": invite,
        "history": history,
        "traced": traced,
    }
    return {name: value for name, value in fields.items() if value is not None}


@app.command("create")
def create(
    name: _NameArgument,
    description: _DescriptionOption = None,
    invited: _InvitedOption = None,
    invite: _InviteOption = None,
    history: _HistoryOption = None,
    traced: _TracedOption = None,
    hubs: Annotated[int, typer.Option("--hubs", metavar="N", help="In how many hubs it lives")] = 1,
    this: Annotated[int, typer.Option("--this", metavar="N", help="Which of them this one is, from 1 on")] = 1,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a group, to be joined with `pregon chat` or from a program."""
    values = _given(description, invited, invite, history, traced)
    if token := participant_token():
        values["token"] = token
    with connect(hub) as client:
        entry = client.create("group", name=name, stride=hubs, offset=this - 1, **values)
    show_fields(entry, as_json=as_json)


@app.command("update")
def update(
    name: _NameArgument,
    description: _DescriptionOption = None,
    invited: _InvitedOption = None,
    invite: _InviteOption = None,
    history: _HistoryOption = None,
    traced: _TracedOption = None,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a group; what is not named stays, and so do its members."""
    values = _given(description, invited, invite, history, traced)
    if not values:
        raise BadRequest("say what to change: --description, --invite, --history …")
    with connect(hub) as client:
        show_fields(client.update("group", name, **values), as_json=as_json)


@app.command("list")
def list_groups(
    hub: HubOption = None,
    after: Annotated[str, typer.Option("--after", metavar="NAME", help="Begin after this name (the next page)")] = "",
    max: MaxOption = 100,
    as_json: JsonOption = False,
) -> None:
    """List groups, by name."""
    with connect(hub) as client:
        rows = client.list("group", names=_token(), after=[after] if after else [], max=max)
    show_rows(rows, _COLUMNS, as_json=as_json, empty=tell("none yet", "todavía no hay ninguno"))


@app.command("show")
def show(name: _NameArgument, hub: HubOption = None, as_json: JsonOption = False) -> None:
    """Show a group."""
    with connect(hub) as client:
        entry = client.show("group", name, *_token())
    if not as_json and isinstance(entry.get("members"), list):
        entry["members"] = [member["name"] for member in entry["members"]]
    show_fields(entry, as_json=as_json)


@app.command("members")
def list_members(name: _NameArgument, hub: HubOption = None, as_json: JsonOption = False) -> None:
    """Who is in a group, and who of them is here."""
    with connect(hub) as client:
        rows = client.list("member", names=[name, *_token()])
    # The hub leaves out what is no, or nothing.
    rows = [{"kind": HOSTED, "is_here": False, "number": 0, "joined_seq": 0, **row} for row in rows]
    show_rows(rows, _MEMBER_COLUMNS, as_json=as_json, empty=tell("nobody", "nadie"))


@app.command("delete")
def delete(
    name: _NameArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask")] = False,
    hub: HubOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a group and everything that was said in it."""
    if not yes:
        typer.confirm(
            tell(
                f"Delete {name} and everything that was said in it?",
                f"¿Eliminar {name} y todo lo que se dijo en él?",
            ),
            abort=True,
        )
    with connect(hub) as client:
        existed = client.delete("group", name)
    if not existed:
        raise NotFound(f"there is no group {name}: `pregon group list` shows what there is")
    if not as_json:
        console().print(tell(f"group {name} deleted", f"grupo {name} eliminado"), markup=False)
