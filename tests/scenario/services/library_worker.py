"""A worker program as a user writes one, with a service for each thing that the scenarios look at.

    python library_worker.py BACK NAME [SERVICE …] [--drain-ms N]

It shows `began WHAT` when a job that is watched begins, so that a test knows when to strike.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import time
from typing import Any

from pregon import serve, service
from pregon.client.services.service import Service

NAME = "worker"


@service("sqrt", version="2", slots=4)
def sqrt(x: float) -> float:
    """The root."""
    return x**0.5


@service("echo", slots=500, inline=True)
def echo(*frames: bytes) -> Any:
    """The same frames."""
    return frames


@service("who", slots=2)
def who(seconds: float) -> str:
    """Work for a while, then say who did."""
    print(f"began {seconds}", flush=True)
    time.sleep(seconds)
    return NAME


@service("limited", slots=1, time_limit_ms=200)
def limited(seconds: float) -> str:
    """Work for longer than it may, perhaps."""
    time.sleep(seconds)
    return NAME


@service("patient", slots=50, time_limit_ms=2_000)
async def patient(seconds: float) -> str:
    """Wait, and show it if that is cut short."""
    print(f"began {seconds}", flush=True)
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        print(f"cancelled {seconds}", flush=True)
        raise
    return NAME


@service("apart", slots=2, processes=True, time_limit_ms=1_500)
def apart(what: str, seconds: float = 0.0) -> int:
    """In a process: die, hang, or say which."""
    if what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "raise":
        raise ValueError("as it was told")
    time.sleep(seconds)
    return os.getpid()


SERVICES: dict[str, Service[..., Any]] = {one.name: one for one in (sqrt, echo, who, limited, patient, apart)}


def main() -> None:
    """Serve what was named."""
    global NAME
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("services", nargs="*", default=list(SERVICES))
    parser.add_argument("--back")
    parser.add_argument("--hub")
    parser.add_argument("--drain-ms", type=float, default=20_000.0)
    told = parser.parse_args()
    NAME = told.name
    chosen = [SERVICES[name] for name in told.services]
    serve(*chosen, back=told.back, hub=told.hub, name=NAME, load=lambda: 0.125, drain_ms=told.drain_ms)


if __name__ == "__main__":
    main()
