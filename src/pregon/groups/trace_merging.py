"""What was said in a group that lives in several hubs, from what each of them has.

Promises:
- Every message stands after those that it depends on, whatever the hubs' clocks say; otherwise in the order of time.
- The number of a message stays the one that it has in its own hub.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from pregon.errors import BadRequest
from pregon.groups.trace import GroupTrace, TracedDelivery, TracedMessage


def merge_traces(traces: Sequence[GroupTrace]) -> GroupTrace:
    """The same group as several hubs saw it; raises BadRequest for different ones."""
    first, *others = traces
    if any((one.group, one.hubs) != (first.group, first.hubs) for one in others):
        raise BadRequest(f"these hubs do not have the same group {first.group}: name hubs among which it was made")
    messages = {message.stamp: message for one in traces for message in one.messages}
    deliveries: dict[tuple[int, str], TracedDelivery] = {}
    names: dict[int, str] = {}
    for one in traces:
        for delivery in one.deliveries:
            if delivery.stamp in messages:
                deliveries.setdefault((delivery.member, delivery.stamp), delivery)
        for member, name in one.members:
            # A hub has only the number of a member that sends and is named elsewhere.
            if names.get(member, str(member)) == str(member):
                names[member] = name
    there = {message.member for message in messages.values()} | {member for member, _ in deliveries}
    return GroupTrace(
        group=first.group,
        members=[(member, names[member]) for member in sorted(there)],
        messages=_in_order(messages),
        deliveries=list(deliveries.values()),
        head_seq=first.head_seq,
        hubs=first.hubs,
        hubs_here=sum(one.hubs_here for one in traces),
        is_whole=all(one.is_whole for one in traces),
    )


def between(trace: GroupTrace, first_us: int, last_us: int) -> GroupTrace:
    """What a hub accepted between two instants, both included."""
    messages = [one for one in trace.messages if first_us <= one.accepted_us <= last_us]
    return GroupTrace(
        group=trace.group,
        members=trace.members,
        messages=messages,
        deliveries=trace.deliveries,
        head_seq=trace.head_seq,
        hubs=trace.hubs,
        hubs_here=trace.hubs_here,
        is_whole=trace.is_whole,
    )


def _in_order(messages: dict[str, TracedMessage]) -> list[TracedMessage]:
    """By time, but each after what it depends on; what depends on itself in a circle comes last."""
    waits: dict[str, int] = {}
    waiting: dict[str, list[str]] = {}
    ready: list[tuple[int, str]] = []
    for stamp, message in messages.items():
        number = int(stamp.partition(":")[2])
        causes = [cause for cause in {*message.after, f"{message.member}:{number - 1}"} if cause in messages]
        waits[stamp] = len(causes)
        for cause in causes:
            waiting.setdefault(cause, []).append(stamp)
        if not causes:
            heappush(ready, (message.accepted_us, stamp))
    found: dict[str, TracedMessage] = {}
    while ready:
        _, stamp = heappop(ready)
        found[stamp] = messages[stamp]
        for next_stamp in waiting.get(stamp, ()):
            waits[next_stamp] -= 1
            if waits[next_stamp] == 0:
                heappush(ready, (messages[next_stamp].accepted_us, next_stamp))
    return [*found.values(), *(message for stamp, message in messages.items() if stamp not in found)]
