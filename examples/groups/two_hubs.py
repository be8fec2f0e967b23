"""A group on two hubs: an answer that comes before its question is held back until the question is there.

It starts two hubs by itself:

    .venv/bin/python examples/groups/two_hubs.py

Eva reads both hubs, the first one over a line that becomes long: what ana says there comes to her late.
"""

import socket
import threading
import time

from pregon import GroupMessage
from pregon.testing import run_hub


class Line:
    """Carries bytes to and from a port of this machine, after `delay_s`."""

    def __init__(self, port: int) -> None:
        self.delay_s = 0.0
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            near, _ = self._listener.accept()
            far = socket.create_connection(("127.0.0.1", self._port))
            for ends in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=ends, daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        while chunk := source.recv(65_536):
            time.sleep(self.delay_s)
            target.sendall(chunk)


with run_hub() as first, run_hub() as second:
    line = Line(int(first.url.rpartition(":")[2]))
    with first.client() as one, second.client() as other:
        # Each hub gives its own numbers to members: of two hubs, the odd ones and the even ones.
        one.create("group", name="design", stride=2, offset=0)
        other.create("group", name="design", stride=2, offset=1)
        ana = one.join("design", name="ana", paths=[second.url])
        luis = other.join("design", name="luis", paths=[first.url])
        eva = other.join("design", name="eva", paths=[line.url])

        line.delay_s = 2.0
        ana.send("shall we meet?")
        while not isinstance(question := luis.poll(10), GroupMessage):
            pass
        luis.send("yes", answers=question)

        shown = 0
        while shown < 2:
            event = eva.poll(10)
            if isinstance(event, GroupMessage):
                shown += 1
                waited = f", which had waited for {event.waited_for}" if event.waited_for else ""
                print(f"eva is shown {event.stamp} of {event.sender}: {event.text}{waited}")
        line.delay_s = 0.0
