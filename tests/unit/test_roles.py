"""What the roles of the administration pages may do, and who the gate takes somebody for."""

from __future__ import annotations

import pytest

from pregon.errors import BadRequest
from pregon.model.administration import OIDC, PASSWORD, ROLES, Session
from pregon.security.roles import caller_of, check_role, scopes_of_role


def test_each_role_may_do_more_than_the_one_before_it() -> None:
    scopes = [scopes_of_role(role) for role in ROLES]

    assert scopes == [{"read"}, {"read", "operate"}, {"read", "operate", "admin"}]


@pytest.mark.parametrize("role", ["", "admin", "Administrator", "root"])
def test_what_is_no_role_is_refused_and_may_do_nothing(role: str) -> None:
    assert scopes_of_role(role) == frozenset()
    with pytest.raises(BadRequest, match="reader, operator, administrator"):
        check_role(role)


def test_somebody_who_is_in_is_a_caller_with_the_scopes_of_the_role_and_speaks_for_nobody() -> None:
    caller = caller_of(Session(name="ana", role="operator", source=PASSWORD))

    assert (caller.name, caller.scopes) == ("administrator ana", {"read", "operate"})
    assert not caller.producers | caller.subscribers


def test_two_of_one_name_are_told_apart_by_how_they_came() -> None:
    sent = caller_of(Session(name="ana", role="reader", source=OIDC))

    assert sent.name == "oidc ana"
