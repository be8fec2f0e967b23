"""Whatever clients and workers do to a broker, in whatever order: no request is lost, none is answered twice.

Beside the broker stands what a client can know: what it asked, and what it was told. Every body is unlike all others,
and an answer says for which delivery of which body it is, so that an answer of the wrong worker, or of the right one at
the wrong time, is seen by the client.
"""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from pregon.services.options import LIVENESS, POLICIES
from pregon.services.worker import LOST
from pregon.wire import services as wire

from .audit import audit, audit_time, live_requests
from .cast import (
    DEALERS,
    PLAIN,
    POISON_MAX,
    REQS,
    RICH,
    SERVED,
    clients,
    dealers,
    loads,
    nonsense,
    picks,
    plain_clients,
    reqs,
    times_ms,
    types,
    workers,
)
from .notebook import Notebook
from .stage import number


class Brokers(Notebook):
    """Clients of both forms, workers of both forms, and time."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = patch("pregon.services.poison.SERVICE_POISON_MAX", POISON_MAX)
        self.patch.start()

    def teardown(self) -> None:
        """With a healthy worker for every type everything ends."""
        try:
            self.drain()
        finally:
            self.patch.stop()

    # What clients do.

    @initialize(
        types=st.lists(types, min_size=1, max_size=2, unique=True),
        slots=st.integers(1, 3),
        policy=st.sampled_from(POLICIES),
    )
    def open_shop(self, types: list[str], slots: int, policy: str) -> None:
        """There is a worker, chosen in one of the ways."""
        for name in types:
            self.stage.set_options(name, policy=policy)
        self.hello(DEALERS[0], types, slots, 0.0)

    @rule(
        client=clients,
        name=types,
        version=st.sampled_from(["", "", "", "1", "2"]),
        priority=st.integers(0, 9),
        deadline_ms=st.none() | st.sampled_from([1, 50, 900, 5_000]),
        size=st.integers(0, 2),
    )
    def ask(self, client: bytes, name: str, version: str, priority: int, deadline_ms: int | None, size: int) -> None:
        """A request of PGS/1."""
        body = self.new_body(size)
        self.open[client, number(self.serial)] = body[0]
        options = {"version": version, "priority": priority, "deadline_ms": deadline_ms}
        self.stage.ask(client, self.serial, name, *body, **options)
        self.settle()

    @rule(client=clients, name=types, count=st.integers(2, 8))
    def ask_many(self, client: bytes, name: str, count: int) -> None:
        """A burst of them."""
        for _ in range(count):
            self.ask(client, name, "", 5, None, 0)

    @rule(client=plain_clients, size=st.integers(0, 2))
    def ask_plainly(self, client: bytes, size: int) -> None:
        """A request of the plain form."""
        body = self.new_body(size)
        self.open_plain[client].add(body[0])
        self.stage.front(client, b"", *body)
        self.settle()

    @rule(pick=picks)
    def ask_again(self, pick: int) -> None:
        """A request that is under way, sent once more."""
        if self.open:
            (client, id), body = list(self.open.items())[pick % len(self.open)]
            before = len(live_requests(self.stage.broker))
            self.stage.ask(client, int.from_bytes(id, "big"), "A", body + b"again")
            assert len(live_requests(self.stage.broker)) == before
            self.settle()

    @rule(pick=picks)
    def cancel(self, pick: int) -> None:
        """Somebody does not want to know any more."""
        if self.open:
            client, id = list(self.open)[pick % len(self.open)]
            del self.open[client, id]
            self.stage.cancel(client, int.from_bytes(id, "big"))
            self.settle()

    @rule(client=clients | plain_clients)
    def client_vanishes(self, client: bytes) -> None:
        """A client that cannot be told is forgotten with all that it has waiting; another comes by its name."""
        self.stage.broker.client_gone(client)
        asked = {request.id for request in live_requests(self.stage.broker) if request.asker.identity == client}
        for key in [key for key in self.open if key[0] == client and key[1] not in asked]:
            del self.open[key]
        if client in PLAIN:
            self.recount(client)
        self.settle()

    # What workers do.

    @rule(
        worker=dealers,
        types=st.lists(st.sampled_from(SERVED), min_size=1, max_size=3, unique=True),
        slots=st.integers(1, 3),
        load=loads,
    )
    def hello(self, worker: bytes, types: list[str], slots: int, load: float) -> None:
        """A worker of PGS/1 says hello, perhaps again; it has nothing any more of what it had."""
        self.stage.unreachable.discard(worker)
        self.stage.hello(worker, *types, slots=slots, load=load)
        self.settle()

    @rule(worker=reqs, segments=st.sampled_from([[b""], [b"A"], [b"default,B", b"0.4"], [b"A@2"], [b"no name!"]]))
    def register(self, worker: bytes, segments: list[bytes]) -> None:
        """A worker of the plain form does."""
        self.stage.unreachable.discard(worker)
        self.work[worker].clear()
        self.stage.register(worker, *segments)
        self.settle()

    @rule(worker=workers, pick=picks, load=st.none() | loads)
    def answer(self, worker: bytes, pick: int, load: float | None) -> None:
        """An answer to something that it was given, now or long ago, for the first time or not.

        A worker of the plain form can only answer what it was given last, and once: its socket sees to that.
        """
        received = self.work[worker]
        if received:
            delivery, id, body = received[-1 - pick % len(received)] if worker in DEALERS else received[-1]
            if worker in REQS:
                received.clear()
            self.say_answer(worker, id, [body[0], b"%d" % delivery], b"" if load is None else b"%g" % load)

    @rule(worker=dealers)
    def answer_all(self, worker: bytes) -> None:
        """A good worker."""
        known = self.stage.broker.workers.get(worker)
        for work_id in list(known.in_hand) if known is not None else []:
            for delivery, id, body in self.work[worker]:
                if id == work_id:
                    self.say_answer(worker, id, [body[0], b"%d" % delivery], b"")

    def say_answer(self, worker: bytes, id: bytes, body: list[bytes], tail: bytes) -> None:
        if worker in REQS:
            self.stage.back(worker, b"", id, b"", *body)
        else:
            self.stage.say(worker, wire.ANSWER, id, *body, tail=tail)
        self.settle()

    @rule(worker=dealers, other=workers, pick=picks)
    def answer_for_another(self, worker: bytes, other: bytes, pick: int) -> None:
        """An answer to what another was given: nobody is told it."""
        if self.work[other] and worker != other:
            _, id, _ = self.work[other][-1 - pick % len(self.work[other])]
            before = self.stage.broker.counts.answered
            self.stage.say(worker, wire.ANSWER, id, b"forged")
            assert self.stage.broker.counts.answered == before
            self.settle()

    @rule(worker=reqs, client=clients | plain_clients)
    def answer_somebody(self, worker: bytes, client: bytes) -> None:
        """A worker of the plain form answers a client that did not ask it."""
        known = self.stage.broker.workers.get(worker)
        asked = {one.asker.identity for one in known.in_hand.values()} if known is not None else set()
        if client not in asked:
            before = self.stage.broker.counts.answered
            self.work[worker].clear()
            self.stage.back(worker, b"", client, b"", b"forged")
            assert self.stage.broker.counts.answered == before
            self.settle()

    @rule(
        worker=dealers,
        kind=st.sampled_from([wire.ERROR, wire.GIVE_BACK]),
        tail=st.sampled_from([b"", b'{"message": "no", "load": 2.5}', b"{", b'{"load": -1}']),
        pick=picks,
    )
    def fail(self, worker: bytes, kind: int, tail: bytes, pick: int) -> None:
        """A failure, or something given back."""
        if self.work[worker]:
            _, id, _ = self.work[worker][-1 - pick % len(self.work[worker])]
            self.stage.say(worker, kind, id, tail=tail)
            self.settle()

    @rule(worker=dealers, kind=st.sampled_from([wire.BEAT, wire.BEAT, wire.GOODBYE]), load=st.none() | loads)
    def sign(self, worker: bytes, kind: int, load: float | None) -> None:
        """A sign of life, or the last one."""
        before = self.stage.broker.workers.get(worker)
        self.stage.say(worker, kind, tail=b"" if load is None or kind != wire.BEAT else b"%g" % load)
        after = self.stage.broker.workers.get(worker)
        if kind == wire.BEAT and before is not None and not before.is_plain and worker not in self.stage.unreachable:
            assert after is before and after.state != LOST, "one that speaks is taken back"
        self.settle()

    @rule(worker=workers)
    def disappear(self, worker: bytes) -> None:
        """Nothing reaches it until it comes back."""
        self.stage.unreachable.add(worker)
        self.stage.parts.worker_unreachable(worker, [])
        self.stage.bring()
        self.settle()

    @rule(worker=workers)
    def come_back(self, worker: bytes) -> None:
        """It is reached again; whether it says hello is another matter."""
        self.stage.unreachable.discard(worker)

    # What else happens.

    @rule(name=types, policy=st.sampled_from(POLICIES), liveness=st.sampled_from(LIVENESS))
    def switch(self, name: str, policy: str, liveness: str) -> None:
        """The operator changes how a service is run."""
        self.stage.set_options(name, policy=policy, liveness=liveness)

    @rule(ms=times_ms)
    def time_passes(self, ms: int) -> None:
        """Nobody says anything for a while."""
        self.stage.wait(ms)
        audit_time(self.stage.broker)
        self.settle()

    @rule(sender=st.sampled_from([*DEALERS, *REQS, b"stranger"]), said=nonsense)
    def babble_behind(self, sender: bytes, said: list[bytes]) -> None:
        """Whatever is said to the back, it goes on; this may be taken for something that a worker means."""
        self.stage.parts.back.take([sender, *said])
        self.stage.bring()
        self.settle()

    @rule(said=nonsense)
    def babble_before(self, said: list[bytes]) -> None:
        """Whatever is said to the front, it goes on; if it is a request, it is one of a stranger."""
        self.stage.parts.front.take([b"stranger", *said])
        self.stage.parts.front.take([])
        self.stage.bring()
        self.settle()

    # What is always so.

    @invariant()
    def books_agree(self) -> None:
        """No request is lost, in two places, or with a worker that has no place for it; no worker is forgotten."""
        audit(self.stage.broker)
        live = live_requests(self.stage.broker)
        rich = {(one.asker.identity, one.id): one.body[0] for one in live if one.asker.identity in RICH}
        assert rich == self.open
        for client in PLAIN:
            bodies = {one.body[0] for one in live if one.asker.identity == client}
            assert bodies <= self.open_plain[client]
            assert len(bodies) == len(self.open_plain[client]) - self.errors_plain[client]
        assert len(self.stage.broker.poison) <= POISON_MAX

    def drain(self) -> None:
        """Healthy workers for every type come: everything that is still waited for ends."""
        rescuers = [b"rescuer-%d" % one for one in range(len(SERVED))]
        for rescuer, name in zip(rescuers, SERVED, strict=True):
            self.stage.hello(rescuer, name, slots=2)
            self.work[rescuer] = []
        for _ in range(200):
            self.settle()
            for rescuer in rescuers:
                self.answer_all(rescuer)
            if not live_requests(self.stage.broker):
                break
            self.time_passes(100)
            for rescuer in rescuers:
                self.stage.say(rescuer, wire.BEAT)
        self.books_agree()
        assert not self.open and self.stage.broker.held_bytes == 0 and not self.stage.broker.under_way


TestBrokers = Brokers.TestCase
TestBrokers.settings = settings(max_examples=150, stateful_step_count=60)
