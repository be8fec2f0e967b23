"""Several messages with ids of their own in one request: all or none, in order, and each recognised when repeated."""

import pytest

from pregon.errors import BadName, BadRequest, Forbidden, PregonError, SchemaMismatch, TooLarge
from pregon.hub.access import NewKey
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.hub.way import Published
from pregon.limits import BATCH_MESSAGES_MAX, MIB
from pregon.model.catalog import Producer, SchemaVersion, Topic
from pregon.model.message import Outgoing
from pregon.store.ticket import Ticket

from .site import Site, one_commit
from .verbs import PRODUCER, TOPIC, batch_of, count_batches, ranges, read, say_as, send


def several(hub: Hub, *ids: str | None, producer: str = PRODUCER) -> Ticket[list[Published]]:
    """Publish messages with these ids, each with its id as the body, without waiting."""
    return hub.publish_many(TOPIC, producer, [Outgoing((one or "none").encode(), one) for one in ids])


def numbers(published: list[Published]) -> list[int]:
    """Their numbers."""
    return [one.seq for one in published]


def duplicates(published: list[Published]) -> list[bool]:
    """Which of them had been published before."""
    return [one.duplicate for one in published]


def bodies(hub: Hub) -> list[str]:
    """What the log holds."""
    return [message.text for message in read(hub)]


def test_several_messages_are_numbered_in_the_order_in_which_they_were_given(hub: Hub) -> None:
    ids = [f"id-{number}" for number in range(500)]

    published = several(hub, *ids).result()

    assert numbers(published) == list(range(1, 501))
    assert bodies(hub) == ids
    assert [message.id for message in read(hub)] == ids
    assert ranges(hub, "accepted") == [(1, 500)]


def test_each_id_is_recognised_by_itself_when_it_is_repeated(hub: Hub) -> None:
    several(hub, "a", "b", "c").result()

    again = several(hub, "x", "b", "y", "a").result()

    assert numbers(again) == [4, 2, 5, 1]
    assert duplicates(again) == [False, True, False, True]
    assert bodies(hub) == ["a", "b", "c", "x", "y"]


def test_an_id_that_is_twice_in_one_request_is_stored_once(hub: Hub) -> None:
    published = several(hub, "a", "b", "a").result()

    assert numbers(published) == [1, 2, 1]
    assert duplicates(published) == [False, False, True]
    assert bodies(hub) == ["a", "b"]


def test_messages_without_an_id_are_never_taken_for_one_another(hub: Hub) -> None:
    first, second = several(hub, None, None, "a").result(), several(hub, None, "a").result()

    assert numbers(first) + numbers(second) == [1, 2, 3, 4, 3]
    assert len({message.id for message in read(hub)}) == 4


def test_an_id_is_the_producers_own(hub: Hub) -> None:
    several(hub, "a", "b").result()

    other = several(hub, "a", "b", producer="hospital").result()

    assert numbers(other) == [3, 4]
    assert duplicates(other) == [False, False]


def test_an_id_is_the_same_whether_it_came_alone_or_with_others(hub: Hub) -> None:
    alone = say_as(hub, "a", "a")
    several(hub, "b", "c").result()

    together = several(hub, "a", "d").result()
    alone_again = say_as(hub, "c")

    assert (alone.seq, numbers(together)) == (1, [1, 4])
    assert (alone_again.seq, alone_again.duplicate) == (3, True)


def test_ids_are_recognised_after_a_restart(site: Site) -> None:
    several(site.hub, "a", "b").result()

    again = several(site.restart(), "b", "c", "a").result()

    assert numbers(again) == [2, 3, 1]


def test_single_messages_batches_and_several_share_a_commit_in_the_order_in_which_they_came(hub: Hub) -> None:
    with one_commit(hub):
        one = hub.publish(TOPIC, PRODUCER, Outgoing(b"one", "one"))
        first = several(hub, "a", "b")
        batch = send(hub, batch_of("packed 1", "packed 2"), "session", 1)
        second = several(hub, "b", "c", producer="hospital")
        repeated = several(hub, "one", "a", "d")
        last = hub.publish(TOPIC, PRODUCER, Outgoing(b"last", "b"))
    answers = (one.result(), first.result(), batch.result(), second.result(), repeated.result(), last.result())

    assert len({message.accepted_us for message in read(hub)}) == 1, "one transaction has one time"
    assert answers[0].seq == 1
    assert numbers(answers[1]) == [2, 3]
    assert (answers[2].seq, answers[2].count) == (4, 2)
    assert numbers(answers[3]) == [6, 7]
    assert numbers(answers[4]) == [1, 2, 8]
    assert (answers[5].seq, answers[5].duplicate) == (3, True)
    assert bodies(hub) == ["one", "a", "b", "packed 1", "packed 2", "b", "c", "d"]
    assert [message.producer for message in read(hub)] == [*[PRODUCER] * 5, *["hospital"] * 2, PRODUCER]
    assert count_batches(hub) == 3, "what came before the batch, the batch as it was packed, and what came after"


def test_what_is_more_than_a_batch_holds_is_stored_as_several_in_one_commit(hub: Hub) -> None:
    messages = [Outgoing(bytes(900_000), f"large-{number}") for number in range(8)]
    commits = hub.committer.commits

    published = hub.publish_many(TOPIC, PRODUCER, messages).result()

    assert numbers(published) == list(range(1, 9))
    assert hub.committer.commits - commits == 1
    assert count_batches(hub) > 1


WRONG: dict[str, tuple[list[Outgoing], type[PregonError]]] = {
    "none at all": ([], BadRequest),
    "too many": ([Outgoing(b"")] * (BATCH_MESSAGES_MAX + 1), BadRequest),
    "a large body": ([Outgoing(b"a", "a"), Outgoing(bytes(2 * MIB), "b")], TooLarge),
    "a long id": ([Outgoing(b"a", "a"), Outgoing(b"b", "b" * 1_000)], PregonError),
}


@pytest.mark.parametrize("what", list(WRONG))
def test_one_message_that_cannot_be_stored_keeps_the_others_out(hub: Hub, what: str) -> None:
    messages, error = WRONG[what]
    several(hub, "before").result()

    with pytest.raises(error):
        hub.publish_many(TOPIC, PRODUCER, messages).result()

    assert bodies(hub) == ["before"]


@pytest.mark.parametrize(
    ("topic", "producer", "error"),
    [("restricted", PRODUCER, Forbidden), ("bad/name", PRODUCER, BadName), (TOPIC, "bad name", BadName)],
)
def test_who_may_not_publish_stores_none_of_them(hub: Hub, topic: str, producer: str, error: type[PregonError]) -> None:
    hub.create(Topic(name="restricted", restricted=True)).result()

    with pytest.raises(error):
        hub.publish_many(topic, producer, [Outgoing(b"a"), Outgoing(b"b")]).result()

    assert [(one.name, one.head_seq) for one in hub.list("topic").result()] == [("restricted", 0)]  # type: ignore[union-attr]


def test_what_is_refused_in_a_commit_does_not_touch_the_others_in_it(site: Site) -> None:
    hub = site.restart(HubOptions(auto_create=False))
    hub.create(Topic(name=TOPIC)).result()

    with one_commit(hub):
        refused = hub.publish_many(TOPIC, "unknown", [Outgoing(b"a", "a"), Outgoing(b"b", "b")])
        made = hub.create(Topic(name="other"))
    with pytest.raises(PregonError):
        refused.result()

    assert made.result()
    assert bodies(hub) == []


def test_one_message_that_does_not_fit_the_schema_keeps_the_others_out(hub: Hub) -> None:
    hub.create(Topic(name=TOPIC)).result()
    hub.set_schema(SchemaVersion(topic=TOPIC, kind="json")).result()

    with pytest.raises(SchemaMismatch, match="message 2"):
        hub.publish_many(TOPIC, PRODUCER, [Outgoing(b"{}", "a"), Outgoing(b"{", "b"), Outgoing(b"[]", "c")]).result()

    assert bodies(hub) == []


@pytest.mark.parametrize("order", [[b"{}", b"{"], [b"{", b"{}"]], ids=["wrong last", "wrong first"])
def test_several_are_all_or_none_when_their_schema_changes_on_the_way(hub: Hub, order: list[bytes]) -> None:
    hub.create(Topic(name=TOPIC)).result()
    messages = [Outgoing(body, body.decode()) for body in order]

    with one_commit(hub):
        published = hub.publish_many(TOPIC, PRODUCER, messages)
        changed = hub.set_schema(SchemaVersion(topic=TOPIC, kind="json"))
    assert changed.result().version == 1
    try:
        stored = len(published.result(5))
    except SchemaMismatch:
        stored = 0

    assert len(bodies(hub)) == stored
    assert stored in (0, 2)


def test_a_body_larger_than_its_key_may_send_is_refused_alone_with_others_and_in_a_batch(hub: Hub) -> None:
    hub.create(Producer(name=PRODUCER)).result()
    key = hub.create_key(NewKey(kind="producer", owner=PRODUCER, body_bytes_max=10)).result()
    gate = Gate(hub)
    caller = gate.identify(key.secret)
    right, wrong = Outgoing(b"x" * 10, "right"), Outgoing(b"x" * 11, "wrong")

    gate.publish(caller, TOPIC, PRODUCER, right).result()
    gate.publish_many(caller, TOPIC, PRODUCER, [right, right]).result()
    gate.publish_batch(caller, (TOPIC, PRODUCER), batch_of(right.body, b"")).result()
    for publish in (
        lambda: gate.publish(caller, TOPIC, PRODUCER, wrong),
        lambda: gate.publish_many(caller, TOPIC, PRODUCER, [right, wrong]),
        lambda: gate.publish_batch(caller, (TOPIC, PRODUCER), batch_of(b"", wrong.body)),
    ):
        with pytest.raises(TooLarge):
            publish().result()

    assert hub.show("topic", (TOPIC,)).result().head_seq == 3  # type: ignore[union-attr]
