"""The clock never goes back; every error has a code of its own and travels as it."""

from __future__ import annotations

import pytest

from pregon import clock, errors
from pregon.clock import WallClock, format_us, parse_us
from pregon.wire.commands import encode_header, error_of_header, header_of_error


def test_the_wall_clock_does_not_follow_the_machine_back(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([100, 50, 120])
    monkeypatch.setattr(clock, "wall_us", lambda: next(times))
    wall = WallClock()

    answers = [wall.now_us(), wall.now_us(), wall.now_us()]

    assert answers == [100, 100, 120]


def test_the_wall_clock_begins_at_the_newest_time_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "wall_us", lambda: 100)
    wall = WallClock()

    wall.advance_to(5_000)

    assert wall.now_us() == 5_000


def test_an_instant_survives_being_written_and_read() -> None:
    text = format_us(1_794_778_387_547_641)

    assert text == "2026-11-15T21:33:07.547641Z"
    assert parse_us(text) == 1_794_778_387_547_641
    assert parse_us("2026-11-15T21:33:07.547641") == parse_us(text)


def test_every_error_travels_by_its_code() -> None:
    for code, kind in errors.BY_CODE.items():
        error = kind("what to do")

        arrived = error_of_header(encode_header(header_of_error(error)))

        assert type(arrived) is kind
        assert arrived.code == code
        assert str(arrived) == "what to do"


def test_only_what_may_be_tried_again_says_so() -> None:
    retryable = {code for code, kind in errors.BY_CODE.items() if kind("").is_retryable}

    assert "hub_busy" in retryable
    assert "store_full" in retryable
    assert not retryable & {"bad_request", "not_found", "store_corrupt"}


def test_a_code_from_a_newer_hub_is_still_an_error() -> None:
    assert type(errors.error_from_code("invented_later", "x")) is errors.PregonError


def test_the_drawing_of_the_tree_names_every_code() -> None:
    drawing = errors.__doc__ or ""

    missing = [
        code for code, kind in errors.BY_CODE.items() if not kind.__subclasses__() and f" {code}\n" not in drawing
    ]

    assert missing == []
