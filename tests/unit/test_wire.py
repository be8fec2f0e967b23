"""PREGON/1: what is encoded decodes, and what is not PREGON/1 is refused."""

from __future__ import annotations

import pytest

from pregon.errors import BadRequest, VersionUnknown
from pregon.wire import commands as c
from pregon.wire.commands import COMMAND_OF, REQUEST_DECODERS, REQUESTS, Command
from pregon.wire.frames import (
    ANSWER_BIT,
    ERROR,
    PRELUDE_BYTES,
    decode_answer,
    decode_request,
    encode_prelude,
    peek_request_id,
)


def test_the_prelude_is_drawn_as_it_is() -> None:
    assert encode_prelude(2, 0x0102030405060708) == b"PRG\x01\x02\x00\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08"
    assert PRELUDE_BYTES == 16


def test_a_request_decodes_as_it_was_encoded() -> None:
    header = c.Publish(topic="t", producer="p", id="1", headers={"a": "b"})

    request = decode_request([encode_prelude(COMMAND_OF[c.Publish], 9), c.encode_header(header), b"body"])

    assert (request.command, request.id, list(request.payload)) == (Command.PUBLISH, 9, [b"body"])
    assert REQUEST_DECODERS[request.command].decode(request.header) == header


def test_every_command_has_a_request_and_an_answer() -> None:
    assert set(REQUESTS) == set(Command)
    assert len(COMMAND_OF) == len(Command)
    assert all(command < ANSWER_BIT for command in Command)


@pytest.mark.parametrize(
    "frames",
    [
        [],
        [b"PRG"],
        [b"PRG", b""],
        [b"GET / HTTP/1.1\r\n", b""],
        [encode_prelude(1, 1), b"", b"", b""],
        [encode_prelude(1, 1) + b"x", b""],
        [encode_prelude(1, 1), bytes(65_537)],
    ],
)
def test_frames_that_are_no_request_are_refused(frames: list[bytes]) -> None:
    with pytest.raises(BadRequest):
        decode_request(frames)


def test_another_version_is_told_which_one_is_spoken() -> None:
    prelude = bytearray(encode_prelude(1, 7))
    prelude[3] = 2

    with pytest.raises(VersionUnknown, match="PREGON/1"):
        decode_request([bytes(prelude), b"\x80"])
    assert peek_request_id([bytes(prelude)]) == 7


def test_a_field_that_is_not_known_is_ignored() -> None:
    import msgspec

    header = msgspec.msgpack.encode({"topic": "t", "subscriber": "s", "invented_later": [1]})

    decoded = REQUEST_DECODERS[Command.PULL].decode(header)

    assert decoded == c.Pull(topic="t", subscriber="s")


@pytest.mark.parametrize("frames", [[b"x"], [b"x" * 16, b""], [encode_prelude(1, 1), b""]])
def test_what_is_no_answer_is_passed_over(frames: list[bytes]) -> None:
    assert decode_answer(frames) is None


def test_an_error_is_told_from_an_answer() -> None:
    error = decode_answer([encode_prelude(ERROR, 3), b"\x80"])
    answer = decode_answer([encode_prelude(Command.PING | ANSWER_BIT, 3), b"\x80"])

    assert error is not None
    assert error.is_error
    assert answer is not None
    assert not answer.is_error
