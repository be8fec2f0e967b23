"""Celery on Redis as a contender: two workers with the solo pool, results in the same Redis, nothing written to disk.

The solo pool runs a task where it arrives, without handing it to another process or thread: the fastest for tasks as
small as these. Events, gossip, heartbeats, rate limits and remote control are off, and workers prefetch. A request's
four bytes travel as the number that they are, because Celery's messages are JSON.
"""

from __future__ import annotations

import sys
from collections import deque
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pregon.bench.peers.process import (
    LOOPBACK,
    RunningServers,
    ServerProcess,
    free_ports,
    require_client,
    require_executable,
)
from pregon.bench.peers.redis_streams import READY
from pregon.bench.services.actors import play, say_ready
from pregon.bench.services.asking import BODY_BYTES, Window, serve_asks
from pregon.bench.services.contender import Contender, Doors

TASK = "echo"
ANSWER_SECONDS_MAX = 30.0
PREFETCH = 250
OPTIONS = {
    "broker_connection_retry_on_startup": False,
    "broker_pool_limit": 1,
    "result_expires": 600,
    "task_send_sent_event": False,
    "worker_disable_rate_limits": True,
    "worker_enable_remote_control": False,
    "worker_hijack_root_logger": False,
    "worker_prefetch_multiplier": PREFETCH,
    "worker_redirect_stdouts": False,
    "worker_send_task_events": False,
}


def _application(address: str) -> Any:
    application = require_client("celery").Celery("bench", broker=address, backend=address)
    application.conf.update(OPTIONS)
    return application


def _echo(number: int) -> int:
    return number


def _worker(address: str) -> None:
    application = _application(address)
    application.task(name=TASK)(_echo)
    require_client("celery.signals").worker_ready.connect(lambda **_: say_ready(), weak=False)
    alone = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    application.worker_main(
        ["--quiet", "worker", "--pool", "solo", "--concurrency", "1", "--loglevel", "error", *alone]
    )


def _client(address: str) -> None:
    application = _application(address)
    task = application.task(name=TASK)(_echo)

    def ask(window: Window) -> None:
        waiting = deque(task.delay(int.from_bytes(body, "big")) for body in window.open())
        while waiting:
            # The oldest first; answers that came before it are taken from the connection on the way.
            number = waiting.popleft().get(timeout=ANSWER_SECONDS_MAX)
            following = window.answered(number.to_bytes(BODY_BYTES, "big"))
            if following is not None:
                waiting.append(task.delay(int.from_bytes(following, "big")))

    serve_asks(ask)


def _serve(directory: Path, stack: ExitStack) -> Doors:
    require_client("celery")
    executable = require_executable("redis-server")
    (port,) = free_ports(1)
    options = ["--bind", LOOPBACK, "--port", str(port), "--dir", str(directory.resolve()), "--save", ""]
    servers = RunningServers()
    stack.callback(servers.stop)
    servers.launch(ServerProcess([str(executable), *options], directory.resolve() / "redis.log"), port, READY)
    address = f"redis://{LOOPBACK}:{port}/0"
    return Doors(address, address)


def celery_on_redis() -> Contender:
    """Celery with everything off that a request does not need."""
    return Contender("Celery on Redis", _serve, ("celery_tasks", "worker"), ("celery_tasks", "client"))


if __name__ == "__main__":
    play({"worker": _worker, "client": _client}, sys.argv[1:])
