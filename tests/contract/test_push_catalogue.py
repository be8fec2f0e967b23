"""Subscribers to which messages are pushed, in the catalogue: what may be registered, changed and shown."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from pregon import limits
from pregon.errors import AlreadyExists, BadFilter, BadRequest, EndpointForbidden, NotFound
from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.model.catalog import PUSH, PushOptions, Subscriber, Subscription
from pregon.store.pushing import list_filtered, list_pushed, list_pushed_subscribers

from .site import Site
from .verbs import SUBSCRIBER, TOPIC, ack, fill, park, say, subscribe, unpark

URL = "http://127.0.0.1:9/novedades?clave=%20x"
PUSHED = Subscriber(name=SUBSCRIBER, mode=PUSH, endpoint=URL)


@pytest.fixture
def open_hub(site: Site) -> Hub:
    """A hub that may push to this machine."""
    return site.restart(HubOptions(push_allow="127.0.0.1"))


def change(hub: Hub, **values: Any) -> Subscriber:
    """Change the subscriber; its entry."""
    changed = hub.update("subscriber", (SUBSCRIBER,), values).result()
    assert isinstance(changed, Subscriber)
    return changed


def pushed(hub: Hub) -> list[tuple[str, bool]]:
    """The topics that are pushed to the subscriber, and whether something is pending there."""
    return [(one.topic, one.has_pending) for one in hub.read(list_pushed).result()]


def test_what_is_registered_is_shown(open_hub: Hub) -> None:
    options = PushOptions(time_limit_ms=5_000, rate_per_s=7, parallel=3, attempts_max=4, on_poison="park")
    entry = msgspec.structs.replace(PUSHED, format="soap", push=options)

    open_hub.create(entry).result()

    shown = open_hub.show("subscriber", (SUBSCRIBER,)).result()
    assert isinstance(shown, Subscriber)
    assert msgspec.structs.replace(shown, created_us=0) == entry


def test_registering_the_same_again_is_no_error_and_another_is(open_hub: Hub) -> None:
    open_hub.create(PUSHED).result()

    open_hub.create(PUSHED).result()

    for field, value in (("endpoint", "http://127.0.0.1:9/"), ("format", "raw"), ("push", PushOptions(parallel=2))):
        with pytest.raises(AlreadyExists):
            open_hub.create(msgspec.structs.replace(PUSHED, **{field: value})).result()


def test_registering_again_who_the_hub_disabled_does_not_enable_it(open_hub: Hub) -> None:
    open_hub.create(PUSHED).result()
    change(open_hub, enabled=False)

    with pytest.raises(AlreadyExists):
        open_hub.create(PUSHED).result()

    assert not open_hub.show("subscriber", (SUBSCRIBER,)).result().enabled  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://bps.example/x",
        "bps.example/x",
        "http://",
        "http://:80/",
        "http://bps.example:0/",
        "http://bps.example:99999/",
        "http://user:secret@bps.example/",
        "http://bps.example/#part",
        "http://bps.example/a b",
        "http://bps.example/\r\nHost: other",
        "http://bps.example/ñ",
        "https://bps.example/" + "x" * limits.ENDPOINT_CHARACTERS_MAX,
        "http://[::1",
    ],
)
def test_an_endpoint_that_is_none_is_refused(open_hub: Hub, url: str) -> None:
    with pytest.raises(BadRequest):
        open_hub.create(msgspec.structs.replace(PUSHED, endpoint=url)).result()

    with pytest.raises(NotFound):
        open_hub.show("subscriber", (SUBSCRIBER,)).result()


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/", "http://[::1]:80/", "http://169.254.169.254/", "http://10.0.0.1/"]
)
def test_a_forbidden_address_is_refused_when_it_is_registered_and_when_it_is_changed(hub: Hub, url: str) -> None:
    with pytest.raises(EndpointForbidden):
        hub.create(msgspec.structs.replace(PUSHED, endpoint=url)).result()
    hub.create(Subscriber(name=SUBSCRIBER)).result()

    with pytest.raises(EndpointForbidden):
        hub.update("subscriber", (SUBSCRIBER,), {"endpoint": url}).result()
    with pytest.raises(EndpointForbidden):
        hub.update("subscriber", (SUBSCRIBER,), {"mode": PUSH, "endpoint": url}).result()


@pytest.mark.parametrize(
    "values",
    [
        {"mode": "both"},
        {"mode": PUSH, "endpoint": ""},
        {"endpoint": ""},
        {"endpoint": 5},
        {"format": "xml"},
        {"push": {"parallel": 0}},
        {"push": {"parallel": limits.PUSH_PARALLEL_MAX + 1}},
        {"push": {"time_limit_ms": 1}},
        {"push": {"rate_per_s": 0}},
        {"push": {"rate_per_s": -5}},
        {"push": {"attempts_max": 0}},
        {"push": {"delay_ms_first": 5_000, "delay_ms_max": 4_000}},
        {"push": {"delay_ms_max": limits.PUSH_DELAY_MS_MAX + 1}},
        {"push": {"on_poison": "drop"}},
        {"push": {"parallel": "many"}},
        {"push": None},
        {"enabled": "perhaps"},
        {"disabled_reason": "because"},
        {"created_us": 5},
    ],
    ids=str,
)
def test_a_change_that_cannot_be_is_refused_and_nothing_changes(open_hub: Hub, values: dict[str, Any]) -> None:
    open_hub.create(PUSHED).result()
    before = open_hub.show("subscriber", (SUBSCRIBER,)).result()

    with pytest.raises(BadRequest):
        open_hub.update("subscriber", (SUBSCRIBER,), values).result()

    assert open_hub.show("subscriber", (SUBSCRIBER,)).result() == before


def test_a_subscriber_made_by_subscribing_pulls(open_hub: Hub) -> None:
    subscribe(open_hub)

    shown = open_hub.show("subscriber", (SUBSCRIBER,)).result()

    assert isinstance(shown, Subscriber)
    assert (shown.mode, shown.endpoint, shown.enabled) == ("pull", "", True)
    assert pushed(open_hub) == []


@pytest.mark.parametrize("values", [{"mode": "pull"}, {"enabled": False}], ids=str)
def test_who_is_not_to_be_pushed_to_is_not_among_those(open_hub: Hub, values: dict[str, Any]) -> None:
    open_hub.create(PUSHED).result()
    subscribe(open_hub)
    before = pushed(open_hub)

    change(open_hub, **values)

    assert before == [(TOPIC, False)]
    assert pushed(open_hub) == []
    assert open_hub.read(list_pushed_subscribers).result() == []


def test_what_is_pushed_is_known_with_whether_something_is_pending(open_hub: Hub) -> None:
    open_hub.create(PUSHED).result()
    fill(open_hub, 3)
    subscribe(open_hub)
    park(open_hub, 2)

    found = [pushed(open_hub)]
    ack(open_hub, 3)
    found.append(pushed(open_hub))
    unpark(open_hub)
    found.append(pushed(open_hub))

    assert found == [[(TOPIC, True)], [(TOPIC, False)], [(TOPIC, True)]]


def test_a_deleted_topic_is_not_pushed(open_hub: Hub) -> None:
    open_hub.create(PUSHED).result()
    subscribe(open_hub)
    say(open_hub, "one")

    open_hub.delete("topic", (TOPIC,)).result()

    assert pushed(open_hub) == []
    assert open_hub.read(list_filtered).result() == []


def test_the_push_state_of_who_is_not_subscribed_is_not_found(open_hub: Hub) -> None:
    with pytest.raises(NotFound):
        open_hub.push_state(TOPIC, "nobody").result()


def test_the_push_state_shows_mode_and_whether_it_is_enabled(open_hub: Hub) -> None:
    open_hub.create(PUSHED).result()
    subscribe(open_hub)
    change(open_hub, enabled=False)

    found = open_hub.push_state(TOPIC, SUBSCRIBER).result()

    assert (found.mode, found.enabled, found.attempts, found.failing_since_us) == (PUSH, False, 0, 0)


@pytest.mark.parametrize(
    "filter",
    [
        "{",
        "[]",
        '{"regex": "x"}',
        '{"header": "r", "equals": 5}',
        "null",
        '{"header": "r", "equals": "' + "x" * 9_000 + '"}',
    ],
)
def test_a_filter_that_cannot_be_used_is_refused_before_anything_is_made(hub: Hub, filter: str) -> None:
    with pytest.raises(BadFilter):
        hub.create(Subscription(topic=TOPIC, subscriber=SUBSCRIBER, filter=filter)).result()

    with pytest.raises(NotFound):
        hub.show("topic", (TOPIC,)).result()


def test_a_filter_is_shown_in_its_canonical_form_and_registering_it_again_is_no_error(hub: Hub) -> None:
    entry = Subscription(topic=TOPIC, subscriber=SUBSCRIBER, filter='{ "equals": "a", "header": "r" }')

    made = [hub.create(entry).result() for _ in range(2)]

    assert made[0] == made[1]
    assert isinstance(made[0], Subscription)
    assert made[0].filter == '{"header":"r","equals":"a"}'
    with pytest.raises(AlreadyExists):
        hub.create(msgspec.structs.replace(entry, filter="")).result()
