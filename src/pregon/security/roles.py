"""What each role of the administration pages may do: the scopes that a token with the same rights would have.

    reader          read
    operator        operate, and what a reader may
    administrator   admin, and what an operator may

A person of the pages does not close an open hub: only tokens and identity providers do (see `callers`).
"""

from __future__ import annotations

from pregon.errors import BadRequest
from pregon.model.administration import ADMINISTRATOR, OIDC, OPERATOR, READER, ROLES, Session
from pregon.security.callers import Caller, scopes_of
from pregon.security.keys import ADMIN, OPERATE, READ

_SCOPES = {READER: READ, OPERATOR: OPERATE, ADMINISTRATOR: ADMIN}


def check_role(role: str) -> str:
    """The role, if it is one; raises BadRequest."""
    if role not in ROLES:
        raise BadRequest(f"{role[:40]!r} is no role: use one of {', '.join(ROLES)}")
    return role


def scopes_of_role(role: str) -> frozenset[str]:
    """All that a role may do; nothing for what is no role."""
    return scopes_of((_SCOPES[role],)) if role in _SCOPES else frozenset()


def role_of_scopes(scopes: frozenset[str]) -> str | None:
    """The highest role whose scope is among these; None if there is none."""
    return next((role for role in (ADMINISTRATOR, OPERATOR, READER) if _SCOPES[role] in scopes), None)


def name_of_caller(name: str, source: str) -> str:
    """How the gate and the audit call a person of the pages."""
    return f"{'oidc' if source == OIDC else 'administrator'} {name}"


def caller_of(session: Session) -> Caller:
    """Who asks, for the gate, when somebody who is in does."""
    return Caller(name=name_of_caller(session.name, session.source), scopes=scopes_of_role(session.role))
