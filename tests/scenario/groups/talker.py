"""Who talks on the socket of groups, as a page in a browser would: frames of JSON, told apart by what they are."""

from __future__ import annotations

import itertools
import json
import time
from collections import deque
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

Frame = dict[str, Any]
WAIT_S = 20.0


def socket_address(http: str) -> str:
    """The address of the socket of a hub."""
    return f"{http.replace('http', 'ws', 1)}/v1/groups/socket"


class Talker:
    """One socket. What it is told of rooms is kept in `rooms`, everything else until somebody asks for it."""

    def __init__(self, http: str, **options: Any) -> None:
        # Without a limit to its queue, unless a test wants one: a client that does not read does not see the end.
        options = {"max_queue": None, "close_timeout": 2, **options}
        self._life = ExitStack()
        self.socket = self._life.enter_context(connect(socket_address(http), **options))
        self.rooms: dict[str, list[Frame]] = {}
        self.name = ""
        self.token = ""
        self._kept: deque[Frame] = deque()
        self._ids = itertools.count(1)

    def say(self, do: str, **fields: Any) -> None:
        """Say something."""
        self.socket.send(json.dumps({"do": do, **fields}))

    def wait_for(self, what: str, timeout_s: float = WAIT_S, **fields: Any) -> Frame:
        """The next frame that is this, and says this; raises TimeoutError."""
        for frame in self._kept:
            if _is(frame, what, fields):
                self._kept.remove(frame)
                return frame
        last = time.monotonic() + timeout_s
        while True:
            frame = self.hear(last - time.monotonic())
            if _is(frame, what, fields):
                if what != "message":
                    self._kept.pop()
                return frame

    def hear(self, timeout_s: float = WAIT_S) -> Frame:
        """The next frame, kept where it belongs."""
        frame: Frame = json.loads(self.socket.recv(timeout=max(timeout_s, 0.0)))
        if frame["is"] == "message":
            self.rooms.setdefault(frame["group"], []).append(frame)
        else:
            self._kept.append(frame)
        return frame

    def ask(self, do: str, answer: str, **fields: Any) -> Frame:
        """Say something, and wait for its answer."""
        self.say(do, **fields)
        return self.wait_for(answer)

    def hello(self, name: str = "", token: str = "") -> Talker:
        """Say who one is."""
        told = self.ask("hello", "hello", **({"token": token} if token else {"name": name}))
        self.name, self.token = told["name"], told.get("token", token)
        return self

    def join(self, group: str, **more: Any) -> Frame:
        """Be in a room."""
        self.say("join", group=group, **more)
        return self.wait_for("joined", group=group)

    def send(self, group: str, text: str, **more: Any) -> Frame:
        """Say something in a room, and know that it is on disk."""
        id = more.pop("id", f"{self.name}-{next(self._ids)}")
        self.say("send", **{"group": group, "id": id, "text": text, **more})
        return self.wait_for("accepted", id=id)

    def refused(self, do: str, **fields: Any) -> Frame:
        """Say what is refused."""
        return self.ask(do, "refused", **fields)

    def read_until(self, group: str, text: str, timeout_s: float = WAIT_S) -> list[Frame]:
        """All that was told of a room, as soon as a text was."""
        last = time.monotonic() + timeout_s
        while not any(one.get("text") == text for one in self.rooms.get(group, ())):
            self.hear(last - time.monotonic())
        return self.rooms[group]

    def texts(self, group: str) -> list[str]:
        """What people said in a room, as far as it was told."""
        return [one["text"] for one in self.rooms.get(group, ()) if one["kind"] == "message"]

    def closed_with(self, timeout_s: float = 10.0) -> tuple[int, str]:
        """The code and the reason with which the hub hangs up."""
        try:
            while True:
                self.hear(timeout_s)
        except ConnectionClosed as closed:
            assert closed.rcvd is not None, "the hub says why"
            return closed.rcvd.code, closed.rcvd.reason

    def cut(self) -> None:
        """The connection is gone, and nobody said goodbye."""
        self.socket.socket.close()

    def close(self) -> None:
        """Hang up."""
        self._life.close()

    def __enter__(self) -> Talker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _is(frame: Frame, what: str, fields: Frame) -> bool:
    return frame["is"] == what and all(frame.get(name) == value for name, value in fields.items())
