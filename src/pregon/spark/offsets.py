"""How far a query has read, and how to cut what is next into tasks. Pure: no hub is asked here.

A place is `{"next": 18, "since": 1763280000000000}`: the number of the next message, and when its topic was made, so
that a topic that was deleted and made again is not taken for the old one. An offset is a place for each log: of a
topic, by its name; the tables that are one log (traces, requests, group deliveries) have one, under their own name.

Promises:
- One offset, one text: names are sorted, because Spark compares offsets as text.
- `cut` depends on nothing but its arguments: a batch that is read again has the same tasks with the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pregon.errors import SettingsInvalid
from pregon.limits import INTEGER_MAX

ROWS_PER_TASK = 100_000
"""A task of a stream reads at most so many, so that a large batch keeps all cores busy."""
TASKS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Ends:
    """What a log has now: from `tail` to `head`, none when that is tail - 1; `since` is when it was made."""

    since: int
    tail: int
    head: int
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """The next row to read of a log."""

    next: int
    since: int
    first: int = 0
    """Where a log begins that the offset before does not know, or knows as another; 0 otherwise."""


@dataclass(frozen=True, slots=True)
class Span:
    """Rows first..last of a log, both included."""

    log: str
    first: int
    last: int
    since: int

    @property
    def rows(self) -> int:
        """How many."""
        return self.last - self.first + 1


Offset = dict[str, Place]


def encode_offset(offset: Mapping[str, Place]) -> dict[str, Any]:
    """As Spark keeps it."""
    return {
        name: {"next": place.next, "since": place.since, **({"first": place.first} if place.first else {})}
        for name, place in sorted(offset.items())
    }


def decode_offset(data: Any) -> Offset:
    """What Spark kept; raises SettingsInvalid for a checkpoint of something else."""
    offset: Offset = {}
    for name, place in data.items() if isinstance(data, Mapping) else [("", None)]:
        values = [place.get(key, 0) for key in ("next", "since", "first")] if isinstance(place, Mapping) else [None]
        if not all(isinstance(value, int) and 0 <= value <= INTEGER_MAX for value in values) or not values[0]:
            raise SettingsInvalid(
                "the checkpoint is not one of this source, or is damaged: begin with another location "
                '(option("checkpointLocation", …))'
            )
        offset[name] = Place(*(int(value or 0) for value in values))
    return offset


def advance(start: Mapping[str, Place], ends: Mapping[str, Ends], rows_max: int | None) -> Offset:
    """How far the next batch goes: all that there is, or `rows_max` of it, each log in proportion to what it has.

    A log that is new begins at its oldest row; one that is gone is left out.
    """
    begins = {name: place_in(start.get(name), end) for name, end in ends.items()}
    waiting = {name: max(0, end.head + 1 - begins[name].next) for name, end in ends.items()}
    total = sum(waiting.values())
    taken = dict(waiting)
    if rows_max is not None and total > rows_max:
        taken = {name: count * rows_max // total for name, count in waiting.items()}
        # What rounding left goes to those that wait most, so that the batch has what it may and never nothing.
        left = rows_max - sum(taken.values())
        for name in sorted(waiting, key=lambda one: (-waiting[one], one)):
            more = min(left, waiting[name] - taken[name])
            taken[name] += more
            left -= more
    # Nothing new is the same text as before.
    return {
        name: start[name]
        if name in start and (start[name].next, start[name].since) == (place.next + taken[name], place.since)
        else Place(place.next + taken[name], place.since, place.first)
        for name, place in begins.items()
    }


def place_in(place: Place | None, ends: Ends) -> Place:
    """Where reading goes on in a log as it is now: at its oldest row if it is new or made again, or lost the rest."""
    if place is None or place.since != ends.since:
        return Place(ends.tail, ends.since, ends.tail)
    return Place(max(place.next, ends.tail), place.since)


def made_again(start: Mapping[str, Place], ends: Mapping[str, Ends]) -> list[str]:
    """Logs that are not those of which some was read, in words."""
    return [
        f"{name} was deleted and made again: what was after {place.next - 1} in the old one is gone"
        for name, place in sorted(start.items())
        if name in ends and ends[name].since != place.since
    ]


def lost(start: Mapping[str, Place], ends: Mapping[str, Ends]) -> list[str]:
    """What is there no more of what was to be read of logs that are the same, in words."""
    found = []
    for name, place in sorted(start.items()):
        end = ends.get(name)
        if end is None or end.since != place.since:
            continue
        if place.next < end.tail:
            found.append(f"{place.next} to {end.tail - 1} of {name} were removed by its retention")
        elif place.next > end.head + 1:
            found.append(
                f"{name} ends at {end.head}, before {place.next - 1}, where it was to go on: was its store put back?"
            )
    return found


def spans_between(start: Mapping[str, Place], end: Mapping[str, Place]) -> list[Span]:
    """What is between two offsets, log by log in the order of their names."""
    spans = []
    for name, until in sorted(end.items()):
        begin = start.get(name)
        # One that was not there at the beginning, or was made again, is read from its first row then.
        first = begin.next if begin is not None and begin.since == until.since else until.first or 1
        if first < until.next:
            spans.append(Span(name, first, until.next - 1, until.since))
    return spans


def cut(spans: list[Span], tasks_min: int, rows_per_task: int = ROWS_PER_TASK) -> list[Span]:
    """The same rows in tasks of at most so many rows; `tasks_min` tasks at least, if there are as many rows.

    Each task has rows of one log.
    """
    total = sum(span.rows for span in spans)
    if not total:
        return []
    rows = max(1, min(rows_per_task, total // tasks_min), -(-total // TASKS_MAX))
    pieces = []
    for span in spans:
        count = -(-span.rows // rows)
        bounds = [span.first + span.rows * piece // count for piece in range(count + 1)]
        pieces += [Span(span.log, low, high - 1, span.since) for low, high in pairwise(bounds)]
    return pieces
