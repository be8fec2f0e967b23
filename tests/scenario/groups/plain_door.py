"""The door of a room in a process of its own, and plain clients with bare sockets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import zmq

from ..hub_process import COMMAND, HubProcess, find_port, wait_until
from ..services.program import Program

PATIENCE_S = 30.0


class DoorProcess(Program):
    """`pregon chat door`."""

    def __init__(self, hub: HubProcess, place: Path, room: str, *options: str) -> None:
        self.pull = f"tcp://127.0.0.1:{find_port()}"
        self.pub = f"tcp://127.0.0.1:{find_port()}"
        addresses = ["--pull", self.pull, "--pub", self.pub, "--hub", hub.url]
        super().__init__("door", [*COMMAND, "chat", "door", "--room", room, *addresses, *options], place)

    def open(self) -> DoorProcess:
        """Start, and wait until it is open."""
        self.start()
        self.wait_for_line("Close it with Ctrl-C.")
        return self


class PlainClient:
    """What the documents' client does, in a few lines."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], door: DoorProcess) -> None:
        self._sub = context.socket(zmq.SUB)
        self._sub.connect(door.pub)
        self._sub.subscribe("")
        self._push = context.socket(zmq.PUSH)
        self._push.connect(door.pull)
        self.heard: list[tuple[str, str]] = []

    def push(self, *frames: str | bytes) -> None:
        """Push a message."""
        self._push.send_multipart([frame.encode() if isinstance(frame, str) else frame for frame in frames])

    def listen(self, wait_ms: int = 0) -> None:
        """Take what was published."""
        while self._sub.poll(wait_ms):
            nick, text = self._sub.recv_multipart()
            self.heard.append((nick.decode(), text.decode()))

    def wait_for(self, nick: str, text: str, count: int = 1) -> None:
        """Wait until this was heard so many times."""

        def is_heard() -> bool:
            self.listen(20)
            return self.heard.count((nick, text)) >= count

        try:
            wait_until(is_heard, f"{nick} says {text!r}", PATIENCE_S)
        except AssertionError as error:
            raise AssertionError(f"{error}, but: {self.heard}") from error

    def close(self) -> None:
        """Be gone without a word."""
        self._sub.close(linger=0)
        self._push.close(linger=0)


@contextmanager
def plain_client(door: DoorProcess) -> Iterator[PlainClient]:
    """A client whose subscription the door has: what is published from now on is heard."""
    with zmq.Context() as context:
        client = PlainClient(context, door)
        try:
            # A bad nick is told to everybody: so one knows that one is heard, and hears. Only so many are told.
            wait_until(lambda: _is_told(client), "it hears the door", PATIENCE_S)
            client.heard.clear()
            yield client
        finally:
            client.close()


def _is_told(client: PlainClient) -> bool:
    client.push(f"<{find_port()}>", "HI")
    client.listen(400)
    return bool(client.heard)
