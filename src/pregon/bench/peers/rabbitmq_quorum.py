"""RabbitMQ quorum queues as a peer: one queue per topic, persistent messages, publisher confirms.

A quorum queue confirms a message after its log was fsynced. The client is pika's event-driven connection,
which measured five times as fast as aio-pika at both publishing and consuming. The server is an Erlang node,
so it comes with a port mapper (epmd); the peer runs its own on a free port, and leaves the machine's alone.
"""

import itertools
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pregon.bench.peers.process import (
    LOOPBACK,
    MEASURE_SECONDS_MAX,
    SILENCE_SECONDS_MAX,
    Greeting,
    PeerFailed,
    RunningServers,
    ServerProcess,
    free_ports,
    require_client,
    require_executable,
)

READY = Greeting(say=b"AMQP\x00\x00\x09\x01", answer_begins=b"\x01")
PORT_MAPPER = "epmd"
QUEUE_ARGUMENTS = {"x-queue-type": "quorum"}
PERSISTENT = 2
PREFETCH = 500
# Acknowledging before the prefetched messages run out keeps the server sending.
ACKNOWLEDGE_EVERY = 100
ERLANG_ARGUMENTS = "-kernel inet_dist_use_interface {127,0,0,1} -start_epmd false"


class RabbitmqQuorum:
    """RabbitMQ with quorum queues on a single node."""

    name = "RabbitMQ quorum queue, publisher confirms"
    server = "rabbitmq-server"

    def __init__(self) -> None:
        self._servers = RunningServers()
        self._port = 0

    def start(self, directory: Path) -> None:
        """Start a port mapper and the server; raises `PeerMissing` or `PeerFailed`."""
        require_client("pika")
        executable = require_executable(self.server)
        mapper_executable = require_executable(PORT_MAPPER)
        folder = directory.resolve()
        self._port, mapper_port, cluster_port = free_ports(3)
        mapper = ServerProcess(
            [str(mapper_executable), "-address", LOOPBACK, "-port", str(mapper_port)], folder / "epmd.log"
        )
        environment = _environment(folder, self._port, mapper_port, cluster_port)
        self._servers.launch(mapper, mapper_port, _mapper_ready(mapper_port))
        self._servers.launch(ServerProcess([str(executable)], folder / "rabbitmq.log", environment), self._port, READY)

    def stop(self) -> None:
        """End the server, then its port mapper."""
        self._servers.stop()

    @property
    def port(self) -> int:
        """The loopback port of the server, once it is started."""
        return self._port

    def publish(self, topic: str, bodies: Sequence[bytes], in_flight: int) -> float:
        """Publish with a sliding window of `in_flight` unconfirmed messages."""
        times_s = _Publishing(self._port, topic, bodies, in_flight).run()
        return times_s[-1] - times_s[0]

    def publish_one_by_one(self, topic: str, bodies: Sequence[bytes]) -> list[float]:
        """Publish with a window of one message."""
        times_s = _Publishing(self._port, topic, bodies, in_flight=1).run()
        return [later_s - earlier_s for earlier_s, later_s in itertools.pairwise(times_s)]

    def consume(self, topic: str, count: int) -> float:
        """Receive what the server pushes, and acknowledge many messages at once."""
        return _Consuming(self._port, topic, count).run()


class _Conversation:
    """One connection with one channel on the topic's queue, from opening it to closing it.

    What is said on the channel is left to the two classes below: they begin in `_begin`, and end the
    conversation with `_finish` or `_fail`.
    """

    def __init__(self, port: int, topic: str) -> None:
        self._pika = require_client("pika")
        self._topic = topic
        self._channel: Any = None
        self._failure: Exception | None = None
        self._finished = False
        self._connection = self._pika.SelectConnection(
            self._pika.ConnectionParameters(LOOPBACK, port),
            on_open_callback=lambda connection: connection.channel(on_open_callback=self._on_channel),
            on_open_error_callback=self._on_connection_closed,
            on_close_callback=self._on_connection_closed,
        )

    def _begin(self) -> None:
        raise NotImplementedError

    def _converse(self) -> None:
        """Run until the connection is closed; raises `PeerFailed` unless `_finish` closed it."""
        self._later(MEASURE_SECONDS_MAX, lambda: self._fail(f"not done after {MEASURE_SECONDS_MAX} s"))
        try:
            self._connection.ioloop.start()
        except self._pika.exceptions.AMQPError as problem:
            raise PeerFailed(f"{RabbitmqQuorum.name}: {self._topic}: {problem!r}") from problem
        if self._failure is not None:
            raise self._failure

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        self._connection.ioloop.call_later(seconds, call)

    def _finish(self) -> None:
        self._finished = True
        self._connection.close()

    def _fail(self, why: str) -> None:
        if self._failure is None:
            self._failure = PeerFailed(f"{RabbitmqQuorum.name}: {self._topic}: {why}")
        if self._connection.is_open:
            self._connection.close()
        else:
            self._connection.ioloop.stop()

    def _on_channel(self, channel: Any) -> None:
        self._channel = channel
        channel.add_on_close_callback(self._on_channel_closed)
        channel.queue_declare(self._topic, durable=True, arguments=QUEUE_ARGUMENTS, callback=lambda _: self._begin())

    def _on_channel_closed(self, _channel: Any, reason: Exception) -> None:
        if not self._finished:
            self._fail(f"the channel was closed: {reason}")

    def _on_connection_closed(self, connection: Any, reason: Exception) -> None:
        if not self._finished and self._failure is None:
            self._failure = PeerFailed(f"{RabbitmqQuorum.name}: the connection was closed: {reason}")
        connection.ioloop.stop()


class _Publishing(_Conversation):
    """Keeps up to `in_flight` messages unconfirmed until every body is confirmed.

    Messages are numbered from 1, as the server's confirms number them.
    """

    def __init__(self, port: int, topic: str, bodies: Sequence[bytes], in_flight: int) -> None:
        super().__init__(port, topic)
        self._bodies = bodies
        self._in_flight = in_flight
        self._properties = self._pika.BasicProperties(delivery_mode=PERSISTENT)
        self._sent = 0
        self._unconfirmed: set[int] = set()
        self._unconfirmed_from = 1
        self._times_s: list[float] = []

    def run(self) -> list[float]:
        """When publishing began, and when each confirm came (one confirm may settle many messages)."""
        self._converse()
        return self._times_s

    def _begin(self) -> None:
        self._channel.confirm_delivery(self._on_confirm, callback=lambda _: self._on_confirming())

    def _on_confirming(self) -> None:
        self._times_s.append(time.perf_counter())
        self._fill_window()

    def _fill_window(self) -> None:
        while len(self._unconfirmed) < self._in_flight and self._sent < len(self._bodies):
            self._channel.basic_publish("", self._topic, self._bodies[self._sent], self._properties)
            self._sent += 1
            self._unconfirmed.add(self._sent)
        if not self._unconfirmed:
            self._finish()

    def _on_confirm(self, frame: Any) -> None:
        confirm = frame.method
        if not isinstance(confirm, self._pika.spec.Basic.Ack):
            self._fail(f"message {confirm.delivery_tag} was refused")
            return
        self._times_s.append(time.perf_counter())
        if confirm.multiple:
            settled_to = confirm.delivery_tag + 1
            self._unconfirmed.difference_update(range(self._unconfirmed_from, settled_to))
            self._unconfirmed_from = max(self._unconfirmed_from, settled_to)
        else:
            self._unconfirmed.discard(confirm.delivery_tag)
        self._fill_window()


class _Consuming(_Conversation):
    """Receives `count` messages; what the server sent beyond them goes back to the queue."""

    def __init__(self, port: int, topic: str, count: int) -> None:
        super().__init__(port, topic)
        self._count = count
        self._received = 0
        self._received_before = -1
        self._started_s = 0.0
        self._seconds = 0.0

    def run(self) -> float:
        """The seconds from asking for messages to the answer that follows the last acknowledgement."""
        self._converse()
        return self._seconds

    def _begin(self) -> None:
        self._channel.basic_qos(prefetch_count=PREFETCH, callback=lambda _: self._on_prefetch())

    def _on_prefetch(self) -> None:
        self._watch()
        self._started_s = time.perf_counter()
        self._channel.basic_consume(self._topic, self._on_message)

    def _watch(self) -> None:
        """Fail when nothing came since the last look."""
        if self._received == self._received_before:
            self._fail(f"{self._received} of {self._count} messages came")
            return
        self._received_before = self._received
        self._later(SILENCE_SECONDS_MAX, self._watch)

    def _on_message(self, channel: Any, delivery: Any, _properties: Any, _body: bytes) -> None:
        if self._received == self._count:
            return
        self._received += 1
        if self._received == self._count:
            channel.basic_ack(delivery.delivery_tag, multiple=True)
            # The server answers this after it has handled the acknowledgement.
            channel.close()
        elif self._received % ACKNOWLEDGE_EVERY == 0:
            channel.basic_ack(delivery.delivery_tag, multiple=True)

    def _on_channel_closed(self, _channel: Any, reason: Exception) -> None:
        if self._received == self._count:
            self._seconds = time.perf_counter() - self._started_s
            self._finish()
        else:
            super()._on_channel_closed(_channel, reason)


def _mapper_ready(port: int) -> Greeting:
    """Ask a port mapper for its names: the answer begins with the port it listens on."""
    return Greeting(say=b"\x00\x01n", answer_begins=port.to_bytes(4, "big"))


def _environment(folder: Path, port: int, mapper_port: int, cluster_port: int) -> dict[str, str]:
    """Every setting of the node: all its files in the folder, all its ports on the loopback."""
    return {
        "HOME": str(folder),
        "ERL_EPMD_PORT": str(mapper_port),
        "ERL_EPMD_ADDRESS": LOOPBACK,
        "RABBITMQ_NODENAME": "bench@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": LOOPBACK,
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_DIST_PORT": str(cluster_port),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": ERLANG_ARGUMENTS,
        "RABBITMQ_MNESIA_BASE": str(folder / "data"),
        "RABBITMQ_LOG_BASE": str(folder / "logs"),
        "RABBITMQ_LOGS": "-",
        "RABBITMQ_CONF_ENV_FILE": str(folder / "rabbitmq-env.conf"),
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
        "RABBITMQ_ADVANCED_CONFIG_FILE": str(folder / "advanced.config"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
    }
