"""What one check of `pregon doctor` found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """A check, whether all is well, what was found, and what to do about it."""

    check: str
    is_well: bool
    found: str
    advice: str = ""
