"""Groups over HTTP: who takes part, which groups there are, who is in them.

    POST /v1/participants                        take part under a name; the answer has the token, once
    POST /v1/groups/{group}/members              join, with the token in the header Pregon-Participant
    POST /v1/private                             the conversation with one other

A member that joins here is hosted: what its messages depend on is worked out by the hub, from what it has seen. One
that names a subscriber is a web service: the group is pushed to it. What is said in a group is in `groups_messages`.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import msgspec

from pregon.edges.http.answers import Answer, json_answer, no_content
from pregon.edges.http.exchange import Exchange
from pregon.edges.http.forms import Page, decode_cursor, encode_cursor
from pregon.edges.http.groups_forms import (
    GroupIn,
    GroupOut,
    GroupPatch,
    GroupRow,
    GroupsPage,
    JoinedOut,
    JoinIn,
    MembersOut,
    MineOut,
    MineQuery,
    ParticipantIn,
    ParticipantOut,
    ParticipantPatch,
    ParticipantsPage,
    PrivateIn,
    group_out,
    joined_out,
    members_of,
    memberships_of,
)
from pregon.edges.http.groups_socket import serve_group_socket
from pregon.edges.http.routes import Desk, Handler, Route
from pregon.errors import AlreadyExists, BadName, BadRequest, LimitReached, NotAMember, NotFound, Unauthorized
from pregon.model.group import Group
from pregon.wire import groups as wire

SOCKET_PATH = "/v1/groups/socket"
_TOKEN_HEADER = b"pregon-participant"
TOKEN_HEADERS = {"Pregon-Participant": "The token of who takes part, from POST /v1/participants"}
_DIGITS_MAX = 18
_NOT_KEPT = [(b"cache-control", b"no-store")]


def find_token(exchange: Exchange) -> str:
    """The token of who takes part, empty if there is none."""
    return exchange.header(_TOKEN_HEADER).strip()


def require_token(exchange: Exchange) -> str:
    """The token of who takes part; raises Unauthorized."""
    token = find_token(exchange)
    if not token:
        raise Unauthorized(
            "say who takes part: its token, which POST /v1/participants gives, in the header Pregon-Participant"
        )
    return token


# Who takes part.


async def enroll(desk: Desk, exchange: Exchange) -> Answer:
    """Take part under a name."""
    groups, caller = desk.require_groups(), desk.caller(exchange)
    wanted = await exchange.json(ParticipantIn)
    enrolled = await desk.answer(groups.enroll(caller, wanted.name, wanted.secret))
    return json_answer(ParticipantOut(name=enrolled.name, token=enrolled.token), 201, _NOT_KEPT)


async def list_participants(desk: Desk, exchange: Exchange) -> Answer:
    """Who takes part."""
    groups, caller, wanted = desk.require_groups(), desk.caller(exchange), exchange.query(Page)
    (after,) = decode_cursor(wanted.cursor, 1) or ("",)
    found = await desk.answer(groups.list_participants(caller, after, wanted.max))
    following = encode_cursor([found[-1]]) if len(found) == wanted.max else None
    return json_answer(ParticipantsPage(items=[ParticipantOut(name=name) for name in found], next=following))


async def rename(desk: Desk, exchange: Exchange) -> Answer:
    """Be called otherwise, in every group."""
    groups, caller, token = desk.require_groups(), desk.caller(exchange), require_token(exchange)
    wanted = await exchange.json(ParticipantPatch)
    renamed = await desk.answer(groups.rename(caller, token, wanted.name))
    return json_answer(ParticipantOut(name=renamed.name))


async def retire(desk: Desk, exchange: Exchange) -> Answer:
    """Take part no more."""
    groups, caller, token = desk.require_groups(), desk.caller(exchange), require_token(exchange)
    if not await desk.answer(groups.retire(caller, token)):
        raise NotFound("nobody takes part with this token")
    return no_content()


async def list_mine(desk: Desk, exchange: Exchange) -> Answer:
    """The groups of a participant."""
    groups, caller, token = desk.require_groups(), desk.caller(exchange), require_token(exchange)
    wanted = exchange.query(MineQuery)
    asked = groups.mine(caller, wire.Mine(token=token, version=wanted.version, wait_ms=wanted.wait_ms))
    mine: wire.Memberships = await exchange.unless_gone(desk.answer(asked), desk.stopping)
    return json_answer(MineOut(name=mine.name, groups=memberships_of(mine.groups), version=mine.version))


# Which groups there are.


async def create(desk: Desk, exchange: Exchange) -> Answer:
    """Make a group."""
    groups, caller, token = desk.require_groups(), desk.caller(exchange), find_token(exchange)
    values = msgspec.structs.asdict(await exchange.json(GroupIn))
    entry = Group(**{**values, "allowed": tuple(values["allowed"])})
    await desk.answer(groups.create_group(caller, entry, token))
    return await _shown(desk, exchange, entry.name, 201)


async def list_groups(desk: Desk, exchange: Exchange) -> Answer:
    """A page of groups, by name."""
    groups, caller, wanted = desk.require_groups(), desk.caller(exchange), exchange.query(Page)
    (after,) = decode_cursor(wanted.cursor, 1) or ("",)
    found = await desk.answer(groups.list_groups(caller, find_token(exchange), after, wanted.max))
    following = encode_cursor([found[-1]["name"]]) if len(found) == wanted.max else None
    return json_answer(GroupsPage(items=[GroupRow(**one) for one in found], next=following))


async def show(desk: Desk, exchange: Exchange) -> Answer:
    """One of them."""
    return await _shown(desk, exchange, exchange.params["group"])


async def _shown(desk: Desk, exchange: Exchange, name: str, status: int = 200) -> Answer:
    shown = await desk.answer(desk.require_groups().show_group(desk.caller_again(exchange), name, find_token(exchange)))
    where = [(b"location", f"/v1/groups/{quote(name, safe='')}".encode())] if status == 201 else []
    return json_answer(group_out(shown), status, where)


async def change(desk: Desk, exchange: Exchange) -> Answer:
    """Change some of its fields."""
    groups, caller, name = desk.require_groups(), desk.caller(exchange), exchange.params["group"]
    values: dict[str, Any] = msgspec.to_builtins(await exchange.json(GroupPatch))
    await desk.answer(groups.update_group(caller, name, values))
    return await _shown(desk, exchange, name)


async def delete(desk: Desk, exchange: Exchange) -> Answer:
    """Delete it, with all that was said in it."""
    groups, caller, name = desk.require_groups(), desk.caller(exchange), exchange.params["group"]
    if not await desk.answer(groups.delete_group(caller, name)):
        raise NotFound(f"there is no group {name}")
    return no_content()


# Who is in them.


async def list_members(desk: Desk, exchange: Exchange) -> Answer:
    """Who is in a group."""
    groups, caller = desk.require_groups(), desk.caller(exchange)
    found = await desk.answer(groups.list_members(caller, exchange.params["group"], find_token(exchange)))
    return json_answer(MembersOut(items=members_of(found)))


async def join(desk: Desk, exchange: Exchange) -> Answer:
    """Be a member: of one's own accord, or as the web service of a subscriber."""
    groups, caller, token = desk.require_groups(), desk.caller(exchange), require_token(exchange)
    wanted = await exchange.json(JoinIn)
    asked = wire.Join(group=exchange.params["group"], token=token, subscriber=wanted.subscriber)
    joined: wire.Joined = await desk.answer(groups.join(caller, asked))
    return json_answer(joined_out(joined), 200 if joined.is_back else 201)


async def leave(desk: Desk, exchange: Exchange) -> Answer:
    """Be a member no more."""
    groups, caller, token = desk.require_groups(), desk.caller(exchange), require_token(exchange)
    await desk.answer(groups.leave(caller, wire.Leave(group=exchange.params["group"], token=token)))
    return no_content()


async def remove(desk: Desk, exchange: Exchange) -> Answer:
    """Take a member off the roll."""
    groups, caller, params = desk.require_groups(), desk.caller(exchange), exchange.params
    number = params["member"]
    if not number.isascii() or not number.isdigit() or len(number) > _DIGITS_MAX:
        raise BadRequest("a member is named by its number, or is `me`")
    if not await desk.answer(groups.remove_member(caller, params["group"], int(number))):
        raise NotFound(f"{params['group']} has no member {number}")
    return no_content()


async def talk_with(desk: Desk, exchange: Exchange) -> Answer:
    """The conversation with one other."""
    groups, caller, token = desk.require_groups(), desk.caller(exchange), require_token(exchange)
    wanted = await exchange.json(PrivateIn)
    joined: wire.Joined = await desk.answer(groups.private(caller, wire.Private(token=token, with_=wanted.with_)))
    return json_answer(joined_out(joined))


async def point_at_socket(desk: Desk, exchange: Exchange) -> Answer:
    """Who asks for the socket without wanting one is told what it is."""
    desk.require_groups()
    desk.caller(exchange)
    raise BadRequest("this is the address of a WebSocket: connect with one, and say hello")


_TAG = "groups"
_GROUP = "/v1/groups/{group}"
_ME = "/v1/participants/me"
_JOINED = {
    "group": "plaza", "member": 3, "head_seq": 17, "first_seq": 1, "seen_seq": 17, "is_back": False,
    "topic": "groups.plaza",
}  # fmt: skip


def _route(method: str, path: str, handler: Handler, summary: str, **more: Any) -> Route:
    """One that looks at who takes part."""
    return Route(method=method, path=path, handler=handler, tag=_TAG, summary=summary, headers=TOKEN_HEADERS, **more)


SOCKETS = {SOCKET_PATH: serve_group_socket}
ROUTES = [
    Route(
        method="POST", path="/v1/participants", handler=enroll, tag=_TAG,
        summary="Take part under a name: the answer has the token, once", body=ParticipantIn, answer=ParticipantOut,
        status=201, errors=(AlreadyExists, LimitReached), example={"name": "ana"},
        answer_example={"name": "ana", "token": "ppt_7_…"},
    ),
    Route(
        method="GET", path="/v1/participants", handler=list_participants, tag=_TAG, summary="Who takes part, by name",
        query=Page, answer=ParticipantsPage,
    ),
    _route(
        "PATCH", _ME, rename, "Be called otherwise, in every group", body=ParticipantPatch, answer=ParticipantOut,
        errors=(AlreadyExists, NotFound), example={"name": "Ana María"}, answer_example={"name": "Ana María"},
    ),
    _route("DELETE", _ME, retire, "Take part no more: out of every group, and the name is free", status=204),
    _route(
        "GET", f"{_ME}/groups", list_mine, "Of which groups one is a member, at once or when that changes",
        query=MineQuery, answer=MineOut,
    ),
    _route(
        "POST", "/v1/groups", create, "Create a group", body=GroupIn, answer=GroupOut, status=201,
        errors=(AlreadyExists, LimitReached), example={"name": "plaza", "description": "Where everybody is"},
    ),
    _route("GET", "/v1/groups", list_groups, "List groups, by name", query=Page, answer=GroupsPage),
    Route(
        method="GET", path=SOCKET_PATH, handler=point_at_socket, tag=_TAG, status=101,
        summary="One WebSocket for one participant and all its rooms",
        description="Text frames of JSON, drawn in the reference of REST. In a browser offer the protocols `pregon` "
        "and `pregon.key.KEY`, if the hub asks for keys.",
    ),
    _route("GET", _GROUP, show, "Show a group, with its members", answer=GroupOut),
    Route(
        method="PATCH", path=_GROUP, handler=change, tag=_TAG, summary="Change a group", body=GroupPatch,
        answer=GroupOut, example={"access": "invited", "allowed": ["ana", "luis"]},
    ),
    Route(
        method="DELETE", path=_GROUP, handler=delete, tag=_TAG, status=204,
        summary="Delete a group, with all that was said in it",
    ),
    _route("GET", f"{_GROUP}/members", list_members, "Who is in a group", answer=MembersOut),
    _route(
        "POST", f"{_GROUP}/members", join, "Join, of one's own accord or as a subscriber's web service", body=JoinIn,
        answer=JoinedOut, status=201, also=(200,), errors=(LimitReached, BadName), example={"subscriber": "cad"},
        answer_example=_JOINED,
        description="With a `subscriber` in mode push the group is pushed to its web service, in causal order.",
    ),
    _route("DELETE", f"{_GROUP}/members/me", leave, "Leave", status=204, errors=(NotAMember,)),
    Route(
        method="DELETE", path=f"{_GROUP}/members/{{member}}", handler=remove, tag=_TAG, status=204,
        summary="Take a member off the roll: one that died without leaving",
    ),
    _route(
        "POST", "/v1/private", talk_with, "The conversation with one other, made when it is first asked for",
        body=PrivateIn, answer=JoinedOut, errors=(NotFound, LimitReached), example={"with": "luis"},
        answer_example={**_JOINED, "group": "private.7-9", "topic": "groups.private.7-9"},
    ),
]  # fmt: skip
