"""A message of a group with its control information, and what its delivery tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from pregon.causal.stamps import Stamp
from pregon.errors import BadRequest
from pregon.limits import GROUP_AFTER_MAX, GROUP_NUMBER_MAX


class CausalMessage(msgspec.Struct, frozen=True, gc=False):
    """A message: its name, the messages that it depends on immediately, and what it says."""

    stamp: Stamp
    after: tuple[Stamp, ...] = ()
    """H(m) of Algorithm 1, by member: never the sender's own, whose earlier messages come before anyway."""
    body: Any = None


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """A message that may be shown now, and what held it back on its way, if anything did."""

    message: CausalMessage
    waited_for: Stamp | None = None
    """The message that was missing when this one came; others may have been missing besides."""


def check_control(stamp: Stamp, after: Sequence[Stamp]) -> None:
    """Raises BadRequest for control information that no member who follows the rules would send."""
    if not (1 <= stamp.member <= GROUP_NUMBER_MAX and 1 <= stamp.number <= GROUP_NUMBER_MAX):
        raise BadRequest(f"{stamp} is not the name of a message: numbers go from 1 to {GROUP_NUMBER_MAX}")
    if len(after) > GROUP_AFTER_MAX:
        raise BadRequest(f"a message names at most {GROUP_AFTER_MAX} messages that it depends on")
    before = 0
    for member, number in after:
        if member <= before or member > GROUP_NUMBER_MAX:
            raise BadRequest("the messages that one depends on are named by member, from low to high, each member once")
        if member == stamp.member:
            raise BadRequest("a message depends on those of its own sender without saying so: leave them out")
        if not 1 <= number <= GROUP_NUMBER_MAX:
            raise BadRequest(f"{member}:{number} is not the name of a message: numbers go from 1 to {GROUP_NUMBER_MAX}")
        before = member
