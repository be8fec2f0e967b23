"""The secrets with which pushes are signed: made, rotated with an overlap, revoked, never shown again."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest
from sqlalchemy import text

from pregon.errors import BadRequest, LimitReached, NotFound
from pregon.hub.hub import Hub
from pregon.limits import SIGNING_SECRETS_MAX
from pregon.model.catalog import NUMBER_MAX, Subscriber
from pregon.store.secrets import KeptSecret, list_secrets

from .site import Clock, Site, one_commit
from .verbs import SUBSCRIBER

HOUR_MS = 3_600_000
OWN = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()


@pytest.fixture
def bank(clock: Clock, hub: Hub) -> Hub:
    """A hub with a subscriber, whose clock the test moves."""
    hub.create(Subscriber(name=SUBSCRIBER)).result()
    return hub


def kept(hub: Hub, now_us: int = 0) -> list[KeptSecret]:
    """What the store has of the subscriber, as the pusher reads it."""
    return hub.read(lambda connection: list_secrets(connection, SUBSCRIBER, now_us)).result()


def rotate(hub: Hub, **more: Any) -> str:
    """Make a secret; its id."""
    return hub.create_secret(SUBSCRIBER, **more).result().id


def listed(hub: Hub) -> list[str]:
    """The ids, in the order in which they are shown."""
    return [one.id for one in hub.list_secrets(SUBSCRIBER).result()]


def test_a_secret_is_shown_once_and_only_when_it_is_made(bank: Hub) -> None:
    shown = bank.create_secret(SUBSCRIBER).result()

    listed = bank.list_secrets(SUBSCRIBER).result()
    assert shown.secret.startswith("whsec_")
    assert len(base64.b64decode(shown.secret.removeprefix("whsec_"))) >= 24
    assert shown.secret not in msgspec.json.encode(listed).decode()
    assert [one.id for one in listed] == [shown.id]


def test_a_secret_is_not_in_what_is_printed_of_it(bank: Hub) -> None:
    rotate(bank, given=OWN)

    (one,) = kept(bank)

    assert one.secret == b"0123456789abcdef0123456789abcdef"
    assert "0123456789" not in repr(one)


def test_two_secrets_are_never_the_same(bank: Hub) -> None:
    first, second = (bank.create_secret(SUBSCRIBER).result() for _ in range(2))

    assert first.secret != second.secret
    assert first.id != second.id


def test_a_subscriber_may_bring_its_own(bank: Hub) -> None:
    shown = bank.create_secret(SUBSCRIBER, OWN).result()

    assert shown.secret == OWN


@pytest.mark.parametrize("given", ["whsec_", "whsec_####", "whsec_c2hvcnQ=", "whsec_" + "QUFB" * 40, "secret"])
def test_a_secret_that_is_none_is_refused(bank: Hub, given: str) -> None:
    with pytest.raises(BadRequest):
        bank.create_secret(SUBSCRIBER, given).result()

    assert listed(bank) == []


def test_who_is_not_there_has_no_secrets(bank: Hub) -> None:
    with pytest.raises(NotFound):
        bank.create_secret("nobody").result()
    with pytest.raises(NotFound):
        bank.list_secrets("nobody").result()
    with pytest.raises(NotFound):
        bank.revoke_secret("nobody", "x").result()


def test_during_the_overlap_both_are_valid_the_newest_first(bank: Hub, clock: Clock) -> None:
    first = rotate(bank)
    clock.move_ms(1)
    second = rotate(bank, overlap_ms=HOUR_MS)

    valid = kept(bank, clock.move_ms(HOUR_MS - 1))

    assert [one.known.id for one in valid] == [second, first]
    assert valid[0].known.expires_us is None


def test_after_the_overlap_only_the_new_one_is(bank: Hub, clock: Clock) -> None:
    rotate(bank)
    second = rotate(bank, overlap_ms=HOUR_MS)

    valid = kept(bank, clock.move_ms(HOUR_MS + 1))

    assert [one.known.id for one in valid] == [second]


def test_without_an_overlap_the_old_ones_end_at_once(bank: Hub, clock: Clock) -> None:
    rotate(bank)
    rotate(bank)

    last = rotate(bank, overlap_ms=0)

    assert listed(bank) == [last]


def test_another_rotation_does_not_make_an_old_one_live_longer(bank: Hub, clock: Clock) -> None:
    first = rotate(bank)
    clock.move_ms(1)
    rotate(bank, overlap_ms=1_000)
    clock.move_ms(1)

    rotate(bank, overlap_ms=HOUR_MS)

    assert first not in [one.known.id for one in kept(bank, clock.move_ms(2_000))]
    assert len(kept(bank, clock.now_us)) == 2


def test_two_rotations_in_one_transaction_keep_their_order(bank: Hub, clock: Clock) -> None:
    for _ in range(6):
        with one_commit(bank):
            tickets = [bank.create_secret(SUBSCRIBER, overlap_ms=overlap_ms) for overlap_ms in (0, HOUR_MS)]
        first, second = (ticket.result().id for ticket in tickets)

        assert listed(bank) == [second, first]


def test_there_is_a_limit_of_those_that_are_valid_and_revoking_makes_room(bank: Hub, clock: Clock) -> None:
    made = [rotate(bank) for _ in range(SIGNING_SECRETS_MAX)]
    with pytest.raises(LimitReached):
        rotate(bank)

    bank.revoke_secret(SUBSCRIBER, made[0]).result()

    assert rotate(bank) in listed(bank)


def test_those_that_ended_do_not_count_and_are_forgotten(bank: Hub, clock: Clock) -> None:
    for _ in range(3 * SIGNING_SECRETS_MAX):
        rotate(bank, overlap_ms=1_000)
        clock.move_ms(1_001)

    assert len(bank.read(lambda c: c.execute(text("SELECT id FROM signing_secret")).all()).result()) <= 2


def test_those_that_ended_are_not_listed(bank: Hub, clock: Clock) -> None:
    rotate(bank)
    second = rotate(bank, overlap_ms=1_000)

    clock.move_ms(2_000)

    assert listed(bank) == [second]


def test_a_revoked_secret_is_gone_at_once_and_revoking_again_says_so(bank: Hub) -> None:
    made = rotate(bank)

    answers = [bank.revoke_secret(SUBSCRIBER, made).result() for _ in range(2)]

    assert answers == [True, False]
    assert listed(bank) == []


def test_nobody_revokes_the_secret_of_another(bank: Hub) -> None:
    made = rotate(bank)
    bank.create(Subscriber(name="post")).result()

    was_there = bank.revoke_secret("post", made).result()

    assert not was_there
    assert listed(bank) == [made]


@pytest.mark.parametrize("overlap_ms", [-1, NUMBER_MAX + 1])
def test_an_overlap_that_cannot_be_is_refused(bank: Hub, overlap_ms: int) -> None:
    with pytest.raises(BadRequest):
        bank.create_secret(SUBSCRIBER, overlap_ms=overlap_ms).result()


def test_the_longest_overlap_fits(bank: Hub) -> None:
    first = rotate(bank)

    rotate(bank, overlap_ms=NUMBER_MAX)

    assert first in listed(bank)


def test_secrets_go_with_their_subscriber_and_a_namesake_has_none(bank: Hub) -> None:
    rotate(bank)

    bank.delete("subscriber", (SUBSCRIBER,)).result()
    bank.create(Subscriber(name=SUBSCRIBER)).result()

    assert listed(bank) == []
    assert bank.read(lambda c: c.execute(text("SELECT id FROM signing_secret")).all()).result() == []


def test_secrets_survive_a_restart(site: Site) -> None:
    site.hub.create(Subscriber(name=SUBSCRIBER)).result()
    made = rotate(site.hub, given=OWN)

    hub = site.restart()

    assert listed(hub) == [made]
    assert kept(hub)[0].secret == b"0123456789abcdef0123456789abcdef"
