"""The patterns of ZeroMQ, each in one call, for programs that need no hub.

    from pregon.patterns import replier, requester

    with replier(bind="tcp://127.0.0.1:9999") as server:          # one program
        name = server.recv()
        server.send(b"Hola, " + name)

    with requester(connect="tcp://127.0.0.1:9999") as client:     # another one
        client.send(b"Ana")
        print(client.recv())

It opens pyzmq's sockets with limits, refuses addresses that libzmq would misread, takes envelopes apart, repeats a
request that was not answered, and forwards. `PATTERNS` says what each pattern guarantees and what it loses. Nothing is
kept on disk, confirmed or authorised here: that is the work of a hub, and of its service broker.
"""

from pregon.patterns.endpoints import bound_address
from pregon.patterns.envelope import DELIMITER, join_envelope, split_envelope
from pregon.patterns.forwarder import Forwarder
from pregon.patterns.guarantees import PATTERNS, Pattern
from pregon.patterns.reliable import ReliableRequester
from pregon.patterns.sockets import (
    Options,
    dealer,
    open_socket,
    publisher,
    puller,
    pusher,
    replier,
    requester,
    require_subscribers,
    router,
    subscriber,
    xpub,
    xsub,
)

__all__ = [
    "DELIMITER",
    "PATTERNS",
    "Forwarder",
    "Options",
    "Pattern",
    "ReliableRequester",
    "bound_address",
    "dealer",
    "join_envelope",
    "open_socket",
    "publisher",
    "puller",
    "pusher",
    "replier",
    "requester",
    "require_subscribers",
    "router",
    "split_envelope",
    "subscriber",
    "xpub",
    "xsub",
]
