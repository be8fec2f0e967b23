"""The same program between threads, processes and machines: only the address changes.

    .venv/bin/python examples/patterns/transports.py

Guarantees: A pattern is the same over all three, message by message.
Traps: inproc reaches only sockets of the same context, ipc only programs of the same machine that may open the path;
and whoever reaches a tcp address may use it.
"""

import tempfile

from pregon.patterns import bound_address, replier, requester


def talk(address: str) -> None:
    """Ask and answer once."""
    with replier(bind=address) as server, requester(connect=bound_address(server)) as client:
        client.send(b"Hola")
        server.send(server.recv() + b", Ana")
        print(f"{address.split(':')[0]}: {client.recv_string()}")


with tempfile.TemporaryDirectory() as folder:
    for place in ("tcp://127.0.0.1:*", f"ipc://{folder}/talk", "inproc://talk"):
        talk(place)
