"""Topics and producers that are disabled, and subscriptions that are paused, over REST."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pyarrow as pa
import pytest

from pregon.testing import Receiver, Reply

from .hub_process import wait_until
from .rest import EVENT, EVENTS, messages_of, publish, publish_table, require_problem, rest_hub
from .rest_push import push_to, subscribe


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with rest_hub(push_allow="127.0.0.1") as (_, http):
        yield http


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def every_way(http: httpx.Client, topic: str, producer: str) -> list[httpx.Response]:
    """Publish in every way that there is."""
    event = {"specversion": "1.0", "id": "1", "source": "/x", "type": "t", "data": {"a": 1}}
    by = {"Pregon-Producer": producer}
    table = pa.table({"body": pa.array([b"x", b"y"])})
    return [
        publish(http, topic, b"x", Pregon_Producer=producer),
        http.post(f"/v1/topics/{topic}/messages", content=b"x", headers={**by, "Idempotency-Key": "k"}),
        http.post(f"/v1/topics/{topic}/batches", json={"messages": [{"text": "x"}, {"text": "y"}]}, headers=by),
        http.post(f"/v1/topics/{topic}/batches", json={"messages": [{"text": "x", "id": "1"}]}, headers=by),
        publish_table(http, topic, table, Pregon_Producer=producer),
        publish_table(http, topic, table, Pregon_Producer=producer, Idempotency_Key="batch"),
        http.post(f"/v1/topics/{topic}/messages", content=json.dumps(event), headers={**by, "Content-Type": EVENT}),
        http.post(f"/v1/topics/{topic}/messages", content=json.dumps([event]), headers={**by, "Content-Type": EVENTS}),
    ]


def test_a_disabled_topic_accepts_nothing_and_what_is_there_is_received(http: httpx.Client, topic: str) -> None:
    publish(http, topic, b"before", Pregon_Producer="dgrec")
    at = subscribe(http, topic)
    off = http.patch(f"/v1/topics/{topic}", json={"enabled": False})

    refused = every_way(http, topic, "dgrec")
    received = http.post(f"{at}/pull", json={}).json()
    on = http.patch(f"/v1/topics/{topic}", json={"enabled": True})

    assert (off.json()["enabled"], on.json()["enabled"]) == (False, True)
    assert off.headers["etag"] != on.headers["etag"]
    details = [require_problem(one, 409, "disabled") for one in refused]
    assert all(f"`pregon topic update {topic} --enable`" in detail for detail in details)
    assert [one["seq"] for one in received["messages"]] == [1]
    assert publish(http, topic, b"after", Pregon_Producer="dgrec").status_code == 201
    assert len(messages_of(http, topic)) == 2


def test_what_a_disabled_producer_publishes_is_refused_everywhere(http: httpx.Client, topic: str) -> None:
    http.post("/v1/producers", json={"name": topic, "enabled": False})
    publish(http, f"{topic}-a", b"x", Pregon_Producer="other")

    refused = [one for end in "ab" for one in every_way(http, f"{topic}-{end}", topic)]
    other = publish(http, f"{topic}-a", b"x", Pregon_Producer="other")
    http.patch(f"/v1/producers/{topic}", json={"enabled": True})
    after = publish(http, f"{topic}-b", b"x", Pregon_Producer=topic)

    details = [require_problem(one, 409, "disabled") for one in refused]
    assert all(f"`pregon producer update {topic} --enable`" in detail for detail in details)
    assert (other.status_code, after.status_code) == (201, 201)
    assert (len(messages_of(http, f"{topic}-a")), len(messages_of(http, f"{topic}-b"))) == (2, 1)


@pytest.mark.parametrize("value", [None, "no", 0])
@pytest.mark.parametrize(("where", "field"), [("topics", "enabled"), ("producers", "enabled"), ("", "paused")])
def test_a_switch_is_true_or_false(http: httpx.Client, topic: str, where: str, field: str, value: Any) -> None:
    publish(http, topic, Pregon_Producer=topic)
    at = f"/v1/{where}/{topic}" if where else subscribe(http, topic)

    answer = http.patch(at, json={field: value})

    require_problem(answer, 400, "bad_request")
    assert http.get(at).json()[field] is (field == "enabled")


def test_a_subscription_is_paused_while_it_fails_pulled_and_resumed(
    http: httpx.Client, receiver: Receiver, topic: str
) -> None:
    receiver.reply = Reply(503)
    name = push_to(http, receiver, topic)
    at = f"/v1/topics/{topic}/subscriptions/{name}"
    for body in (b"1", b"2", b"3"):
        publish(http, topic, body)
    wait_until(lambda: http.get(f"{at}/push").json()["attempts"] > 0, "a push fails")

    paused = http.patch(at, json={"paused": True}).json()
    state = http.get(f"{at}/push").json()
    story = http.get(f"/v1/topics/{topic}/messages/2/story").json()
    pulled = http.post(f"{at}/pull", json={"max": 1}).json()["messages"]
    http.post(f"{at}/ack", json={"seq": 1})
    receiver.reply = Reply(200)
    resumed = http.patch(at, json={"paused": False}).json()
    wait_until(lambda: http.get(f"{at}/account").json()["pending"] == 0, "the rest is pushed")

    assert (paused["paused"], state["paused"], resumed["paused"]) == (True, True, False)
    assert [one["seq"] for one in pulled] == [1]
    assert "paused" in story["subscriptions"][0]["reason"]
    assert [one.body for one in receiver.received][-2:] == [b"2", b"3"]


def test_a_subscription_can_be_paused_from_the_beginning(http: httpx.Client, receiver: Receiver, topic: str) -> None:
    push_to(http, receiver, topic)
    at = f"/v1/topics/{topic}-2/subscriptions"
    made = http.post(at, json={"subscriber": topic, "paused": True})

    publish(http, f"{topic}-2")
    publish(http, topic)
    receiver.wait_for(1)

    assert made.json()["paused"] is True
    assert http.get(f"{at}/{topic}/account").json()["pending"] == 1
    assert [one["paused"] for one in http.get("/v1/subscriptions", params={"subscriber": topic}).json()["items"]] == [
        False,
        True,
    ]
