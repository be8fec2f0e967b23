"""A progress bar on standard error, where that is a terminal: how much of a map is done, and when it will be.

Nothing is shown anywhere else, and `rich` is not even imported.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sized
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pregon.clock import monotonic_ms

if TYPE_CHECKING:
    from rich.progress import Progress

_SHOW_EVERY_MS = 100.0


class MapProgress:
    """How far a map has come. Use it with `with`."""

    def __init__(self, label: str, inputs: Iterable[Any], *, is_wanted: bool) -> None:
        self._label = label
        self._total = len(inputs) if isinstance(inputs, Sized) else None
        self._is_shown = is_wanted and sys.stderr is not None and sys.stderr.isatty()
        self._bar: Progress | None = None
        self._done = 0
        self._next_ms = 0.0

    def __enter__(self) -> MapProgress:
        if self._is_shown:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._bar.add_task(self._label, total=self._total)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._show()
            self._bar.stop()

    def step(self) -> None:
        """One more is done."""
        self._done += 1
        # Drawing costs a hundred times what a result does.
        if self._bar is not None and monotonic_ms() >= self._next_ms:
            self._next_ms = monotonic_ms() + _SHOW_EVERY_MS
            self._show()

    def _show(self) -> None:
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._done)
