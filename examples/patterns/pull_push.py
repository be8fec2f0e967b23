"""PULL/PUSH forwarder: one address for pushers, one for pullers; both come and go.

    .venv/bin/python examples/patterns/pull_push.py

It is what `pregon proxy pull-push` runs, here inside the program.

Guarantees: Each message goes to one puller; while there is none, messages wait.
Traps: All that PUSH/PULL loses, and what is in the forwarder when it ends.
"""

from pregon.patterns import Forwarder, puller, pusher

with Forwarder("pull-push", front="tcp://127.0.0.1:*", back="tcp://127.0.0.1:*") as queue:
    for name in ("first", "second"):
        with pusher(connect=queue.front) as sender:
            sender.send_string(f"from the {name} pusher")
    print("both pushers are gone, and there is no puller yet")
    with puller(connect=queue.back) as receiver:
        for text in sorted(receiver.recv_string() for _ in range(2)):
            print("pulled", text)
