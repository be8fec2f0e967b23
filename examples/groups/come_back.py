"""A member that keeps its state in a file, and goes on where it was each time that it is run.

With a hub running (`make run`), again and again:

    .venv/bin/python examples/groups/come_back.py
"""

from pathlib import Path

from pregon import Client, GroupMessage

# It has the member's token: keep it from others.
STATE = Path("come-back.state")

with Client() as hub:
    if STATE.exists():
        group = hub.join("diary", state=STATE.read_bytes())
        print(f"back as member {group.number}")
    else:
        group = hub.join("diary", name="writer")
        print(f"new, as member {group.number}")

    visitor = hub.join("diary", name=f"visitor of {group.number}")
    visitor.send("were you here?")
    while not isinstance(event := group.poll(10), GroupMessage):
        pass
    print(f"{event.sender}: {event.text}")
    stamp = group.send("I was", answers=event)
    print(f"my message {stamp.number}, after {event.stamp}")

    # After all that was shown and sent: what comes later is shown the next time.
    STATE.touch(mode=0o600)
    STATE.write_bytes(group.state())
    visitor.leave()
    hub.retire(visitor.token)
