"""Who may make, change and end people of the administration pages: who shows that they administer.

That a hub is open, so that anybody administers it, is not enough: who enters the pages has scopes that an open hub does
not give, such as to see private conversations.
"""

from __future__ import annotations

from pregon.errors import Forbidden, Unauthorized
from pregon.hub.hub import Hub
from pregon.security.callers import Caller
from pregon.security.keys import ADMIN

_NOT_SHOWN = (
    "people of the pages are made and changed by who shows that they administer, also on an open hub: use the link "
    "that `pregon serve` printed, `--data` with the hub stopped, or a token with the scope admin"
)


def require_shown(hub: Hub, caller: Caller) -> None:
    """Raises Unauthorized or Forbidden for a caller who has not shown that it administers."""
    hub.keyring.rules.require(caller, ADMIN)
    if ADMIN not in caller.scopes:
        raise (Forbidden if caller.is_known else Unauthorized)(_NOT_SHOWN)
