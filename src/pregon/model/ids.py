"""Identifiers that nobody else will make, and that sort by the time they were made.

Sorting matters to the store: ids that arrive in order go to the same page of the index, so
recognising duplicates does not slow down as the log grows.
"""

from __future__ import annotations

import os
import random

from pregon.clock import wall_us

# Of our own, so that nobody who seeds Python's makes ours repeat itself; a child process begins anew.
_random = random.Random()
os.register_at_fork(after_in_child=_random.seed)


class NewId(str):
    """An id that was made here and now: nobody can have used it before."""

    __slots__ = ()


def new_id() -> str:
    """24 hexadecimal digits: 12 of time in milliseconds, 12 of randomness (48 bits)."""
    return f"{wall_us() // 1_000:012x}{_random.getrandbits(48):012x}"
