"""A room for one's own terminal: what others say is printed, what is typed is said.

With a hub running (`make run`), in as many terminals as there are people:

    .venv/bin/python examples/groups/room.py ana
    .venv/bin/python examples/groups/room.py luis

End with Ctrl-D, which leaves the room. Kill the hub and start it again in between: nothing is lost.
"""

import sys
import threading

from pregon import Client, Group, GroupMessage, MemberGone, MemberJoined, MemberLeft


def show(group: Group) -> None:
    """Print what happens, until the group is closed."""
    for event in group:
        if isinstance(event, GroupMessage):
            waited = f" (waited for {event.waited_for})" if event.waited_for else ""
            print(f"{event.sender}: {event.text}{waited}", flush=True)
        elif isinstance(event, MemberJoined):
            print(f"* {event.name} came", flush=True)
        elif isinstance(event, MemberLeft | MemberGone):
            print(f"* {event.name} left", flush=True)


name = sys.argv[1] if len(sys.argv) > 1 else sys.exit("who are you? give a name")
with Client() as hub, hub.join("room", name=name, history=True) as room:
    looker = threading.Thread(target=show, args=(room,))
    looker.start()
    for line in sys.stdin:
        # Not waited for: it is said when the hub is there.
        room.send(line.rstrip("\n"), wait=False)
    token = room.token
    room.leave()
    looker.join()
    hub.retire(token)
