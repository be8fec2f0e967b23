"""What a producer stored under a session is read back: all of it and nothing else, by the producer and by readers."""

from collections.abc import Iterator

import pyarrow as pa
import pytest

from pregon import limits
from pregon.errors import DataLost, Forbidden, Unauthorized
from pregon.hub.access import NewKey
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.hub.tables import SessionPlan, SessionQuery
from pregon.model.batch import END_OF_STREAM
from pregon.model.catalog import Producer, Retention, Topic
from pregon.model.tables import SERVED_HEAD
from pregon.security.callers import ANYBODY, Caller

from .site import Clock
from .verbs import PRODUCER, TOPIC, batch_of, count_batches, say, send

HOUR_MS = 3_600_000


def plan(hub: Hub, session: str = "s", caller: Caller = ANYBODY, producer: str = PRODUCER, **more: int) -> SessionPlan:
    """What is asked before the messages."""
    wanted = SessionQuery(topic=TOPIC, producer=producer, session=session, **more)
    return Gate(hub).tables.plan_session(caller, wanted).result()


def parts_of(hub: Hub, planned: SessionPlan, caller: Caller = ANYBODY) -> Iterator[pa.Table]:
    """The parts, each read when it is asked for."""
    following = planned.runs[0][0] if planned.runs else 0
    while following:
        part = Gate(hub).tables.session(caller, planned, following).result()
        yield pa.ipc.open_stream(SERVED_HEAD + part.arrow + END_OF_STREAM).read_all()
        following = part.next


def rows(hub: Hub, planned: SessionPlan, caller: Caller = ANYBODY) -> list[tuple[int, str]]:
    """Number and body of each message."""
    return [(row["seq"], row["body"].decode()) for part in parts_of(hub, planned, caller) for row in part.to_pylist()]


def send_all(hub: Hub, *bodies: str, session: str = "s") -> None:
    """Each body as a batch of the session, with a message of somebody else between them."""
    for number, body in enumerate(bodies, 1):
        send(hub, batch_of(body, body.upper()), session, number).result()
        say(hub, "of others")


def test_a_session_is_read_back_without_what_is_between_its_batches(hub: Hub) -> None:
    send_all(hub, "a", "b", "c")

    planned = plan(hub)

    assert rows(hub, planned) == [(1, "a"), (2, "A"), (4, "b"), (5, "B"), (7, "c"), (8, "C")]
    assert (planned.first_number, planned.next_number) == (1, 4)


def test_batches_that_follow_each_other_are_one_range(hub: Hub) -> None:
    for number in range(1, 6):
        send(hub, batch_of("x"), "s", number).result()

    planned = plan(hub)

    assert planned.runs == [(1, 5)]


def test_a_session_is_the_same_after_small_batches_were_merged(clock: Clock, hub: Hub) -> None:
    send_all(hub, *(str(number) for number in range(1, 101)))
    before, batches = rows(hub, plan(hub)), count_batches(hub)
    clock.move_ms(HOUR_MS)
    for _ in range(600):
        say(hub, "later")

    hub.maintenance.run_once()

    assert count_batches(hub) < batches
    assert rows(hub, plan(hub)) == before
    assert len(before) == 200


def test_only_the_batches_from_a_number_on_are_read(hub: Hub) -> None:
    send_all(hub, "a", "b", "c")

    some, none = plan(hub, from_number=3), plan(hub, from_number=4)

    assert rows(hub, some) == [(7, "c"), (8, "C")]
    assert (rows(hub, none), none.next_number) == ([], 4)


def test_of_a_long_session_the_last_batches_are_remembered(hub: Hub) -> None:
    count = limits.SESSION_BATCHES_REMEMBERED + 3
    for number in range(1, count + 1):
        send(hub, batch_of(str(number)), "s", number).result()

    planned = plan(hub)

    assert (planned.first_number, planned.next_number) == (4, count + 1)
    assert [body for _, body in rows(hub, planned)] == [str(number) for number in range(4, count + 1)]


@pytest.mark.parametrize("other", [{"session": "other"}, {"producer": "hospital"}, {"producer": "nobody-known"}])
def test_a_session_that_is_not_known_has_nothing_and_begins_at_one(hub: Hub, other: dict[str, str]) -> None:
    say(hub, "x", producer="hospital")
    send_all(hub, "a")

    planned = plan(hub, **other)  # type: ignore[arg-type]

    assert (planned.runs, planned.first_number, planned.next_number) == ((), 1, 1)


def test_a_long_session_comes_in_parts_of_so_many_bytes(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STREAM_RANGE_BYTES_MAX", 10_000)
    send_all(hub, *("x" * 3_000 for _ in range(8)))

    parts = list(parts_of(hub, plan(hub)))

    assert len(parts) > 3
    assert [seq for part in parts for seq in part["seq"].to_pylist()] == [
        seq for first in range(1, 24, 3) for seq in (first, first + 1)
    ]


def test_messages_that_retention_removed_are_said_to_be_lost(clock: Clock, hub: Hub) -> None:
    hub.create(Topic(name=TOPIC, retention=Retention(age_ms=HOUR_MS))).result()
    send(hub, batch_of("old"), "s", 1).result()
    clock.move_ms(2 * HOUR_MS)
    send(hub, batch_of("new"), "s", 2).result()
    hub.maintenance.run_once()

    with pytest.raises(DataLost, match="begins at 2 now"):
        plan(hub)

    assert rows(hub, plan(hub, from_number=2)) == [(2, "new")]


def test_messages_that_are_removed_while_they_are_read_are_said_to_be_lost(
    clock: Clock, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STREAM_RANGE_BYTES_MAX", 1)
    hub.create(Topic(name=TOPIC, retention=Retention(age_ms=HOUR_MS))).result()
    send_all(hub, "a", "b", "c")
    reading = parts_of(hub, plan(hub))
    next(reading)
    clock.move_ms(2 * HOUR_MS)
    hub.maintenance.run_once()

    with pytest.raises(DataLost):
        next(reading)


def test_a_topic_that_is_made_again_while_it_is_read_is_another(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STREAM_RANGE_BYTES_MAX", 1)
    send_all(hub, "a", "b", "c")
    reading = parts_of(hub, plan(hub))
    next(reading)
    hub.delete("topic", (TOPIC,)).result()
    say(hub, *"123456789")

    with pytest.raises(DataLost, match="deleted"):
        next(reading)


def test_the_producer_reads_its_own_session_and_nobody_elses(hub: Hub) -> None:
    send_all(hub, "a")
    hub.create(Producer(name="hospital")).result()
    gate = Gate(hub)
    made = [NewKey(kind="producer", owner=name) for name in (PRODUCER, "hospital")]
    made += [NewKey(kind="token", owner="reader", scopes=("read",)), NewKey(kind="token", owner="a", scopes=("admin",))]
    registry, hospital, reader, _ = [gate.identify(hub.create_key(one).result().secret) for one in made]

    read = [rows(hub, plan(hub, caller=caller), caller) for caller in (registry, reader)]

    assert read == [[(1, "a"), (2, "A")]] * 2
    with pytest.raises(Forbidden):
        plan(hub, caller=hospital)
    with pytest.raises(Unauthorized):
        plan(hub)


def test_that_anybody_may_publish_as_a_producer_is_not_enough_to_read_its_session(hub: Hub) -> None:
    send_all(hub, "a")
    planned = plan(hub)
    hub.create_key(NewKey(kind="token", owner="a", scopes=("admin",))).result()

    for ask in (lambda: plan(hub), lambda: rows(hub, planned)):
        with pytest.raises(Unauthorized):
            ask()


def test_a_producer_is_not_told_which_topics_there_are(hub: Hub) -> None:
    say(hub, "x", topic="secret", producer="hospital")
    hub.create(Producer(name=PRODUCER)).result()
    secret = hub.create_key(NewKey(kind="producer", owner=PRODUCER)).result().secret
    hub.create_key(NewKey(kind="token", owner="a", scopes=("admin",))).result()
    gate = Gate(hub)
    caller = gate.identify(secret)

    plans = [
        gate.tables.plan_session(caller, SessionQuery(topic=topic, producer=PRODUCER, session="s")).result()
        for topic in ("secret", "no-topic")
    ]

    assert [(one.topic_id, one.runs, one.next_number) for one in plans] == [(0, (), 1)] * 2
