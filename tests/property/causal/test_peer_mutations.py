"""Peers that are broken on purpose are found out by the simulator and the oracle, each within a few seeds."""

from __future__ import annotations

from typing import Any

import pytest

from pregon.causal.entry import Entry
from pregon.causal.peer_outputs import Passed
from pregon.causal.repair import Repairs
from pregon.causal.stability import Reports, Retained
from pregon.causal.standing import Standing

from .peer_group import PeerGroup

SEEDS = range(8, 16)
"""How many runs each mutation has to hide in: every other one has slow applications."""

MESSAGES = 600

_show = Standing.show


def never_asks(self: Repairs, *_: Any) -> list[Any]:
    """What is lost stays lost."""
    return []


def keeps_nothing(self: Retained, *_: Any) -> None:
    """What is lost cannot be repeated."""


def believes_that_all_have_everything(self: Reports, *_: Any) -> int:
    """What somebody lacks is dropped."""
    return 10**9


def begins_where_each_is_now(self: Entry) -> dict[int, int]:
    """A newcomer begins after what it did not see, and before what that follows from."""
    return {**self._claims, **{member: number for member, number in self._own.items() if number}}


def forgets_what_is_not_shown(self: Standing, *args: Any) -> list[Any]:
    """A slow application's messages do not follow from what was nothing to it, and from all that came after it."""
    return [output for output in _show(self, *args) if not isinstance(output, Passed)]


def never_answers_that_it_is_here(self: Standing, *_: Any) -> list[Any]:
    """Who is taken for gone stays so, and nobody is told who is gone."""
    return []


@pytest.mark.parametrize(
    ("owner", "name", "broken"),
    [
        (Repairs, "plan", never_asks),
        (Retained, "add", keeps_nothing),
        (Reports, "stable", believes_that_all_have_everything),
        (Entry, "clock", begins_where_each_is_now),
        (Standing, "show", forgets_what_is_not_shown),
        (Standing, "_take_gone", never_answers_that_it_is_here),
    ],
)
def test_a_peer_that_is_broken_is_found_out(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, broken: Any
) -> None:
    monkeypatch.setattr(owner, name, broken)

    assert any(PeerGroup(seed, MESSAGES).run() for seed in SEEDS)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_peer_that_is_whole_gives_no_alarm(seed: int) -> None:
    assert PeerGroup(seed, MESSAGES).run() == []
