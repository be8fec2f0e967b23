"""The waiting room of long polls: nobody is forgotten, nobody waits too long, not too many wait."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from pregon import limits
from pregon.errors import HubBusy
from pregon.hub.waiting import WaitingRoom

SOON_S = 10.0


class Call:
    """Remembers how it was called."""

    def __init__(self) -> None:
        self.answers: list[bool] = []
        self._called = threading.Event()

    def __call__(self, is_new: bool) -> None:
        self.answers.append(is_new)
        self._called.set()

    def wait(self) -> list[bool]:
        assert self._called.wait(SOON_S)
        return self.answers


@pytest.fixture
def room() -> Iterator[WaitingRoom]:
    room = WaitingRoom()
    room.start()
    yield room
    room.stop()


def test_who_waits_is_called_when_the_topic_moves(room: WaitingRoom) -> None:
    mine, other = Call(), Call()
    room.wait("a", 0, 60_000, mine)
    room.wait("b", 0, 60_000, other)

    room.topics_moved(["a"])

    assert mine.wait() == [True]
    assert other.answers == []
    assert room.count == 1


def test_who_comes_after_the_topic_moved_does_not_wait(room: WaitingRoom) -> None:
    seen = room.version("a")
    room.topics_moved(["a"])
    late = Call()

    room.wait("a", seen, 60_000, late)

    assert late.wait() == [True]
    assert room.count == 0


def test_time_runs_out_in_order(room: WaitingRoom) -> None:
    first, second = Call(), Call()
    room.wait("a", 0, 60_000, second)
    room.wait("a", 0, 1, first)

    assert first.wait() == [False]
    assert second.answers == []


def test_stopping_sends_everybody_home() -> None:
    room = WaitingRoom()
    room.start()
    calls = [Call() for _ in range(5)]
    for call in calls:
        room.wait("a", 0, 60_000, call)

    room.stop()

    assert [call.answers for call in calls] == [[False]] * 5
    assert room.count == 0


def test_not_too_many_wait(room: WaitingRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WAITERS_MAX", 2)
    room.wait("a", 0, 60_000, Call())
    room.wait("a", 0, 60_000, Call())

    with pytest.raises(HubBusy):
        room.wait("a", 0, 60_000, Call())
