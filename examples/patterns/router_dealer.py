"""ROUTER/DEALER forwarder: one address for clients, one for workers; both come and go.

    .venv/bin/python examples/patterns/router_dealer.py

It is what `pregon proxy router-dealer` runs, here inside the program.

Guarantees: Workers get requests in turn, and each answer goes to its client. While there is no worker, requests wait.
Traps: A request that was given to a worker that dies is never answered. Turns do not look at who is busy: a request
may wait behind a long one while a worker is idle.
"""

import math
from threading import Thread

from pregon.patterns import Forwarder, replier, requester


def work(address: str) -> None:
    """A worker that does two requests and goes: it would be a program of its own."""
    with replier(connect=address) as server:
        for _ in range(2):
            server.send_string(f"{math.sqrt(float(server.recv())):g}")


with Forwarder("router-dealer", front="tcp://127.0.0.1:*", back="tcp://127.0.0.1:*") as broker:
    clients = [requester(connect=broker.front) for _ in range(2)]
    for client, number in zip(clients, (100, 144), strict=True):
        client.send_string(str(number))
    print("two requests wait, and there is no worker")

    worker = Thread(target=work, args=[broker.back])
    worker.start()
    for client, number in zip(clients, (100, 144), strict=True):
        with client:
            print(f"the root of {number} is {client.recv_string()}")
    worker.join()
