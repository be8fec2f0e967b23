"""PUSH/PULL, fan-out: share work among several pullers.

    .venv/bin/python examples/patterns/push_pull_fan_out.py

Guarantees: Each message goes to one puller, and the pullers get them in turn.
Traps: Turns do not look at who is busy: a slow puller is given as many as a quick one. What waits at a puller that
dies is lost, and not given to another.
"""

from pregon.patterns import bound_address, puller, pusher

pullers = [puller(bind="tcp://127.0.0.1:*") for _ in range(3)]
with pusher(connect=[bound_address(each) for each in pullers]) as sender:
    for number in range(1, 10):
        sender.send_string(str(number))
    for place, each in enumerate(pullers, start=1):
        with each:
            got = [each.recv_string() for _ in range(3)]
        print(f"puller {place} got {', '.join(got)}")
