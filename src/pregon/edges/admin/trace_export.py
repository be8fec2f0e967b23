"""The traces that a search finds as a file: CSV for spreadsheets, Parquet for everybody's tools.

Both have the columns of the table `traces` (docs/reference/spark.md), newest first. The CSV is RFC 4180 in UTF-8 with a
byte order mark, without which a spreadsheet takes á and ñ for other letters; its times are those of the viewer's zone
with their distance from UTC, so that they read as on the page and mean the same everywhere. The Parquet has the very
types of the table, times in UTC.

Promises:
- A file is made while it is sent, from one page of the search after the other; it is never in memory as a whole.
- It has at most `ADMIN_EXPORT_ROWS_MAX` rows, the newest ones.
- At most `ADMIN_EXPORTS_AT_ONCE_MAX` are made at once: one more is refused before it begins. Who leaves makes room.
- Who is made to leave meanwhile gets no more of it: the file then ends in the middle, and the browser says so.
- No cell of the CSV is a formula, also where a spreadsheet divides lines at other characters than the comma, as those
  that are set to Spanish do: whatever would begin like one has an apostrophe before it.
"""

from __future__ import annotations

import csv
import io
import re
import threading
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from pregon import limits
from pregon.edges.admin.exchange import AdminAnswer
from pregon.edges.admin.formats import instant
from pregon.edges.admin.trace_search import TraceSearch
from pregon.edges.admin.visit import Visit
from pregon.errors import HubBusy, Unauthorized
from pregon.model.trace import Trace, TracePage, TraceQuery
from pregon.store.trace_table import SCHEMA_TRACES

GROUP_ROWS = 20_000
"""Rows of a row group of Parquet: some megabytes, and few enough groups."""
_NOT_YET = b""
"""A piece for which there is nothing to send yet: it lets other pages be made in between."""
_FORMULA = re.compile(
    r"""(?:^(?=[\t\r])|(?:^|(?<=[;,\t\r\n|]))(?=(?:[^\S\t\r\n]|")*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]))"""
)
"""Where a formula would begin: at the start of a cell, or of what one that divides otherwise takes for a cell. Quotes
within a cell mean something else then, and the wide forms of the signs are taken for the signs."""
COLUMNS = tuple(SCHEMA_TRACES.names)


def export_csv(visit: Visit) -> AdminAnswer:
    """The file for spreadsheets."""
    export = _begin(visit, lambda: write_csv(_pages(visit), visit.zone))
    return _download(visit, export, "csv", "text/csv; charset=utf-8")


def export_parquet(visit: Visit) -> AdminAnswer:
    """The file for other tools."""
    export = _begin(visit, lambda: write_parquet(_pages(visit)))
    return _download(visit, export, "parquet", "application/vnd.apache.parquet")


@dataclass(slots=True)
class _Places:
    """How many files are being made."""

    taken: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)
    """Taken again by a file that is found to be held by nobody while the lock is held."""

    def take(self) -> None:
        with self.lock:
            if self.taken >= limits.ADMIN_EXPORTS_AT_ONCE_MAX:
                most = limits.ADMIN_EXPORTS_AT_ONCE_MAX
                raise HubBusy(f"{most} files of traces are being made: take this one again in a moment")
            self.taken += 1

    def give_back(self) -> None:
        with self.lock:
            self.taken -= 1


class Export(Iterator[bytes]):
    """The pieces of a file, which has its place until it ends, is closed, or nobody holds it any more."""

    def __init__(self, pieces: Generator[bytes, None, None], give_back: Callable[[], None]) -> None:
        self._pieces = pieces
        self._give_back = weakref.finalize(self, give_back)
        self._give_back.atexit = False

    def __next__(self) -> bytes:
        try:
            return next(self._pieces)
        except BaseException:  # Also its end: a generator that has raised makes nothing more, whatever it raised.
            self._give_back()
            raise

    def close(self) -> None:
        """Make no more of it."""
        try:
            self._pieces.close()
        except ValueError:
            # A thread is making a piece just now. When it lets go of the file nobody holds it, and its place is free.
            return
        self._give_back()


def _begin(visit: Visit, make: Callable[[], Generator[bytes, None, None]]) -> Export:
    """Begin a file, if there is a place for it; raises HubBusy."""
    places: _Places = visit.desk.remembered.setdefault("trace_export", _Places())
    places.take()
    try:
        return Export(make(), places.give_back)
    except BaseException:  # Whatever broke, no file was begun.
        places.give_back()
        raise


def _download(visit: Visit, chunks: Iterator[bytes], ending: str, content_type: str) -> AdminAnswer:
    name = f"traces-{instant(visit.now_us, visit.zone):%Y-%m-%d}.{ending}"
    headers = [("content-disposition", f'attachment; filename="{name}"'), *visit.cookie_headers()]
    return AdminAnswer(content_type=content_type, headers=headers, chunks=chunks)


def _pages(visit: Visit) -> Iterator[TracePage]:
    """All pages of the search, the first read at once, so that a question that makes no sense is answered as such."""
    query = TraceSearch(visit).query(limits.LIST_ROWS_MAX, is_from_newest=True)
    return _follow(visit, query, visit.desk.gate.traces(visit.caller, query).result())


def _follow(visit: Visit, query: TraceQuery, page: TracePage) -> Iterator[TracePage]:
    room = limits.ADMIN_EXPORT_ROWS_MAX
    while True:
        yield TracePage(page[:room], page.next)
        room -= len(page)
        if room <= 0 or not page.next:
            return
        visit.identify(is_active=False)
        if visit.session is None:
            raise Unauthorized("the session has ended: enter again, and take the file again")
        query = msgspec.structs.replace(query, before=page.next)
        page = visit.desk.gate.traces(visit.caller, query).result()


def write_csv(pages: Iterable[TracePage], zone: ZoneInfo) -> Generator[bytes, None, None]:
    """The file for spreadsheets, piece by piece."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    text.write("\N{BYTE ORDER MARK}")
    writer.writerow(COLUMNS)
    for page in pages:
        writer.writerows(_cells(trace, zone) for trace in page)
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()


def _cells(trace: Trace, zone: ZoneInfo) -> list[str | int]:
    at = instant(trace.at_us, zone).isoformat(timespec="microseconds")
    values = (at if name == "at" else getattr(trace, name) for name in COLUMNS)
    return [_harmless(value) if isinstance(value, str) else value for value in values]


def _harmless(text: str) -> str:
    """The text, so that no spreadsheet takes it for a formula."""
    return _FORMULA.sub("'", text)


class _Sink(io.RawIOBase):
    """A file of which what was written is taken away from its beginning."""

    def __init__(self) -> None:
        super().__init__()
        self._written: list[bytes] = []
        self._at = 0

    def writable(self) -> bool:
        """Yes."""
        return True

    def tell(self) -> int:
        """How much was ever written."""
        return self._at

    def write(self, data: object) -> int:
        """Keep a copy until it is taken: who writes uses the memory again."""
        piece = bytes(memoryview(data))  # type: ignore[arg-type]
        self._written.append(piece)
        self._at += len(piece)
        return len(piece)

    def take(self) -> bytes:
        """What was written since it was last taken."""
        taken = b"".join(self._written)
        self._written.clear()
        return taken


def write_parquet(pages: Iterable[TracePage]) -> Generator[bytes, None, None]:
    """The file for other tools, piece by piece; a piece may be empty, as long as nothing is ready."""
    # Imported here: it costs 50 ms that a start need not pay.
    from pyarrow.parquet import ParquetWriter

    sink, traces = _Sink(), list[Trace]()
    with ParquetWriter(sink, SCHEMA_TRACES, compression="zstd") as writer:
        for page in pages:
            traces += page
            if len(traces) >= GROUP_ROWS:
                writer.write_batch(_as_rows(traces), row_group_size=GROUP_ROWS * 2)
                traces.clear()
                yield sink.take()
            else:
                yield _NOT_YET
        if traces:
            writer.write_batch(_as_rows(traces))
    yield sink.take()


def _as_rows(traces: list[Trace]) -> pa.RecordBatch:
    columns = [
        pa.array([getattr(one, "at_us" if field.name == "at" else field.name) for one in traces], field.type)
        for field in SCHEMA_TRACES
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA_TRACES)
