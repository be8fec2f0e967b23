"""Groups, who takes part in them, and how their messages stand in the log.

A group is a topic `groups.NAME` to which only its members send. Each message has, besides its body, these headers:

    group-kind      message, joined, left; and by the hub itself: joining, leaving, gone, renamed
    group-stamp     who sent it and which of theirs it is: 3:17 (see causal.stamps)
    group-after     what it depends on immediately: 2:5 4:9
    group-answers   the message that it answers, if it answers one

and its key is the name of who sent it. The hub is a member too, the first: what it says of the members is a message of
its own, in the same causal order as all the others.
"""

from __future__ import annotations

import re
import unicodedata

import msgspec

from pregon.errors import BadName
from pregon.limits import NICK_CHARACTERS_MAX

TOPIC_PREFIX = "groups."
PRIVATE_PREFIX = "private."
"""Names of the conversations of two begin with this."""
DELIVERIES_TOPIC = "pregon.deliveries"
PRODUCER = "pregon.groups"
"""Who the log says has published the messages of groups."""

KIND_HEADER, STAMP_HEADER, AFTER_HEADER = "group-kind", "group-stamp", "group-after"
ANSWERS_HEADER = "group-answers"
HEADER_PREFIX = "group-"
"""Headers of messages that members may not set."""

MESSAGE, JOINED, LEFT = "message", "joined", "left"
JOINING, LEAVING, GONE, RENAMED = "joining", "leaving", "gone", "renamed"
MEMBER_KINDS = (MESSAGE, JOINED, LEFT)
"""What a member sends."""

NATIVE, HOSTED = "native", "hosted"
"""Who works out what a message depends on: the member, or the hub for it."""
OPEN, INVITED = "open", "invited"
ACCESS = (OPEN, INVITED)

_NICK = re.compile(r"\w(?:[\w .-]*\w)?", re.UNICODE)
_RESERVED = frozenset(
    {"server", "servidor", "hub", "pregon", "pregón", "system", "sistema", "admin", "administrator", "administrador"}
    | {"all", "todos", "everyone", "nobody", "nadie"}
)


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A group, as its entry says."""

    name: str
    description: str = ""
    access: str = OPEN
    """open: whoever may use the hub may join; invited: only who is named in `allowed`."""
    allowed: tuple[str, ...] = ()
    """Names of participants, or of keys, that may join a group by invitation."""
    history: bool = True
    """Whether a new member may read what was said before it came."""
    traced: bool = True
    """Whether what each member was shown, and when, is kept in the topic `pregon.deliveries`."""
    stride: int = 1
    """In how many hubs the group lives; each hub gives its own numbers to members."""
    offset: int = 0
    """Which of them this one is, from 0 on."""
    is_private: bool = False
    """A conversation of two."""


class GroupMember(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A member."""

    member: int
    name: str
    kind: str = HOSTED
    is_here: bool = False
    """Whether it has been in contact lately."""
    number: int = 0
    """How many messages it has sent."""
    joined_seq: int = 0


class Membership(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A group of one participant."""

    group: str
    member: int
    kind: str = HOSTED
    is_private: bool = False
    others: tuple[str, ...] = ()
    """Of a private conversation: with whom."""
    seen_seq: int = 0
    head_seq: int = 0


class Participant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who takes part. The token is shown once, when the participant is enrolled."""

    name: str
    token: str = ""


class DeliveryRow(msgspec.Struct, frozen=True, array_like=True):
    """One message that a member was shown: whose and which, when it came, when it was shown, and what it waited for."""

    stamp: str
    received_us: int
    delivered_us: int
    waited_for: str = ""


def topic_of(group: str) -> str:
    """The topic that has the messages of a group."""
    return TOPIC_PREFIX + group


def fold_nick(name: str) -> str:
    """What names have in common that people would take for the same."""
    return unicodedata.normalize("NFKC", name).casefold()


def check_nick(name: str) -> str:
    """The name of a participant, if it is one; raises BadName, saying what is allowed."""
    normal = unicodedata.normalize("NFC", name)
    if not 1 <= len(normal) <= NICK_CHARACTERS_MAX or not _NICK.fullmatch(normal):
        raise BadName(
            f"{name[:NICK_CHARACTERS_MAX]!r} is no name to take part with: use 1 to {NICK_CHARACTERS_MAX} letters, "
            "digits, _ . - or spaces between them"
        )
    if fold_nick(normal) in _RESERVED:
        raise BadName(f"{name!r} is the hub's own: choose another name")
    return normal
