"""Conversations of two: who else may touch them. That they are not shown to others is decided where they are read."""

from __future__ import annotations

from pregon.groups.rolls import no_group
from pregon.model.group import PRIVATE_PREFIX
from pregon.security.callers import Caller
from pregon.security.keys import ADMIN


def require_not_of_two(caller: Caller, group: str) -> None:
    """Raises NotFound for a private conversation, unless an administrator asks who showed that it is."""
    if group.startswith(PRIVATE_PREFIX) and ADMIN not in caller.scopes:
        raise no_group(group)
