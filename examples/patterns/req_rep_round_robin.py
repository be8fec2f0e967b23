"""REQ/REP, one to many: spread requests over servers that all do the same.

    .venv/bin/python examples/patterns/req_rep_round_robin.py

Guarantees: The servers are asked in turn, in the order in which they were connected.
Traps: Nothing runs in parallel: one request is out at a time, whatever the number of servers. A request whose turn
falls on a server that is not there waits for it, while the others are idle.
"""

from threading import Thread

import zmq

from pregon.patterns import bound_address, replier, requester


def serve(name: str, server: zmq.Socket[bytes]) -> None:
    """A server: it would be a program of its own."""
    with server:
        for _ in range(2):
            server.send_string(f"{name} did {server.recv_string()}")


servers = {name: replier(bind="tcp://127.0.0.1:*") for name in ("first", "second", "third")}
addresses = [bound_address(server) for server in servers.values()]
threads = [Thread(target=serve, args=each) for each in servers.items()]
for thread in threads:
    thread.start()

with requester(connect=addresses) as client:
    for number in range(1, 7):
        client.send_string(f"request {number}")
        print(client.recv_string())
for thread in threads:
    thread.join()
