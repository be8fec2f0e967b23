"""Who asks, and what they may: pure rules, the same for every door.

A hub is *open* until it has its first administrator (a token with the scope `admin`, or an identity provider): on
an open hub anybody may do anything but speak for a producer or subscriber that has a key. From then on:

    who asks        may
    nobody known    act as a producer or subscriber without a key, unless keys are required
    producer's key  publish as that producer; see its own entry and traces
    subscriber's    receive and settle as that subscriber; see its entry, subscriptions, traces; read its topics
    token           what its scopes say; never publish or receive in the name of one who has a key

Promises:
- The answer does not depend on whether what is asked for exists: "is not yours" and "is not there" are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from pregon.errors import BadRequest, Forbidden, PregonError, Unauthorized
from pregon.security.keys import ADMIN, OPERATE, PRODUCER, READ, SUBSCRIBER

_INCLUDES = {ADMIN: (ADMIN, OPERATE, READ), OPERATE: (OPERATE, READ), READ: (READ,)}
_OIDC_PREFIX = "pregon:"


class Caller(msgspec.Struct, frozen=True):
    """Who asks: in whose name it may speak, and what else it may do."""

    name: str = ""
    """For the log: the key's owner or the token's subject; empty for nobody known."""
    key_id: str = ""
    producers: frozenset[str] = frozenset()
    subscribers: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()
    body_bytes_max: int | None = None

    @property
    def is_known(self) -> bool:
        """Whether it said who it is."""
        return self.name != ""


ANYBODY = Caller()


def scopes_of(scopes: tuple[str, ...]) -> frozenset[str]:
    """All that these scopes allow: the larger ones include the smaller."""
    return frozenset(inner for scope in scopes for inner in _INCLUDES[scope])


def caller_of_claims(subject: str, scopes: frozenset[str]) -> Caller:
    """Who an identity provider's token is, by its scopes: pregon:admin, pregon:producer:NAME and the like."""
    ours = [scope.removeprefix(_OIDC_PREFIX) for scope in scopes if scope.startswith(_OIDC_PREFIX)]
    names = {
        kind: frozenset(one.removeprefix(f"{kind}:") for one in ours if one.startswith(f"{kind}:"))
        for kind in (PRODUCER, SUBSCRIBER)
    }
    return Caller(
        # By its first word it is told from who has a key or entered the pages: a subject may be any text.
        name=f"bearer {subject or 'unnamed'}",
        producers=names[PRODUCER],
        subscribers=names[SUBSCRIBER],
        scopes=scopes_of(tuple(one for one in ours if one in _INCLUDES)),
    )


@dataclass(frozen=True, slots=True)
class Rules:
    """What the hub's state says: is it open, must everybody have a key, and who has one."""

    is_open: bool
    require_keys: bool
    has_key: Callable[[str, str], bool]
    """Of a kind (producer, subscriber) and a name."""

    def may(self, caller: Caller, scope: str) -> bool:
        """Whether the caller has a scope."""
        return self.is_open or scope in caller.scopes

    def require(self, caller: Caller, scope: str) -> None:
        """Raises Unauthorized or Forbidden for a caller without a scope."""
        if not self.may(caller, scope):
            raise _refusal(caller, f"this needs a token with the scope {scope}")

    def may_speak_for(self, caller: Caller, kind: str, name: str) -> bool:
        """Whether the caller may act in the name of a producer or subscriber."""
        if name in (caller.producers if kind == PRODUCER else caller.subscribers):
            return True
        return not self.has_key(kind, name) and (self.is_open or not self.require_keys)

    def may_create(self, caller: Caller) -> bool:
        """Whether what this caller names may be made on first use."""
        return self.may(caller, ADMIN)


def sole_name(kind: str, names: frozenset[str], named: str) -> str:
    """In whose name a request is: as it says, or as the key says; raises BadRequest when neither does."""
    if named:
        return named
    if len(names) == 1:
        return next(iter(names))
    raise BadRequest(f"say which {kind} you are: name it, or present its key")


def not_for(caller: Caller, what: str) -> PregonError:
    """The one answer for what does not exist and for what is not the caller's."""
    return _refusal(caller, f"{what} is not for you, or something of it does not exist: present the key of who may")


def _refusal(caller: Caller, what: str) -> PregonError:
    return Forbidden(what) if caller.is_known else Unauthorized(what)
