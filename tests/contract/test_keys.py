"""Keys: made, rotated, revoked, expired and limited; kept over restarts, and their secrets kept by nobody."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from pregon.errors import LimitReached, NotFound, PregonError, Unauthorized
from pregon.hub.access import NewKey, ShownKey
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.limits import KEYS_PER_OWNER_MAX
from pregon.model.catalog import NUMBER_MAX, Producer, Subscriber
from pregon.model.message import Outgoing
from pregon.security.callers import ANYBODY
from pregon.security.keys import hash_secret
from pregon.store.database import Database
from pregon.store.migrate import migrate
from pregon.store.schema import metadata

from .site import Clock, Site, one_commit
from .verbs import PRODUCER, SUBSCRIBER, TOPIC, say, subscribe

BEFORE_KEYS = "0002"


@pytest.fixture
def owned(hub: Hub) -> Hub:
    """A hub with a producer and a subscriber who may be given keys."""
    hub.create(Producer(name=PRODUCER)).result()
    hub.create(Subscriber(name=SUBSCRIBER)).result()
    return hub


@pytest.fixture
def key_clock(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock by which keys expire and rates are counted, in the hands of the test. Ask for it before the hub."""
    monkeypatch.setattr("pregon.hub.keyring.wall_us", clock.read_us)
    monkeypatch.setattr("pregon.hub.keyring.monotonic_ms", lambda: clock.read_us() / 1_000)
    return clock


def make(hub: Hub, kind: str = "producer", owner: str = PRODUCER, **options: Any) -> ShownKey:
    """A new key."""
    return hub.create_key(NewKey(kind=kind, owner=owner, **options)).result()


def works(hub: Hub, key: ShownKey) -> bool:
    """Whether the key opens anything now."""
    try:
        return Gate(hub).identify(key.secret).key_id == key.id
    except Unauthorized:
        return False


def dump(hub: Hub) -> str:
    """Every value of every table."""
    return hub.read(
        lambda c: repr([tuple(row) for table in metadata.sorted_tables for row in c.execute(select(table))])
    ).result()


def test_a_key_says_whose_it_is(owned: Hub) -> None:
    of_producer, of_subscriber = make(owned), make(owned, "subscriber", SUBSCRIBER)
    token = make(owned, "token", "grafana", scopes=("operate",))

    callers = [Gate(owned).identify(key.secret) for key in (of_producer, of_subscriber, token)]

    assert [one.name for one in callers] == [f"producer {PRODUCER}", f"subscriber {SUBSCRIBER}", "token grafana"]
    assert [one.producers for one in callers] == [{PRODUCER}, set(), set()]
    assert [one.subscribers for one in callers] == [set(), {SUBSCRIBER}, set()]
    assert [one.scopes for one in callers] == [set(), set(), {"operate", "read"}]


def test_a_secret_is_in_no_row_and_in_no_list(owned: Hub) -> None:
    key = make(owned, label="the cellar")
    _, key_id, secret = key.secret.split("_", 2)

    listed = owned.list_keys("producer", PRODUCER).result()

    assert key_id == key.id
    assert secret not in dump(owned)
    assert key_id in dump(owned)
    assert repr(hash_secret(secret)) in dump(owned)
    assert [one.label for one in listed] == ["the cellar"]
    assert secret not in repr(listed)


def test_the_largest_values_are_taken(owned: Hub) -> None:
    first = make(owned)

    key = make(owned, lifetime_ms=NUMBER_MAX, overlap_ms=NUMBER_MAX, requests_per_s=1_000_000)

    assert works(owned, key)
    assert works(owned, first)


@pytest.mark.parametrize("kind", ["producer", "subscriber"])
def test_only_who_is_registered_gets_a_key(hub: Hub, kind: str) -> None:
    with pytest.raises(NotFound):
        make(hub, kind, "nobody")

    assert hub.list(kind).result() == hub.list_keys(kind).result() == []


def test_an_old_key_works_until_the_overlap_ends(key_clock: Clock, owned: Hub) -> None:
    old = make(owned)
    new = make(owned, overlap_ms=60_000)

    states = [(works(owned, old), works(owned, new))]
    for ms in (59_999, 1, 10**9):
        key_clock.move_ms(ms)
        states.append((works(owned, old), works(owned, new)))

    assert states == [(True, True), (True, True), (False, True), (False, True)]


def test_without_an_overlap_the_old_keys_stay_and_with_none_at_all_they_end_at_once(
    key_clock: Clock, owned: Hub
) -> None:
    first, second = make(owned), make(owned)
    both = works(owned, first) and works(owned, second)

    third = make(owned, overlap_ms=0)

    assert both
    assert [works(owned, key) for key in (first, second, third)] == [False, False, True]


def test_an_overlap_prolongs_nothing_and_ends_nobody_elses_keys(key_clock: Clock, owned: Hub) -> None:
    short = make(owned, lifetime_ms=1_000)
    others = make(owned, "subscriber", SUBSCRIBER)

    make(owned, overlap_ms=10_000)
    key_clock.move_ms(1_000)

    assert not works(owned, short)
    assert works(owned, others)


def test_an_overlap_that_was_begun_goes_on_after_a_restart(key_clock: Clock, owned: Hub, site: Site) -> None:
    old = make(owned)
    make(owned, overlap_ms=5_000)

    hub = site.restart()
    before = works(hub, old)
    key_clock.move_ms(5_000)

    assert (before, works(hub, old)) == (True, False)


def test_a_key_expires_to_the_millisecond(key_clock: Clock, owned: Hub) -> None:
    key = make(owned, lifetime_ms=1_000)

    key_clock.move_ms(999)
    before = works(owned, key)
    key_clock.move_ms(1)

    assert (before, works(owned, key)) == (True, False)
    assert owned.list_keys("producer").result()[0].expires_us == key.expires_us


def test_an_expired_key_still_protects_its_owner(key_clock: Clock, owned: Hub) -> None:
    make(owned, lifetime_ms=1)
    key_clock.move_ms(10)
    owned.maintenance.run_once()

    with pytest.raises(Unauthorized):
        Gate(owned).publish(ANYBODY, TOPIC, PRODUCER, Outgoing(b""))

    assert owned.list("topic").result() == []


def test_a_revoked_key_ends_before_its_revoker_is_told(owned: Hub) -> None:
    key, other = make(owned), make(owned)

    existed = owned.revoke_key("producer", PRODUCER, key.id).result()
    again = owned.revoke_key("producer", PRODUCER, key.id).result()

    assert (existed, again) == (True, False)
    assert (works(owned, key), works(owned, other)) == (False, True)


@pytest.mark.parametrize("who", [("producer", "other"), ("subscriber", PRODUCER), ("token", PRODUCER), ("", "")])
def test_a_key_is_only_revoked_by_its_owners_name(owned: Hub, who: tuple[str, str]) -> None:
    key = make(owned)

    existed = owned.revoke_key(*who, key.id).result()

    assert not existed
    assert works(owned, key)


def test_making_and_revoking_in_one_commit_leaves_what_was_last(owned: Hub) -> None:
    first = make(owned)

    with one_commit(owned):
        second = owned.create_key(NewKey(kind="producer", owner=PRODUCER))
        owned.revoke_key("producer", PRODUCER, first.id)
        refused = owned.create_key(NewKey(kind="producer", owner="nobody"))
        third = owned.create_key(NewKey(kind="producer", owner=PRODUCER))
    with pytest.raises(NotFound):
        refused.result()

    assert [works(owned, key) for key in (first, second.result(), third.result())] == [False, True, True]


@pytest.mark.parametrize(("kind", "owner"), [("producer", PRODUCER), ("subscriber", SUBSCRIBER)])
def test_the_keys_of_a_deleted_owner_end_and_do_not_open_for_who_comes_after(
    owned: Hub, site: Site, kind: str, owner: str
) -> None:
    key, other = make(owned, kind, owner), make(owned, "token", "grafana", scopes=("read",))
    entry = owned.show(kind, (owner,)).result()

    owned.delete(kind, (owner,)).result()
    after = works(owned, key)
    owned.create(entry).result()

    assert not after
    assert not works(owned, key)
    assert works(owned, other)
    assert not works(site.restart(), key)
    assert site.hub.list_keys(kind).result() == []


def test_deleting_a_topic_or_a_subscription_ends_no_key(owned: Hub) -> None:
    key = make(owned, "subscriber", SUBSCRIBER)
    say(owned, "a", producer="hospital")
    subscribe(owned)

    owned.delete("subscription", (TOPIC, SUBSCRIBER)).result()
    owned.delete("topic", (TOPIC,)).result()

    assert works(owned, key)


def test_keys_outlive_a_restart_with_all_that_is_known_of_them(owned: Hub, site: Site) -> None:
    key = make(owned, label="ñandú", requests_per_s=7, body_bytes_max=9, lifetime_ms=10**9)
    token = make(owned, "token", "ana", scopes=("admin", "read"))
    before = [*owned.list_keys("producer").result(), *owned.list_keys("token").result()]

    hub = site.restart()

    assert [*hub.list_keys("producer").result(), *hub.list_keys("token").result()] == before
    assert works(hub, key)
    assert works(hub, token)
    assert not hub.keyring.rules.is_open


def test_an_owner_has_a_limited_number_of_keys_that_work(key_clock: Clock, owned: Hub) -> None:
    make(owned, lifetime_ms=1)
    key_clock.move_ms(1)
    made = [make(owned) for _ in range(KEYS_PER_OWNER_MAX)]

    with pytest.raises(LimitReached):
        make(owned)
    owned.revoke_key("producer", PRODUCER, made[0].id).result()
    after = make(owned)

    assert works(owned, after)
    assert works(owned, make(owned, "subscriber", SUBSCRIBER))


def test_a_refused_key_with_an_overlap_ends_no_other(owned: Hub) -> None:
    made = [make(owned) for _ in range(KEYS_PER_OWNER_MAX)]

    with pytest.raises(LimitReached):
        make(owned, overlap_ms=60_000)

    assert all(works(owned, key) for key in made)
    assert all(key.expires_us is None for key in owned.list_keys("producer").result())


def test_a_hub_has_a_limited_number_of_keys(owned: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pregon.store.keys.KEYS_MAX", 2)
    make(owned)
    make(owned, "subscriber", SUBSCRIBER)

    with pytest.raises(LimitReached):
        make(owned, "token", "ana", scopes=("read",))

    assert len(owned.list_keys("").result()) == 2


@pytest.mark.parametrize("scopes", [("read",), ("operate",), ("operate", "read")])
def test_a_hub_is_open_until_it_has_an_administrator(owned: Hub, scopes: tuple[str, ...]) -> None:
    make(owned)
    make(owned, "token", "clerk", scopes=scopes)
    before = owned.keyring.rules.is_open

    make(owned, "token", "ana", scopes=("admin",))

    assert (before, owned.keyring.rules.is_open) == (True, False)


def test_a_hub_whose_administrators_key_has_expired_is_not_open(key_clock: Clock, owned: Hub, site: Site) -> None:
    make(owned, "token", "ana", scopes=("admin",), lifetime_ms=1)

    key_clock.move_ms(10)
    owned.maintenance.run_once()
    after = owned.keyring.rules.is_open
    restarted = site.restart().keyring.rules.is_open

    assert (after, restarted) == (False, False)


def test_losing_its_last_administrator_does_not_open_a_hub(owned: Hub, site: Site) -> None:
    key = make(owned, "token", "ana", scopes=("admin",))

    try:
        owned.revoke_key("token", "ana", key.id).result()
    except PregonError:
        assert works(owned, key), "a revocation that is refused changes nothing"

    assert not owned.keyring.rules.is_open
    assert not site.restart().keyring.rules.is_open


def test_an_administrator_can_be_replaced_by_another(owned: Hub) -> None:
    first = make(owned, "token", "ana", scopes=("admin",))
    second = make(owned, "token", "luis", scopes=("admin",))

    existed = owned.revoke_key("token", "ana", first.id).result()

    assert existed
    assert (works(owned, first), works(owned, second)) == (False, True)


def test_a_database_from_before_there_were_keys_gets_them(open_database: Callable[[], Database]) -> None:
    database = open_database()
    migrate(database, BEFORE_KEYS)
    with database.connect() as connection:
        database.begin_write(connection, durable=True)
        connection.exec_driver_sql(f"INSERT INTO producer (id, name, created_us) VALUES (1, '{PRODUCER}', 1)")
        database.commit(connection)
    database.close()
    site = Site(open_database)

    hub = site.start()
    try:
        was_open = hub.keyring.rules.is_open
        key = make(hub)
        works_at_once, works_later = works(hub, key), works(site.restart(), key)
        published = Gate(site.hub).publish(Gate(site.hub).identify(key.secret), TOPIC, PRODUCER, Outgoing(b"")).result()
    finally:
        site.stop()

    assert was_open
    assert (works_at_once, works_later, published.seq) == (True, True, 1)
