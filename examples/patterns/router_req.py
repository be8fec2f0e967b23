"""ROUTER/REQ: serve many clients at once, and answer whoever is ready first.

    .venv/bin/python examples/patterns/router_req.py

Guarantees: An answer goes to the client whose identity stands before it, in whatever order.
Traps: An answer to a client that has gone is dropped without a word. Of two clients with the same identity, only
the first is heard.
"""

from pregon.patterns import bound_address, join_envelope, requester, router, split_envelope

with router(bind="tcp://127.0.0.1:*") as server:
    address = bound_address(server)
    clients = {name: requester(connect=address, identity=name) for name in (b"peer1", b"peer2", b"peer3")}
    for name, client in clients.items():
        client.send(b"request of " + name)

    waiting = dict(sorted((frames[0], frames) for frames in (server.recv_multipart() for _ in clients)))
    print("a request as the ROUTER sees it:", waiting[b"peer1"])
    for name in (b"peer3", b"peer1", b"peer2"):
        envelope, body = split_envelope(waiting[name])
        server.send_multipart(join_envelope(envelope, [b"answer to the " + body[0]]))
        with clients[name] as client:
            print(f"{name.decode()} is given: {client.recv_string()}")
