"""The trace of which a publication is a part: kept with its messages whatever their form, and told to who gets them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pyarrow as pa
import pytest

from pregon.testing import Receiver

from .rest import EVENTS, publish, publish_table, rest_hub
from .rest_push import push_to
from .soap_clients.plain import publication

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
OWN_PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with rest_hub(push_allow="127.0.0.1") as (_, http):
        yield http


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def kept(http: httpx.Client, topic: str) -> list[dict[str, str]]:
    """What the messages of a topic say of their trace."""
    found = http.get(f"/v1/topics/{topic}/messages").json()["messages"]
    return [{name: text for name, text in one.get("headers", {}).items() if "trace" in name} for one in found]


def test_every_form_of_publication_keeps_its_trace(http: httpx.Client, topic: str) -> None:
    sent = {"traceparent": PARENT, "tracestate": "a=1"}
    event = {"specversion": "1.0", "id": "1", "source": "/x", "type": "t"}
    as_json = {"Content-Type": "application/json", **sent}

    answers = [
        publish(http, topic, b"plain", **sent),
        publish(http, topic, b"named", **sent, Idempotency_Key="k", Pregon_Header_a="b"),
        publish(http, topic, b"{}", **sent, **{f"ce_{name}": value for name, value in event.items()}),
        http.post(
            f"/v1/topics/{topic}/messages",
            content=json.dumps([{**event, "id": "2"}]),
            headers={"Content-Type": EVENTS, **sent},
        ),
        http.post(f"/v1/topics/{topic}/batches", json={"messages": [{"text": "a"}]}, headers=as_json),
        http.post(f"/v1/topics/{topic}/batches", json={"messages": [{"text": "b", "id": "b"}]}, headers=as_json),
        publish_table(http, topic, pa.table({"body": ["c", "d"]}), **sent),
        http.post(
            "/soap/novedades", content=publication("<a/>", topic, "http"), headers={"Content-Type": "text/xml", **sent}
        ),
    ]

    assert [answer.status_code for answer in answers] == [201] * 7 + [200]
    assert kept(http, topic) == [sent] * 9


def test_a_message_that_says_its_trace_keeps_that(http: httpx.Client, topic: str) -> None:
    event = {"specversion": "1.0", "id": "1", "source": "/x", "type": "t", "traceparent": OWN_PARENT}
    sent = {"traceparent": PARENT}
    own = {"headers": {"traceparent": OWN_PARENT}}

    publish(http, topic, b"x", **sent, Pregon_Header_traceparent=OWN_PARENT)
    publish(http, topic, b"x", **sent, **{f"ce_{name}": value for name, value in event.items()})
    http.post(f"/v1/topics/{topic}/batches", json={"messages": [{"text": "a", **own}, {"text": "b"}]}, headers=sent)

    assert kept(http, topic) == [
        {"traceparent": OWN_PARENT},
        {"ce-traceparent": OWN_PARENT},
        {"traceparent": OWN_PARENT},
        {"traceparent": PARENT},
    ]


@pytest.mark.parametrize("parent", ["", "00-0", PARENT.upper(), "ff" + PARENT[2:], PARENT + "\u00e9", "x" * 5_000])
def test_a_trace_that_is_none_is_ignored(http: httpx.Client, topic: str, parent: str) -> None:
    published = http.post(
        f"/v1/topics/{topic}/messages",
        content=b"x",
        headers=[(b"traceparent", parent.encode("latin-1")), (b"tracestate", b"a=1")],
    )

    assert published.status_code == 201
    assert kept(http, topic) == [{}]


@pytest.mark.parametrize("format", ["soap", "cloudevents", "raw"])
def test_the_trace_goes_on_to_who_gets_the_push(
    http: httpx.Client, receiver: Receiver, topic: str, format: str
) -> None:
    push_to(http, receiver, topic, format=format)

    publish(http, topic, b"<a/>", traceparent=PARENT, tracestate="a=1")
    (got,) = receiver.wait_for(1)

    assert (got.headers["traceparent"], got.headers["tracestate"]) == (PARENT, "a=1")
