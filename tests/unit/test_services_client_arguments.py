"""Values as frames and back: what is sent, and how it is read by the type that is wanted."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
import pytest

from pregon.client.services.arguments import (
    Parameters,
    decode_result,
    encode_arguments,
    encode_result,
    read_anything,
)
from pregon.errors import BadRequest, SettingsInvalid, TooLarge
from pregon.limits import SERVICE_BODY_BYTES_MAX, SERVICE_FRAMES_MAX


@dataclass
class Point:
    x: int
    y: int


class Colour(enum.Enum):
    RED = "red"


Short = Annotated[str, msgspec.Meta(max_length=3)]


@pytest.mark.parametrize(
    ("value", "frame"),
    [
        (b"\x00\xff", b"\x00\xff"),
        (bytearray(b"ab"), b"ab"),
        ("año", "año".encode()),
        (100, b"100"),
        (1.5, b"1.5"),
        (None, b"null"),
        ([1, "a"], b'[1,"a"]'),
        (Point(1, 2), b'{"x":1,"y":2}'),
        (Colour.RED, b'"red"'),
    ],
)
def test_bytes_and_text_go_as_they_are_and_the_rest_as_json(value: Any, frame: bytes) -> None:
    frames = encode_arguments([value])

    assert frames == [frame]


@pytest.mark.parametrize("value", [object(), "\ud800", {1, object()}, 1j])
def test_what_cannot_be_sent_is_refused_and_said_which_it_is(value: Any) -> None:
    with pytest.raises(BadRequest, match="value 2"):
        encode_arguments(["fine", value])


def test_a_call_without_arguments_has_one_empty_frame() -> None:
    assert encode_arguments([]) == [b""]


def test_a_tuple_is_several_frames_and_a_list_is_one() -> None:
    assert encode_result((1, "a", b"b")) == [b"1", b"a", b"b"]
    assert encode_result([1, 2]) == [b"[1,2]"]
    assert encode_result(()) == [b"[]"]


def test_no_more_frames_and_bytes_than_may_be() -> None:
    with pytest.raises(BadRequest, match="64"):
        encode_arguments([1] * (SERVICE_FRAMES_MAX + 1))
    with pytest.raises(TooLarge):
        encode_arguments([bytes(SERVICE_BODY_BYTES_MAX), b"x"])


@pytest.mark.parametrize(
    ("frame", "value"),
    [
        (b"1.5", 1.5),
        (b'{"a":1}', {"a": 1}),
        ("año".encode(), "año"),
        (b"\xff\x00", b"\xff\x00"),
        (b"", ""),
        (b"[", "["),
    ],
)
def test_where_no_type_is_wanted_it_is_json_else_text_else_bytes(frame: bytes, value: Any) -> None:
    assert read_anything(frame) == value


def test_nesting_without_end_is_text_and_no_crash() -> None:
    hostile = b"[" * 200_000

    assert read_anything(hostile) == hostile.decode()


@pytest.mark.parametrize(
    ("frames", "wanted", "value"),
    [
        ([b"7"], None, 7),
        ([b"7"], str, "7"),
        ([b"7"], bytes, b"7"),
        ([b"7"], float, 7.0),
        ([b"7", b"a"], None, (7, "a")),
        ([b"7", b"8"], tuple[str, int], ("7", 8)),
        ([b"7", b"8", b"9"], tuple[int, ...], (7, 8, 9)),
        ([b"[7,8]"], tuple[int, int], (7, 8)),
        ([b'{"x":1,"y":2}'], Point, Point(1, 2)),
        ([b"null"], int | None, None),
        ([b"hello"], str | None, "hello"),
    ],
)
def test_an_answer_becomes_what_is_wanted(frames: list[bytes], wanted: Any, value: Any) -> None:
    assert decode_result(frames, wanted) == value


@pytest.mark.parametrize(("frames", "wanted"), [([b"x"], int), ([b"1", b"2"], int), ([b"1", b"2"], tuple[int])])
def test_an_answer_that_is_something_else_is_not_bent(frames: list[bytes], wanted: Any) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_result(frames, wanted)


def test_arguments_are_read_by_annotation() -> None:
    def function(
        raw: bytes,
        text: str,
        number: float,
        point: Point,
        when: datetime,
        colour: Colour,
        word: Literal["a"],
        any_: Any,
    ) -> None: ...

    frames = [b"1", b"1", b"1", b'{"x":1,"y":2}', b"2024-01-02T03:04:05Z", b"red", b"a", b"1"]

    arguments = Parameters(function, "f").decode(frames)

    moment = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert arguments == [b"1", "1", 1.0, Point(1, 2), moment, Colour.RED, "a", 1]


def test_text_with_a_rule_is_text_and_keeps_its_quotes() -> None:
    def function(word: Short) -> None: ...

    parameters = Parameters(function, "f")

    assert parameters.decode([b'"a"']) == ['"a"']
    with pytest.raises(BadRequest, match="`word`"):
        parameters.decode([b"long"])


def test_a_wrong_argument_is_named() -> None:
    def function(first: int, second: int, *rest: int) -> None: ...

    parameters = Parameters(function, "sum")

    with pytest.raises(BadRequest, match="argument `second` of sum"):
        parameters.decode([b"1", b"two"])
    with pytest.raises(BadRequest, match="argument number 4 of sum"):
        parameters.decode([b"1", b"2", b"3", b"four"])


def test_too_few_and_too_many_arguments_are_counted() -> None:
    def function(x: int, y: int = 0) -> None: ...

    parameters = Parameters(function, "f")

    with pytest.raises(BadRequest, match="takes 1 to 2 arguments, and 3 came"):
        parameters.decode([b"1", b"2", b"3"])
    assert parameters.decode([b"1"]) == [1]


def test_an_empty_frame_is_no_argument_where_none_is_needed() -> None:
    def none() -> None: ...
    def some(x: int = 5) -> None: ...
    def text(x: str) -> None: ...

    assert Parameters(none, "none").decode([b""]) == []
    assert Parameters(some, "some").decode([b""]) == []
    assert Parameters(text, "text").decode([b""]) == [""]


def test_a_function_that_frames_cannot_call_is_refused_when_it_is_prepared() -> None:
    def by_name(*, x: int) -> None: ...
    def unknown(x: object) -> None: ...
    def either(x: bytes | None) -> None: ...

    with pytest.raises(SettingsInvalid, match="`x` can only be given by name"):
        Parameters(by_name, "f")
    with pytest.raises(SettingsInvalid):
        Parameters(either, "f")
    assert Parameters(unknown, "f").decode([b"1"]) == [1]
