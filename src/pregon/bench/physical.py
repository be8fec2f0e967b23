"""The physical limits that a durable hub is measured against: a sync of the disk, a round trip on loopback."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path
from statistics import median

import zmq

BODY_BYTES = 200


def append_and_sync_s(directory: Path, size: int, count: int) -> float:
    """Median seconds to append so many bytes to a file and have them on disk."""
    path = directory / "sync.bin"
    file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    times = []
    try:
        for _ in range(count):
            begun = time.perf_counter()
            os.write(file, bytes(size))
            os.fdatasync(file)
            times.append(time.perf_counter() - begun)
    finally:
        os.close(file)
        path.unlink()
    return median(times)


def _echo(addresses: multiprocessing.Queue[str]) -> None:
    """A ROUTER that sends back whatever it gets, until it gets an empty message."""
    with zmq.Context() as context, context.socket(zmq.ROUTER) as socket:
        port = socket.bind_to_random_port("tcp://127.0.0.1")
        addresses.put(f"tcp://127.0.0.1:{port}")
        while True:
            identity, *frames = socket.recv_multipart()
            if frames == [b""]:
                return
            socket.send_multipart([identity, *frames])


def round_trip_s(size: int, count: int) -> float:
    """Median seconds of a ZeroMQ round trip between two Python processes on loopback."""
    spawn = multiprocessing.get_context("spawn")
    addresses: multiprocessing.Queue[str] = spawn.Queue()
    process = spawn.Process(target=_echo, args=(addresses,), daemon=True)
    process.start()
    times = []
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.connect(addresses.get(timeout=30))
        for _ in range(count + 20):
            begun = time.perf_counter()
            socket.send_multipart([b"\0" * 16, b"\0" * 80, bytes(size)])
            socket.recv_multipart()
            times.append(time.perf_counter() - begun)
            # As a client that has something else to do: not the fastest that a spinning loop could be.
        socket.send(b"")
    process.join(timeout=10)
    return median(times[20:])
