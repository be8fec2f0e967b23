"""What the tests of push and filters over REST share: subscribers to which is pushed, and subscriptions."""

from __future__ import annotations

from typing import Any

import httpx

from pregon.testing import Receiver


def make(http: httpx.Client, name: str, **values: Any) -> dict[str, Any]:
    answer = http.post("/v1/subscribers", json={"name": name, **values})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def push_to(http: httpx.Client, receiver: Receiver, topic: str, **values: Any) -> str:
    """A subscriber of a topic to which messages are pushed; its name."""
    make(http, topic, **{"mode": "push", "endpoint": receiver.url, "push": {"delay_ms_first": 20}, **values})
    assert http.post(f"/v1/topics/{topic}/subscriptions", json={"subscriber": topic}).status_code == 201
    return topic


def subscribe(http: httpx.Client, topic: str, **values: Any) -> str:
    """A subscription to a topic; its address."""
    answer = http.post(f"/v1/topics/{topic}/subscriptions", json={"subscriber": "bps", **values})
    assert answer.status_code == 201, answer.text
    return f"/v1/topics/{topic}/subscriptions/bps"
