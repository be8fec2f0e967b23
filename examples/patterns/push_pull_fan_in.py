"""PUSH/PULL, fan-in: collect from several pushers.

    .venv/bin/python examples/patterns/push_pull_fan_in.py

Guarantees: Pushers are heard in turn: one that floods does not silence another. The messages of one pusher stay in
order.
Traps: Between the messages of different pushers there is no order.
"""

from threading import Event, Thread

import zmq

from pregon.patterns import Options, bound_address, puller, pusher

enough = Event()


def flood(address: str) -> None:
    """A pusher that sends without pause."""
    with pusher(connect=address, options=Options(wait_ms=50, linger_ms=0)) as sender:
        while not enough.is_set():
            try:
                sender.send(b"flood")
            except zmq.Again:
                continue


with puller(bind="tcp://127.0.0.1:*") as receiver:
    address = bound_address(receiver)
    thread = Thread(target=flood, args=[address])
    thread.start()
    receiver.recv()
    print("the flood has begun")
    with pusher(connect=address) as quiet:
        for number in range(1, 4):
            quiet.send_string(f"quiet {number}")
        heard = 0
        while heard < 3:
            text = receiver.recv_string()
            if text != "flood":
                print(f"heard in the middle of it: {text}")
                heard += 1
    enough.set()
    thread.join()
