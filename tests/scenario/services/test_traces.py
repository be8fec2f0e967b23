"""How each request ended is a message in a topic of the hub: by what policy, by whom, under what load, how long."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ..audit import read_topic
from ..conftest import MakeHub
from ..hub_process import HubProcess, open_hub, wait_until
from ..rest import messages_of
from .asking import RawClient
from .staff import Staff

TOPIC = "pregon.requests"
FIELDS = {
    "ended_at", "service", "client", "worker", "policy", "load", "waited_ms", "worked_ms", "attempts", "outcome",
    "durable_id",
}  # fmt: skip


@pytest.fixture
def http(hub: HubProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://{hub.addresses.http}", timeout=30) as http:
        yield http


def traced(http: httpx.Client, service: str, count: int) -> list[dict[str, Any]]:
    """How the requests of a service ended, when so many are written."""

    def rows() -> list[dict[str, Any]]:
        return [message["json"] for message in messages_of(http, TOPIC) if message["key"] == service]

    return wait_until(lambda: found if len(found := rows()) >= count else [], f"{count} requests are traced")


def test_what_became_of_each_request_is_written(
    hub: HubProcess, http: httpx.Client, tmp_path: Path, topic: str
) -> None:
    where = hub.addresses
    with Staff(where.services_back, tmp_path, topic) as staff, RawClient(where.services_front, "me", topic) as client:
        http.patch(f"/v1/services/{topic}", json={"policy": "least-loaded"})
        staff.hire("Ana", "--load", "0.5", "--work-ms", "20", "--manner", "fail", "--times", "1")

        for number in range(3):
            client.ask(number)
        client.hear_until(3)
        rows = traced(http, topic, 3)

    assert [set(row) for row in rows] == [FIELDS] * 3
    assert [row["outcome"] for row in rows] == ["service_failed", "answered", "answered"]
    assert {(row["client"], row["worker"], row["policy"], row["load"]) for row in rows} == {
        ("me", "Ana", "least-loaded", 0.5)
    }
    assert all(row["worked_ms"] >= 20 for row in rows)
    assert rows[2]["waited_ms"] > rows[0]["waited_ms"] >= 0, "the last waited for the others"


def test_the_ways_in_which_a_request_ends_are_told_apart(
    hub: HubProcess, http: httpx.Client, tmp_path: Path, topic: str
) -> None:
    where = hub.addresses
    http.patch(f"/v1/services/{topic}", json={"attempts_max": 2, "beat_ms": 150, "patience": 4, "wait_ms": 500})
    with Staff(where.services_back, tmp_path, topic) as staff, RawClient(where.services_front, "me", topic) as client:
        client.ask(1)
        client.require(1)
        client.ask(2, deadline_ms=100)
        client.require(2)
        for name in ("dies-1", "dies-2"):
            staff.hire(name, "--dies-of", "bad")
        client.ask(3, b"bad")
        client.require(3)
        staff.hire("Ana")
        client.ask(4, durable=True, key=f"kept-{topic[:50]}")
        client.require(4)

        rows = traced(http, topic, 4)

    by_outcome = {row["outcome"]: row for row in rows}
    assert list(by_outcome) == ["service_unserved", "deadline_passed", "poison_request", "answered"]
    assert (by_outcome["service_unserved"]["worker"], by_outcome["service_unserved"]["policy"]) == ("", "")
    assert by_outcome["service_unserved"]["waited_ms"] >= 500
    assert (by_outcome["poison_request"]["attempts"], by_outcome["poison_request"]["worker"][:5]) == (2, "dies-")
    assert by_outcome["answered"]["durable_id"] == f"kept-{topic[:50]}"


def test_every_request_of_many_is_traced_once_and_before_the_hub_stops(make_hub: MakeHub, tmp_path: Path) -> None:
    hub = make_hub().start()
    where = hub.addresses
    with Staff(where.services_back, tmp_path) as staff, RawClient(where.services_front, "me") as client:
        staff.hire("Ana", "--slots", "20")
        for number in range(2_000):
            client.ask(number)
        client.hear_until(2_000)
        assert hub.stop() == 0

    with open_hub(hub.data) as opened:
        rows = [json.loads(message.body) for message in read_topic(opened, TOPIC)]

    assert Counter(row["outcome"] for row in rows) == {"answered": 2_000}
    assert hub.bugs() == []


def test_a_hub_that_is_told_not_to_trace_requests_does_not(make_hub: MakeHub, tmp_path: Path) -> None:
    hub = make_hub(services_trace="false").start()
    where = hub.addresses
    with Staff(where.services_back, tmp_path) as staff, RawClient(where.services_front) as client:
        staff.hire("Ana")
        client.ask(1)
        answered = client.require(1)
        # Whatever a hub has to write, it writes before it stops.
        assert hub.stop() == 0

    with open_hub(hub.data) as opened:
        topics = opened.list("topic").result()

    assert answered.kind == "A"
    assert topics == []
