"""Ask a hub many things over one connection without waiting for answers: at a steady pace, or all at once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import zmq

from pregon.bench.rounds import bodies
from pregon.client import calls
from pregon.client.link import open_socket
from pregon.model.message import Outgoing
from pregon.wire.frames import decode_answer

_ANSWERS_S_MAX = 60.0


@dataclass(frozen=True, slots=True)
class Publication:
    """One message: when, after the beginning, and where."""

    at_s: float
    topic: str


def publish_paced(hub: str, plan: Sequence[Publication]) -> None:
    """Publish as planned, and return when everything is acknowledged."""
    messages = [Outgoing(body) for body in bodies(len(plan))]
    asked = [calls.publish(one.topic, "bench", message) for one, message in zip(plan, messages, strict=True)]
    _ask(hub, asked, [one.at_s for one in plan])


def ask_at_once(hub: str, asked: Sequence[calls.Call[Any]]) -> None:
    """Ask all of it, and return when everything is answered."""
    _ask(hub, asked, [0.0] * len(asked))


def _ask(hub: str, asked: Sequence[calls.Call[Any]], at_s: Sequence[float]) -> None:
    context = zmq.Context()
    socket = open_socket(context, hub)
    answered = 0
    begun = time.perf_counter()
    for number, (call, moment_s) in enumerate(zip(asked, at_s, strict=True), 1):
        while (early_s := begun + moment_s - time.perf_counter()) > 0:
            if socket.poll(max(1, int(early_s * 1_000))):
                answered += _take_answer(socket)
        socket.send_multipart(call.frames(number))
    last = time.perf_counter() + _ANSWERS_S_MAX
    while answered < len(asked):
        assert time.perf_counter() < last, "the hub does not answer"
        if socket.poll(1_000):
            answered += _take_answer(socket)
    socket.close(linger=0)
    context.term()


def _take_answer(socket: zmq.Socket[bytes]) -> int:
    answer = decode_answer(socket.recv_multipart())
    assert answer is not None
    assert not answer.is_error
    return 1
