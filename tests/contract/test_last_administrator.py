"""A hub that has an administrator does not lose the last one by a rotation: it would be everybody's again."""

from __future__ import annotations

import pytest

from pregon.errors import LimitReached
from pregon.hub.access import NewKey
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub


def test_a_rotation_that_takes_the_last_administrator_away_is_refused_and_changes_nothing(hub: Hub) -> None:
    admin = hub.create_key(NewKey(kind="token", owner="ops", scopes=("admin",))).result()

    refused = hub.create_key(NewKey(kind="token", owner="ops", scopes=("read",), overlap_ms=0))

    with pytest.raises(LimitReached, match="last token"):
        refused.result()
    assert Gate(hub).identify(admin.secret).key_id == admin.id
    assert not Gate(hub).rules.is_open


def test_a_rotation_to_another_administrator_is_made(hub: Hub) -> None:
    hub.create_key(NewKey(kind="token", owner="ops", scopes=("admin",))).result()

    second = hub.create_key(NewKey(kind="token", owner="ops", scopes=("admin",), overlap_ms=0)).result()

    assert Gate(hub).identify(second.secret).key_id == second.id
    assert [key.id for key in hub.list_keys("token").result()] == [second.id]
