"""The reader of HTTP answers: pieces, chunks, ends, limits. No connections."""

from __future__ import annotations

import pytest

from pregon.client.http_talk import ANSWER_BYTES_MAX, FRAMES, AnswerReader
from pregon.errors import AnswerMalformed


def http(body: bytes, status: str = "200 OK", media_type: str = FRAMES) -> bytes:
    """An answer of HTTP."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def test_an_answer_is_read_whatever_the_pieces_in_which_it_comes() -> None:
    whole = b"HTTP/1.1 100 Continue\r\n\r\n" + http(b"one") + http(b"two", "500 No", "Text/Plain; charset=x")
    reader = AnswerReader()

    found = [reader.feed(whole[place : place + 1]) for place in range(len(whole))]

    assert [(one.status, one.media_type, one.body, one.is_last) for one in found if one] == [
        (200, FRAMES, b"one", False),
        (500, "text/plain", b"two", False),
    ]


def test_an_answer_in_chunks_is_whole_and_one_that_closes_is_the_last() -> None:
    chunked = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"
    )

    found = AnswerReader().feed(chunked)

    assert found is not None
    assert (found.body, found.is_last) == (b"onetwo", True)


def test_an_answer_that_does_not_end_is_not_read_for_ever() -> None:
    reader = AnswerReader()
    reader.feed(b"HTTP/1.1 200 OK\r\n\r\n")

    with pytest.raises(AnswerMalformed, match="more than"):
        for _ in range(ANSWER_BYTES_MAX // 1_000_000 + 2):
            reader.feed(bytes(1_000_000))
