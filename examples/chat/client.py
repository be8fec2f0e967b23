"""A minimal chat client for the plain door of a room, with nothing of Pregón: PUSH what is typed, SUB what is said.

    .venv/bin/pregon chat door --room plaza
    .venv/bin/python examples/chat/client.py Ana

Ctrl-D ends it.
"""

import sys
import threading

import zmq

nick, pull, pub = [*sys.argv[1:], *["Ana", "tcp://127.0.0.1:9999", "tcp://127.0.0.1:9998"][len(sys.argv) - 1 :]]
context = zmq.Context()
push = context.socket(zmq.PUSH)
push.connect(pull)


def listen() -> None:
    """Show what everybody says, until one's own farewell."""
    with context.socket(zmq.SUB) as sub:
        sub.connect(pub)
        sub.subscribe("")
        push.send_multipart([nick.encode(), b"HI"])
        while True:
            who, text = (frame.decode() for frame in sub.recv_multipart())
            print(f"[{who}] {text}", flush=True)
            if (who, text) == ("server", f"{nick} disconnected"):
                return


listening = threading.Thread(target=listen, daemon=True)
listening.start()
for line in sys.stdin:
    push.send_multipart([nick.encode(), line.rstrip("\n").encode()])
push.send_multipart([nick.encode(), b"BYE"])
listening.join(5)
