"""Histories of a group, made up: who said what and when, and when each member was shown it.

Times are microseconds after a morning at ten.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pregon.groups.trace import GroupTrace, TracedDelivery, TracedMessage

TEN = 1_794_823_200_000_000
NAMES = {1: "pregon", 2: "ana", 3: "luis", 4: "eva"}


def said(
    seq: int, stamp: str, at: int, after: str = "", text: str = "", *, accepted: int | None = None, **more: Any
) -> TracedMessage:
    """A message, in the hub 500 microseconds after it was sent unless something else is said."""
    member = int(stamp.partition(":")[0])
    fields: dict[str, Any] = {
        "name": NAMES[member],
        "kind": "message",
        "after": tuple(after.split()),
        "text": text,
        **more,
    }
    accepted_us = TEN + (at + 500 if accepted is None else accepted)
    return TracedMessage(seq=seq, stamp=stamp, member=member, accepted_us=accepted_us, published_us=TEN + at, **fields)


def shown(member: int, stamp: str, came: int, at: int | None = None, waited_for: str = "") -> TracedDelivery:
    """A message that a member was shown, when it came unless something else is said."""
    shown_us = TEN + (came if at is None else at)
    return TracedDelivery(
        member=member, stamp=stamp, received_us=TEN + came, delivered_us=shown_us, waited_for=waited_for
    )


def history(
    messages: Iterable[TracedMessage], deliveries: Iterable[TracedDelivery] = (), *, is_whole: bool = True
) -> GroupTrace:
    """A trace of these."""
    messages, deliveries = list(messages), list(deliveries)
    members = {one.member for one in (*messages, *deliveries)}
    return GroupTrace(
        group="design",
        members=[(member, NAMES[member]) for member in sorted(members)],
        messages=messages,
        deliveries=deliveries,
        head_seq=messages[-1].seq if messages else 0,
        is_whole=is_whole,
    )


def overtaken() -> GroupTrace:
    """Ana asks, Luis answers, and Eva gets the answer first: she is shown it after the question, 40 ms later."""
    return history(
        [
            said(1, "2:1", 0, text="¿Dónde va la turbina?"),
            said(2, "3:1", 10_000, "2:1", "A la izquierda", answers="2:1"),
        ],
        [
            shown(3, "2:1", 5_000),
            shown(4, "3:1", 20_000, 60_000, "2:1"),
            shown(2, "3:1", 14_000),
            shown(4, "2:1", 60_000),
        ],
    )
