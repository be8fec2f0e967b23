"""A group without a hub, in processes: losses, a kill, one that joins and one that leaves under traffic."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from .brokerless_process import WAIT_S, Process

LOSS = 0.1


@pytest.fixture
def started() -> Iterator[ExitStack]:
    """Ends every process that a test has started."""
    with ExitStack() as life:
        yield life


def start(life: ExitStack, name: str, address: str = "") -> Process:
    """One more member."""
    process = Process(name, LOSS, address)
    life.callback(process.close)
    return process


def messages(told: dict[str, Any]) -> list[str]:
    """The names of the messages that a member was shown, in order."""
    return [event["stamp"] for event in told["shown"] if event["is"] == "GroupMessage"]


def assert_causal(told: dict[str, Any]) -> None:
    """Nothing was shown twice, before an earlier one of its sender, or before what it depends on and was shown too."""
    place = {event["stamp"]: at for at, event in enumerate(told["shown"]) if event["stamp"]}
    last: dict[str, int] = {}
    assert len(place) == len([event for event in told["shown"] if event["stamp"]])
    for at, event in enumerate(told["shown"]):
        if not event["stamp"]:
            continue
        sender, number = event["stamp"].split(":")
        assert int(number) > last.get(sender, 0)
        last[sender] = int(number)
        assert all(place.get(cause, -1) < at for cause in event["after"])


def until_whole(processes: list[Process], members: set[int], sent: set[str]) -> list[dict[str, Any]]:
    """What they were shown, when all have been shown all of these and the same of the others, and agree who is in."""
    last_s = time.monotonic() + WAIT_S
    while True:
        told = [process.ask("tell") for process in processes]
        own = [{stamp for stamp in sent if stamp.startswith(f"{process.number}:")} for process in processes]
        known = [{*messages(one), *mine} for one, mine in zip(told, own, strict=True)]
        is_whole = all(sent <= one == known[0] for one in known)
        if is_whole and all(set(one["members"]) == members and one["held"] == 0 for one in told):
            return told
        assert time.monotonic() < last_s, [(len(messages(one)), one["members"], one["held"]) for one in told]
        time.sleep(0.2)


def test_five_members_lose_frames_and_one_of_them_is_killed_and_all_are_shown_the_same(started: ExitStack) -> None:
    ana = start(started, "ana")
    luis, eva, leo = (start(started, name, ana.address) for name in ("luis", "eva", "leo"))
    for process in (ana, luis, eva, leo):
        process.ask("speak")
    time.sleep(1.0)
    pia = start(started, "pia", luis.address)
    pia.ask("speak")
    time.sleep(1.0)
    leo.kill()
    time.sleep(1.0)
    by_eva = eva.ask("leave")

    sent = {process: process.ask("stop")["sent"] for process in (ana, luis, pia)}
    members = {process.number for process in sent}
    told = until_whole([ana, luis], members, {*sent[ana], *sent[luis], *sent[pia], *by_eva["sent"]})
    told_pia = until_whole([pia], members, {sent[ana][-1], sent[luis][-1], by_eva["sent"][-1]})[0]

    for one in (*told, told_pia):
        assert_causal(one)
    assert_causal(by_eva)
    for one in told:
        kinds = [(event["is"], event["member"]) for event in one["shown"]]
        assert ("MemberJoined", pia.number) in kinds
        assert ("MemberLeft", eva.number) in kinds
        assert ("MemberGone", leo.number) in kinds
    # What the dead one said is the same for all who were in, and there is some of it.
    of_leo = [[stamp for stamp in messages(one) if stamp.startswith(f"{leo.number}:")] for one in told]
    assert of_leo[0] == of_leo[1] != []
    assert sum(one["repaired"] for one in (*told, told_pia)) > 0
    # Who came late was shown all from some point on: of each sender the last ones, without a gap.
    for process, own in ((ana, sent[ana]), (luis, sent[luis]), (eva, by_eva["sent"])):
        shown = [stamp for stamp in messages(told_pia) if stamp.startswith(f"{process.number}:")]
        assert shown == own[-len(shown) :]
