"""Redis Streams as a peer: one stream per topic, every write fsynced before it is acknowledged.

Publishing sends pipelines of XADD without a transaction; consuming reads through a consumer group, and
acknowledges one batch in the same round trip that asks for the next.
"""

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pregon.bench.peers.process import (
    LOOPBACK,
    SILENCE_SECONDS_MAX,
    Greeting,
    PeerFailed,
    RunningServers,
    ServerProcess,
    free_ports,
    require_client,
    require_executable,
)

READY = Greeting(say=b"PING\r\n", answer_begins=b"+PONG")
GROUP = "bench"
CONSUMER = "bench-1"
CONSUME_BATCH = 500
BLOCK_MS = int(SILENCE_SECONDS_MAX * 1_000)
ANSWER_SECONDS_MAX = 60


class RedisStreams:
    """Redis with an append-only file that is fsynced before every answer."""

    name = "Redis Streams, appendfsync always"
    server = "redis-server"

    def __init__(self) -> None:
        self._servers = RunningServers()
        self._port = 0

    def start(self, directory: Path) -> None:
        """Start redis-server; raises `PeerMissing` or `PeerFailed`."""
        require_client("redis")
        executable = require_executable(self.server)
        (self._port,) = free_ports(1)
        options = {
            "bind": LOOPBACK,
            "port": str(self._port),
            "dir": str(directory.resolve()),
            "appendonly": "yes",
            "appendfsync": "always",
            "save": "",
        }
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        process = ServerProcess([str(executable), *arguments], directory.resolve() / "redis.log")
        self._servers.launch(process, self._port, READY)

    def stop(self) -> None:
        """End the server."""
        self._servers.stop()

    def publish(self, topic: str, bodies: Sequence[bytes], in_flight: int) -> float:
        """Publish in pipelines of `in_flight` messages; every answer is checked for an error."""
        with self._connected() as client:
            started_s = time.perf_counter()
            for first in range(0, len(bodies), in_flight):
                pipeline = client.pipeline(transaction=False)
                for body in bodies[first : first + in_flight]:
                    pipeline.xadd(topic, {b"body": body})
                pipeline.execute()
            return time.perf_counter() - started_s

    def publish_one_by_one(self, topic: str, bodies: Sequence[bytes]) -> list[float]:
        """Publish with one XADD for each round trip."""
        seconds = []
        with self._connected() as client:
            for body in bodies:
                started_s = time.perf_counter()
                client.xadd(topic, {b"body": body})
                seconds.append(time.perf_counter() - started_s)
        return seconds

    def consume(self, topic: str, count: int) -> float:
        """Read through the consumer group, which begins at the stream's first message."""
        with self._connected() as client:
            self._create_group(client, topic)
            started_s = time.perf_counter()
            received = 0
            unacknowledged: list[bytes] = []
            while received < count:
                pipeline = client.pipeline(transaction=False)
                if unacknowledged:
                    pipeline.xack(topic, GROUP, *unacknowledged)
                wanted = min(CONSUME_BATCH, count - received)
                pipeline.xreadgroup(GROUP, CONSUMER, {topic: ">"}, count=wanted, block=BLOCK_MS)
                streams = pipeline.execute()[-1]
                if not streams:
                    raise PeerFailed(f"{self.name}: {topic} had {received} messages for the group, not {count}")
                entries = streams[0][1]
                bodies = [fields[b"body"] for _, fields in entries]
                unacknowledged = [entry_id for entry_id, _ in entries]
                received += len(bodies)
            client.xack(topic, GROUP, *unacknowledged)
            return time.perf_counter() - started_s

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Any]:
        """A connection for one measurement, whose errors become `PeerFailed`."""
        redis = require_client("redis")
        # The older protocol, because its answers keep one shape across versions of the client.
        client = redis.Redis(
            host=LOOPBACK,
            port=self._port,
            protocol=2,
            socket_timeout=ANSWER_SECONDS_MAX,
            single_connection_client=True,
        )
        try:
            client.ping()
            yield client
        except redis.RedisError as problem:
            raise PeerFailed(f"{self.name}: {problem!r}") from problem
        finally:
            client.close()

    def _create_group(self, client: Any, topic: str) -> None:
        redis = require_client("redis")
        try:
            client.xgroup_create(topic, GROUP, id="0", mkstream=True)
        except redis.ResponseError as problem:
            if not str(problem).startswith("BUSYGROUP"):
                raise
