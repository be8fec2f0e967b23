"""Whatever is pushed, pulled, parked, filtered and replayed, in whatever order, every message is somewhere once.

The histories are those of the store: pushes are what their outcomes write (`Delivered`, `PushFailed`), and filters look
when a history says so, a few messages at a time, so that everything also happens before they did.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

from contract.site import Clock, Site, copy_migrated, one_commit, settle
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sqlalchemy import Connection

from pregon.filters.lanes import QUICK
from pregon.hub.deliver import Delivered, Delivery, Failure, PushedFrom, PushFailed
from pregon.hub.examining import Examining
from pregon.hub.options import HubOptions
from pregon.hub.pending import read_pending
from pregon.hub.pull import PullRequest
from pregon.model.catalog import Subscriber, Subscription, Topic
from pregon.model.message import Outgoing
from pregon.store import cursors
from pregon.store.backlogs import read_backlogs
from pregon.store.cursors import Place
from pregon.store.database import SqliteDatabase

from .model import Log, State
from .pushed import EXAMINED_AT_ONCE, Pushed
from .test_histories import outcome

TOPIC, NAME = "births", "bank"
NAMES = (TOPIC, NAME)
LETTERS = "ab"
EVERYTHING = {"messages_max": 10_000, "bytes_max": 8 * 1024 * 1024}

_look = Examining._examine_some
"""What a filter's thread does; in these histories only when a history says so."""


def filter_for(letter: str) -> str:
    """The filter that wants the messages with a letter; none for no letter."""
    return json.dumps({"header": "r", "equals": letter}) if letter else ""


class PushHistories(RuleBasedStateMachine):
    """One topic, one subscription that is pushed and pulled, and whoever operates it."""

    def __init__(self) -> None:
        super().__init__()
        self._directory = tempfile.TemporaryDirectory(prefix="pregon-")
        self._clock = Clock()
        self._patches: list[Any] = [
            patch("pregon.clock.wall_us", self._clock.read_us),
            patch("pregon.store.database.LOG_BYTES_SOFT_MAX", 64 * 1024),
            patch("pregon.hub.merging.WAITING_MIN", 3),
            patch("pregon.hub.maintenance.WAITING_MIN", 3),
            patch("pregon.limits.EXAMINE_MESSAGES_MAX", EXAMINED_AT_ONCE),
            patch("pregon.hub.pull._EXAMINE_WAIT_MS", 0),
            patch.object(Examining, "_examine_some", lambda *_: False),
        ]
        for one in self._patches:
            one.start()
        copy_migrated(Path(self._directory.name))
        self._site = Site(lambda: SqliteDatabase(Path(self._directory.name)))
        self._log = Log()
        self._letters: list[str] = []
        self._follower: Pushed
        self._of: PushedFrom
        self._old: list[PushedFrom] = []
        """Subscriptions of the same name that are no more."""

    def teardown(self) -> None:
        """Stop, and leave nothing behind."""
        self._site.stop()
        for one in self._patches:
            one.stop()
        self._directory.cleanup()

    @initialize(letters=st.text(LETTERS, min_size=4, max_size=10), wants=st.sampled_from(["", *LETTERS]))
    def open(self, letters: str, wants: str) -> None:
        """A topic that has something, and somebody to whom it is pushed."""
        hub = self._site.start(HubOptions(push_allow="127.0.0.1"))
        hub.create(Topic(name=TOPIC)).result()
        hub.create(Subscriber(name=NAME, mode="push", endpoint="http://127.0.0.1:9/")).result()
        self._subscribe("earliest", wants)
        self.publish(letters)

    def _subscribe(self, start: str, wants: str) -> None:
        self._follower = Pushed(self._log, start)
        self._follower.wants = wants
        entry = Subscription(topic=TOPIC, subscriber=NAME, start=start, filter=filter_for(wants))
        self._site.hub.create(entry).result()
        place = self._site.hub.read(lambda connection: cursors.find_place(connection, *NAMES)).result()
        assert place is not None
        self._of = PushedFrom(*NAMES, place.id, 0)

    @rule(letters=st.text(LETTERS, min_size=1, max_size=5))
    def publish(self, letters: str) -> None:
        """Messages with letters, in one commit."""
        hub, now_us = self._site.hub, self._clock.move_ms(1)
        for letter in letters:
            self._log.say(letter.encode(), "registry", now_us)
            self._letters.append(letter)

        with one_commit(hub):
            tickets = [hub.publish(TOPIC, "registry", Outgoing(one.encode(), headers={"r": one})) for one in letters]

        assert [ticket.result().seq for ticket in tickets][-1] == self._log.head

    @rule(data=st.data(), verb=st.sampled_from(["deliver", "deliver", "fail", "pull", "ack", "park", "cancel"]))
    def act(self, data: st.DataObject, verb: str) -> None:
        """What the pusher, a puller or an operator does to the subscription."""
        getattr(self, f"_{verb}")(data)
        self._follow()

    def _deliver(self, data: st.DataObject) -> None:
        """Pushes that were answered, also ahead of the cursor, twice, or of before a replay."""
        follower = self._follower
        likely = follower.returned() + follower.visible()[:8]
        seqs = data.draw(st.sets(st.sampled_from(likely) if likely else self._numbers(), min_size=1, max_size=5))
        seqs |= data.draw(st.just(set()) | st.sets(self._numbers(), max_size=2))
        epoch = follower.epoch - data.draw(st.sampled_from([0, 0, 0, 1]))
        of = PushedFrom(*NAMES, self._of.subscription_id, epoch)

        follower.deliver(seqs, epoch)

        self._site.hub.submit(Delivered(of, [Delivery(seq, 1, 1) for seq in seqs])).result()

    def _fail(self, data: st.DataObject) -> None:
        """A push that failed moves nothing."""
        seq = data.draw(self._numbers())
        of = PushedFrom(*NAMES, self._of.subscription_id, self._follower.epoch)

        self._site.hub.submit(PushFailed(of, Failure(seq, 2, 1, "HTTP 500", 1, 5, "next try in 1 s"))).result()

    def _pull(self, data: st.DataObject) -> None:
        """A pull, perhaps with an acknowledgement."""
        messages_max = data.draw(st.integers(1, 8))
        seq = data.draw(st.none() | self._numbers_for())
        request = PullRequest(topic=TOPIC, subscriber=NAME, ack=seq, messages_max=messages_max)

        expected = outcome(lambda: seq is not None and self._follower.ack(seq, None))
        found = outcome(self._site.hub.pull(request).result)
        settle(self._site.hub)

        if isinstance(expected, type) or isinstance(found, type):
            assert found == expected
            return
        self._follow()
        given = [message.seq for batch in found.batches for message in batch.messages(TOPIC)]
        wanted = self._follower.give(messages_max)
        assert given == wanted[: len(given)]
        assert bool(given) == bool(wanted)
        if self._follower.wants and not self._follower.returned():
            reasons = [any(one.first_seq <= seq <= one.last_seq for one in found.matches) for seq in given]
            assert all(reasons)

    def _ack(self, data: st.DataObject) -> None:
        """An acknowledgement, of this epoch or an older one."""
        seq, age = data.draw(self._numbers_for()), data.draw(st.sampled_from([None, 0, 1]))
        epoch = None if age is None else self._follower.epoch - age

        expected = outcome(lambda: self._follower.ack(seq, epoch))
        found = outcome(self._site.hub.ack(*NAMES, seq, epoch).result)

        assert isinstance(found, type) == isinstance(expected, type)

    def _park(self, data: st.DataObject) -> None:
        """Set some aside, most of the time pending ones."""
        seqs = data.draw(self._some())

        expected = outcome(lambda: self._follower.park(seqs))

        assert outcome(self._site.hub.park(*NAMES, sorted(seqs)).result) == expected

    def _cancel(self, data: st.DataObject) -> None:
        """Give some up."""
        seqs = data.draw(self._some())

        expected = outcome(lambda: self._follower.cancel(seqs))

        assert outcome(self._site.hub.cancel(*NAMES, sorted(seqs)).result) == expected

    @rule(data=st.data())
    def unpark(self, data: st.DataObject) -> None:
        """Deliver some again, or all of them."""
        seqs = data.draw(st.just(set()) | st.sets(self._numbers(), max_size=3))

        expected = outcome(lambda: self._follower.unpark(seqs))

        assert outcome(self._site.hub.unpark(*NAMES, sorted(seqs)).result) == expected
        self._follow()

    @rule(data=st.data())
    def replay(self, data: st.DataObject) -> None:
        """Move the cursor back."""
        seq = data.draw(st.integers(1, self._log.head + 1))

        expected = outcome(lambda: self._follower.replay(seq))

        assert outcome(lambda: self._site.hub.replay(*NAMES, from_seq=seq).result().acked_seq) == expected
        self._follow()

    @rule(times=st.integers(1, 4))
    @precondition(lambda self: self._follower.wants)
    def look(self, times: int) -> None:
        """The filter looks at what comes next."""
        for _ in range(times):
            self._follower.look(self._letters)
            _look(self._site.hub.examining, NAMES, QUICK)
        self._follow()

    @rule(wants=st.sampled_from(["", *LETTERS]))
    def want(self, wants: str) -> None:
        """Another filter, or none."""
        self._follower.want(wants)

        self._site.hub.update("subscription", NAMES, {"filter": filter_for(wants)}).result()
        self._follow()

    @rule(mode=st.sampled_from(["pull", "push"]), enabled=st.booleans())
    def switch(self, mode: str, enabled: bool) -> None:
        """Whether it is pushed changes nothing of what is settled."""
        self._site.hub.update("subscriber", (NAME,), {"mode": mode, "enabled": enabled}).result()

    @rule(paused=st.booleans())
    def pause(self, paused: bool) -> None:
        """Nor does a pause; what was on its way is written down in it all the same."""
        self._site.hub.update("subscription", NAMES, {"paused": paused}).result()

    @rule(pending_max=st.none() | st.integers(1, 8), when_acknowledged=st.booleans())
    def keep_house(self, pending_max: int | None, when_acknowledged: bool) -> None:
        """Limits and retention."""
        hub, follower = self._site.hub, self._follower
        follower.pending_max = pending_max
        hub.update("subscription", NAMES, {"pending_max": pending_max}).result()
        hub.update("topic", (TOPIC,), {"retention": {"when_acknowledged": when_acknowledged}}).result()
        follower.expire(self._clock.now_us)

        hub.maintenance.run_once()

        self._follow()
        tail = hub.read_log(TOPIC, 1, None, 1, 1).result().tail_seq
        assert self._log.tail <= tail <= follower.cursor + 1
        self._log.tail = tail

    @rule(start=st.sampled_from(["earliest", "latest"]), wants=st.sampled_from(["", *LETTERS]))
    def subscribe_anew(self, start: str, wants: str) -> None:
        """Delete the subscription and make another; what was on its way for the old one is none of its business."""
        self._old.append(PushedFrom(*NAMES, self._of.subscription_id, 0))
        self._site.hub.delete("subscription", NAMES).result()
        self._subscribe(start, wants)

        late = [Delivery(seq, 1, 1) for seq in range(1, self._log.head + 1)]
        self._site.hub.submit(Delivered(self._old[-1], late)).result()

    @rule()
    def restart(self) -> None:
        """Stop the hub and start it again."""
        self._site.restart(HubOptions(push_allow="127.0.0.1"))

    def _follow(self) -> None:
        """Let the model stand where the hub's cursor does, if it may stand there."""
        self._follower.stand_at(self._site.hub.account(*NAMES).result().acked_seq)

    def _numbers(self) -> st.SearchStrategy[int]:
        """Numbers of messages, and the ones just outside."""
        return st.integers(0, self._log.head + 1)

    def _numbers_for(self) -> st.SearchStrategy[int]:
        """The same, most of the time of messages that can be acknowledged."""
        likely = self._follower.returned() * 3 + self._follower.visible()[:6]
        return st.sampled_from(likely) | self._numbers() if likely else self._numbers()

    def _some(self) -> st.SearchStrategy[set[int]]:
        """A few numbers, most of the time pending ones."""
        likely = self._follower.waiting() + self._follower.returned()
        some = st.sets(st.sampled_from(likely) if likely else self._numbers(), min_size=1, max_size=4)
        return some | some | st.sets(self._numbers(), min_size=1, max_size=3)

    @invariant()
    def every_message_is_where_the_model_says(self) -> None:
        """The accounting, what a pull and a push would find, and what the operator is shown as backlog."""
        if not hasattr(self, "_follower"):
            return
        hub, follower = self._site.hub, self._follower
        found = hub.account(*NAMES).result()
        counted = follower.count()
        assert {field: getattr(found, field) for field in counted} == counted
        assert sum(counted[state.value] for state in State) == counted["accepted"]
        assert hub.read(_pending).result() == (follower.returned(), follower.visible())
        (backlog,) = hub.read(read_backlogs).result()
        assert (backlog.pending, backlog.parked) == (found.pending, found.parked)
        assert not (backlog.paused and backlog.is_failing)


def _pending(connection: Connection) -> tuple[list[int], list[int]]:
    """What a push would find, without handing anything out: what was unparked, and what waits in its place."""
    place = cursors.find_place(connection, *NAMES)
    assert place is not None
    aside = cursors.set_aside(connection, place.id)
    after: list[int] = []
    while more := _next(connection, place, aside, (after or [place.cursor.acked_seq])[-1] + 1):
        after += more
    return sorted(one.seq for one in aside.values() if one.returned), after


def _next(connection: Connection, place: Place, aside: Any, first_seq: int) -> list[int]:
    found = read_pending(connection, place, aside, first_seq, **EVERYTHING)
    return [message.seq for batch in found.batches for message in batch.messages(TOPIC)]


TestPushHistories = PushHistories.TestCase
TestPushHistories.settings = settings(max_examples=40, stateful_step_count=40)
