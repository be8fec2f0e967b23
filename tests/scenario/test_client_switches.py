"""Disabled topics and producers, and paused subscriptions, through the clients by both ways, and at the ingest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import zmq

from pregon.client import Client
from pregon.errors import BadRequest, Disabled
from pregon.model.message import Outgoing

from .both_clients import KINDS, WAYS, address_of, open_client
from .hub_process import HubProcess, wait_until


@pytest.fixture(params=[(kind, way) for kind in KINDS for way in WAYS], ids="-".join)
def one(request: pytest.FixtureRequest, hub: HubProcess) -> Iterator[Any]:
    """A client of each kind, by each way."""
    kind, way = request.param
    with open_client(kind, address_of(hub, way)) as client:
        yield client


def test_a_disabled_topic_refuses_messages_and_batches_and_is_read(one: Any, topic: str) -> None:
    one.publish(topic, Outgoing(b"before"))
    off = one.update("topic", topic, enabled=False)

    with pytest.raises(Disabled, match="--enable"):
        one.publish(topic, Outgoing(b"x"))
    with pytest.raises(Disabled), one.producer(topic) as out:
        out.send(b"x")
    read = [message.body for message in one.read(topic, 1)]
    on = one.update("topic", topic, enabled=True)

    assert (off["enabled"], on["enabled"]) == (False, True)
    assert read == [b"before"]
    assert one.publish(topic, Outgoing(b"after")).seq == 2


def test_a_subscription_is_paused_and_resumed_and_pulled_meanwhile(one: Any, topic: str) -> None:
    made = one.create("subscription", topic=topic, subscriber="bps", paused=True)
    one.publish(topic, Outgoing(b"x"))

    state = one.show("push", topic, "bps")
    pulled = [message.body for message in one.pull(topic, "bps")]
    resumed = one.update("subscription", topic, "bps", paused=False)

    assert (made["paused"], state["paused"], resumed["paused"]) == (True, True, False)
    assert pulled == [b"x"]
    with pytest.raises(BadRequest):
        one.update("subscription", topic, "bps", paused="perhaps")


def test_what_the_ingest_is_sent_of_a_disabled_producer_or_topic_is_dropped_and_counted(
    hub: HubProcess, client: Client, topic: str
) -> None:
    client.create("topic", name=topic)
    client.create("topic", name=f"{topic}-off", enabled=False)
    client.create("producer", name=topic, enabled=False)
    before = hub.counters()
    context = zmq.Context.instance()

    with context.socket(zmq.PUSH) as push:
        push.connect(hub.addresses.ingest)
        push.send_multipart([f"{topic}-off".encode(), b"x"])
        push.send_multipart([topic.encode(), json.dumps({"producer": topic}).encode(), b"x"])
        push.send_multipart([topic.encode(), b"kept"])
        wait_until(lambda: client.show("topic", topic)["head_seq"] == 1, "the last one is stored")

    after = hub.counters()
    assert after["ingest_dropped"] - before["ingest_dropped"] == 2
    assert [message.body for message in client.read(topic, 1)] == [b"kept"]
    assert client.show("topic", f"{topic}-off")["head_seq"] == 0
