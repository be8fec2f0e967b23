"""What is said on the socket of groups: one WebSocket for one participant and all its rooms, text frames of JSON.

    you    {"do":"hello","name":"ana"}                    the hub    {"is":"hello","name":"ana","token":"…"}
           {"do":"hello","token":"…"}                                {"is":"hello","name":"ana"}
                                                                     {"is":"groups","groups":[…],"version":3}
           {"do":"join","group":"plaza","after":0}                   {"is":"joined","group":"plaza","member":3,…}
                                                                     {"is":"message","group":"plaza","seq":1,…}
           {"do":"send","group":"plaza","id":"a1",                   {"is":"accepted","group":"plaza","id":"a1",
            "text":"hola","seen":1}                                   "seq":2,"stamp":"3:2","after":["1:1"],…}
           {"do":"send","group":"plasa",…}                           {"is":"refused","do":"send","id":…,"code":…,…}

Pure: frames in, what is wanted out. Who carries it out is `groups_socket`.

Promises:
- Whatever comes is either something that one may say now, or refused in words with what it was about.
- Nothing is taken before a hello, and no second hello.
- Frames a second are bounded.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from pregon import limits
from pregon.edges.http.forms import TEXT_CONTENT_TYPE, Number
from pregon.edges.http.groups_forms import MemberOut, MembershipOut, MessageForm, Nick, Secret, StampText
from pregon.errors import BadRequest, PregonError, RateLimited
from pregon.model.events import JSON_CONTENT_TYPE
from pregon.security.rates import Rates

FRAMES_PER_S_MAX = 100
_QUOTED_CHARACTERS_MAX = 200
_Group = Annotated[str, Meta(min_length=1, max_length=limits.NAME_CHARACTERS_MAX)]
_OwnId = Annotated[str, Meta(min_length=1, max_length=limits.MESSAGE_ID_BYTES_MAX)]
_Last = Annotated[int, Meta(ge=0, le=limits.PULL_MESSAGES_MAX)]


# What clients say.


class Said(msgspec.Struct, tag_field="do", tag=str.lower, forbid_unknown_fields=True, kw_only=True):
    """What every frame of a client is: `do` says what it wants."""


class Hello(Said, kw_only=True):
    """Who I am: by my token; or by a name that I want, and which gets me one, the same for the same secret."""

    token: Annotated[str, Meta(max_length=limits.BEARER_BYTES_MAX)] = ""
    name: Annotated[str, Meta(max_length=limits.NAME_CHARACTERS_MAX)] = ""
    secret: Secret = ""


class _Following(Said, kw_only=True):
    """From where on to tell: after a number; or only so many of the newest. Neither: from where it was left."""

    after: Number | None = None
    last: _Last | None = None


class Join(_Following, kw_only=True):
    """Be a member, or be one again, and be told what is said; `create` makes the group if there is none."""

    group: _Group
    create: bool = False


class Private(_Following, kw_only=True):
    """Talk with one other."""

    with_: Nick = msgspec.field(name="with")


class Leave(Said, kw_only=True):
    """Be a member no more."""

    group: _Group


class Send(Said, kw_only=True):
    """Say something, having seen the group up to a number; left out: up to what this socket has told."""

    group: _Group
    id: _OwnId
    text: str | UnsetType = UNSET
    json: msgspec.Raw | UnsetType = UNSET
    seen: Number | None = None
    answers: StampText | None = None

    def content(self) -> tuple[bytes, str]:
        """The body and its content type; raises BadRequest if it is not said once."""
        if (self.text is UNSET) == (self.json is UNSET):
            raise BadRequest("what is sent is one of text and json")
        if self.json is not UNSET:
            return bytes(self.json), JSON_CONTENT_TYPE
        assert isinstance(self.text, str)
        try:
            return self.text.encode(), TEXT_CONTENT_TYPE
        except UnicodeEncodeError as error:
            raise BadRequest("the text has half of a character: it cannot be written as UTF-8") from error


class Rename(Said, kw_only=True):
    """Be called otherwise, in every group."""

    name: Nick


class Seen(Said, kw_only=True):
    """I have shown the group up to a number."""

    group: _Group
    seq: Number


class Members(Said, kw_only=True):
    """Who is in a group."""

    group: _Group


class Groups(Said, kw_only=True):
    """Of which groups I am a member."""


class Relation(Said, kw_only=True):
    """Which of two messages was first, if one was."""

    group: _Group
    one: StampText
    other: StampText


_decode = msgspec.json.Decoder(
    Hello | Join | Private | Leave | Send | Rename | Seen | Members | Groups | Relation
).decode


class _About(msgspec.Struct):
    """What a frame that cannot be read is about, as far as it can."""

    do: Any = None
    id: Any = None
    group: Any = None


# What the hub says.


class Told(msgspec.Struct, tag_field="is", kw_only=True, omit_defaults=True):
    """What every frame of the hub is: `is` says what."""

    def encode(self) -> str:
        """The frame."""
        return msgspec.json.encode(self).decode()


class HelloTold(Told, tag="hello", kw_only=True):
    """Who you are; the token, if you have just been enrolled: keep it."""

    name: str
    token: str = ""


class GroupsTold(Told, tag="groups", kw_only=True):
    """The groups of which you are a member: told after the hello, when they change, and when you ask."""

    name: str
    groups: list[MembershipOut]
    version: int


class JoinedTold(Told, tag="joined", kw_only=True):
    """You are a member: `head` is the newest message, `first` the oldest that you may read, `seen` what you had."""

    group: str
    member: int
    head: int
    first: int
    seen: int
    is_back: bool
    members: list[MemberOut]
    with_: str = msgspec.field(name="with", default="")


class MessageTold(MessageForm, tag_field="is", tag="message", kw_only=True, omit_defaults=True):
    """A message of a room."""

    group: str

    def encode(self) -> str:
        """The frame."""
        return msgspec.json.encode(self).decode()


class AcceptedTold(Told, tag="accepted", kw_only=True):
    """What you sent is on disk."""

    group: str
    id: str
    seq: int
    stamp: str
    after: list[str]
    duplicate: bool


class MembersTold(Told, tag="members", kw_only=True):
    """Who is in a group."""

    group: str
    members: list[MemberOut]


class RenamedTold(Told, tag="renamed", kw_only=True):
    """You are called so now."""

    name: str


class LeftTold(Told, tag="left", kw_only=True):
    """You are told no more of a room: you left it, or the code and the message say why."""

    group: str
    code: str = ""
    message: str = ""


class RelationTold(Told, tag="relation", kw_only=True):
    """How one message stands to the other."""

    group: str
    one: str
    other: str
    relation: str


class RefusedTold(Told, tag="refused", kw_only=True):
    """What you wanted was not done; `retryable`: the same may be done later."""

    do: str
    code: str
    message: str
    retryable: bool
    id: str = ""
    group: str = ""


class SocketTalk:
    """What a client may say next."""

    def __init__(self) -> None:
        self.is_greeted = False
        self._rates = Rates()

    def take(self, frame: str | bytes | None, now_ms: float) -> Said:
        """What a frame wants; raises BadRequest or RateLimited."""
        try:
            self._rates.take("", FRAMES_PER_S_MAX, now_ms)
        except RateLimited as error:
            raise RateLimited(
                f"at most {FRAMES_PER_S_MAX} frames a second are taken on one socket: this one was dropped, say it "
                "again after a pause"
            ) from error
        if not isinstance(frame, str):
            raise BadRequest("frames are text here, with JSON in it; this one is binary")
        try:
            said: Said = _decode(frame)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise BadRequest(f"this frame cannot be taken: {str(error)[:_QUOTED_CHARACTERS_MAX]}") from error
        self._check_turn(said)
        return said

    def _check_turn(self, said: Said) -> None:
        if isinstance(said, Hello):
            if self.is_greeted:
                raise BadRequest("you have said hello already: one socket is of one participant")
            if bool(said.token) == bool(said.name):
                raise BadRequest("say hello with your token; or, to be enrolled, with the name that you want")
        elif not self.is_greeted:
            raise BadRequest('say hello first: {"do":"hello","token":…}, or with a name to be enrolled')
        if isinstance(said, _Following) and said.after is not None and said.last is not None:
            raise BadRequest("say after or last, not both")


def refusal(frame: str | bytes | None, error: PregonError) -> RefusedTold:
    """An error, with what the refused frame was about."""
    about = _About()
    if isinstance(frame, str):
        try:
            about = msgspec.json.decode(frame, type=_About)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            pass
    return RefusedTold(
        do=_quoted(about.do),
        id=_quoted(about.id),
        group=_quoted(about.group),
        code=error.code,
        message=str(error),
        retryable=error.is_retryable,
    )


def _quoted(value: Any) -> str:
    return value[:_QUOTED_CHARACTERS_MAX] if isinstance(value, str) else ""
