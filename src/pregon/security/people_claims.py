"""Who somebody is whom an identity provider has sent, and their role here: pure rules about the claims of a token.

The provider says it with the names that scopes have in its other tokens (see `callers`): `pregon:admin`,
`pregon:operate`, `pregon:read`. They stand in a claim that the operator names, or among the scopes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pregon.security.callers import caller_of_claims
from pregon.security.roles import role_of_scopes

_NAME_CLAIMS = ("email", "sub")
"""Where a name is looked for when the claim that should have it does not."""
_NAME_CHARACTERS_MAX = 160
_SCOPES = "scope"
_VALUES_MAX = 10_000


def role_of_claims(claims: Mapping[str, Any], role_claim: str) -> str | None:
    """The role that the claims give, the highest of several; None if they give none."""
    values = [*_texts(_find_claim(claims, role_claim)), *_texts(claims.get(_SCOPES))]
    return role_of_scopes(caller_of_claims("", frozenset(values)).scopes)


def name_of_claims(claims: Mapping[str, Any], name_claim: str) -> str:
    """How somebody is called: the claim that says so, else the mail address, else the subject; empty if none can be."""
    for claim in (name_claim, *_NAME_CLAIMS):
        name = _find_claim(claims, claim)
        if isinstance(name, str) and 0 < len(name.strip()) <= _NAME_CHARACTERS_MAX and name.isprintable():
            return name.strip()
    return ""


def _find_claim(claims: Mapping[str, Any], name: str) -> Any:
    """A claim by its name; a name with points also finds what is inside of others (`realm_access.roles`)."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _texts(value: Any) -> list[str]:
    """The values of a claim: a list, or a text with spaces between them; whatever else it is has none."""
    listed = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    return [one for one in listed[:_VALUES_MAX] if isinstance(one, str)]
