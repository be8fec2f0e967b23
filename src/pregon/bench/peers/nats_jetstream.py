"""NATS JetStream as a peer: one file-backed stream per topic, fsynced when the server's own timer says so.

The client's `publish_async` and `fetch` spend most of their time on bookkeeping for each message. What the
peer does instead needs only the client's public `publish` and `subscribe`, and the subjects that JetStream
documents: one inbox takes every acknowledgement, and one inbox takes every batch that is pulled. Measured
with 200-byte messages, that publishes twice as fast and consumes five times as fast.
"""

import asyncio
import contextlib
import itertools
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
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

READY = Greeting(say=b"", answer_begins=b"INFO ")
CONSUMER = "bench"
CONSUME_BATCH = 500


class NatsJetStream:
    """JetStream with file storage: acknowledged when written, fsynced every two minutes."""

    name = "NATS JetStream, file storage, default sync"
    server = "nats-server"

    def __init__(self) -> None:
        self._servers = RunningServers()
        self._port = 0

    def start(self, directory: Path) -> None:
        """Start nats-server; raises `PeerMissing` or `PeerFailed`."""
        require_client("nats")
        executable = require_executable(self.server)
        (self._port,) = free_ports(1)
        folder = directory.resolve()
        arguments = ["--addr", LOOPBACK, "--port", str(self._port), "--jetstream", "--store_dir", str(folder)]
        process = ServerProcess([str(executable), *arguments], folder / "nats.log")
        self._servers.launch(process, self._port, READY)

    def stop(self) -> None:
        """End the server."""
        self._servers.stop()

    @property
    def port(self) -> int:
        """The loopback port of the server, once it is started."""
        return self._port

    def publish(self, topic: str, bodies: Sequence[bytes], in_flight: int) -> float:
        """Publish with a sliding window of `in_flight` messages."""
        times_s = asyncio.run(self._publish(topic, bodies, in_flight))
        return times_s[-1] - times_s[0]

    def publish_one_by_one(self, topic: str, bodies: Sequence[bytes]) -> list[float]:
        """Publish with a window of one message."""
        times_s = asyncio.run(self._publish(topic, bodies, in_flight=1))
        return [later_s - earlier_s for earlier_s, later_s in itertools.pairwise(times_s)]

    def consume(self, topic: str, count: int) -> float:
        """Pull batches through a durable consumer; the last message of a batch acknowledges all of it."""
        return asyncio.run(self._consume(topic, count))

    async def _publish(self, topic: str, bodies: Sequence[bytes], in_flight: int) -> list[float]:
        """When publishing began, and when each acknowledgement came."""
        window = asyncio.Semaphore(in_flight)
        finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        times_s: list[float] = []

        async def on_acknowledgement(message: Any) -> None:
            answer = json.loads(message.data or b"{}")
            if "seq" not in answer and not finished.done():
                finished.set_exception(PeerFailed(f"{self.name}: a message was refused: {answer}"))
            times_s.append(time.perf_counter())
            window.release()
            if len(times_s) > len(bodies) and not finished.done():
                finished.set_result(None)

        async with self._connected(lambda: len(times_s)) as connection:
            subject = await _create_stream(connection, topic)
            inbox = connection.new_inbox()
            await connection.subscribe(inbox, cb=on_acknowledgement)
            await connection.flush()
            times_s.append(time.perf_counter())
            for body in bodies:
                await window.acquire()
                await connection.publish(subject, body, reply=inbox)
            if bodies:
                await finished
        return times_s

    async def _consume(self, topic: str, count: int) -> float:
        finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        received = 0
        batch_ends_at = 0

        async def pull() -> None:
            nonlocal batch_ends_at
            batch = min(CONSUME_BATCH, count - received)
            batch_ends_at = received + batch
            request = {"batch": batch, "expires": int(SILENCE_SECONDS_MAX * 1e9)}
            await connection.publish(pull_subject, json.dumps(request).encode(), reply=inbox)

        async def on_message(message: Any) -> None:
            nonlocal received
            # Only the server's own notices (no message came in time, say) have headers.
            if message.headers:
                problem = PeerFailed(f"{self.name}: {received} of {count} messages came, then {message.headers}")
                finished.set_exception(problem)
                return
            received += 1
            if received == count:
                await message.ack_sync()
                finished.set_result(None)
            elif received == batch_ends_at:
                await message.ack()
                await pull()

        async with self._connected(lambda: received) as connection:
            pull_subject = await _create_consumer(connection, topic)
            inbox = connection.new_inbox()
            await connection.subscribe(inbox, cb=on_message)
            await connection.flush()
            started_s = time.perf_counter()
            await pull()
            await finished
            return time.perf_counter() - started_s

    @contextlib.asynccontextmanager
    async def _connected(self, progress: Callable[[], int]) -> AsyncIterator[Any]:
        """A connection for one measurement, whose errors become `PeerFailed`.

        The measurement is given up when its time is over or when `progress` stands still: the client does not
        always notice that a server died.
        """
        nats = require_client("nats")
        try:
            connection = await nats.connect(f"nats://{LOOPBACK}:{self._port}", allow_reconnect=False)
            try:
                async with asyncio.timeout(MEASURE_SECONDS_MAX) as limit:
                    watch = asyncio.create_task(_give_up_without_progress(limit, progress))
                    try:
                        yield connection
                    finally:
                        watch.cancel()
            finally:
                await connection.close()
        except (nats.errors.Error, OSError) as problem:
            raise PeerFailed(f"{self.name}: stopped after {progress()} messages: {problem!r}") from problem


async def _give_up_without_progress(limit: asyncio.Timeout, progress: Callable[[], int]) -> None:
    """Bring the limit forward to now when nothing came since the last look."""
    before = -1
    while progress() != before:
        before = progress()
        await asyncio.sleep(SILENCE_SECONDS_MAX * 2)
    limit.reschedule(asyncio.get_running_loop().time())


def _stream_name(topic: str) -> str:
    """The topic with the characters that a stream's name may not have replaced."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", topic)


async def _create_stream(connection: Any, topic: str) -> str:
    """Create the topic's stream unless it is there; returns the subject that it stores."""
    api = require_client("nats.js.api")
    stream = _stream_name(topic)
    subject = f"bench.{stream}"
    await connection.jetstream().add_stream(
        api.StreamConfig(name=stream, subjects=[subject], storage=api.StorageType.FILE)
    )
    return subject


async def _create_consumer(connection: Any, topic: str) -> str:
    """Create the topic's durable consumer unless it is there; returns the subject to ask it on."""
    api = require_client("nats.js.api")
    stream = _stream_name(topic)
    await connection.jetstream().add_consumer(
        stream, api.ConsumerConfig(durable_name=CONSUMER, ack_policy=api.AckPolicy.ALL)
    )
    return f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{CONSUMER}"
