"""Ranges of message numbers, as pairs of a first and a last one, both included.

Pure arithmetic: traces, expiry, filters and pulls all speak in ranges.
"""

from __future__ import annotations

from collections.abc import Iterable

Run = tuple[int, int]


def runs_of(seqs: Iterable[int]) -> list[Run]:
    """Ascending numbers as ranges: 1 2 3 7 8 become (1, 3) and (7, 8)."""
    runs: list[Run] = []
    for seq in seqs:
        if runs and seq == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], seq)
        else:
            runs.append((seq, seq))
    return runs


def runs_without(first_seq: int, last_seq: int, without: Iterable[Run]) -> list[Run]:
    """The ranges that remain of first..last when others are left out, wherever those begin and end."""
    runs: list[Run] = []
    start = first_seq
    for first, last in sorted(without):
        if start > last_seq:
            break
        if first > start:
            runs.append((start, min(first - 1, last_seq)))
        start = max(start, last + 1)
    if start <= last_seq:
        runs.append((start, last_seq))
    return runs


def runs_between(first_seq: int, last_seq: int, without: Iterable[int]) -> list[Run]:
    """The ranges that remain of first..last when some numbers are left out."""
    return runs_without(first_seq, last_seq, ((seq, seq) for seq in without))


def count(runs: Iterable[Run]) -> int:
    """How many numbers ranges that do not overlap have."""
    return sum(last - first + 1 for first, last in runs)
