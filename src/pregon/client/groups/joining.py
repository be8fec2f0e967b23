"""How one becomes a member: what is asked of which hub, in which order, and the conversation that comes of it.

Each flow is a generator of questions to hubs: it is sent their answers, and the errors that come in their place are
thrown into it. Blocking and asyncio clients drive the same ones (`drive`, `drive_async`).

Promises:
- A name that was enrolled for a join that then failed is given back.
"""

from __future__ import annotations

import contextlib
import getpass
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from pregon.causal.member import MemberState
from pregon.client.calls import Call, Pulled
from pregon.client.groups import calls
from pregon.client.groups.beginning import Start, clock_of, find_beginning, frontier_of
from pregon.client.groups.conversation import Conversation
from pregon.client.groups.events import GroupMember
from pregon.client.groups.intake import Path, find_owner
from pregon.client.groups.records import read_records
from pregon.client.groups.sending import JSON_CONTENT_TYPE, Words
from pregon.client.groups.state import GroupState, PathState, decode_state
from pregon.errors import AlreadyExists, BadName, BadRequest, NotFound, PregonError, Rejected
from pregon.model.group import JOINED, LEFT, check_nick
from pregon.wire.groups import Joined

T = TypeVar("T")
PATHS_MAX = 16
"""Hubs of one group that a member reads."""


@dataclass(frozen=True, slots=True)
class Question:
    """A call, and to which of the hubs; 0 is the one to which the member sends."""

    call: Call[Any]
    path: int = 0


Flow = Generator[Question, Any, T]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How one wants to join."""

    group: str
    name: str = ""
    token: str = ""
    state: bytes = b""
    history: bool = False
    paths: Sequence[str] = ()
    """Other hubs of the group, by their addresses."""


def drive(flow: Flow[T], ask: Callable[[Question], Any]) -> T:
    """Carry a flow out, blocking."""
    step: _Step[T] = _Step(flow)
    while step.question is not None:
        try:
            answer = ask(step.question)
        except PregonError as error:
            step.throw(error)
        else:
            step.send(answer)
    return step.result()


async def drive_async(flow: Flow[T], ask: Callable[[Question], Awaitable[Any]]) -> T:
    """The same, with asyncio."""
    step: _Step[T] = _Step(flow)
    while step.question is not None:
        try:
            answer = await ask(step.question)
        except PregonError as error:
            step.throw(error)
        else:
            step.send(answer)
    return step.result()


class _Step(Generic[T]):
    """Where a flow is: at a question, or at its end."""

    def __init__(self, flow: Flow[T]) -> None:
        self._flow = flow
        self.question: Question | None = None
        self._results: list[T] = []
        self._move(lambda: next(flow))

    def send(self, answer: Any) -> None:
        """The question was answered."""
        self._move(lambda: self._flow.send(answer))

    def throw(self, error: PregonError) -> None:
        """It was refused."""
        self._move(lambda: self._flow.throw(error))

    def _move(self, move: Callable[[], Question]) -> None:
        try:
            self.question = move()
        except StopIteration as end:
            self.question = None
            self._results.append(end.value)

    def result(self) -> T:
        """What the flow ended with."""
        return self._results[0]


def wish_for(
    producer: str, group: str, name: str, token: str, state: bytes, *, history: bool, paths: Sequence[str]
) -> Wish:
    """How one wants to join; raises BadRequest for what cannot be wished together."""
    if isinstance(paths, str):
        raise BadRequest("paths is a list of addresses of hubs")
    if bool(name) + bool(token) + bool(state) > 1:
        raise BadRequest("join with a name, or with a token, or with a state: each says who it is")
    if not (name or token or state):
        name = _default_name(producer)
    return Wish(group=group, name=name, token=token, state=state, history=history, paths=tuple(paths))


def _default_name(producer: str) -> str:
    """The name of who does not give one: the producer's, or that of the person who is logged in."""
    if producer and producer != "local":
        return producer
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError) as error:
        raise BadName("nobody is logged in here whose name could be taken: give a name") from error


def joining(wish: Wish) -> Flow[Conversation]:
    """Become a member, or come back as one; its `joined` is the first that the conversation has to send."""
    if len(wish.paths) >= PATHS_MAX:
        raise BadRequest(f"a group is read from at most {PATHS_MAX} hubs")
    if wish.state:
        return (yield from _coming_back(wish, decode_state(wish.state)))
    token, name, is_new = wish.token, wish.name, False
    if token:
        name = (yield Question(calls.mine(token))).name
    else:
        token = (yield Question(calls.enroll(check_nick(name)))).token
        is_new = True
    try:
        return (yield from _entering(wish, name, token))
    except PregonError:
        if is_new:
            with contextlib.suppress(PregonError):
                yield Question(calls.retire(token))
        raise


def conversing(token: str, other: str) -> Flow[Conversation]:
    """The conversation of two."""
    joined: Joined = yield Question(calls.private(token, other))
    return (yield from joining(Wish(group=joined.group, token=token, history=True)))


def _entering(wish: Wish, name: str, token: str) -> Flow[Conversation]:
    try:
        joined: Joined = yield Question(calls.join(wish.group, token))
    except NotFound:
        with contextlib.suppress(AlreadyExists):
            yield Question(calls.create(wish.group, token))
        joined = yield Question(calls.join(wish.group, token))
    paths, starts = [_path_of(joined, token)], [Start(joined, joined.seq)]
    for index in range(1, len(wish.paths) + 1):
        path, start = yield from _other_path(wish.group, index, name, paths[0], starts[0])
        paths.append(path)
        starts.append(start)
    if wish.paths:
        yield from _beginning(wish.group, paths, starts)
    for index, (path, start) in enumerate(zip(paths, starts, strict=True)):
        is_again = index > 0 and path.token == token
        path.past_seq = start.seq
        path.read_seq = start.joined.first_seq - 1 if wish.history and not is_again else start.seq
    members = {row.member: row for start in starts for row in start.joined.members if row.number}
    conversation = Conversation(
        joined.group,
        name,
        MemberState(me=joined.member, clock=clock_of(starts), frontier=frontier_of(starts, joined.member)),
        paths,
        [GroupMember(row.member, row.name, row.is_here) for row in members.values()],
        is_traced=joined.traced,
    )
    conversation.view.put(GroupMember(joined.member, name))
    if not joined.number:
        say_membership(conversation, JOINED, 0)
    return conversation


def _path_of(joined: Joined, token: str) -> Path:
    return Path(token, joined.member, joined.seq, joined.seq, joined.highest)


def _other_path(group: str, index: int, name: str, first: Path, start: Start) -> Flow[tuple[Path, Start]]:
    """Another hub, read as one of its members that never speaks; or another way to the same hub."""
    try:
        yield Question(calls.mine(first.token), index)
    except Rejected:
        token = (yield Question(calls.enroll(name), index)).token
        there: Joined = yield Question(calls.join(group, token), index)
        return _path_of(there, token), Start(there, there.seq)
    return Path(first.token, first.member, first.read_seq, first.past_seq, first.highest), start


def _beginning(group: str, paths: Sequence[Path], starts: list[Start]) -> Flow[None]:
    """Where to begin in each of several logs."""
    firsts = [index for index, start in enumerate(starts) if all(start is not other for other in starts[:index])]
    for index in firsts:
        path, before = paths[index], starts[index].joined
        again: Joined = yield Question(calls.join(group, path.token, path.member, before.number), index)
        starts[index].joined, starts[index].seq, path.read_seq = again, again.seq, before.seq
        path.highest = again.highest
    heads = [0] * len(paths)
    for index, path in enumerate(paths):
        entry = yield Question(calls.show(group, path.token), index)
        path.stride, path.offset = max(1, int(entry.get("stride", 1))), int(entry.get("offset", 0))
        heads[index] = int(entry.get("head_seq", 0))
    for index in firsts:
        path, start = paths[index], starts[index]
        while path.read_seq < heads[index]:
            pulled: Pulled = yield Question(calls.read(group, path.token, path.read_seq, 0), index)
            for record in read_records(pulled, index, 0):
                start.records[record.body.message.seq] = record
            path.read_seq = pulled.last_seq or heads[index]
    distinct = [starts[index] for index in firsts]
    find_beginning(distinct, lambda member: find_owner([paths[index] for index in firsts], member))


def _coming_back(wish: Wish, state: GroupState) -> Flow[Conversation]:
    if state.group != wish.group:
        raise BadRequest(f"this state is of the group {state.group}, not of {wish.group}")
    if len(state.paths) != len(wish.paths) + 1:
        raise BadRequest(f"this state is of a member that read {len(state.paths)} hubs: give the same ones as paths")
    me, paths, joined = state.member.me, [], None
    for index, one in enumerate(state.paths):
        number = state.member.clock.get(me, 0) if one.member == me else 0
        back: Joined = yield Question(calls.join(wish.group, one.token, one.member, number), index)
        joined = joined or back
        paths.append(_path_again(one, back))
    assert joined is not None, "a state has at least one path"
    here = {row.member: row.is_here for row in joined.members}
    members = [GroupMember(number, name, here.get(number, False)) for number, name in state.members]
    conversation = Conversation(wish.group, state.name, state.member, paths, members, is_traced=joined.traced)
    for unsent in state.unsent:
        if unsent.number > joined.number:
            conversation.sending.restore(unsent.message(me), unsent.words(), unsent.published_us)
    return conversation


def _path_again(one: PathState, back: Joined) -> Path:
    return Path(one.token, one.member, one.seq, 0, back.highest, max(1, one.stride), one.offset)


def say_membership(conversation: Conversation, kind: str, now_us: int) -> None:
    """The first and the last message of a member."""
    body = msgspec.json.encode({"member": conversation.me, "name": conversation.name})
    conversation.make(Words(body=body, content_type=JSON_CONTENT_TYPE, headers={}, kind=kind), now_us)


def leaving(conversation: Conversation, now_us: int) -> Flow[None]:
    """Announce to every hub that one leaves; `left` is the last that the conversation has to send."""
    conversation.is_leaving = True
    try:
        for index, path in enumerate(conversation.paths):
            is_first = index == 0
            if is_first or path.token != conversation.paths[0].token:
                yield Question(calls.leave(conversation.group, path.token), index)
    except PregonError:
        conversation.is_leaving = False
        raise
    say_membership(conversation, LEFT, now_us)
