"""Errands to a server that may be slow, down or silent: how long a page waits, and how many wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from pregon.edges.admin.errands import Errands
from pregon.errors import HubBusy, HubStopping, KeysUnavailable


class Silence:
    """A server that gives no answer until it is told to."""

    def __init__(self) -> None:
        self.ends = threading.Event()
        self.begun = threading.Semaphore(0)

    def ask(self) -> str:
        self.begun.release()
        assert self.ends.wait(20)
        return "late"


@pytest.fixture
def silence() -> Iterator[Silence]:
    server = Silence()
    yield server
    server.ends.set()


class Time:
    """A clock that goes when it is told to."""

    now_ms = 0.0

    def __call__(self) -> float:
        return self.now_ms


def down() -> str:
    raise KeysUnavailable("connection refused")


def broken() -> str:
    raise ZeroDivisionError("a bug")


def test_what_an_errand_brings_or_raises_is_what_its_page_gets() -> None:
    errands = Errands()

    assert errands.run(lambda: "there") == "there"
    with pytest.raises(ZeroDivisionError):
        errands.run(broken)
    # A bug of ours is no fault of the server, which is asked again.
    assert errands.run(lambda: "there") == "there"


def test_a_silent_server_is_waited_for_so_long_and_then_left_alone_for_a_while(silence: Silence) -> None:
    clock = Time()
    errands = Errands(clock, answer_s_max=0.2)
    asked = []

    with pytest.raises(KeysUnavailable, match=r"no answer in 0\.2 seconds"):
        errands.run(silence.ask)
    with pytest.raises(KeysUnavailable, match="a moment ago"):
        errands.run(lambda: asked.append("too soon"))
    clock.now_ms += 5_000.0
    brought = errands.run(lambda: "there")

    assert asked == []
    assert brought == "there"


def test_a_server_that_is_down_is_left_alone_for_a_while() -> None:
    errands = Errands(Time())

    with pytest.raises(KeysUnavailable, match="refused"):
        errands.run(down)
    with pytest.raises(KeysUnavailable, match="a moment ago"):
        errands.run(lambda: "there")


def test_one_page_waits_and_the_others_are_told_at_once_to_come_back(silence: Silence) -> None:
    errands, told = Errands(answer_s_max=10.0), []
    first = threading.Thread(target=lambda: told.append(errands.run(silence.ask)))
    first.start()
    assert silence.begun.acquire(timeout=10)

    begun_s = time.perf_counter()
    for _ in range(100):
        with pytest.raises(HubBusy, match="try again"):
            errands.run(lambda: "there")
    waited_s = time.perf_counter() - begun_s
    was_told = list(told)
    silence.ends.set()
    first.join(10)

    assert was_told == []
    assert told == ["late"]
    assert waited_s < 1.0


def test_errands_that_nobody_waits_for_are_few(silence: Silence) -> None:
    clock = Time()
    errands = Errands(clock, answer_s_max=0.05)

    for _ in range(6):
        with pytest.raises(KeysUnavailable):
            errands.run(silence.ask)
        clock.now_ms += 5_000.0

    begun = sum(silence.begun.acquire(blocking=False) for _ in range(6))
    assert begun == 3


def test_a_hub_that_stops_does_not_wait_for_the_server(silence: Silence) -> None:
    errands, told = Errands(answer_s_max=10.0), []

    def wait() -> None:
        with pytest.raises(HubStopping) as refused:
            errands.run(silence.ask)
        told.append(refused.value)

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert silence.begun.acquire(timeout=10)
    errands.stop()
    waiting.join(5)

    assert len(told) == 1
    with pytest.raises(HubStopping):
        errands.run(silence.ask)
