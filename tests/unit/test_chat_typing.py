"""Lines of standard input, whatever it is."""

from __future__ import annotations

import asyncio
import os
import threading

from pregon.chat.typing_lines import LINE_BYTES_MAX, typed_lines


def read_all(data: bytes) -> list[str]:
    """What is read of a pipe into which this is written."""
    reader, writer = os.pipe()

    def write() -> None:
        with os.fdopen(writer, "wb") as file:
            file.write(data)

    async def collect() -> list[str]:
        return [line async for line in typed_lines(reader)]

    writing = threading.Thread(target=write)
    writing.start()
    try:
        return asyncio.run(collect())
    finally:
        writing.join()
        os.close(reader)


def test_each_line_comes_without_its_end_and_the_last_one_needs_none() -> None:
    assert read_all("uno\ndos\r\n\ntré".encode()) == ["uno", "dos", "", "tré"]


def test_what_is_not_utf_8_does_not_end_the_reading() -> None:
    assert read_all(b"a\xffb\nc\n") == ["a\N{REPLACEMENT CHARACTER}b", "c"]


def test_a_line_without_end_is_cut_and_the_next_one_is_whole() -> None:
    lines = read_all(b"x" * (5 * LINE_BYTES_MAX) + b"\nafter\n")

    assert [len(line) for line in lines] == [LINE_BYTES_MAX, 5]
    assert lines[-1] == "after"


def test_a_thousand_lines_come_in_their_order() -> None:
    assert read_all(b"".join(b"%d\n" % number for number in range(1_000))) == [str(one) for one in range(1_000)]
