"""Random lives of a group in a hub: what each message names is exactly what it depends on, and it is stored after that.

The judge knows only who was shown what before they spoke: it draws the whole graph from that, and compares.
"""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from contract.group_stage import Native, Stage, after_of, stamp_of
from contract.site import copy_migrated
from hypothesis import given, settings
from hypothesis import strategies as st

from pregon.causal.stamps import Stamp
from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.model.message import Message
from pregon.store.database import SqliteDatabase

HOSTED_NAMES = ("ana", "luis", "eva")
NATIVE_NAMES = ("noe", "zoe")
NAMES = HOSTED_NAMES + NATIVE_NAMES
JUDGE = "juez"


@dataclass
class Judge:
    """Who has been shown what, and what each message follows from."""

    shown: dict[int, set[Stamp]] = field(default_factory=dict)
    past: dict[Stamp, frozenset[Stamp]] = field(default_factory=dict)

    def speaks(self, member: int, stamp: Stamp) -> None:
        """A member says something: it follows from all that it was shown, and from all that those follow from."""
        seen = self.shown.setdefault(member, set())
        self.past[stamp] = frozenset(seen.union(*(self.past.get(one, ()) for one in seen)))
        seen.add(stamp)

    def immediate(self, stamp: Stamp) -> set[Stamp]:
        """What it depends on and nothing between: definition 2, word for word."""
        past = self.past[stamp]
        return {one for one in past if not any(one in self.past.get(other, ()) for other in past)}


@dataclass
class Life:
    """A group, its members, and the judge."""

    stage: Stage
    hub: Hub
    natives: dict[str, Native] = field(default_factory=dict)
    members: dict[str, int] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)
    judge: Judge = field(default_factory=Judge)
    log: list[Message] = field(default_factory=list)

    def catch_up(self) -> None:
        """The judge reads what is new in the log: the hub's own words follow from everything before them."""
        for message in self.stage.read(JUDGE, len(self.log)):
            stamp = stamp_of(message)
            if stamp.member == 1:
                self.judge.shown[1] = {stamp_of(one) for one in self.log}
                self.judge.speaks(1, stamp)
            self.log.append(message)

    def show(self, name: str, seq: int) -> None:
        """A member was shown the log up to a number."""
        shown = self.judge.shown.setdefault(self.members[name], set())
        shown.update(stamp_of(one) for one in self.log if one.seq <= seq)

    def join(self, name: str) -> None:
        """Become a member: the first message follows from all that was there."""
        if name in NATIVE_NAMES:
            native = self.natives[name] = Native(self.stage, name)
            self.members[name], joined = native.member.me, native.joined
        else:
            joined = self.stage.join(name)
            self.members[name] = joined.member
        self.catch_up()
        first = Stamp(self.members[name], 1)
        at = next(one.seq for one in self.log if stamp_of(one) == first)
        self.seen[name] = at - 1
        self.show(name, at - 1)
        self.judge.speaks(self.members[name], first)
        assert joined.member == first.member

    def look(self, name: str, how_far: float) -> None:
        """See a part of what is new."""
        if name in NATIVE_NAMES:
            for delivery in self.natives[name].read():
                self.judge.shown[self.members[name]].add(delivery.message.stamp)
            return
        new = [one.seq for one in self.log if one.seq > self.seen[name]]
        if new:
            self.seen[name] = new[min(int(how_far * len(new)), len(new) - 1)]

    def say(self, name: str) -> None:
        """Send a message."""
        if name in NATIVE_NAMES:
            sent = self.natives[name].send("x")
        else:
            sent = self.stage.send(name, "x", seen_seq=self.seen[name])
            self.show(name, self.seen[name])
        number = int(sent.stamp.partition(":")[2])
        self.judge.speaks(self.members[name], Stamp(self.members[name], number))
        self.catch_up()

    def leave(self, name: str) -> None:
        """Go: who is hosted has then been shown everything."""
        if name in NATIVE_NAMES:
            last = self.natives[name].leave()
        else:
            self.show(name, len(self.log))
            last = self.stage.leave(name)
        member = self.members.pop(name)
        self.judge.speaks(member, Stamp(member, int(last.stamp.partition(":")[2])))
        self.catch_up()

    def restart(self) -> None:
        """The hub forgets what it has in memory."""
        self.stage.desk.rolls.forget()


actions = st.lists(
    st.tuples(
        st.sampled_from(("look", "look", "say", "say", "say", "leave", "restart")),
        st.sampled_from(NAMES),
        st.floats(0, 1, exclude_max=True),
    ),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(actions)
def test_each_message_names_what_it_depends_on_and_nothing_more(history: list[tuple[str, str, float]]) -> None:
    with tempfile.TemporaryDirectory(prefix="pregon-") as place:
        copy_migrated(Path(place))
        hub = Hub(SqliteDatabase(Path(place)), HubOptions(maintenance_every_ms=3_600_000))
        hub.start()
        life = Life(Stage.on(hub), hub)
        life.stage.make()
        try:
            _live(life, history)
        finally:
            life.stage.desk.stop()
            hub.stop()


def _live(life: Life, history: list[tuple[str, str, float]]) -> None:
    life.members[JUDGE] = life.stage.join(JUDGE).member
    life.catch_up()
    life.judge.shown[life.members[JUDGE]] = {Stamp(1, 1)}
    life.judge.speaks(life.members[JUDGE], Stamp(life.members[JUDGE], 1))
    for verb, name, how_far in history:
        if verb == "restart":
            life.restart()
        elif name not in life.members:
            life.join(name)
        elif verb == "look":
            life.look(name, how_far)
        elif verb == "say":
            life.say(name)
        else:
            life.leave(name)
    _judge(life)


def _judge(life: Life) -> None:
    place = {stamp_of(one): one.seq for one in life.log}
    for message in life.log:
        stamp, named = stamp_of(message), set(after_of(message))
        implied = Stamp(stamp.member, stamp.number - 1)
        assert named == life.judge.immediate(stamp) - {implied}, f"{stamp} names {named}"
        assert all(place[one] < place[stamp] for one in life.judge.past[stamp]), f"{stamp} is stored before its cause"
    assert len(place) == len(life.log) == life.log[-1].seq
