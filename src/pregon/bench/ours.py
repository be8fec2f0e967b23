"""What is timed of the hub: the same things as of its peers, through the client that users have."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing

import zmq

from pregon.bench.hub_process import HubProcess
from pregon.client import calls
from pregon.client.link import open_socket
from pregon.client.outbox import ProducerOptions
from pregon.model.message import Outgoing
from pregon.wire.frames import decode_answer


def publish(hub: HubProcess, topic: str, bodies: Sequence[bytes], batch: int, *, at_once: bool = False) -> float:
    """Seconds until the last of the messages is acknowledged, in batches; sent one by one, or given at once."""
    with hub.client() as client:
        client.ping()
        options = ProducerOptions(batch_messages=batch, in_flight_max=32)
        begun = time.perf_counter()
        with client.producer(topic, options) as out:
            if at_once:
                out.send_many(bodies)
            else:
                send = out.send
                for body in bodies:
                    send(body)
        return time.perf_counter() - begun


def publish_one_by_one(hub: HubProcess, topic: str, bodies: Sequence[bytes]) -> list[float]:
    """The seconds of each publication, one after another."""
    times = []
    with hub.client() as client:
        client.publish(topic, b"first")
        for body in bodies:
            begun = time.perf_counter()
            client.publish(topic, body)
            times.append(time.perf_counter() - begun)
    return times


def publish_at_once(hub: HubProcess, topic: str, clients: int, seconds: float) -> float:
    """Messages a second of so many clients, each with a connection of its own and one message under way.

    One loop serves the clients in turn (takes an answer, sends the next message): what is measured is the
    hub, not how as many Python processes share two cores.
    """
    context = zmq.Context()
    sockets = [open_socket(context, hub.url) for _ in range(clients)]
    message = Outgoing(bytes(200))
    for socket in sockets:
        socket.send_multipart(calls.publish(topic, "bench", message).frames(1))
    acknowledged = 0
    begun = time.perf_counter()
    while (took := time.perf_counter() - begun) < seconds:
        for socket in sockets:
            answer = decode_answer(socket.recv_multipart())
            assert answer is not None
            assert not answer.is_error
            socket.send_multipart(calls.publish(topic, "bench", message).frames(1))
        acknowledged += clients
    for socket in sockets:
        socket.close(linger=0)
    context.term()
    return acknowledged / took


def consume(hub: HubProcess, topic: str, subscriber: str, count: int) -> float:
    """Seconds to receive so many messages as Python objects, bodies read, with acknowledgements."""
    with hub.client() as client:
        client.create("subscription", topic=topic, subscriber=subscriber)
        received = size = 0
        begun = time.perf_counter()
        with closing(client.follow_batches(topic, subscriber, max=5_000)) as answers:
            for pulled in answers:
                for message in pulled:
                    size += len(message.body)
                received += len(pulled)
                if received >= count:
                    break
            last_seq, epoch = pulled.last_seq, pulled.epoch
        assert last_seq is not None
        client.ack(topic, subscriber, last_seq, epoch)
        took = time.perf_counter() - begun
    assert size
    return took
