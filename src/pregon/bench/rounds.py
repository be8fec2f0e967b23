"""A run of benchmarks under way: what to run, where, and how rounds are taken in turns."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table

from pregon.bench.physical import BODY_BYTES

ROUNDS = 5
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run."""

    quick: bool = False
    only: tuple[str, ...] = ()
    peers: bool = False
    install: bool = False
    directory: Path | None = None
    output: Path | None = None

    def scaled(self, count: int) -> int:
        """A number of messages: a tenth of it when it must be quick."""
        return max(count // 10, 1_000) if self.quick else count


@dataclass(slots=True)
class Run:
    """A run under way: where it puts data, and what it has found."""

    plan: Plan
    directory: Path
    out: Console
    results: dict[str, Any] = field(default_factory=dict)

    def folder(self, name: str) -> Path:
        """A new empty directory."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.directory))

    def show(self, title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
        """A table of results."""
        table = Table(*columns, title=title, title_justify="left", box=None, header_style="bold")
        for column in table.columns[1:]:
            column.justify = "right"
        for row in rows:
            table.add_row(*row)
        self.out.print(table)
        self.out.print()


def bodies(count: int) -> list[bytes]:
    """Messages of 200 bytes that differ, as real ones do."""
    noise = os.urandom(BODY_BYTES - 12)
    return [b"%012d" % number + noise for number in range(count)]


def in_turns(rounds: int, timed: dict[str, Callable[[int], T]]) -> dict[str, list[T]]:
    """Each of them once a round, one after another."""
    measured: dict[str, list[T]] = {name: [] for name in timed}
    for number in range(rounds):
        for name, measure in timed.items():
            measured[name].append(measure(number))
    return measured
