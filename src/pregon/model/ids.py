"""Identifiers that nobody else will make, and that sort by the time they were made.

Sorting matters to the store: ids that arrive in order go to the same page of the index, so
recognising duplicates does not slow down as the log grows.
"""

from __future__ import annotations

import os

from pregon.clock import wall_us


def new_id() -> str:
    """24 hexadecimal digits: 12 of time in milliseconds, 12 of randomness (48 bits)."""
    return f"{wall_us() // 1_000:012x}{os.urandom(6).hex()}"
