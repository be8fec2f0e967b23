"""Whatever happens to durable requests, to their broker and to the disk: each that was accepted has one result.

The journal is in memory, fails now and then, and outlives the broker. Beside it stands what clients know: which
requests they heard yes to, and what they were told when they collected.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pregon.model.service import ANSWERED
from pregon.wire import services as wire

from .audit import audit, live_requests
from .memory_journal import MemoryJournal
from .stage import Stage, number, read

OPTIONS = {"beat_ms": 100, "answer_ms": 1_000, "wait_ms": 1_000, "attempts_max": 3, "queue_max": 6}
CLIENTS, WORKERS = (b"c1", b"c2"), (b"w1", b"w2")

clients = st.sampled_from(CLIENTS)
workers = st.sampled_from(WORKERS)
keys = st.sampled_from(["k1", "k2", "k3", ""])
picks = st.integers(0, 7)


class Durables(RuleBasedStateMachine):
    """Submit, work, collect; a disk that fails, a broker that is started anew."""

    def __init__(self) -> None:
        super().__init__()
        self.journal = MemoryJournal()
        self.stage = Stage(OPTIONS, journal=self.journal)
        self.serial = 0
        self.submitting: dict[tuple[bytes, bytes], str] = {}
        """Who waits for a yes, and the key that it gave."""
        self.accepted: set[str] = set()
        self.collecting: dict[tuple[bytes, bytes], str] = {}
        """Who waits for a result."""

    def teardown(self) -> None:
        """The disk works, a worker comes: every request that was accepted has its result."""
        self.disk(works=True)
        self.hello(WORKERS[0], 3)
        for _ in range(300):
            self.answer_all(WORKERS[0])
            self.pass_time(100)
            self.write(1_000)
            self.stage.say(WORKERS[0], wire.BEAT)
            is_quiet = not self.submitting and not self.collecting
            if is_quiet and not self.stage.parts.durables.count:
                break
        assert self.accepted <= set(self.journal.results)
        assert not self.submitting and not self.collecting and self.stage.parts.durables.count == 0
        assert self.stage.broker.held_bytes == 0

    def settle(self) -> None:
        """Clients read what they were told."""
        for client in CLIENTS:
            for heard in map(read, self.stage.told(client)):
                key = (client, heard.id)
                if key in self.submitting:
                    asked = self.submitting.pop(key)
                    if heard.kind == "Y":
                        durable_id = heard.tail.decode()
                        assert durable_id in self.journal.entries, "yes, and it is not on disk"
                        assert asked in ("", durable_id)
                        self.accepted.add(durable_id)
                else:
                    durable_id = self.collecting.pop(key)
                    self.check_collected(durable_id, heard.kind, heard.body, wire.decode_failure(heard.tail).code)

    def check_collected(self, durable_id: str, kind: str, body: list[bytes], code: str) -> None:
        result = self.journal.results.get(durable_id)
        if kind == "A":
            assert result is not None and result.state == ANSWERED
            assert body == result.body, "another answer than the one that is stored"
        elif code not in ("not_found", "answer_timeout", "store_failed"):
            assert result is not None and result.code == code

    # What clients do.

    @rule(client=clients, key=keys, deadline_ms=st.none() | st.sampled_from([50, 5_000]))
    def submit(self, client: bytes, key: str, deadline_ms: int | None) -> None:
        """A durable request, perhaps one that was handed in before."""
        self.serial += 1
        self.submitting[client, number(self.serial)] = key
        body = b"body-%d" % self.serial
        self.stage.ask(client, self.serial, "A", body, durable=True, key=key, deadline_ms=deadline_ms)
        self.settle()

    @rule(client=clients, key=keys, wait_ms=st.sampled_from([0, 100, 2_000]))
    def collect(self, client: bytes, key: str, wait_ms: int) -> None:
        """A result is wanted."""
        self.serial += 1
        self.collecting[client, number(self.serial)] = key
        self.stage.collect(client, self.serial, key, wait_ms)
        self.settle()

    # What workers do.

    @rule(worker=workers, slots=st.integers(1, 3))
    def hello(self, worker: bytes, slots: int) -> None:
        """A worker comes, or begins anew."""
        self.stage.hello(worker, "A", slots=slots)

    @rule(worker=workers, pick=picks, kind=st.sampled_from([wire.ANSWER, wire.ANSWER, wire.ERROR, wire.GIVE_BACK]))
    def speak(self, worker: bytes, pick: int, kind: int) -> None:
        """Something about work that it has or had: twice, late, or in time."""
        work = self.stage.work(worker)
        if work:
            given = work[-1 - pick % len(work)]
            body = [given.body[0], given.id] if kind == wire.ANSWER else []
            self.stage.say(worker, kind, given.id, *body)
            self.settle()

    @rule(worker=workers)
    def answer_all(self, worker: bytes) -> None:
        """A good worker."""
        known = self.stage.broker.workers.get(worker)
        for given in self.stage.work(worker):
            if known is not None and given.id in known.in_hand:
                self.stage.say(worker, wire.ANSWER, given.id, given.body[0], given.id)
        self.settle()

    @rule(worker=workers)
    def disappear(self, worker: bytes) -> None:
        """A worker is lost."""
        self.stage.parts.worker_unreachable(worker, [])
        self.stage.bring()
        self.settle()

    # What else happens.

    @rule(ms=st.sampled_from([10, 100, 400, 1_100]))
    def pass_time(self, ms: int) -> None:
        """Nobody says anything for a while."""
        self.stage.wait(ms)
        self.settle()

    @rule(count=st.integers(1, 5))
    def write(self, count: int) -> None:
        """The disk does some of what it was asked."""
        self.journal.work(count)
        self.stage.bring()
        self.settle()

    @rule(works=st.booleans())
    def disk(self, works: bool) -> None:
        """The disk is full, or no longer."""
        self.journal.is_failing = not works

    @rule(key=keys)
    def work_twice(self, key: str) -> None:
        """Two work on the same, as two brokers on one store may: the first result is the result."""
        if key in self.accepted and key not in self.journal.results:
            self.stage.parts.durables.resume(self.journal.entries[key])
            self.stage.bring()

    @rule()
    def start_anew(self) -> None:
        """Another broker on the same journal; nobody is told what the old one knew, and nothing accepted is lost."""
        self.journal.stop()
        self.stage = Stage(OPTIONS, journal=self.journal)
        self.submitting.clear()
        self.collecting.clear()
        for entry in self.journal.waiting():
            self.stage.parts.durables.resume(entry)

    @invariant()
    def one_result_each(self) -> None:
        """Exactly one result is stored of each, and what has none is somewhere."""
        audit(self.stage.broker)
        assert set(self.journal.stored.values()) <= {1}
        assert self.accepted <= set(self.journal.entries)
        live = {request.durable_id for request in live_requests(self.stage.broker)}
        unfinished = {entry.id for entry in self.journal.waiting()} & self.accepted
        assert len(unfinished | live) <= self.stage.parts.durables.count


TestDurables = Durables.TestCase
TestDurables.settings = settings(max_examples=120, stateful_step_count=50)
