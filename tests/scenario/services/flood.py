"""A peer that sends nonsense to both sockets of a broker, as fast as they take it, until it is killed.

    python flood.py tcp://127.0.0.1:5573 tcp://127.0.0.1:5574 heads

It shows `begun` when it has sent some. With nothing but pyzmq, like `workers`.
"""

from __future__ import annotations

import json
import random
import socket
import sys
from collections.abc import Callable
from itertools import count

import zmq

_SOME = 200
_GIANT = bytes(15 * 1024 * 1024)
"""A frame that the sockets take, and that is larger than any body may be."""
_MIB = 1024 * 1024
rng = random.Random(2026)

Message = list[bytes]


def frames(_number: int) -> Message:
    """So many frames of whatever."""
    return [rng.randbytes(rng.randrange(40)) for _ in range(rng.randrange(1, 80))]


def empty(_number: int) -> Message:
    """Delimiters and nothing else."""
    return [b""] * rng.randrange(1, 80)


def heads(_number: int) -> Message:
    """What begins like PGS/1, of any kind, with a tail that is none."""
    kind = rng.choice([*b"RCLQHABEGNXYW", rng.randrange(256)])
    tails = (
        b"", b"{}", b"\xff\xfe", b"sqrt\n{", b"sqrt\n[]", b"a\nb\nc", b'x\n{"priority": 10}', b"[" * 10_000,
        b'{"types": []}', b'{"types": ["a b"], "slots": 0}', b'{"types": ["x"], "load": -1}', b"1e999", b"nan",
        b'x\n{"deadline_ms": 0}', b'x\n{"durable": true}', b"@", b"sqrt@2", b"\n\n", rng.randbytes(30), b"x" * 20_000,
    )  # fmt: skip
    head = b"PGS1" + bytes((kind,)) + rng.randbytes(8) + rng.choice(tails)
    cut = rng.randrange(4, len(head) + 1) if rng.random() < 0.2 else len(head)
    return [*([b""] if rng.random() < 0.3 else []), head[:cut], *frames(0)[: rng.randrange(3)]]


def types(number: int) -> Message:
    """Requests of types that nobody serves, each of another one."""
    return [b"PGS1R" + number.to_bytes(8, "big") + b"type-%d" % number, b"x"]


def registrations(number: int) -> Message:
    """Workers of the plain form that serve what has no name, and answers to what nobody asked."""
    third = rng.choice([b"no such name", b"\xff", b"," * 500, b"a" * 9_000, b"a@b@c", b"@", b"-,-"])
    return [b"", rng.choice([b"", b"%d" % number]), b"", third, rng.choice([b"", b"-1", b"nan"])]


def giants(_number: int) -> Message:
    """Requests and answers that are too large."""
    return [b"PGS1" + rng.choice([b"R", b"A", b"B"]) + bytes(8) + b"default", _GIANT]


def options(_number: int) -> Message:
    """Requests whose options are large, deep or of another kind."""
    wrong = rng.choice([{"version": "v" * 15_000}, {"key": ["k"]}, {"deadline_ms": 1e30}, {"priority": "9"}, [[[1]]]])
    return [b"PGS1R" + bytes(8) + b"default\n" + json.dumps(wrong).encode(), b"x"]


KINDS: dict[str, Callable[[int], Message]] = {
    one.__name__: one for one in (frames, empty, heads, types, registrations, giants, options)
}
STRANGERS = "strangers"
"""Bytes that are no ZeroMQ, over connections that come and go."""


def send_messages(addresses: list[str], make: Callable[[int], Message]) -> None:
    """The same to both sockets, read nothing."""
    sockets = []
    for address in addresses:
        one: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
        one.setsockopt(zmq.LINGER, 0)
        one.setsockopt(zmq.SNDHWM, 10 if make is giants else 1_000)
        one.connect(address)
        sockets.append(one)
    some = 6 if make is giants else _SOME
    for number in count(1):
        for one in sockets:
            one.send_multipart(make(number), copy=False)
        if number == some:
            show("begun")


def send_bytes(addresses: list[str]) -> None:
    """Connections of others than ZeroMQ."""
    for number in count(1):
        for address in addresses:
            host, _, port = address.removeprefix("tcp://").partition(":")
            with socket.create_connection((host, int(port))) as one:
                try:
                    one.sendall(rng.choice([b"GET / HTTP/1.1\r\n\r\n", rng.randbytes(300), b"\xff" + bytes(63), b""]))
                except OSError:
                    pass  # It was hung up on, as it should.
        if number == _SOME // 4:
            show("begun")


def show(line: str) -> None:
    """A line for whoever reads what it shows."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    *both, kind = sys.argv[1:]
    if kind == STRANGERS:
        send_bytes(both)
    else:
        send_messages(both, KINDS[kind])
