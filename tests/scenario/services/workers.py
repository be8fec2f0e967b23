"""A worker in a process of its own, with nothing but pyzmq: it works well, or as badly as it is told.

    python workers.py tcp://127.0.0.1:5574 --name Ana --form plain --manner hold

It shows `ready` when it may be given work, and `given BODY` for each request. Its answer is the request with its own
name after it. It speaks both forms as docs/reference/services-wire.md draws them, and knows nothing else of us.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from typing import Any

import zmq

PLAIN, RICH = "plain", "rich"
ANSWER, HOLD, MUTE, TWICE, ELSEWHERE, FAIL, RETURN = MANNERS = (
    "answer", "hold", "mute", "twice", "elsewhere", "fail", "return",
)  # fmt: skip
"""Answer; answer when told by a line on its standard input; never; two times; for somebody else; with an error; not
at all, and give it back."""
_NO_ID = bytes(8)
_LOOK_MS = 100


def read_arguments() -> argparse.Namespace:
    """How to work."""
    parser = argparse.ArgumentParser()
    parser.add_argument("back")
    parser.add_argument("--name", required=True)
    parser.add_argument("--form", choices=(PLAIN, RICH), default=RICH)
    parser.add_argument("--types", default="default", help="with commas between them")
    parser.add_argument("--slots", type=int, default=1)
    parser.add_argument("--load", type=float, default=0.0)
    parser.add_argument("--manner", choices=MANNERS, default=ANSWER)
    parser.add_argument("--times", type=int, default=1_000_000, help="so often that manner, then as it should")
    parser.add_argument("--work-ms", type=float, default=0.0)
    parser.add_argument("--dies-of", default="", help="a request that kills it")
    parser.add_argument("--never-beats", action="store_true")
    return parser.parse_args()


class Worker:
    """What both forms do alike."""

    def __init__(self, options: argparse.Namespace, kind: int) -> None:
        self.options = options
        self.name = options.name.encode()
        self.socket: zmq.Socket[bytes] = zmq.Context.instance().socket(kind)
        self.socket.setsockopt(zmq.IDENTITY, self.name)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.setsockopt(zmq.RECONNECT_IVL, 50)
        self.socket.connect(options.back)
        self._given = 0

    def begin(self, body: list[bytes]) -> str:
        """It is given a request: works on it for as long as it takes; in which manner it then answers."""
        show(f"given {body[0].decode(errors='replace')}")
        if self.options.dies_of and body[0].startswith(self.options.dies_of.encode()):
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(self.options.work_ms / 1_000)
        self._given += 1
        manner: str = self.options.manner if self._given <= self.options.times else ANSWER
        return manner


class PlainWorker(Worker):
    """A REQ socket, or a DEALER that pretends to be one where a REQ would not let it say so much."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._pretends = options.manner == TWICE
        super().__init__(options, zmq.DEALER if self._pretends else zmq.REQ)

    def run(self) -> None:
        """Work for ever."""
        self._send([b"", b"", self.options.types.encode(), str(self.options.load).encode()])
        show("ready")
        while True:
            client, _, *body = self._receive()
            manner = self.begin(body)
            answer = [*body, self.name]
            if manner == MUTE:
                signal.pause()
            if manner == HOLD and not sys.stdin.readline():
                return
            if manner == ELSEWHERE:
                self._send([b"somebody-else", b"", *answer])
                continue
            self._send([client, b"", *answer])
            if manner == TWICE:
                self._send([client, b"", *answer])

    def _send(self, frames: list[bytes]) -> None:
        self.socket.send_multipart([b"", *frames] if self._pretends else frames)

    def _receive(self) -> list[bytes]:
        frames: list[bytes] = self.socket.recv_multipart()
        return frames[1:] if self._pretends else frames


class RichWorker(Worker):
    """A DEALER that speaks PGS/1."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options, zmq.DEALER)
        self._held: list[tuple[bytes, list[bytes]]] = []
        self._beats_at = 0.0
        self._beat_s = 1.0

    def run(self) -> None:
        """Work for ever."""
        self._hello()
        poller = zmq.Poller()
        poller.register(self.socket, zmq.POLLIN)
        if self.options.manner == HOLD:
            poller.register(sys.stdin.fileno(), zmq.POLLIN)
        while True:
            events = dict(poller.poll(_LOOK_MS))
            if self.socket in events:
                head, *body = self.socket.recv_multipart()
                self._hear(head[4:5], head[5:13], head[13:], body)
            if sys.stdin.fileno() in events:
                if not os.read(sys.stdin.fileno(), 1_000):
                    return
                self._answer_held()
            if not self.options.never_beats and time.monotonic() >= self._beats_at:
                # Unasked too: a broker that was started anew hears of it by this.
                self._beat()

    def _hear(self, kind: bytes, id: bytes, tail: bytes, body: list[bytes]) -> None:
        if kind == b"W":
            self._beat_s = (json.loads(tail).get("beat_ms") or 1_000) / 1_000
            show("ready")
        elif kind == b"H":
            self._hello()
        elif kind == b"B" and not self.options.never_beats:
            self._beat()
        elif kind == b"X":
            show("dropped")
        elif kind == b"E":
            show(f"refused {json.loads(tail)['code']}")
        elif kind == b"R":
            self._work(id, body)

    def _work(self, id: bytes, body: list[bytes]) -> None:
        manner = self.begin(body)
        answer = [*body, self.name]
        if manner == MUTE:
            return
        if manner == HOLD:
            self._held.append((id, answer))
            return
        if manner == FAIL:
            self._say(b"E", id, _json({"code": "division", "message": "nobody divides by zero"}))
            return
        if manner == RETURN:
            self._say(b"N", id)
            return
        if manner == ELSEWHERE:
            self._say(b"A", (int.from_bytes(id, "big") + 1_000_000).to_bytes(8, "big"), body=answer)
        self._say(b"A", id, body=answer)
        if manner == TWICE:
            self._say(b"A", id, body=answer)

    def _answer_held(self) -> None:
        for id, answer in self._held:
            self._say(b"A", id, body=answer)
        self._held.clear()

    def _hello(self) -> None:
        told = {"types": self.options.types.split(","), "name": self.options.name, "slots": self.options.slots}
        self._say(b"H", tail=_json({**told, "load": self.options.load}))

    def _beat(self) -> None:
        self._beats_at = time.monotonic() + self._beat_s
        self._say(b"B", tail=str(self.options.load).encode())

    def _say(self, kind: bytes, id: bytes = _NO_ID, tail: bytes = b"", body: list[bytes] | None = None) -> None:
        self.socket.send_multipart([b"PGS1" + kind + id + tail, *(body or ())])


def show(line: str) -> None:
    """A line for whoever reads what it shows."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()


if __name__ == "__main__":
    arguments = read_arguments()
    (PlainWorker if arguments.form == PLAIN else RichWorker)(arguments).run()
