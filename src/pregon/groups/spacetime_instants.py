"""When everything happened, by one clock: the hub's.

Members say when they sent and when they were shown something by clocks of their own, which differ. But a message is
sent before the hub has it, and is shown after; and who depends on a message had got it from the hub. So of each member
it is known how much its clock is wrong at least, and what it says is moved by so much and no more. What is still
impossible then (a clock that was set in the middle) is moved alone, to the nearest instant at which it is possible.

Promises, whatever members say:
- A message is sent after each message that it depends on and that the hub has, and after its sender's earlier ones.
- It comes to a member after it was sent, and is shown when it comes or later.
- Clocks that are right are left as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from pregon.groups.trace import GroupTrace, TracedDelivery


@dataclass(frozen=True, slots=True)
class Shown:
    """A delivery, by the hub's clock. What was not held back came when it was shown."""

    delivery: TracedDelivery
    came_us: int
    shown_us: int


@dataclass(frozen=True, slots=True)
class Instants:
    """When messages were sent and shown, and by how much each member's clock was moved, where it was."""

    sent_us: dict[str, int]
    shown: list[Shown]
    moved_us: dict[int, int]


def find_instants(trace: GroupTrace) -> Instants:
    """When everything in a trace happened."""
    accepted_us = _find_accepted(trace)
    moved_us = _find_moves(trace, accepted_us)
    sent_us: dict[str, int] = {}
    last_of: dict[int, int] = {}
    for message in trace.messages:
        stored_us = accepted_us[message.stamp]
        said_us = message.published_us + moved_us.get(message.member, 0) if message.published_us else stored_us
        causes_us = [accepted_us[stamp] for stamp in message.after if stamp in sent_us]
        earliest_us = max([said_us, last_of.get(message.member, 0), *causes_us])
        last_of[message.member] = sent_us[message.stamp] = min(earliest_us, stored_us)
    senders = {message.stamp: message.member for message in trace.messages}
    shown = []
    for delivery in trace.deliveries:
        # What a member sent itself, it had when it sent it.
        if senders.get(delivery.stamp, delivery.member) != delivery.member:
            move_us = moved_us.get(delivery.member, 0)
            came_us = max(delivery.received_us + move_us, accepted_us[delivery.stamp])
            shown_us = max(delivery.delivered_us + move_us, came_us)
            shown.append(Shown(delivery, came_us if delivery.was_held else shown_us, shown_us))
    return Instants(sent_us, shown, moved_us)


def _find_accepted(trace: GroupTrace) -> dict[str, int]:
    """When the hub had each message; where several hubs have clocks that differ, not before its causes."""
    accepted_us: dict[str, int] = {}
    last_of: dict[int, int] = {}
    for message in trace.messages:
        causes_us = [accepted_us[stamp] for stamp in message.after if stamp in accepted_us]
        at_us = max([message.accepted_us, last_of.get(message.member, 0), *causes_us])
        last_of[message.member] = accepted_us[message.stamp] = at_us
    return accepted_us


def _find_moves(trace: GroupTrace, accepted_us: dict[str, int]) -> dict[int, int]:
    """By how much to move what each member says: the least that is possible."""
    least: dict[int, int] = {}
    most: dict[int, int] = {}
    for message in trace.messages:
        if not message.published_us:
            continue
        member, said_us = message.member, message.published_us
        ahead_us = accepted_us[message.stamp] - said_us
        most[member] = min(most.get(member, ahead_us), ahead_us)
        for stamp in message.after:
            if stamp in accepted_us:
                least[member] = max(least.get(member, 0), accepted_us[stamp] - said_us)
    for delivery in trace.deliveries:
        if delivery.stamp in accepted_us:
            behind_us = accepted_us[delivery.stamp] - delivery.received_us
            least[delivery.member] = max(least.get(delivery.member, 0), behind_us)
    # One that is both, because somebody set it, is taken for one that is behind.
    moves = {member: least.get(member) or min(most.get(member, 0), 0) for member in {*least, *most}}
    return {member: move_us for member, move_us in moves.items() if move_us}
