"""REQ/REP, one to one: ask another program, and wait for its answer.

    .venv/bin/python examples/patterns/req_rep.py

Guarantees: Requests and answers alternate: a second request before the answer is refused. What arrives is the answer
to the last request.
Traps: A client whose server dies before it answers waits for ever.
"""

from threading import Thread

import zmq

from pregon.patterns import bound_address, replier, requester


def serve(server: zmq.Socket[bytes]) -> None:
    """The server: it would be a program of its own."""
    with server:
        for _ in range(2):
            server.send(b"Hola, " + server.recv())


server = replier(bind="tcp://127.0.0.1:*")
address = bound_address(server)
thread = Thread(target=serve, args=[server])
thread.start()

with requester(connect=address) as client:
    for name in ("Ana", "Pepe"):
        client.send_string(name)
        try:
            client.send_string("another one")
        except zmq.ZMQError as error:
            print(f"a second request before the answer: {error.strerror}")
        print(f"asked {name!r}, answered {client.recv_string()!r}")
thread.join()
