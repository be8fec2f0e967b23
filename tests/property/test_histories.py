"""Whatever happens to a hub, in whatever order, every message is where the model says it is."""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
from contract.site import Clock, Site, copy_migrated, one_commit, settle
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sqlalchemy import Connection

from pregon.errors import PregonError
from pregon.hub.pull import PullRequest
from pregon.model.batch import decode_sent, encode, pack
from pregon.model.catalog import Retention, Subscription, Topic
from pregon.model.message import Outgoing
from pregon.store import cursors
from pregon.store.database import SqliteDatabase
from pregon.store.log import read_range

from .model import Follower, Log

TOPIC = "births"
NAMES = ("bank", "post")
EVERYTHING = {"messages_max": 10_000, "bytes_max": 8 * 1024 * 1024}

producers = st.sampled_from(["registry", "hospital"])
names = st.sampled_from(NAMES)
bodies = st.binary(max_size=12)
ids = st.none() | st.sampled_from("abcdef")
epoch_ages = st.none() | st.integers(0, 1)
times_ms = st.sampled_from([0, 1, 499, 500, 1_000, 2_000])
ages_ms = st.none() | st.sampled_from([500, 1_500])
limits = st.tuples(st.none() | st.integers(1, 6), ages_ms)
retentions = st.builds(Retention, age_ms=ages_ms, when_acknowledged=st.booleans())


def outcome(act: Callable[[], Any]) -> Any:
    """What it answers, or the kind of error that it raises."""
    try:
        return act()
    except PregonError as error:
        return type(error)


def batch_of(contents: list[bytes]) -> Any:
    """The bodies as a batch."""
    named = [Outgoing(content, f"row-{row}") for row, content in enumerate(contents)]
    return decode_sent(encode(pack(named, [1] * len(named))))


class Histories(RuleBasedStateMachine):
    """One topic, two subscribers, and everything that can be done with them."""

    def __init__(self) -> None:
        super().__init__()
        self._directory = tempfile.TemporaryDirectory(prefix="pregon-")
        self._clock = Clock()
        self._patches: list[Any] = [
            patch("pregon.clock.wall_us", self._clock.read_us),
            patch("pregon.store.database.LOG_BYTES_SOFT_MAX", 64 * 1024),
            # Small, so that short histories have merges too.
            patch("pregon.hub.merging.WAITING_MIN", 3),
            patch("pregon.hub.maintenance.WAITING_MIN", 3),
        ]
        for one in self._patches:
            one.start()
        copy_migrated(Path(self._directory.name))
        self._site = Site(lambda: SqliteDatabase(Path(self._directory.name)))
        self._log = Log()
        self._followers: dict[str, Follower] = {}
        self._retention = Retention()

    def teardown(self) -> None:
        """Stop, and leave nothing behind."""
        self._site.stop()
        for one in self._patches:
            one.stop()
        self._directory.cleanup()

    @initialize(contents=st.lists(bodies, min_size=3, max_size=9))
    def open(self, contents: list[bytes]) -> None:
        """A topic that has something, and somebody who waits for it."""
        self._site.start().create(Topic(name=TOPIC)).result()
        self._log.say_batch(contents, "registry", self._clock.now_us)
        self._site.hub.publish_batch(TOPIC, "registry", batch_of(contents)).result()
        self._subscribe(NAMES[0], "earliest")

    @rule(burst=st.lists(st.tuples(producers, ids, bodies), min_size=1, max_size=6), ms=times_ms)
    def publish(self, burst: list[tuple[str, str | None, bytes]], ms: int) -> None:
        """Messages alone, some of them once more, and batches, in one commit, a while later."""
        hub, now_us = self._site.hub, self._clock.move_ms(ms)
        expected = []
        tickets = []

        with one_commit(hub):
            for row, (producer, id, body) in enumerate(burst):
                if row % 3 == 2:
                    expected.append(self._log.say_batch([body, body], producer, now_us))
                    tickets.append(hub.publish_batch(TOPIC, producer, batch_of([body, body])))
                else:
                    expected.append(self._log.say(body, producer, now_us, id))
                    tickets.append(hub.publish(TOPIC, producer, Outgoing(body, id)))

        assert [(ticket.result().seq, ticket.result().duplicate) for ticket in tickets] == expected

    @rule(contents=st.lists(bodies, min_size=1, max_size=3), session=st.sampled_from("st"), step=st.integers(-1, 2))
    def publish_in_session(self, contents: list[bytes], session: str, step: int) -> None:
        """The next batch of a session, an older one again, or one too early."""
        number = max(1, self._log.batches_of(session) + step)
        expected = outcome(lambda: self._log.say_batch(contents, "registry", self._clock.now_us, session, number))

        ticket = self._site.hub.publish_batch(TOPIC, "registry", batch_of(contents), session, number)

        found = outcome(ticket.result)
        assert (found if isinstance(found, type) else (found.seq, found.duplicate)) == expected

    @rule(data=st.data(), name=names, start=st.sampled_from(["earliest", "latest", "a number"]))
    def subscribe(self, data: st.DataObject, name: str, start: str) -> None:
        """A subscription; when there is one already, nothing."""
        self._subscribe(name, str(data.draw(self._numbers())) if start == "a number" else start)

    def _subscribe(self, name: str, start: str) -> None:
        follower = self._followers.setdefault(name, Follower(self._log, start))
        entry = Subscription(
            topic=TOPIC,
            subscriber=name,
            start=start,
            pending_max=follower.pending_max,
            pending_age_ms=follower.pending_age_ms,
        )

        self._site.hub.create(entry).result()

    @rule(data=st.data(), verb=st.sampled_from(["pull", "ack", "park", "unpark", "replay"]))
    def follow(self, data: st.DataObject, verb: str) -> None:
        """What a subscriber or an operator does to a subscription.

        One rule for all of it, because Hypothesis leaves rules out of a history at random, and a history without
        one of these verbs says little about the others.
        """
        name, follower = self._choose(data)
        getattr(self, f"_{verb}")(data, name, follower)

    def _pull(self, data: st.DataObject, name: str, follower: Follower) -> None:
        """A pull, with or without an acknowledgement, of this epoch or an older one, perhaps reading ahead."""
        messages_max, age = data.draw(st.integers(1, 8)), data.draw(epoch_ages)
        seq, after = (data.draw(st.none() | self._numbers_for(follower)) for _ in range(2))
        epoch = None if age is None else follower.epoch - age
        request = PullRequest(
            topic=TOPIC, subscriber=name, ack=seq, epoch=epoch, after=after, messages_max=messages_max
        )

        def expect() -> list[int]:
            if seq is not None:
                follower.ack(seq, epoch)
            return follower.pull(messages_max, after, epoch)

        expected = outcome(expect)
        found = outcome(self._site.hub.pull(request).result)
        settle(self._site.hub)

        if isinstance(found, type) or isinstance(expected, type):
            assert found == expected
            return
        messages = [message for batch in found.batches for message in batch.messages(TOPIC)]
        # Around parked messages a pull may give fewer than it could, but never nothing.
        assert [message.seq for message in messages] == expected[: len(messages)]
        assert bool(messages) == bool(expected)
        assert all(message.body == self._log.messages[message.seq - 1].body for message in messages)
        assert (found.epoch, found.acked_seq, found.head_seq) == (follower.epoch, follower.cursor, self._log.head)

    def _ack(self, data: st.DataObject, name: str, follower: Follower) -> None:
        """An acknowledgement, of this epoch or an older one."""
        seq, age = data.draw(self._numbers_for(follower)), data.draw(epoch_ages)
        epoch = None if age is None else follower.epoch - age

        expected = outcome(lambda: follower.ack(seq, epoch))

        assert outcome(self._site.hub.ack(TOPIC, name, seq, epoch).result) == expected

    def _park(self, data: st.DataObject, name: str, follower: Follower) -> None:
        """Set some aside, most of the time pending ones."""
        pending = follower.waiting() + follower.returned()
        seqs = data.draw(st.sets(st.sampled_from(pending) if pending else self._numbers(), min_size=1, max_size=4))
        seqs |= data.draw(st.just(set()) | st.just(set()) | st.sets(self._numbers(), max_size=1))

        expected = outcome(lambda: follower.park(seqs))

        assert outcome(self._site.hub.park(TOPIC, name, sorted(seqs)).result) == expected

    def _unpark(self, data: st.DataObject, name: str, follower: Follower) -> None:
        """Deliver some again, or all of them."""
        seqs = data.draw(st.just(set()) | st.sets(self._numbers(), max_size=3))

        expected = outcome(lambda: follower.unpark(seqs))

        assert outcome(self._site.hub.unpark(TOPIC, name, sorted(seqs)).result) == expected

    def _replay(self, data: st.DataObject, name: str, follower: Follower) -> None:
        """Move a cursor back to a number or a time."""
        if data.draw(st.booleans()):
            said = self._log.messages[data.draw(st.integers(0, self._log.head - 1))]
            at_us = said.accepted_us + data.draw(st.integers(-1, 1))
            where, seq = {"from_us": at_us}, self._log.first_since(at_us)
        else:
            seq = data.draw(st.integers(1, self._log.head + 1))
            where = {"from_seq": seq}

        expected = outcome(lambda: follower.replay(seq))

        assert outcome(lambda: self._site.hub.replay(TOPIC, name, **where).result().acked_seq) == expected

    @rule(data=st.data(), ms=times_ms, retention=st.none() | retentions, limits=st.none() | limits)
    def keep_house(
        self, data: st.DataObject, ms: int, retention: Retention | None, limits: tuple[int | None, int | None] | None
    ) -> None:
        """Limits, retention and merging, all at once, a while later and perhaps with other settings."""
        if limits is not None:
            name, follower = self._choose(data)
            follower.pending_max, follower.pending_age_ms = limits
            values = {"pending_max": limits[0], "pending_age_ms": limits[1]}
            self._site.hub.update("subscription", (TOPIC, name), values).result()
        if retention is not None:
            self._retention = retention
            self._site.hub.update("topic", (TOPIC,), {"retention": msgspec.to_builtins(retention)}).result()
        self._clock.move_ms(ms)
        for follower in self._followers.values():
            follower.expire(self._clock.now_us)

        self._site.hub.maintenance.run_once()

        tail = self._site.hub.read_log(TOPIC, 1, None, 1, 1).result().tail_seq
        assert self._log.tail <= tail <= self._log.head + 1
        for said in self._log.messages[self._log.tail - 1 : tail - 1]:
            assert all(follower.cursor >= said.seq for follower in self._followers.values())
            assert self._may_go(said.accepted_us)
        self._log.tail = tail

    def _may_go(self, accepted_us: int) -> bool:
        age_ms = self._retention.age_ms
        if age_ms is not None and accepted_us < self._clock.now_us - age_ms * 1_000:
            return True
        return self._retention.when_acknowledged

    @rule()
    def restart(self) -> None:
        """Stop the hub and start it again."""
        self._site.restart()

    def _numbers(self) -> st.SearchStrategy[int]:
        """Numbers of messages, and the ones just outside."""
        return st.integers(0, self._log.head + 1)

    def _numbers_for(self, follower: Follower) -> st.SearchStrategy[int]:
        """The same, most of the time of messages that can be acknowledged."""
        likely = follower.returned() * 3 + follower.waiting()[:6]
        return st.sampled_from(likely) | self._numbers() if likely else self._numbers()

    def _choose(self, data: st.DataObject) -> tuple[str, Follower]:
        name = data.draw(st.sampled_from(sorted(self._followers)))
        return name, self._followers[name]

    @invariant()
    def every_message_is_where_the_model_says(self) -> None:
        """The accounting, and the messages themselves, of each subscription."""
        for name, follower in self._followers.items():
            found = self._site.hub.account(TOPIC, name).result()
            assert {field: getattr(found, field) for field in follower.count()} == follower.count()
            pending = self._site.hub.read(partial(_pending, name)).result()
            assert pending == (follower.returned(), follower.waiting())

    @invariant()
    def the_log_is_what_was_said(self) -> None:
        """Every message that was not removed, byte for byte."""
        if not hasattr(self._site, "hub"):
            return
        read = self._site.hub.read_log(TOPIC, 1, None, **EVERYTHING).result()
        messages = [message for batch in read.batches for message in batch.messages(TOPIC)]
        assert (read.tail_seq, read.head_seq) == (self._log.tail, self._log.head)
        assert [(one.seq, one.body, one.producer, one.accepted_us) for one in messages] == [
            (said.seq, said.body, said.producer, said.accepted_us) for said in self._log.kept()
        ]


def _pending(name: str, connection: Connection) -> tuple[list[int], list[int]]:
    """What waits behind the cursor and after it, without handing anything out."""
    place = cursors.find_place(connection, TOPIC, name)
    assert place is not None
    aside = cursors.set_aside(connection, place.id)
    found = read_range(connection, place.topic_id, place.cursor.acked_seq + 1, place.cursor.head_seq, **EVERYTHING)
    after = [message.seq for batch in found for piece in batch.without(aside) for message in piece.messages(TOPIC)]
    return sorted(one.seq for one in aside.values() if one.returned), after


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=40, stateful_step_count=30)
