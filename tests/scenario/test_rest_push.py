"""Push over REST: how it is set and shown, the secrets that sign it, and how it goes."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook

from pregon.limits import ENDPOINT_CHARACTERS_MAX, SIGNING_SECRETS_MAX
from pregon.testing import Receiver, Reply

from .hub_process import wait_until
from .rest import publish, require_problem, rest_hub
from .rest_push import make, push_to

DEFAULTS = {
    "time_limit_ms": 10_000,
    "rate_per_s": None,
    "parallel": 1,
    "attempts_max": 10,
    "delay_ms_first": 1_000,
    "delay_ms_max": 300_000,
    "on_poison": "block",
}


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with rest_hub(push_allow="127.0.0.1") as (_, http):
        yield http


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


# How it is set.


def test_a_subscriber_pulls_unless_it_says_otherwise(http: httpx.Client, topic: str) -> None:
    made = make(http, topic)

    assert made.pop("created_at")
    assert made == {
        "name": topic,
        "description": "",
        "mode": "pull",
        "endpoint": "",
        "format": "cloudevents",
        "push": DEFAULTS,
        "enabled": True,
        "disabled_reason": "",
    }


def test_a_change_of_push_replaces_all_of_it(http: httpx.Client, topic: str) -> None:
    push = {**DEFAULTS, "parallel": 8, "rate_per_s": 100, "on_poison": "park"}
    made = make(http, topic, mode="push", endpoint="https://bps.example/", push=push)

    changed = http.patch(f"/v1/subscribers/{topic}", json={"push": {"attempts_max": 3}}).json()

    assert made["push"] == push
    assert changed["push"] == {**DEFAULTS, "attempts_max": 3}
    assert {**changed, "push": push} == made


def test_a_change_of_push_is_another_tag(http: httpx.Client, topic: str) -> None:
    make(http, topic)
    at = f"/v1/subscribers/{topic}"
    tag = http.get(at).headers["etag"]

    first = http.patch(at, json={"push": {"parallel": 2}}, headers={"If-Match": tag})
    second = http.patch(at, json={"push": {"parallel": 3}}, headers={"If-Match": tag})

    assert first.status_code == 200
    require_problem(second, 412, "changed")
    assert http.get(at).json()["push"]["parallel"] == 2


@pytest.mark.parametrize(
    "values",
    [
        {"mode": "push"},
        {"mode": "shove"},
        {"mode": "push", "endpoint": "ftp://bps.example/"},
        {"endpoint": "https://user:secret@bps.example/"},
        {"endpoint": "https://bps.example/" + "x" * ENDPOINT_CHARACTERS_MAX},
        {"format": "yaml"},
        {"push": {"time_limit_ms": 5}},
        {"push": {"delay_ms_first": 5_000, "delay_ms_max": 1_000}},
        {"push": {"on_poison": "explode"}},
        {"push": {"unknown": 1}},
        {"push": None},
        {"enabled": None},
        {"disabled_reason": "mine"},
    ],
)
def test_what_no_subscriber_can_be_is_refused(http: httpx.Client, topic: str, values: dict[str, Any]) -> None:
    made = http.post("/v1/subscribers", json={"name": topic, **values})
    make(http, topic)
    changed = http.patch(f"/v1/subscribers/{topic}", json=values)

    require_problem(made, 400, "bad_request")
    require_problem(changed, 400, "bad_request")


def test_an_endpoint_where_the_hub_may_not_push_is_refused(http: httpx.Client, topic: str) -> None:
    inside = {"mode": "push", "endpoint": "http://169.254.169.254/latest/meta-data"}

    made = http.post("/v1/subscribers", json={"name": topic, **inside})
    make(http, topic)
    changed = http.patch(f"/v1/subscribers/{topic}", json=inside)

    for refused in (made, changed):
        assert "push_allow" in require_problem(refused, 422, "endpoint_forbidden")
    assert http.get(f"/v1/subscribers/{topic}").json()["mode"] == "pull"


# Secrets.


def test_what_is_pushed_is_signed_with_the_secret_that_was_shown_once(
    http: httpx.Client, receiver: Receiver, topic: str
) -> None:
    name = push_to(http, receiver, topic)
    made = http.post(f"/v1/subscribers/{name}/secrets", json={})

    publish(http, topic, b'{"ci": 1}')
    (got,) = receiver.wait_for(1)
    listed = http.get(f"/v1/subscribers/{name}/secrets")

    assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
    Webhook(made.json()["secret"]).verify(got.body, got.headers)
    shown = {field: value for field, value in made.json().items() if field != "secret"}
    assert listed.json() == {"items": [shown]}
    assert (shown["subscriber"], shown["expires_at"]) == (name, None)


def test_a_secret_of_ones_own_takes_over_after_the_overlap(http: httpx.Client, receiver: Receiver, topic: str) -> None:
    name = push_to(http, receiver, topic)
    at = f"/v1/subscribers/{name}/secrets"
    first = http.post(at).json()
    own = "whsec_" + base64.b64encode(b"k" * 32).decode()

    second = http.post(at, json={"secret": own, "overlap_ms": 60_000}).json()
    publish(http, topic, b"{}")
    (both,) = receiver.wait_for(1)
    third = http.post(at, json={"overlap_ms": 0}).json()
    listed = http.get(at).json()["items"]

    assert second["secret"] == own
    assert len(both.headers["webhook-signature"].split()) == 2
    for secret in (first["secret"], own):
        Webhook(secret).verify(both.body, both.headers)
    assert [one["id"] for one in listed] == [third["id"]]


def test_a_revoked_secret_signs_no_more(http: httpx.Client, receiver: Receiver, topic: str) -> None:
    name = push_to(http, receiver, topic)
    at = f"/v1/subscribers/{name}/secrets"
    made = http.post(at).json()

    revoked = http.delete(f"{at}/{made['id']}")
    again = http.delete(f"{at}/{made['id']}")
    publish(http, topic, b"{}")
    (got,) = receiver.wait_for(1)

    assert (revoked.status_code, revoked.content) == (204, b"")
    require_problem(again, 404, "not_found")
    assert "webhook-signature" not in got.headers
    assert http.get(at).json() == {"items": []}


def test_secrets_are_bounded_and_must_be_some(http: httpx.Client, topic: str) -> None:
    make(http, topic)
    at = f"/v1/subscribers/{topic}/secrets"
    short = "whsec_" + base64.b64encode(b"k" * 8).decode()

    too_short = http.post(at, json={"secret": short})
    made = [http.post(at).status_code for _ in range(SIGNING_SECRETS_MAX)]
    one_more = http.post(at)
    nobodys = http.post("/v1/subscribers/nobody/secrets")

    assert short not in require_problem(too_short, 400, "bad_request")
    assert made == [201] * SIGNING_SECRETS_MAX
    require_problem(one_more, 409, "limit_reached")
    require_problem(nobodys, 404, "not_found")
    require_problem(http.get("/v1/subscribers/nobody/secrets"), 404, "not_found")


# How it goes.


def test_a_push_that_fails_says_why_and_when_it_is_tried_again_and_then_that_all_is_well(
    http: httpx.Client, receiver: Receiver, topic: str
) -> None:
    receiver.reply = Reply(503)
    name = push_to(http, receiver, topic, push={"delay_ms_first": 300, "delay_ms_max": 400})
    at = f"/v1/topics/{topic}/subscriptions/{name}/push"
    before = http.get(at).json()

    publish(http, topic)
    wait_until(lambda: http.get(at).json()["attempts"] > 0, "a push fails")
    failing = http.get(at).json()
    receiver.reply = Reply(200)
    wait_until(lambda: http.get(at).json()["attempts"] == 0, "a push succeeds")
    after = http.get(at).json()

    assert before == {
        "topic": topic,
        "subscriber": name,
        "mode": "push",
        "enabled": True,
        "paused": False,
        "attempts": 0,
        "next_try_at": None,
        "failing_since_at": None,
        "last_failure": "",
    }
    assert "503" in failing["last_failure"]
    assert failing["next_try_at"] > failing["failing_since_at"]
    assert (after["attempts"], after["failing_since_at"]) == (0, None)
    require_problem(http.get(f"/v1/topics/{topic}/subscriptions/nobody/push"), 404, "not_found")


def test_a_subscriber_that_is_gone_is_disabled_and_enabling_it_resumes(
    http: httpx.Client, receiver: Receiver, topic: str
) -> None:
    receiver.then(Reply(410))
    name = push_to(http, receiver, topic)
    at = f"/v1/subscribers/{name}"

    publish(http, topic, b"1")
    wait_until(lambda: not http.get(at).json()["enabled"], "it is disabled")
    disabled = http.get(at).json()
    enabled = http.patch(at, json={"enabled": True}).json()
    got = receiver.wait_for(2)

    assert "410" in disabled["disabled_reason"]
    assert (enabled["enabled"], enabled["disabled_reason"]) == (True, "")
    assert [one.body for one in got] == [b"1", b"1"]


def test_each_attempt_is_traced_with_its_number_and_how_long_it_took(
    http: httpx.Client, receiver: Receiver, topic: str
) -> None:
    receiver.then(Reply(503, wait_s=0.05))
    name = push_to(http, receiver, topic)

    publish(http, topic)
    receiver.wait_for(2)

    def attempts() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = http.get("/v1/traces", params={"topic": topic, "subscriber": name}).json()[
            "items"
        ]
        return [one for one in reversed(found) if one["kind"] in ("failed", "delivered")]

    wait_until(lambda: len(attempts()) == 2, "both attempts are traced")
    failed, delivered = attempts()
    assert (failed["kind"], failed["attempt"], failed["latency_ms"] >= 50) == ("failed", 1, True)
    assert (delivered["kind"], delivered["attempt"]) == ("delivered", 2)
