"""DEALER/REP: have several requests out at once, to servers that know nothing of it.

    .venv/bin/python examples/patterns/dealer_rep.py

Guarantees: The servers are asked in turn, without waiting for answers. A server that dies does not keep the program
from asking the others.
Traps: The program adds the delimiter: without it, REP drops the request without a word. Answers come as the servers
get ready: number the requests.
"""

from pregon.patterns import bound_address, dealer, join_envelope, replier, split_envelope

odd, even = replier(bind="tcp://127.0.0.1:*"), replier(bind="tcp://127.0.0.1:*")
with odd, even, dealer(connect=[bound_address(odd), bound_address(even)]) as client:
    for number in range(1, 5):
        client.send_multipart(join_envelope([], [b"Hello", str(number).encode()]))
    print("four requests are out, and no answer has come")

    # The servers would be programs of their own. The second one is quicker, so its answers come first.
    for server in (even, even, odd, odd):
        greeting, count = server.recv_multipart()
        server.send_multipart([b"World", count])
        _, (reply, count) = split_envelope(client.recv_multipart())
        print(f"{greeting.decode()} {count.decode()}: {reply.decode()} {count.decode()}")
