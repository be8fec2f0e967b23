"""A message carries its trace from publication to delivery; OpenTelemetry, where it is on, shows the hub in it."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from pregon.errors import SettingsInvalid
from pregon.server.hub_server import Server
from pregon.settings import Settings
from pregon.testing import ANY_PORT, Receiver, Reply, RunningHub, run_hub

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
RECORDED = f"00-{TRACE}-{PARENT}-01"
NOT_RECORDED = f"00-{TRACE}-{PARENT}-00"


@pytest.fixture
def collector() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def bank() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def origin(receiver: Receiver) -> str:
    """The address of a receiver, without a path."""
    return receiver.url.rstrip("/").removesuffix("/push")


def subscribe(hub: RunningHub, receiver: Receiver) -> None:
    """Have messages pushed to a receiver."""
    push = {"delay_ms_first": 20, "delay_ms_max": 20}
    with hub.client() as client:
        client.create("topic", name="births")
        client.create("subscriber", name="bank", mode="push", endpoint=receiver.url, format="raw", push=push)
        client.create("subscription", topic="births", subscriber="bank")


def publish(hub: RunningHub, traceparent: str) -> None:
    """Publish over REST, in a trace."""
    answer = httpx.post(
        f"{hub.http}/v1/topics/births/messages?producer=registry",
        content=b"one",
        headers={"traceparent": traceparent, "content-type": "text/plain"},
    )
    assert answer.status_code == 201, answer.text


def spans_of(collector: Receiver, count: int) -> dict[str, list[object]]:
    """The spans that a collector was sent, by name, when there are so many."""
    deadline_s = time.monotonic() + 20
    while True:
        spans = [
            span
            for request in list(collector.received)
            for resource in ExportTraceServiceRequest.FromString(request.body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
        if len(spans) >= count or time.monotonic() > deadline_s:
            by_name: dict[str, list[object]] = {}
            for span in spans:
                by_name.setdefault(span.name, []).append(span)
            return by_name
        time.sleep(0.05)


def test_a_push_continues_the_trace_in_which_its_message_was_published(bank: Receiver) -> None:
    with run_hub(push_allow="127.0.0.1") as hub:
        subscribe(hub, bank)

        publish(hub, RECORDED)

        (request,) = bank.wait_for(1)
    assert request.headers["traceparent"] == RECORDED


def test_a_collector_is_shown_acceptance_and_each_attempt(collector: Receiver, bank: Receiver) -> None:
    bank.then(Reply(status=503))
    with run_hub(push_allow="127.0.0.1", otel_endpoint=origin(collector)) as hub:
        subscribe(hub, bank)

        publish(hub, RECORDED)

        requests = bank.wait_for(2)
    spans = spans_of(collector, 3)
    (accepted,) = spans["pregon accept births"]
    pushes = spans["pregon push bank"]
    assert {span.trace_id.hex() for span in (accepted, *pushes)} == {TRACE}
    assert {span.parent_span_id.hex() for span in (accepted, *pushes)} == {PARENT}
    told = [request.headers["traceparent"] for request in requests]
    assert told == [f"00-{TRACE}-{span.span_id.hex()}-01" for span in pushes]
    assert [span.status.message for span in pushes] == ["HTTP 503 Service Unavailable", ""]


def test_a_trace_that_is_not_recorded_is_passed_on_and_not_shown(collector: Receiver, bank: Receiver) -> None:
    with run_hub(push_allow="127.0.0.1", otel_endpoint=origin(collector)) as hub:
        subscribe(hub, bank)

        publish(hub, NOT_RECORDED)

        (request,) = bank.wait_for(1)
    assert request.headers["traceparent"] == NOT_RECORDED
    assert list(collector.received) == []


def test_a_collector_that_hangs_holds_nobody_up(bank: Receiver, collector: Receiver) -> None:
    collector.then(*[Reply.hang()] * 10)
    with run_hub(push_allow="127.0.0.1", otel_endpoint=origin(collector)) as hub:
        subscribe(hub, bank)

        for _ in range(20):
            publish(hub, RECORDED)

        assert len(bank.wait_for(20)) == 20


def test_a_collector_that_is_no_address_is_refused(tmp_path: Path) -> None:
    settings = Settings(**ANY_PORT, data=str(tmp_path), otel_endpoint="collector:4318")

    with pytest.raises(SettingsInvalid, match="otel_endpoint"):
        Server(settings)
