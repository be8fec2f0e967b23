"""Random conversations on several hubs, judged by who knows only what each member did: in causal order, and whole."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from pregon.causal.member import Member
from pregon.causal.message import CausalMessage, Delivery
from pregon.causal.oracle import Oracle
from pregon.causal.stamps import Stamp
from pregon.client.groups.events import GroupMessage, MessagesMissed
from pregon.client.groups.joining import Question

from .group_hub import FakeHub
from .group_members import Actor


class Village:
    """Members on three hubs, and a judge who is told all that they do."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.oracle = Oracle()
        self.hubs = [FakeHub(stride=3, offset=offset) for offset in range(3)]
        self.actors: list[Actor] = []
        self.waited = self.steps = 0

    def join(self) -> None:
        """One more member, who sends to any of the hubs; the others go on while it joins."""
        first = self.chance.randrange(3)
        hubs = [*self.hubs[first:], *self.hubs[:first]]

        def answer(question: Question) -> Any:
            found = hubs[question.path].answer(question.call)
            for _ in range(self.chance.randrange(20) if self.actors else 0):
                self.step()
            return found

        actor = Actor(hubs, f"m{len(self.actors)}", answer=answer)
        state = msgspec.msgpack.decode(actor.talk.state(), strict=False)
        clock = {member: number for member, number in state["member"]["clock"].items() if member > len(self.hubs)}
        self.oracle.joined(actor.talk.me, {**clock, actor.talk.me: 0})
        self.oracle.sent(actor.talk.me, Stamp(actor.talk.me, 1))
        self.actors.append(actor)

    def look(self, actor: Actor, most: int = 1_000_000) -> None:
        """A member is shown something."""
        for event in actor.look(most):
            assert not isinstance(event, MessagesMissed)
            body = event.text if isinstance(event, GroupMessage) else None
            self.waited += event.waited_for is not None
            self.oracle.delivered(actor.talk.me, event.stamp, body)

    def step(self) -> None:
        """Somebody does something."""
        self.steps += 1
        actor = self.chance.choice(self.actors)
        what = self.chance.choice(["say", "send", "send", "read", "read", "look", "look"])
        if what == "say":
            own = actor.say(f"{self.steps}")
            self.oracle.sent(actor.talk.me, own.stamp, f"{self.steps}")
        elif what == "send":
            actor.send()
        elif what == "read":
            actor.read(self.chance.randrange(3))
        else:
            self.look(actor, self.chance.randrange(4))

    def live(self) -> None:
        """Some time, and then everything arrives."""
        self.join()
        for number in range(400):
            self.step()
            if number % 60 == 30:
                self.join()
        for actor in self.actors:
            actor.send()
        for actor in self.actors:
            for path in range(3):
                while actor.talk.paths[path].read_seq < len(actor.hubs[path].log):
                    assert actor.read(path)
            self.look(actor)
        self.oracle.finish({actor.talk.me: actor.talk.intake.held for actor in self.actors})


@pytest.mark.parametrize("seed", range(20))
def test_random_conversations_on_several_hubs_are_in_causal_order_and_whole(seed: int) -> None:
    village = Village(seed)

    village.live()

    assert village.oracle.violations == []
    assert len(village.oracle) > 50
    assert village.waited > 0


def test_the_judge_of_the_random_conversations_notices_when_nothing_is_held_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def deliver_at_once(self: Member, message: CausalMessage) -> list[Delivery]:
        if message.stamp.number <= self.clock.get(message.stamp.member, 0):
            return []
        self.clock[message.stamp.member] = message.stamp.number
        return [Delivery(message)]

    monkeypatch.setattr(Member, "receive", deliver_at_once)
    village = Village(0)
    village.live()

    assert village.oracle.counts["out_of_order"] > 0
