"""Push and filters through the clients: both clients, over ZeroMQ and over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pregon.errors import BadFilter, BadRequest, EndpointForbidden, NotFound
from pregon.model.message import Outgoing

from .both_clients import KINDS, WAYS, address_of, open_client
from .hub_process import HubProcess, wait_until

SOUTH = '{"header":"region","equals":"sur"}'


@pytest.fixture(params=[(kind, way) for kind in KINDS for way in WAYS], ids="-".join)
def one(request: pytest.FixtureRequest, hub: HubProcess) -> Iterator[Any]:
    """A client of each kind, by each way."""
    kind, way = request.param
    with open_client(kind, address_of(hub, way)) as client:
        yield client


def publish(client: Any, topic: str, *regions: str) -> None:
    for region in regions:
        client.publish(topic, Outgoing(region.encode(), headers={"region": region}))


def test_a_message_says_why_a_filter_wanted_it(one: Any, topic: str) -> None:
    one.create("subscription", topic=topic, subscriber="bps", filter=SOUTH)
    one.create("subscription", topic=topic, subscriber="imm")
    publish(one, topic, "sur", "norte", "sur", "norte")
    wait_until(lambda: one.account(topic, "bps").filtered == 2, "the filter has looked at all")

    pulled = one.pull(topic, "bps")
    followed = list(one.follow(topic, "bps", until_empty=True))
    everything = one.pull(topic, "imm")
    read = one.read(topic, 1)

    assert [(message.seq, message.matched) for message in pulled] == [
        (1, "header region = sur"),
        (3, pulled[0].matched),
    ]
    assert pulled[1].matched == pulled.messages[1].matched == "header region = sur"
    assert [message.matched for message in followed] == ["header region = sur"] * 2
    assert {message.matched for message in [*everything, *read]} == {""}
    account = one.account(topic, "bps")
    assert (account.accepted, account.acknowledged, account.filtered, account.pending) == (4, 2, 2, 0)


def test_a_web_service_is_tested(one: Any, topic: str) -> None:
    one.create("subscriber", name=topic, endpoint="https://bps.invalid/novedades", format="raw")

    shown = one.rehearse(topic, text="hola", content_type="text/plain")

    assert (shown["outcome"], shown["answer"]["status"]) == ("unreachable", None)
    assert (shown["request"]["request_line"], shown["request"]["text"]) == ("POST /novedades HTTP/1.1", "hola")
    with pytest.raises(NotFound):
        one.rehearse("nobody")
    with pytest.raises(BadRequest):
        one.rehearse(topic, colour="red")


def test_a_subscriber_is_made_and_changed_with_how_to_push_to_it(one: Any, topic: str) -> None:
    push = {"time_limit_ms": 500, "parallel": 3}
    made = one.create("subscriber", name=topic, mode="push", endpoint="https://bps.example/", push=push)

    changed = one.update("subscriber", topic, enabled=False, format="soap")

    assert (made["mode"], made["push"]["time_limit_ms"], made["push"]["attempts_max"]) == ("push", 500, 10)
    assert changed == {**made, "enabled": False, "format": "soap"}
    assert one.show("subscriber", topic) == changed


def test_what_cannot_be_is_refused_as_what_it_is(one: Any, topic: str) -> None:
    one.create("subscriber", name=topic)

    with pytest.raises(EndpointForbidden):
        one.update("subscriber", topic, mode="push", endpoint="http://127.0.0.1:1/")
    with pytest.raises(BadFilter):
        one.create("subscription", topic=topic, subscriber=topic, filter='{"header": "region"}')
    with pytest.raises(BadRequest):
        one.create("secret", subscriber=topic, secret="hunter2")
    with pytest.raises(BadRequest):
        one.create("secret", subscriber=topic, lifetime_ms=5)
    with pytest.raises(BadRequest):
        one.delete("secret", topic)
    with pytest.raises(BadRequest):
        one.show("push", topic)
    with pytest.raises(NotFound):
        one.show("push", topic, "nobody")


def test_a_secret_is_made_listed_rotated_and_revoked(one: Any, topic: str) -> None:
    one.create("subscriber", name=topic)

    first = one.create("secret", subscriber=topic)
    second = one.create("secret", subscriber=topic, overlap_ms=60_000)
    listed = one.list("secret", names=[topic])
    revoked = [one.delete("secret", topic, first["id"]) for _ in range(2)]

    assert first["secret"].startswith("whsec_")
    assert first["secret"] != second["secret"]
    assert [row["id"] for row in listed] == [second["id"], first["id"]]
    assert [row["expires_us"] is None for row in listed] == [True, False]
    assert all("secret" not in row for row in listed)
    assert revoked == [True, False]
    assert [row["id"] for row in one.list("secret", names=[topic])] == [second["id"]]


def test_how_a_push_goes_is_shown(one: Any, topic: str) -> None:
    one.create("subscription", topic=topic, subscriber="bps")

    state = one.show("push", topic, "bps")

    assert state == {
        "topic": topic,
        "subscriber": "bps",
        "mode": "pull",
        "enabled": True,
        "paused": False,
        "attempts": 0,
        "next_try_us": 0,
        "failing_since_us": 0,
        "last_failure": "",
    }
