"""The web services of a soak: one for each subscriber in mode push, many of them unreliable.

Run as `python -m pregon.bench.soak.stations CAST OUTPUT`. Each notes what it took, which is what it answered with 2xx;
an unreliable one answers some requests with errors, slowly or never, closes connections, and is down for moments.
SIGUSR1 makes all of them well; SIGTERM has what they took written to OUTPUT, and ends.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import re
import signal
import sys
from pathlib import Path
from typing import cast
from urllib.parse import unquote
from xml.sax.saxutils import unescape

import msgspec
import uvloop

from pregon.bench.receivers import find_end
from pregon.bench.soak.cast import Part, is_poison, load_cast
from pregon.model.catalog import PUSH, SOAP
from pregon.security.signatures import decode_secret, sign

_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
_DONE = b"HTTP/1.1 202 Accepted\r\nContent-Length: 2000\r\n\r\n" + b"x" * 2_000
_LAST = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_BUSY = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"
_POISON = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
_SOAP = re.compile(
    rb"<wsa:MessageID[^>]*>([^<]*)</wsa:MessageID>.*<ps:notificationId>([0-9]+)<.*<ps:topic>([^<]*)<"
    rb"(?:/ps:topic><ps:matched>([^<]*))?",
    re.DOTALL,
)
_DRIP_S = 0.1
_DOWN_EVERY_S = 2.0
_DOWN_AT_ONCE = 4


class Taken(msgspec.Struct, array_like=True):
    """A message that a web service took."""

    subscriber: str
    topic: str
    seq: int
    id: str
    """Its webhook-id, or its wsa:MessageID."""
    digest: bytes
    """Of the body of the request."""
    matched: str
    is_signed_well: bool


class StationReport(msgspec.Struct):
    """What all of them saw."""

    taken: list[Taken]
    fates: dict[str, int]
    """How often each thing was done to a request."""
    restarts: int


class _Office:
    """What the stations share."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.taken: list[Taken] = []
        self.fates: dict[str, int] = {}
        self.restarts = 0
        self.is_well = False


class _Station:
    """One web service, which can be down."""

    def __init__(self, part: Part, office: _Office) -> None:
        self.part = part
        self.office = office
        self.secret = decode_secret(part.secret)
        self.lines: set[_Line] = set()
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Line(self), "127.0.0.1", self.part.port, backlog=256)
        self._server = server

    async def go_down(self, seconds: float) -> None:
        """Close everything, and come back."""
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        for line in list(self.lines):
            line.transport.abort()
        await asyncio.sleep(seconds)
        await self.open()

    def take(self, request: bytes) -> None:
        """Note a request that was understood."""
        self.office.taken.append(read_request(self.part, self.secret, request))

    def fate(self, request: bytes) -> str:
        """What becomes of a request."""
        if self.part.refuses_some and is_poison(request):
            return "poison"
        if self.office.is_well or not self.part.is_unreliable:
            return "ok"
        fates = ("503", "500", "busy", "cut", "hang", "drip", "last", "done", "ok")
        return self.office.chance.choices(fates, (20, 10, 3, 10, 3, 5, 10, 10, 929))[0]


class _Line(asyncio.Protocol):
    """One connection."""

    transport: asyncio.Transport

    def __init__(self, station: _Station) -> None:
        self._station = station
        self._rest = b""
        self._dripping: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._station.lines.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._station.lines.discard(self)
        if self._dripping is not None:
            self._dripping.cancel()

    def data_received(self, data: bytes) -> None:
        """Take the requests that are complete."""
        self._rest += data
        while 0 < (end := find_end(self._rest)) <= len(self._rest):
            request, self._rest = self._rest[:end], self._rest[end:]
            self._meet(request)

    def _meet(self, request: bytes) -> None:
        station = self._station
        fate = station.fate(request)
        station.office.fates[fate] = station.office.fates.get(fate, 0) + 1
        answers = {"ok": _OK, "done": _DONE, "last": _LAST}
        if fate in answers:
            station.take(request)
            self.transport.write(answers[fate])
            if fate == "last":
                self.transport.close()
        elif fate == "drip":
            self._dripping = asyncio.get_running_loop().create_task(self._drip(request))
        elif fate == "cut":
            self.transport.abort()
        elif fate == "poison":
            self.transport.write(_POISON)
        elif fate == "busy":
            self.transport.write(_BUSY)
        elif fate in ("503", "500"):
            self.transport.write(b"HTTP/1.1 %b Oh\r\nContent-Length: 0\r\n\r\n" % fate.encode())

    async def _drip(self, request: bytes) -> None:
        """Answer in pieces; taken when the last of them is sent and somebody is still there."""
        for at in range(0, len(_OK), 8):
            self.transport.write(_OK[at : at + 8])
            if at + 8 < len(_OK):
                await asyncio.sleep(_DRIP_S)
        self._station.take(request)


def read_request(part: Part, secret: bytes, request: bytes) -> Taken:
    """What a request pushes."""
    head, _, body = request.partition(b"\r\n\r\n")
    lines = (line.partition(": ") for line in head.decode("ascii").split("\r\n")[1:])
    headers = {name.lower(): value for name, _, value in lines}
    digest = hashlib.blake2b(body, digest_size=16).digest()
    if part.format == SOAP:
        found = _SOAP.search(body)
        assert found is not None, body
        id_, seq, topic, matched = (one.decode() if one else "" for one in found.groups())
        return Taken(part.name, topic, int(seq), id_, digest, unescape(matched), True)
    topic = headers.get("pregon-topic") or headers["ce-pregontopic"]
    number = headers.get("pregon-seq") or headers["ce-pregonsequence"]
    matched = unquote(headers.get("pregon-matched") or headers.get("ce-pregonmatched", ""))
    expected = sign([secret], headers["webhook-id"], int(headers["webhook-timestamp"]), body)
    is_signed_well = headers.get("webhook-signature") == expected
    return Taken(part.name, topic, int(number), headers["webhook-id"], digest, matched, is_signed_well)


async def _trouble(stations: list[_Station], office: _Office) -> None:
    """Have some of the unreliable ones go down now and then."""
    unreliable = [station for station in stations if station.part.is_unreliable]
    down: set[asyncio.Task[None]] = set()
    while not office.is_well:
        await asyncio.sleep(_DOWN_EVERY_S)
        for station in office.chance.sample(unreliable, min(_DOWN_AT_ONCE, len(unreliable))):
            if not office.is_well:
                office.restarts += 1
                task = asyncio.get_running_loop().create_task(station.go_down(office.chance.uniform(0.5, 3.0)))
                down.add(task)
                task.add_done_callback(down.discard)


async def _serve(file: Path, output: Path) -> None:
    cast_ = load_cast(file)
    office, loop, stop = _Office(cast_.seed), asyncio.get_running_loop(), asyncio.Event()
    stations = [_Station(part, office) for part in cast_.parts if part.mode == PUSH]
    for station in stations:
        await station.open()

    def be_well() -> None:
        office.is_well = True

    loop.add_signal_handler(signal.SIGUSR1, be_well)
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    print("ready", flush=True)
    trouble = loop.create_task(_trouble(stations, office))
    await stop.wait()
    trouble.cancel()
    output.write_bytes(msgspec.msgpack.encode(StationReport(office.taken, office.fates, office.restarts)))


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(Path(sys.argv[1]), Path(sys.argv[2])))
