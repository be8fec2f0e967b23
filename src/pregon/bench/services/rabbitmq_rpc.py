"""RabbitMQ RPC as a contender: a classic queue that is kept in memory, and direct reply-to, in two ways with pika.

Everything is set for speed: nothing is durable, messages are transient, answers come by the server's own direct
reply-to, which needs no queue, and workers prefetch as much as can be in flight. They acknowledge after having
answered: without that a request would be lost with its worker. The event-driven connection is the fastest that pika
has, and acknowledges many at a time; the blocking one is what one writes, and acknowledges one by one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pregon.bench.peers.process import LOOPBACK, MEASURE_SECONDS_MAX, PeerFailed, require_client
from pregon.bench.peers.rabbitmq_quorum import RabbitmqQuorum
from pregon.bench.services.actors import play, say_ready
from pregon.bench.services.asking import Window, serve_asks
from pregon.bench.services.contender import Contender, Doors

QUEUE = "echo"
REPLY_TO = "amq.rabbitmq.reply-to"
PREFETCH = 500
ACKNOWLEDGE_EVERY = 50


class _Channel:
    """A connection with one channel on which the queue is known."""

    def __init__(self, port: int, begin: Callable[[Any], None]) -> None:
        self._pika = require_client("pika")
        self._begin = begin
        self._failure: str = ""
        self.loop = self._pika.SelectConnection(
            # Between two measurements nobody is at the connection, so nobody could send a heartbeat.
            self._pika.ConnectionParameters(LOOPBACK, port, heartbeat=0),
            on_open_callback=lambda connection: connection.channel(on_open_callback=self._on_channel),
            on_open_error_callback=self._on_closed,
            on_close_callback=self._on_closed,
        ).ioloop

    def run(self) -> None:
        """Until the loop is stopped; raises `PeerFailed` if the server ended it."""
        self.loop.start()
        if self._failure:
            raise PeerFailed(f"RabbitMQ: {self._failure}")

    def _on_channel(self, channel: Any) -> None:
        channel.add_on_close_callback(self._on_closed)
        channel.queue_declare(QUEUE, callback=lambda _: self._begin(channel))

    def _on_closed(self, _what: Any, reason: Any) -> None:
        self._failure = f"the connection was closed: {reason}"
        self.loop.stop()


class _Client:
    """Asks through the default exchange; the answers come to the pseudo-queue."""

    def __init__(self, port: int) -> None:
        pika = require_client("pika")
        self._properties = pika.BasicProperties(reply_to=REPLY_TO)
        self._window: Window | None = None
        self._channel: Any = None
        self._talk = _Channel(port, self._on_queue)
        self._talk.run()

    def ask(self, window: Window) -> None:
        """Ask as the window says."""
        self._window = window
        limit = self._talk.loop.call_later(MEASURE_SECONDS_MAX, self._talk.loop.stop)
        for body in window.open():
            self._channel.basic_publish("", QUEUE, body, self._properties)
        self._talk.run()
        self._talk.loop.remove_timeout(limit)

    def _on_queue(self, channel: Any) -> None:
        self._channel = channel
        channel.basic_consume(REPLY_TO, self._on_answer, auto_ack=True, callback=lambda _: self._talk.loop.stop())

    def _on_answer(self, channel: Any, _delivery: Any, _properties: Any, body: bytes) -> None:
        assert self._window is not None
        following = self._window.answered(body)
        if following is not None:
            channel.basic_publish("", QUEUE, following, self._properties)
        elif self._window.is_over:
            self._talk.loop.stop()


class _Worker:
    """Answers, and acknowledges many at a time or what there is once it has caught up."""

    def __init__(self, port: int) -> None:
        self._unacknowledged = 0
        self._tag = 0
        self._talk = _Channel(port, self._on_queue)

    def run(self) -> None:
        """For ever."""
        self._talk.run()

    def _on_queue(self, channel: Any) -> None:
        channel.basic_qos(prefetch_count=PREFETCH, callback=lambda _: self._consume(channel))

    def _consume(self, channel: Any) -> None:
        channel.basic_consume(QUEUE, self._on_request, callback=lambda _: say_ready())

    def _on_request(self, channel: Any, delivery: Any, properties: Any, body: bytes) -> None:
        channel.basic_publish("", properties.reply_to, body)
        self._tag = delivery.delivery_tag
        self._unacknowledged += 1
        if self._unacknowledged == ACKNOWLEDGE_EVERY:
            self._acknowledge(channel)
        elif self._unacknowledged == 1:
            # After whatever else is in the socket's buffer has been handled.
            self._talk.loop.add_callback_threadsafe(lambda: self._acknowledge(channel))

    def _acknowledge(self, channel: Any) -> None:
        if self._unacknowledged:
            self._unacknowledged = 0
            channel.basic_ack(self._tag, multiple=True)


def _connect(port: int) -> tuple[Any, Any]:
    """A blocking connection, and a channel on which the queue is known."""
    pika = require_client("pika")
    connection = pika.BlockingConnection(pika.ConnectionParameters(LOOPBACK, port, heartbeat=0))
    channel = connection.channel()
    channel.queue_declare(QUEUE)
    return connection, channel


def _blocking_client(port: int) -> None:
    """The same window, with the calls of a blocking connection."""
    connection, channel = _connect(port)
    properties = require_client("pika").BasicProperties(reply_to=REPLY_TO)
    windows: list[Window] = []

    def on_answer(_channel: Any, _delivery: Any, _properties: Any, body: bytes) -> None:
        following = windows[-1].answered(body)
        if following is not None:
            channel.basic_publish("", QUEUE, following, properties)

    def ask(window: Window) -> None:
        windows[:] = [window]
        for body in window.open():
            channel.basic_publish("", QUEUE, body, properties)
        while not window.is_over:
            connection.process_data_events(time_limit=1)

    channel.basic_consume(REPLY_TO, on_answer, auto_ack=True)
    serve_asks(ask)


def _blocking_worker(port: int) -> None:
    _, channel = _connect(port)

    def on_request(_channel: Any, delivery: Any, properties: Any, body: bytes) -> None:
        channel.basic_publish("", properties.reply_to, body)
        channel.basic_ack(delivery.delivery_tag)

    channel.basic_qos(prefetch_count=PREFETCH)
    channel.basic_consume(QUEUE, on_request)
    say_ready()
    channel.start_consuming()


def _serve(directory: Path, stack: ExitStack) -> Doors:
    server = RabbitmqQuorum()
    server.start(directory)
    stack.callback(server.stop)
    return Doors(str(server.port), str(server.port))


def rabbitmq_by_events() -> Contender:
    """RabbitMQ as the fastest broker for requests that it can be."""
    return Contender("RabbitMQ, events", _serve, ("rabbitmq_rpc", "worker"), ("rabbitmq_rpc", "client"))


def rabbitmq_by_calls() -> Contender:
    """RabbitMQ as its tutorials drive it."""
    return Contender(
        "RabbitMQ, calls",
        _serve,
        ("rabbitmq_rpc", "blocking-worker"),
        ("rabbitmq_rpc", "blocking-client"),
    )


if __name__ == "__main__":
    roles: dict[str, Callable[..., None]] = {
        "worker": lambda port: _Worker(int(port)).run(),
        "client": lambda port: serve_asks(_Client(int(port)).ask),
        "blocking-worker": lambda port: _blocking_worker(int(port)),
        "blocking-client": lambda port: _blocking_client(int(port)),
    }
    play(roles, sys.argv[1:])
