"""Every step is traced: whoever adds the traces up, message by message, comes to the hub's own accounting."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pregon.errors import BadRequest, NotPending
from pregon.hub.hub import Hub
from pregon.model import trace as kinds
from pregon.model.subscription import Accounting
from pregon.model.trace import Trace

from .filtering import NAMES, A, B, examined, say_each, want, wanting
from .pushes import delivery
from .site import Site
from .verbs import SUBSCRIBER, TOPIC, ack, park, pull, ranges, replay, subscribe, traces, unpark

_AFTER = {
    kinds.ACKNOWLEDGED: kinds.ACKNOWLEDGED,
    kinds.PARKED: kinds.PARKED,
    kinds.UNPARKED: kinds.PENDING,
    kinds.REPLAYED: kinds.PENDING,
    kinds.FILTERED: kinds.FILTERED,
    kinds.EXPIRED: kinds.EXPIRED,
    kinds.CANCELLED: kinds.EXPIRED,
}
TERMS = ("acknowledged", "pending", "parked", "expired", "filtered")


def add_up(found: list[Trace], first_seq: int, head_seq: int) -> dict[str, int]:
    """How many messages are what, by the traces alone, oldest first."""
    states = dict.fromkeys(range(first_seq, head_seq + 1), kinds.PENDING)
    for one in found:
        for seq in range(one.first_seq, one.last_seq + 1):
            if seq not in states:
                continue
            if one.kind == kinds.DELIVERED and not one.detail and states[seq] != kinds.EXPIRED:
                states[seq] = kinds.ACKNOWLEDGED
            elif one.kind in _AFTER:
                states[seq] = _AFTER[one.kind]
    return {term: list(states.values()).count(term) for term in TERMS}


def account(hub: Hub) -> Accounting:
    """What the hub says."""
    return hub.account(*NAMES).result()


def told(hub: Hub) -> dict[str, int]:
    """What the traces of the subscription say that there is now."""
    since_us = next(one.created_us for one in hub.list("subscription").result() if one.subscriber == SUBSCRIBER)
    found = [one for one in all_traces(hub) if one.at_us >= since_us]
    accounting = account(hub)
    return add_up(found, accounting.first_seq, accounting.head_seq)


def all_traces(hub: Hub) -> list[Trace]:
    """Those of the subscriber, oldest first."""
    found: list[Trace] = []
    before = 0
    while True:
        page = traces_before(hub, before)
        found += page
        if not page.next:
            return sorted(found, key=lambda one: one.id)
        before = page.next


def traces_before(hub: Hub, before: int) -> Any:
    """A page."""
    return hub.traces(kinds.TraceQuery(topic=TOPIC, subscriber=SUBSCRIBER, before=before, max=1_000)).result()


def counted(hub: Hub) -> dict[str, int]:
    """The parts of that."""
    accounting = account(hub)
    return {term: getattr(accounting, term) for term in TERMS}


def test_a_replay_traces_what_was_settled_ahead_of_the_cursor(hub: Hub) -> None:
    say_each(hub, "aaaaaaaaa")
    subscribe(hub)
    ack(hub, 3)
    hub.submit(delivery(hub, 6, 7)).result()
    hub.cancel(TOPIC, SUBSCRIBER, [9]).result()

    replay(hub, from_seq=2)

    assert sorted(ranges(hub, "replayed")) == [(2, 3), (6, 7), (9, 9)]
    assert told(hub) == counted(hub) == {**dict.fromkeys(TERMS, 0), "acknowledged": 1, "pending": 8}


def test_a_replay_and_another_filter_trace_what_was_not_wanted_ahead_of_the_cursor(hub: Hub) -> None:
    say_each(hub, "aaabba")
    wanting(hub, A)
    ack(hub, 1)

    want(hub, B)

    assert [(one.first_seq, one.last_seq, one.detail) for one in traces(hub, kind="replayed")] == [
        (4, 5, "another filter")
    ]
    assert told(hub) == counted(hub) == {**dict.fromkeys(TERMS, 0), "acknowledged": 1, "filtered": 3, "pending": 2}


def test_a_delivery_from_before_a_replay_says_that_it_does_not_count(hub: Hub) -> None:
    say_each(hub, "aaa")
    subscribe(hub)
    late = delivery(hub, 1, 2)
    ack(hub, 1)
    replay(hub, from_seq=1)

    hub.submit(late).result()

    (found,) = traces(hub, kind="delivered")
    assert found.detail == "before a replay: does not count"
    assert told(hub) == counted(hub) == {**dict.fromkeys(TERMS, 0), "pending": 3}


VERBS = (
    *("ack", "ack", "park", "unpark", "cancel", "replay", "replay", "publish", "publish", "expire"),
    *("deliver", "deliver", "late", "filter", "again"),
)
STEPS = st.lists(st.tuples(st.sampled_from(VERBS), st.integers(1, 20), st.integers(0, 4)), max_size=30)


class Life:
    """A subscription to which things happen; what is refused changes nothing."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.late: list[Any] = []
        site.hub.delete("topic", (TOPIC,)).result()
        say_each(site.hub, "abcabcabc")
        subscribe(site.hub)

    def take(self, verb: str, seq: int, more: int) -> None:
        """One step."""
        hub, some = self.site.hub, range(seq, seq + more + 1)
        try:
            if verb == "ack":
                pulled = pull(hub)
                given = [one.last_seq for one in pulled.batches]
                ack(hub, given[-1] if given and more > 2 else min(seq, account(hub).head_seq))
            elif verb == "park":
                park(hub, *some)
            elif verb == "unpark":
                unpark(hub, *([] if more == 4 else some))
            elif verb == "cancel":
                hub.cancel(TOPIC, SUBSCRIBER, list(some)).result()
            elif verb == "replay":
                replay(hub, from_seq=seq)
            elif verb == "publish":
                say_each(hub, "abcab"[: more + 1])
            elif verb == "expire":
                self._expire(more + 3)
            elif verb in ("deliver", "late"):
                self._deliver([one for one in some if one <= account(hub).head_seq], verb == "late")
            elif verb == "filter":
                want(hub, ("", A, B)[seq % 3], is_waited_for=more > 1)
            elif verb == "again" and more == 0:
                hub.delete("subscription", NAMES).result()
                self.late = []
                subscribe(hub, start=("earliest", "latest", "3")[seq % 3])
        except (NotPending, BadRequest):
            pass

    def _deliver(self, seqs: list[int], is_late: bool) -> None:
        """What was pushed is written down: at once, or after other things happened."""
        hub = self.site.hub
        if is_late:
            for one in self.late:
                hub.submit(one).result()
            self.late = []
        elif seqs:
            epoch = pull(hub).epoch
            hub.submit(delivery(hub, *seqs, epoch=epoch)).result()
            self.late.append(delivery(hub, *seqs, epoch=epoch))

    def _expire(self, pending_max: int) -> None:
        hub = self.site.hub
        hub.update("subscription", NAMES, {"pending_max": pending_max}).result()
        hub.maintenance.run_once()
        hub.update("subscription", NAMES, {"pending_max": None}).result()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(steps=[("deliver", 5, 1), ("cancel", 9, 0), ("ack", 2, 0), ("replay", 1, 0), ("late", 1, 0)])
@example(steps=[("filter", 1, 2), ("ack", 1, 0), ("filter", 2, 2), ("filter", 0, 2)])
@given(steps=STEPS)
def test_whatever_happens_the_traces_add_up_to_the_accounting(site: Site, steps: list[tuple[str, int, int]]) -> None:
    life = Life(site)

    for step in steps:
        life.take(*step)
        examined(site.hub)

    assert told(site.hub) == counted(site.hub)
