"""A member's own messages, from `send` until the hub has them on disk.

Each has a number and what it depends on from the moment it is made; it is sent again, with the same ones, until the hub
has acknowledged it, which recognises what it has already. The hub takes them in order only: what is behind one that was
not taken goes again with it. One that the hub refuses for good was never sent: its number is taken back, and what was
made after it has failed with it.

Pure: no sockets and no waiting.

Promises:
- Messages are stored in the order in which they were made, each once, whatever is lost on the way.
- At most `SENDING_MAX` messages and `SENDING_BYTES_MAX` bytes wait; one more is QueueFull.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec

from pregon.causal.encoding import encode_control
from pregon.causal.history import Relation
from pregon.causal.member import Member
from pregon.causal.message import CausalMessage
from pregon.causal.stamps import Stamp
from pregon.client.calls import TEXT_CONTENT_TYPE, Call, as_outgoing
from pregon.client.groups import calls
from pregon.client.groups.events import GroupEvent
from pregon.errors import BadRequest, PregonError, QueueFull, Rejected
from pregon.limits import MIB
from pregon.model.group import HEADER_PREFIX, MESSAGE
from pregon.model.message import Outgoing, check_outgoing
from pregon.wire.groups import Send, Sent

SENDING_MAX = 1_000
"""Messages of one member that are not acknowledged yet."""
SENDING_BYTES_MAX = 8 * MIB
"""Their bodies together, but for one that is larger by itself."""
AT_ONCE_MAX = 250
"""Messages that are sent before the first of them is answered: with more, more is sent again when that fails."""
JSON_CONTENT_TYPE = "application/json"
_FRONTIER_REDUCED_MAX = 64

Body = bytes | str | Mapping[str, Any] | list[Any]
"""What people send: bytes, text, or what becomes JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What a message says, besides who says it and when."""

    body: bytes
    content_type: str = TEXT_CONTENT_TYPE
    headers: Mapping[str, str]
    answers: str = ""
    kind: str = MESSAGE


class OwnMessage:
    """One of them."""

    __slots__ = ("call", "error", "is_stored", "is_told", "is_under_way", "message", "published_us", "seq", "words")

    def __init__(self, message: CausalMessage, words: Words, published_us: int, call: Call[Sent]) -> None:
        self.message = message
        self.words = words
        self.published_us = published_us
        self.call = call
        self.is_under_way = False
        self.is_stored = False
        self.seq = 0
        """Its number in the hub's log, when it is stored."""
        self.error: PregonError | None = None
        """Why it was never sent."""
        self.is_told = False
        """Whether somebody waits for it and so is told why."""

    @property
    def stamp(self) -> Stamp:
        """Its name in the group."""
        return self.message.stamp

    @property
    def is_done(self) -> bool:
        """Whether nothing more will come of it."""
        return self.is_stored or self.error is not None


def as_words(
    body: Body, content_type: str | None, headers: Mapping[str, str] | None, answers: GroupEvent | Stamp | None
) -> Words:
    """What people pass as a message, as one; raises BadRequest or TooLarge."""
    if isinstance(body, Mapping | list):
        try:
            encoded = msgspec.json.encode(body)
        except (TypeError, ValueError, RecursionError) as error:
            raise BadRequest(f"the message cannot be written as JSON: {error}") from error
        outgoing = Outgoing(encoded, content_type=content_type or JSON_CONTENT_TYPE, headers=headers or {})
    else:
        outgoing = as_outgoing(body, None, None, content_type, headers)
    check_outgoing(outgoing)
    if any(name.lower().startswith(HEADER_PREFIX) for name in outgoing.headers):
        raise BadRequest(f"headers that begin with {HEADER_PREFIX} are the group's own: call yours otherwise")
    stamp = answers.stamp if isinstance(answers, GroupEvent) else answers
    return Words(
        body=outgoing.body,
        content_type=outgoing.content_type,
        headers=dict(outgoing.headers),
        answers="" if stamp is None else str(stamp),
    )


class Sending:
    """All of one member."""

    def __init__(self, group: str, token: str, member: Member) -> None:
        self.group = group
        self.token = token
        self._member = member
        self._unstored: deque[OwnMessage] = deque()
        self._bytes = 0
        self._untold: PregonError | None = None

    def __len__(self) -> int:
        """How many are not acknowledged."""
        return len(self._unstored)

    @property
    def unstored(self) -> list[OwnMessage]:
        """Those that are not acknowledged."""
        return list(self._unstored)

    @property
    def is_full(self) -> bool:
        """Whether one more would be too many."""
        return len(self._unstored) >= SENDING_MAX or self._bytes >= SENDING_BYTES_MAX

    @property
    def has_unwaited(self) -> bool:
        """Whether one is to be sent for which nobody waits."""
        return any(not own.is_told and not own.is_under_way for own in reversed(self._unstored))

    def make(self, words: Words, now_us: int) -> OwnMessage:
        """The member's next message; raises QueueFull."""
        if self.is_full:
            raise QueueFull(f"{len(self)} messages to {self.group} wait for the hub: wait until it has taken some")
        return self._put(self._member.broadcast(), words, now_us)

    def restore(self, message: CausalMessage, words: Words, published_us: int) -> OwnMessage:
        """One that was made in an earlier life."""
        return self._put(message, words, published_us)

    def _put(self, message: CausalMessage, words: Words, published_us: int) -> OwnMessage:
        header = Send(
            group=self.group,
            token=self.token,
            control=encode_control(message.stamp, message.after),
            kind=words.kind,
            answers=words.answers,
            content_type=words.content_type,
            headers=dict(words.headers),
            published_us=published_us,
        )
        own = OwnMessage(message, words, published_us, calls.send(header, words.body))
        self._unstored.append(own)
        self._bytes += len(words.body)
        return own

    def due(self, most: int = AT_ONCE_MAX) -> list[OwnMessage]:
        """Those to send now, in this order; from now on they are under way."""
        found = list(islice((own for own in self._unstored if not own.is_under_way), most))
        for own in found:
            own.is_under_way = True
        return found

    def stored(self, own: OwnMessage, seq: int) -> None:
        """The hub has it, and so all before it."""
        if own.is_done:
            return
        own.seq = seq
        while self._unstored and self._unstored[0].stamp.number <= own.stamp.number:
            done = self._unstored.popleft()
            done.is_stored = True
            self._bytes -= len(done.words.body)

    def put_off(self) -> None:
        """The hub did not take one, or was lost: all that it did not acknowledge goes again."""
        for own in self._unstored:
            own.is_under_way = False

    def refused(self, own: OwnMessage, error: PregonError) -> int | None:
        """The hub will never take it: the number that was taken back, None if it was done before."""
        if own.is_done:
            return None
        undone: list[OwnMessage] = []
        while self._unstored and self._unstored[-1].stamp.number >= own.stamp.number:
            undone.append(self._unstored.pop())
        for one in reversed(undone):
            self._bytes -= len(one.words.body)
            is_first = one is own
            one.error = error if is_first else Rejected(f"not sent, because the one before it was refused: {error}")
            if not one.is_told:
                self._untold = self._untold or one.error
        unsend(self._member, [one.message for one in reversed(undone)])
        return own.stamp.number

    def raise_untold(self) -> None:
        """Raises why one failed that nobody waited for, once."""
        error, self._untold = self._untold, None
        if error is not None:
            raise error


def unsend(member: Member, messages: list[CausalMessage]) -> None:
    """The last messages of a member were never sent: its next one has the first one's number, and depends on all that
    they depended on."""
    frontier = member.frontier
    for message in messages:
        for before, number in message.after:
            frontier[before] = max(number, frontier.get(before, 0))
    member.clock[member.me] = messages[0].stamp.number - 1
    if len(frontier) > _FRONTIER_REDUCED_MAX:
        return  # More than is needed does no harm, only longer control information once.
    stamps = [Stamp(*item) for item in frontier.items()]
    for one in stamps:
        if any(member.history.relation(one, other) is Relation.BEFORE for other in stamps):
            del frontier[one.member]
