"""Names of messages: who sent it, and which of theirs it is.

A stamp is written `3:17` for people: the 17th message of member 3. Members of a group are numbers, given once and never
again; the messages of each are 1, 2, 3 … without gaps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from pregon.errors import BadRequest
from pregon.limits import GROUP_AFTER_MAX, GROUP_NUMBER_MAX

_STAMP = re.compile(r"([1-9][0-9]{0,18}):([1-9][0-9]{0,18})", re.ASCII)
_STAMPS = re.compile(r"[1-9][0-9]{0,18}:[1-9][0-9]{0,18}(?: [1-9][0-9]{0,18}:[1-9][0-9]{0,18})*", re.ASCII)


class Stamp(NamedTuple):
    """The name of a message in its group."""

    member: int
    number: int

    def __str__(self) -> str:
        return f"{self.member}:{self.number}"


_make_stamp = partial(tuple.__new__, Stamp)


def decode_stamp(text: str) -> Stamp:
    """The stamp that a text names; raises BadRequest."""
    found = _STAMP.fullmatch(text)
    if found is not None:
        stamp = Stamp(int(found[1]), int(found[2]))
        if max(stamp) <= GROUP_NUMBER_MAX:
            return stamp
    raise BadRequest(f"{text[:60]!r} is not the name of a message of a group: write MEMBER:NUMBER, such as 3:17")


def encode_stamps(stamps: Iterable[Stamp]) -> str:
    """Stamps as a text, separated by spaces."""
    return " ".join(f"{member}:{number}" for member, number in stamps)


def decode_stamps(text: str) -> tuple[Stamp, ...]:
    """The stamps of a text, as it has them; raises BadRequest for one that is none, and for too many."""
    if not text:
        return ()
    if text.count(" ") >= GROUP_AFTER_MAX:
        raise BadRequest(f"a message names at most {GROUP_AFTER_MAX} messages that it depends on")
    if _STAMPS.fullmatch(text) is not None:
        numbers = list(map(int, text.replace(":", " ").split(" ")))
        if max(numbers) <= GROUP_NUMBER_MAX:
            # All in C: a message may name hundreds, and everybody reads them.
            return tuple(map(_make_stamp, zip(numbers[::2], numbers[1::2], strict=True)))
    # One of them is none: which one is said.
    return tuple(decode_stamp(word) for word in text.split(" "))
