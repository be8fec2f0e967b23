"""A table as a stream: no more of it is in memory than its client needs to be kept busy."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

import pytest

from pregon.edges.http.routes import Desk
from pregon.edges.http.table_stream import table_stream
from pregon.errors import DataLost
from pregon.limits import STREAMS_AHEAD_MAX
from pregon.model.batch import END_OF_STREAM

PARTS = 5


class Room:
    """What a stream needs of the desk."""

    def __init__(self, streams: int) -> None:
        self.streams = streams

    def require_room_for_stream(self) -> None:
        """There is room."""

    def stream(self) -> AbstractContextManager[None]:
        return nullcontext()


class Piece:
    """A part that can be watched."""

    def __init__(self, number: int) -> None:
        self.arrow = b"%d" % number
        self.next = number + 1 if number < PARTS else 0


class Table:
    """A table of a few parts, and what was read of it."""

    def __init__(self) -> None:
        self.read: list[int] = []
        self._made: list[weakref.ref[Piece]] = []

    def make(self, number: int) -> Piece:
        piece = Piece(number)
        self.read.append(number)
        self._made.append(weakref.ref(piece))
        return piece

    async def read_part(self, number: int) -> Piece:
        return self.make(number)

    @property
    def held(self) -> int:
        """Parts that somebody still has."""
        gc.collect()
        return sum(one() is not None for one in self._made)


def begin(table: Table, streams: int, read_part: Any = None) -> AsyncGenerator[bytes, None]:
    room = cast(Desk, Room(streams))
    return cast(Any, table_stream(room, b"head", table.make(1), read_part or table.read_part).chunks)


async def turn() -> None:
    """Whatever was begun goes on until it waits."""
    for _ in range(3):
        await asyncio.sleep(0)


@pytest.mark.parametrize("streams", [1, STREAMS_AHEAD_MAX, STREAMS_AHEAD_MAX + 1])
def test_a_stream_has_its_head_its_parts_and_its_end(streams: int) -> None:
    async def run() -> bytes:
        return b"".join([chunk async for chunk in begin(Table(), streams)])

    assert asyncio.run(run()) == b"head12345" + END_OF_STREAM


def test_the_next_part_is_read_while_one_is_sent_and_no_other() -> None:
    table = Table()

    async def run() -> list[tuple[bytes, list[int], int]]:
        seen = []
        async for chunk in begin(table, streams=STREAMS_AHEAD_MAX):
            await turn()
            seen.append((chunk, list(table.read), table.held))
        return seen

    seen = asyncio.run(run())

    assert [(chunk, read[-1]) for chunk, read, _ in seen[1:-1]] == [
        (b"1", 2), (b"2", 3), (b"3", 4), (b"4", 5), (b"5", 5),
    ]  # fmt: skip
    assert max(held for _, _, held in seen) == 1
    assert seen[-1][2] == 0


def test_in_a_crowd_nothing_is_read_before_what_was_sent_has_left() -> None:
    table = Table()

    async def run() -> list[tuple[bytes, int, int]]:
        seen = []
        async for chunk in begin(table, streams=STREAMS_AHEAD_MAX + 1):
            await turn()
            seen.append((chunk, table.read[-1], table.held))
        return seen

    seen = asyncio.run(run())

    # An empty chunk leaves after the one before it.
    assert seen[1:5] == [(b"1", 1, 0), (b"", 1, 0), (b"2", 2, 0), (b"", 2, 0)]


def test_a_part_that_cannot_be_read_leaves_the_stream_without_its_end() -> None:
    table, got = Table(), []

    async def fail(number: int) -> Piece:
        if number == 3:
            raise DataLost("gone")
        return table.make(number)

    async def run() -> None:
        async for chunk in begin(table, 1, fail):
            got.append(chunk)

    with pytest.raises(DataLost):
        asyncio.run(run())

    assert got == [b"head", b"1", b"2"]


def test_a_stream_that_is_given_up_gives_up_the_part_that_it_reads() -> None:
    table, ended = Table(), []

    async def stay(number: int) -> Piece:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(number)
        return table.make(number)

    async def run() -> None:
        chunks = begin(table, 1, stay)
        await anext(chunks)
        await anext(chunks)
        await turn()
        await chunks.aclose()
        await turn()

    asyncio.run(run())

    assert ended == [2]
