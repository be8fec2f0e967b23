"""Reliable REQ: ask servers that may die.

    .venv/bin/python examples/patterns/reliable_request.py

A server takes the request and dies with it. The client's time limit passes; it closes its socket, creates it again,
connects again, and sends the request to the next server.

Guarantees: A request ends, with an answer or, after so many tries, with an error. A server that does not answer is
passed over for one that does.
Traps: A request may be worked on twice: the server must not mind.
"""

from threading import Thread

import zmq

from pregon.errors import AnswerTimeout
from pregon.patterns import ReliableRequester, bound_address, replier


def die_with_the_request(server: zmq.Socket[bytes]) -> None:
    """A server that takes a request, and is never heard of again."""
    with server:
        if server.poll(5_000):
            server.recv()


def answer(server: zmq.Socket[bytes]) -> None:
    """A server that does its work."""
    with server:
        server.send_string(f"the root of {server.recv_string()} is 10")


dying, healthy = replier(bind="tcp://127.0.0.1:*"), replier(bind="tcp://127.0.0.1:*")
where_dying, where_healthy = bound_address(dying), bound_address(healthy)
threads = [Thread(target=die_with_the_request, args=[dying]), Thread(target=answer, args=[healthy])]

with ReliableRequester(where_dying, time_limit_ms=300, tries=2) as client:
    threads[0].start()
    try:
        client.request("100")
    except AnswerTimeout as error:
        print(f"the only server died: {error.code}, and not a wait without end")

with ReliableRequester(where_dying, where_healthy, time_limit_ms=1_000, tries=3) as client:
    threads[1].start()
    print(f"with another server: {client.request('100')[0].decode()}")
for thread in threads:
    thread.join()
