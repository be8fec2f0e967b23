"""Filters over REST: how they are given, refused and shown, and how a message says why it was wanted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pyarrow as pa
import pytest

from pregon.limits import FILTER_BYTES_MAX
from pregon.testing import Receiver

from .hub_process import wait_until
from .rest import ARROW, EVENTS, publish, publish_event, require_problem, rest_hub
from .rest_push import make, subscribe

SOUTH = {"header": "region", "equals": "sur"}


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with rest_hub(push_allow="127.0.0.1") as (_, http):
        yield http


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def test_a_filter_is_json_both_ways(http: httpx.Client, topic: str) -> None:
    wanted = {"and": [SOUTH, {"xpath": "//n:ci", "namespaces": {"n": "http://n.example/"}}]}

    at = subscribe(http, topic, filter=wanted)
    shown = http.get(at).json()["filter"]
    listed = http.get("/v1/subscriptions", params={"topic": topic}).json()["items"][0]["filter"]
    changed = http.patch(at, json={"filter": SOUTH}).json()["filter"]
    left = http.patch(at, json={"pending_max": 5}).json()["filter"]
    gone = http.patch(at, json={"filter": None}).json()["filter"]

    assert [shown, listed, changed, left, gone] == [wanted, wanted, SOUTH, SOUTH, None]


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"header": "region"},
        {"header": "region", "equals": 5},
        {"header": "region", "matches": ".*"},
        {"xpath": "//["},
        {"jmespath": "a["},
        {"xpath": "x" * FILTER_BYTES_MAX},
        {"header": "region", "equals": 10**30},
    ],
)
def test_what_is_no_filter_is_refused(http: httpx.Client, topic: str, wanted: Any) -> None:
    made = http.post(f"/v1/topics/{topic}/subscriptions", json={"subscriber": "bps", "filter": wanted})
    at = subscribe(http, topic)
    changed = http.patch(at, json={"filter": wanted})

    for refused in (made, changed):
        assert "the filter" in require_problem(refused, 400, "bad_filter")
    assert http.get(at).json()["filter"] is None


@pytest.mark.parametrize("wanted", ["", '{"header": "region", "equals": "sur"}', [], 5, True])
def test_a_filter_that_is_no_object_is_refused(http: httpx.Client, topic: str, wanted: Any) -> None:
    made = http.post(f"/v1/topics/{topic}/subscriptions", json={"subscriber": "bps", "filter": wanted})

    require_problem(made, 400, "bad_request")


def test_a_pulled_message_says_why_it_was_wanted(http: httpx.Client, topic: str) -> None:
    at = subscribe(http, topic, filter=SOUTH)
    for number, region in enumerate(["sur", "norte", "sur", "norte"]):
        publish(http, topic, str(number), Pregon_Header_region=region, Content_Type="text/plain")
    wait_until(lambda: http.get(f"{at}/account").json()["filtered"] == 2, "the filter has looked at all")

    pulled = http.post(f"{at}/pull").json()["messages"]
    events = http.post(f"{at}/pull", headers={"Accept": EVENTS}).json()
    table = pa.ipc.open_stream(http.post(f"{at}/pull", headers={"Accept": ARROW}).content).read_all()
    by_number = http.get(f"/v1/topics/{topic}/messages/1").json()
    account = http.get(f"{at}/account").json()

    assert [(one["seq"], one["matched"]) for one in pulled] == [(1, "header region = sur"), (3, "header region = sur")]
    assert [(one["pregonsequence"], one["pregonmatched"]) for one in events] == [
        ("1", "header region = sur"),
        ("3", "header region = sur"),
    ]
    assert table.column("seq").to_pylist() == [1, 3]
    assert "matched" not in table.column_names
    assert "matched" not in by_number
    assert (account["accepted"], account["pending"], account["filtered"]) == (4, 2, 2)


def test_without_a_filter_nothing_says_why(http: httpx.Client, topic: str) -> None:
    at = subscribe(http, topic)
    event = {"specversion": "1.0", "id": "1", "source": "/x", "type": "t", "pregonmatched": "believe me"}
    publish_event(http, topic, event)

    (pulled,) = http.post(f"{at}/pull").json()["messages"]
    (as_event,) = http.post(f"{at}/pull", headers={"Accept": EVENTS}).json()

    assert "matched" not in pulled
    assert "pregonmatched" not in as_event


def test_a_pushed_message_says_why_it_was_wanted(http: httpx.Client, receiver: Receiver, topic: str) -> None:
    make(http, topic, mode="push", endpoint=receiver.url)
    http.post(f"/v1/topics/{topic}/subscriptions", json={"subscriber": topic, "filter": SOUTH})

    for region in ("norte", "sur"):
        publish(http, topic, region, Pregon_Header_region=region)
    (got,) = receiver.wait_for(1)

    assert (got.body, got.headers["ce-pregonmatched"]) == (b"sur", "header%20region%20=%20sur")
