"""Pages for machines: whether the hub lives and is ready, its metrics and status, and the fast lane over HTTP.

`POST /v1/frames` takes the frames of one PREGON/1 request (see docs/reference/wire.md), each with its length before
it, and answers with the frames of its answer: how our own client does over HTTP everything that it does over ZeroMQ.
"""

from __future__ import annotations

import asyncio
import struct
from typing import Any

from pregon.edges.dispatch import Dispatcher, Frames
from pregon.edges.http.answers import FRAMES, Answer, json_answer, problem_answer
from pregon.edges.http.exchange import Exchange
from pregon.edges.http.metrics import MetricsHandler
from pregon.edges.http.routes import Desk, Route
from pregon.errors import BadRequest, HubBusy, MediaTypeUnknown, PregonError
from pregon.limits import FRAME_BYTES_MAX
from pregon.security.keys import READ
from pregon.store.ticket import Ticket
from pregon.wire.commands import Command

_READY_TIMEOUT_S = 2.0
_FRAMES_MAX = 3
_LENGTH = struct.Struct(">I")
_COMMAND_AT = 4
"""Where the command stands in the first frame."""
_WAITING = frozenset({Command.PULL, Command.GROUP_READ, Command.GROUP_MINE})
"""Commands that may wait for something to come."""


async def healthz(_desk: Desk, _exchange: Exchange) -> Answer:
    """The process answers."""
    return Answer(b"ok\n", 200, "text/plain")


async def readyz(desk: Desk, _exchange: Exchange) -> Answer:
    """The store answers too."""
    try:
        await asyncio.wait_for(desk.answer(desk.hub.list("topic", rows_max=1)), _READY_TIMEOUT_S)
    except TimeoutError:
        return problem_answer(HubBusy(f"the store did not answer in {_READY_TIMEOUT_S} s"))
    except PregonError as error:
        return Answer(problem_answer(error).body, 503, "application/problem+json")
    return Answer(b"ready\n", 200, "text/plain")


async def status(desk: Desk, exchange: Exchange) -> Answer:
    """How the hub is."""
    desk.gate.rules.require(desk.caller(exchange), READ)
    return json_answer(desk.status())


def split_frames(data: bytes, frames_max: int = _FRAMES_MAX) -> list[bytes]:
    """The frames of a body; raises BadRequest for one that is not whole."""
    frames: list[bytes] = []
    start = 0
    while start < len(data):
        if len(frames) == frames_max or start + 4 > len(data):
            raise BadRequest(f"a request is at most {frames_max} frames, each with its length in 4 bytes before it")
        (size,) = _LENGTH.unpack_from(data, start)
        start += 4
        if start + size > len(data):
            raise BadRequest("a frame is shorter than its length says")
        frames.append(data[start : start + size])
        start += size
    return frames


def join_frames(frames: Frames) -> bytes:
    """Frames as a body."""
    return b"".join(piece for frame in frames for piece in (_LENGTH.pack(len(frame)), bytes(frame)))


class FramesHandler:
    """The fast lane over HTTP."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    async def __call__(self, desk: Desk, exchange: Exchange) -> Answer:
        """Carry out one request."""
        if exchange.media_type != FRAMES:
            raise MediaTypeUnknown(f"frames are sent as {FRAMES}")
        presented = exchange.presented
        frames = split_frames(await exchange.body(FRAME_BYTES_MAX))
        ticket: Ticket[Any] = Ticket()
        desk.bridge.burst()
        ticket.give_up = self._dispatcher.handle(frames, ticket.resolve, presented)
        answer = desk.answer(ticket)
        may_wait = bool(frames) and len(frames[0]) > _COMMAND_AT and frames[0][_COMMAND_AT] in _WAITING
        given = await (exchange.unless_gone(answer, desk.stopping) if may_wait else answer)
        return Answer(join_frames(given), 200, FRAMES)


def machine_routes(dispatcher: Dispatcher) -> list[Route]:
    """The routes of this module."""
    tag = "machines"
    return [
        Route(
            method="GET", path="/healthz", handler=healthz, tag=tag, summary="Does the process answer?",
            answers=("text/plain",),
        ),
        Route(
            method="GET", path="/readyz", handler=readyz, tag=tag, summary="Does the store answer?",
            answers=("text/plain",), errors=(HubBusy,),
        ),
        Route(
            method="GET", path="/metrics", handler=MetricsHandler(), tag=tag,
            summary="The hub's numbers for Prometheus", answers=("text/plain",),
        ),
        Route(method="GET", path="/v1/status", handler=status, tag=tag, summary="How the hub is", answer=dict),
        Route(
            method="POST", path="/v1/frames", handler=FramesHandler(dispatcher), tag=tag,
            summary="One request of PREGON/1, for our own clients", bodies={FRAMES: None}, answers=(FRAMES,),
            errors=(MediaTypeUnknown,),
        ),
    ]  # fmt: skip
