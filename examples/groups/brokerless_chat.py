"""A group without a hub: people who talk to each other directly, each in a terminal of their own.

The first one founds the group, and is told an address:

    .venv/bin/python examples/groups/brokerless_chat.py ana

The others name that address, or that of anybody who is in:

    .venv/bin/python examples/groups/brokerless_chat.py luis tcp://127.0.0.1:40123
    .venv/bin/python examples/groups/brokerless_chat.py eva tcp://127.0.0.1:40123

Write lines. Each is shown to everybody after what its writer had seen; `~` marks one that is concurrent with the one
before it: neither of the two had seen the other. An empty line, or Ctrl-D, leaves the group. End one of them with
Ctrl-C or `kill -9` and see the others miss it after a few seconds.
"""

import sys
import threading

from pregon.client.groups.brokerless import PeerGroup
from pregon.client.groups.events import GroupEvent, GroupMessage, MessagesMissed


def show(group: PeerGroup) -> None:
    """Print whatever is shown to this member, until it leaves."""
    before: GroupEvent | None = None
    for event in group:
        if isinstance(event, MessagesMissed):
            print(f"  ({event.last - event.first + 1} messages are lost for good)", flush=True)
            continue
        is_concurrent = before is not None and event.concurrent_with(before)
        said = event.text if isinstance(event, GroupMessage) else type(event).__name__
        print(f"{'~' if is_concurrent else ' '} {event.name}: {said}", flush=True)
        before = event


def main(name: str, peers: list[str]) -> None:
    """Take part until there is nothing more to say."""
    with PeerGroup("design", name=name, peers=peers) as group:
        print(f"I am {name}; others join with {group.address.split(' ')[0]}", flush=True)
        print("here:", ", ".join(member.name for member in group.members), flush=True)
        threading.Thread(target=show, args=(group,), daemon=True).start()
        for line in sys.stdin:
            if not line.strip():
                break
            group.send(line.rstrip("\n"))
        group.leave()


if len(sys.argv) < 2:
    raise SystemExit("give a name, and the address of somebody who is in unless you are the first")
main(sys.argv[1], sys.argv[2:])
