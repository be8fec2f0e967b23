"""PUSH/PULL, one to one: hand work on to the next stage, without waiting for an answer.

    .venv/bin/python examples/patterns/push_pull.py

Guarantees: Messages arrive in order, each whole: all of its frames or none. What is sent before the puller is there
waits for it; a pusher whose queue is full waits too.
Traps: Nobody confirms anything: what is in a queue when a program dies is lost.
"""

import tempfile

from pregon.patterns import puller, pusher

with tempfile.TemporaryDirectory() as folder:
    address = f"ipc://{folder}/stage"
    with pusher(connect=address) as sender:
        for number in range(1, 4):
            sender.send_multipart([b"novedad", str(number).encode()])
        print("sent 3, and nobody is there yet")
        with puller(bind=address) as receiver:
            for _ in range(3):
                kind, text = receiver.recv_multipart()
                print(f"received {kind.decode()} {text.decode()}")
