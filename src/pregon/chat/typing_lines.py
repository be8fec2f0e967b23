"""Lines of standard input for asyncio, whatever it is: a terminal, a pipe or a file.

Promises:
- A line is at most `LINE_BYTES_MAX` bytes; what is longer is cut there, and the rest of it dropped.
- A thread that waits for a line never keeps the program from ending.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator

LINE_BYTES_MAX = 64 * 1024
_READ_BYTES = 64 * 1024
_AHEAD_MAX = 100


async def typed_lines(descriptor: int = 0) -> AsyncIterator[str]:
    """Each line, without its end, until there are no more."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue(_AHEAD_MAX)

    def read() -> None:
        try:
            for line in _lines_of(descriptor):
                asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()
            asyncio.run_coroutine_threadsafe(lines.put(None), loop).result()
        except RuntimeError:
            pass  # The loop is over, and nobody reads any more.

    # Not of the standard library's readers: they hold a lock that an ending interpreter waits for.
    threading.Thread(target=read, name="pregon-stdin", daemon=True).start()
    while (line := await lines.get()) is not None:
        yield line


def _lines_of(descriptor: int) -> Iterator[str]:
    rest, is_cut = b"", False
    while True:
        try:
            data = os.read(descriptor, _READ_BYTES)
        except OSError:
            data = b""
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            if not is_cut:
                yield line[:LINE_BYTES_MAX].decode(errors="replace").rstrip("\r")
            is_cut = False
        if not data:
            if rest and not is_cut:
                yield rest.decode(errors="replace")
            return
        if len(rest) > LINE_BYTES_MAX:
            if not is_cut:
                yield rest[:LINE_BYTES_MAX].decode(errors="replace")
            rest, is_cut = b"", True
