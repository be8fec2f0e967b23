"""Read what is pending for a subscription, in order: for who pulls, and for who pushes.

Without a filter that is the log after the cursor, but for what is set aside. With one it is what the filter has
looked at and wants, each range with its reason.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection

from pregon.model.batch import StoredBatch
from pregon.store.cursors import Place
from pregon.store.filter_results import wanted_runs
from pregon.store.log import read_range

_RUNS_AT_ONCE = 100


class Match(msgspec.Struct, frozen=True, array_like=True):
    """Why the filter of a subscription wants messages first..last."""

    first_seq: int
    last_seq: int
    reason: str


@dataclass(frozen=True, slots=True)
class Pending:
    """Messages as runs of consecutive numbers, and why the filter wants them if there is one."""

    batches: list[StoredBatch]
    matches: list[Match]


def read_pending(
    connection: Connection, place: Place, aside: Collection[int], first_seq: int, messages_max: int, bytes_max: int
) -> Pending:
    """What is pending from a number on; the first message goes however large it is."""
    batches: list[StoredBatch] = []
    matches: list[Match] = []
    count = size = 0
    for match in _candidates(connection, place, first_seq):
        start = max(first_seq, match.first_seq)
        while start <= match.last_seq:
            found = read_range(
                connection,
                place.topic_id,
                start,
                match.last_seq,
                messages_max=messages_max - count,
                bytes_max=bytes_max - size,
            )
            if not found:
                break
            start = found[-1].last_seq + 1
            pieces = [piece for one in found for piece in one.without(aside)] if aside else found
            fitting = fit(pieces, bytes_max - size, is_first=not batches)
            batches += fitting
            count += sum(one.count for one in fitting)
            size += sum(len(one.arrow) for one in fitting)
            if place.filter and fitting:
                matches.append(match)
            if len(fitting) < len(pieces):
                return Pending(batches, matches)
            if batches:
                break
        if count >= messages_max or size >= bytes_max or (batches and start <= match.last_seq):
            break
    return Pending(batches, matches)


def _candidates(connection: Connection, place: Place, first_seq: int) -> Iterator[Match]:
    """The ranges to read: all of the log, or what the filter wants of it."""
    if not place.filter:
        yield Match(first_seq, place.cursor.head_seq, "")
        return
    while runs := wanted_runs(connection, place.id, first_seq, _RUNS_AT_ONCE):
        for run in runs:
            yield Match(run.first_seq, run.last_seq, run.reason)
        first_seq = runs[-1].last_seq + 1


def fit(messages: Sequence[StoredBatch], bytes_max: int, *, is_first: bool = True) -> list[StoredBatch]:
    """As many as fit; at least one if it is the first."""
    fitting: list[StoredBatch] = []
    size = 0
    for one in messages:
        size += len(one.arrow)
        if size > bytes_max and (fitting or not is_first):
            break
        fitting.append(one)
    return fitting
