"""REQ/REP, many to one: one server, any number of clients.

    .venv/bin/python examples/patterns/req_rep_many_clients.py

Guarantees: Clients are served in turn: one that asks without pause does not starve another. Each answer goes to the
client that asked.
Traps: The server does one request at a time: a slow one delays everybody.
"""

from threading import Thread

from pregon.patterns import bound_address, replier, requester

ENGLISH = {b"uno": b"one", b"dos": b"two", b"tres": b"three"}
answers: dict[bytes, bytes] = {}


def ask(address: str, word: bytes) -> None:
    """A client: it would be a program of its own."""
    with requester(connect=address) as client:
        client.send(word)
        answers[word] = client.recv()


with replier(bind="tcp://127.0.0.1:*") as server:
    clients = [Thread(target=ask, args=[bound_address(server), word]) for word in ENGLISH]
    for client in clients:
        client.start()
    for _ in clients:
        server.send(ENGLISH[server.recv()])
    for client in clients:
        client.join()

for word, answer in sorted(answers.items()):
    print(f"who asked {word.decode()} was answered {answer.decode()}")
