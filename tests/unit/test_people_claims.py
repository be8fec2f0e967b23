"""What the claims of an identity provider's token say of somebody: a name, and a role or none."""

from __future__ import annotations

from typing import Any

import pytest

from pregon.security.people_claims import name_of_claims, role_of_claims

ROLES: list[tuple[dict[str, Any], str | None]] = [
    ({"roles": ["pregon:admin"]}, "administrator"),
    ({"roles": ["pregon:operate"]}, "operator"),
    ({"roles": ["pregon:read"]}, "reader"),
    ({"roles": ["pregon:read", "others", "pregon:admin", "pregon:operate"]}, "administrator"),
    ({"roles": "pregon:read pregon:operate"}, "operator"),
    ({"roles": ["pregon:read"], "scope": "openid pregon:admin"}, "administrator"),
    ({"scope": "openid profile pregon:read"}, "reader"),
    ({"scope": ["openid", "pregon:operate"]}, "operator"),
    ({"roles": [7, None, ["pregon:admin"], "pregon:read"]}, "reader"),
    ({}, None),
    ({"roles": [], "scope": "openid"}, None),
    ({"roles": ["admin", "Pregon:admin", "pregon:ADMIN", " pregon:admin", "pregon:admin:x", "pregon:"]}, None),
    ({"roles": ["pregon:producer:dgrec", "pregon:subscriber:bps"]}, None),
    ({"roles": {"pregon:admin": True}, "scope": {"pregon:admin": 1}}, None),
    ({"roles": True, "scope": 7}, None),
    ({"groups": ["pregon:admin"]}, None),
]


@pytest.mark.parametrize(("claims", "role"), ROLES)
def test_the_highest_role_that_a_claim_or_a_scope_gives_counts(claims: dict[str, Any], role: str | None) -> None:
    assert role_of_claims(claims, "roles") == role


def test_the_claim_may_have_any_name_or_be_inside_of_others() -> None:
    inside = {"realm_access": {"roles": ["pregon:admin"]}, "https://example.org/roles": ["pregon:read"]}

    assert role_of_claims(inside, "realm_access.roles") == "administrator"
    assert role_of_claims(inside, "https://example.org/roles") == "reader"
    assert role_of_claims(inside, "realm_access.groups") is None
    assert role_of_claims(inside, "realm_access.roles.pregon:admin") is None


NAMES: list[tuple[dict[str, Any], str]] = [
    ({"preferred_username": "ana", "email": "ana@example.org", "sub": "7"}, "ana"),
    ({"email": "ana@example.org", "sub": "7"}, "ana@example.org"),
    ({"sub": "7"}, "7"),
    ({"preferred_username": "  Ana María  ", "sub": "7"}, "Ana María"),
    ({"preferred_username": "", "email": 7, "sub": "7"}, "7"),
    ({"preferred_username": "ana\nadministrator root", "sub": "7"}, "7"),
    ({"preferred_username": "a" * 161, "sub": "7"}, "7"),
    ({"preferred_username": ["ana"], "sub": "s" * 161}, ""),
    ({}, ""),
]


@pytest.mark.parametrize(("claims", "name"), NAMES)
def test_somebody_is_called_by_the_first_claim_that_can_be_a_name(claims: dict[str, Any], name: str) -> None:
    assert name_of_claims(claims, "preferred_username") == name
