"""What `pregon pipeline` shows: a line a step, how far a stream is, and the tables of its status.

On a terminal a step that runs shows for how long, and how many of its tasks are done; elsewhere only what
has ended is written. With `--json` every step, and every look at a stream, is a JSON object.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

import msgspec
from rich.live import Live
from rich.markup import escape
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from pregon.cli.output import console, printable, show_json, show_rows, tell
from pregon.cli.serve import StopWanted
from pregon.clock import monotonic_ms

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pregon.spark.pipelines.results import Results
    from pregon.spark.pipelines.running import Ended
    from pregon.spark.pipelines.status import Status
    from pregon.spark.pipelines.streaming import Progress

_REFRESHES_PER_S = 4
_STEP_COLUMNS = ("step", "made_at", "took_ms", "rows", "hub")
_ARCHIVE_COLUMNS = ("table", "topic", "through", "head", "behind", "rows")
_STREAM_COLUMNS = ("stream", "query", "batch", "at", "rows", "rows_per_s", "behind")


class _Screen:
    """What is drawn anew on a terminal while something runs, and is left out elsewhere."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._out = console()
        self._live: Live | None = None

    @property
    def _is_drawn(self) -> bool:
        return self._out.is_terminal and not self._as_json

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()


class RunScreen(_Screen):
    """The steps of a run."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__(as_json=as_json)
        self._began_ms = monotonic_ms()
        self._step = tell("starting Spark", "iniciando Spark")
        self.spark: SparkSession | None = None

    def __enter__(self) -> RunScreen:
        if self._is_drawn:
            self._live = Live(
                console=self._out,
                refresh_per_second=_REFRESHES_PER_S,
                transient=True,
                get_renderable=self._render,
            )
            self._live.start()
        return self

    def begins(self, step: str) -> None:
        """A step begins."""
        self._step, self._began_ms = step, monotonic_ms()

    def ended(self, ended: Ended) -> None:
        """A step has ended: its line stays."""
        made = ended.made
        if self._as_json:
            figures = msgspec.to_builtins(ended.outcome.figures)
            show_json({**msgspec.to_builtins(made), "is_right": ended.outcome.is_right, "figures": figures})
            return
        from pregon.spark.report.page import SECTIONS
        from pregon.spark.report.words import plain

        answer = plain(tell(*SECTIONS[made.step](ended.outcome.figures).answer))
        rows = sum(made.rows.values())
        mark = "[green]✓[/]" if ended.outcome.is_right else "[bold red]✗[/]"
        counted = tell(f"{rows:,} rows", f"{rows:,} filas")
        self._out.print(
            f"{mark} {made.step:<15} {counted:>18} {made.took_ms / 1_000:>7.1f} s  {escape(printable(answer))}"
        )

    def _render(self) -> Table:
        """What runs now: its name, for how long, and its tasks."""
        line = Table.grid(padding=(0, 1))
        line.add_row(
            Spinner("dots"),
            Text(self._step, style="bold"),
            Text(f"{(monotonic_ms() - self._began_ms) / 1_000:.0f} s"),
            Text(self._tasks(), style="dim"),
        )
        return line

    def _tasks(self) -> str:
        """How many tasks of what Spark is at are done."""
        if self.spark is None:
            return ""
        try:
            tracker = self.spark.sparkContext.statusTracker()
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        # The session may be ending in another thread; what is only shown must not stop what is done.
        except Exception:
            return ""
        done = sum(stage.numCompletedTasks for stage in stages if stage is not None)
        total = sum(stage.numTasks for stage in stages if stage is not None)
        return tell(f"{done} of {total} tasks", f"{done} de {total} tareas") if total else ""


class StreamScreen(_Screen):
    """The queries of a stream: a table that is drawn anew on a terminal, a line for each new batch elsewhere."""

    def __init__(self, name: str, results: Results, *, as_json: bool) -> None:
        super().__init__(as_json=as_json)
        self._name, self._results = name, results
        self._shown: dict[str, int] = {}

    def __enter__(self) -> StreamScreen:
        stop = tell("Ctrl-C ends it after its batch", "Ctrl-C lo termina después de su lote")
        if self._is_drawn:
            self._out.print(f"[bold]{escape(self._name)}[/]  [dim]{stop}[/]")
            self._live = Live(console=self._out, refresh_per_second=_REFRESHES_PER_S)
            self._live.start()
        return self

    def show(self, seen: list[Progress]) -> None:
        """How far the queries are, on the screen and for `status`."""
        from pregon.spark.pipelines.streaming import save_progress

        # One that has found nothing yet has the batch -1, and is told and saved too.
        fresh = [one for one in seen if one.batch > self._shown.get(one.query, -2)]
        self._shown.update((one.query, one.batch) for one in fresh)
        if fresh:
            save_progress(self._results, self._name, seen)
        if self._live is not None:
            self._live.update(_progress_table(seen))
        elif self._as_json:
            for one in fresh:
                show_json({"stream": self._name, **msgspec.to_builtins(one)})


def _progress_table(seen: list[Progress]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(tell("query", "consulta"))
    for heading in (tell("batch", "lote"), tell("rows", "filas"), tell("rows/s", "filas/s"), tell("behind", "atraso")):
        table.add_column(heading, justify="right")
    for one in seen:
        behind = "-" if one.behind is None else f"{one.behind:,}"
        batch = "-" if one.batch < 0 else str(one.batch)
        table.add_row(escape(one.query), batch, f"{one.rows:,}", f"{one.rows_per_s:,.0f}", behind)
    return table


@contextmanager
def stopping_signals() -> Iterator[Callable[[], bool]]:
    """SIGTERM and Ctrl-C ask to stop; gives what says whether somebody did. The second Ctrl-C interrupts."""
    asked = StopWanted()

    def ask(number: int, _frame: FrameType | None) -> None:
        if asked.is_set and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def show_status(status: Status) -> None:
    """The steps, the archive and the streams as tables."""
    out = console()
    show_rows(status.steps, _STEP_COLUMNS, as_json=False, empty="")
    out.print()
    rows: list[dict[str, Any]] = [
        {**msgspec.to_builtins(one), "behind": None if one.head is None else max(0, one.head - one.through)}
        for one in (status.archive.archived if status.archive else [])
    ]
    show_rows(rows, _ARCHIVE_COLUMNS, as_json=False, empty=tell("nothing is archived", "no hay nada archivado"))
    out.print()
    show_rows(
        status.streams, _STREAM_COLUMNS, as_json=False, empty=tell("no stream has run", "no se ejecutó ningún flujo")
    )
    for note in status.notes:
        out.print(f"[dim]{escape(printable(note))}[/]")
