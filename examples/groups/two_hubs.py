"""A group on two hubs: an answer that comes before its question is held back until the question is there.

It starts two hubs by itself:

    .venv/bin/python examples/groups/two_hubs.py

Eva reads both hubs, the first one over a long line: what ana says there comes half a second late.
"""

import socket
import threading
import time

from pregon import GroupMessage
from pregon.testing import run_hub

DELAY_S = 0.5


def carry_late(listener: socket.socket, port: int) -> None:
    """A long line to a port of this machine: everything arrives half a second later."""

    def carry(source: socket.socket, target: socket.socket) -> None:
        while chunk := source.recv(65_536):
            time.sleep(DELAY_S)
            target.sendall(chunk)

    while True:
        near, _ = listener.accept()
        far = socket.create_connection(("127.0.0.1", port))
        for ends in ((near, far), (far, near)):
            threading.Thread(target=carry, args=ends, daemon=True).start()


with run_hub() as first, run_hub() as second, socket.create_server(("127.0.0.1", 0)) as line:
    threading.Thread(target=carry_late, args=(line, int(first.url.rpartition(":")[2])), daemon=True).start()
    late = f"tcp://127.0.0.1:{line.getsockname()[1]}"
    with first.client() as one, second.client() as other:
        # Each hub gives its own numbers to members: of two hubs, the odd ones and the even ones.
        one.create("group", name="design", stride=2, offset=0)
        other.create("group", name="design", stride=2, offset=1)
        ana = one.join("design", name="ana", paths=[second.url])
        luis = other.join("design", name="luis", paths=[first.url])
        eva = other.join("design", name="eva", paths=[late])

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
