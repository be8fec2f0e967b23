"""What the chat asks of a hub for which the library has no verb, because programs need none.

A person who chats is the same member of a room tomorrow, without a state to keep: the hub is asked to work out the
member's dependencies while it is away (hosted), and the member takes that over again when it comes back (native).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, TypeVar

from pregon.client import AsyncClient
from pregon.client.calls import Call
from pregon.client.groups import calls
from pregon.client.groups.aio_group import AsyncGroup
from pregon.model.group import HOSTED, Participant
from pregon.wire.groups import Join, Joined, Memberships, Read, Send, Sent

T = TypeVar("T")


def _as_it_is(answer: Any, _payload: Sequence[Any]) -> Any:
    return answer


async def _ask(client: AsyncClient, call: Call[T]) -> T:
    return await client._run(call)


def has_shown_past(group: AsyncGroup) -> bool:
    """Whether everything from before the member came, as far as it is read at all, was shown."""
    intake = group._conversation.intake
    return not len(intake) and all(path.read_seq >= path.past_seq for path in intake.paths)


def new_secret() -> str:
    """What proves, when the answer was lost and a name is asked for again, that it is one's own."""
    return secrets.token_urlsafe(32)


async def enroll(client: AsyncClient, name: str, secret: str) -> Participant:
    """Take part under a name; asked again with the same secret, the answer is the same. Raises AlreadyExists."""
    row = await client.create("participant", name=name, secret=secret)
    return Participant(name=row["name"], token=row["token"])


async def ask_memberships(client: AsyncClient, token: str, version: int = 0, wait_ms: int = 0) -> Memberships:
    """The groups of a participant, and its name; waits until they are no longer those of a version."""
    return await client.memberships(token, version=version, wait_ms=wait_ms)


async def ask_private(client: AsyncClient, token: str, nick: str) -> Joined:
    """The conversation with somebody, made if there is none; raises NotFound if nobody is called so."""
    return await _ask(client, calls.private(token, nick))


async def join_hosted(client: AsyncClient, token: str, group: str) -> Joined:
    """Be a member whose clock the hub keeps; who is a member already stays the same one."""
    call: Call[Joined] = Call(Join(group=group, token=token, kind=HOSTED), (), _as_it_is)
    return await _ask(client, call)


async def leave_hosted(client: AsyncClient, token: str, group: str) -> Sent:
    """Leave as such a member."""
    return await _ask(client, calls.leave(group, token))


async def send_hosted(client: AsyncClient, wanted: Send, body: bytes) -> Sent:
    """Say something as such a member: `seen_seq` is what it has seen, `id` recognises a repetition."""
    return await _ask(client, calls.send(wanted, body))


async def touch_hosted(client: AsyncClient, token: str, group: str, seen_seq: int) -> None:
    """Such a member is here, and has seen the group up to a number."""
    wanted = Read(group=group, token=token, after_seq=seen_seq, max=1, seen_seq=seen_seq)
    await _ask(client, Call(wanted, (), _as_it_is))
