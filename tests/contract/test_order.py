"""A topic has one total order: numbers 1, 2, 3 … without gaps, in the order in which messages arrived."""

import threading

from pregon.hub.hub import Hub
from pregon.model.message import Outgoing

from .site import one_commit
from .verbs import TOPIC, ask, batch_of, bodies, count_batches, messages, read, say, say_batch, send, seqs


def test_numbers_begin_at_1_and_have_no_gaps(hub: Hub) -> None:
    words = ["one", "two", "three"]

    numbers = [say(hub, word)[0] for word in words]

    assert numbers == [1, 2, 3]
    assert [message.text for message in read(hub)] == words


def test_every_topic_has_its_own_numbers(hub: Hub) -> None:
    say(hub, "a", "b")

    numbers = say(hub, "c", topic="deaths")

    assert numbers == [1]


def test_singles_of_one_commit_are_one_batch_in_the_order_of_arrival(hub: Hub) -> None:
    words = [str(number) for number in range(50)]

    with one_commit(hub):
        tickets = [hub.publish(TOPIC, f"producer-{word[-1]}", Outgoing(word.encode())) for word in words]

    assert [ticket.result().seq for ticket in tickets] == list(range(1, 51))
    assert [message.text for message in read(hub)] == words
    assert count_batches(hub) == 1


def test_singles_and_batches_of_one_commit_keep_their_order(hub: Hub) -> None:
    with one_commit(hub):
        tickets = [
            hub.publish(TOPIC, "a", Outgoing(b"1")),
            send(hub, batch_of("2", "3")),
            hub.publish(TOPIC, "b", Outgoing(b"4")),
            hub.publish(TOPIC, "a", Outgoing(b"5")),
            send(hub, batch_of("6")),
            hub.publish(TOPIC, "a", Outgoing(b"7")),
        ]

    assert [ticket.result().seq for ticket in tickets] == [1, 2, 4, 5, 6, 7]
    assert [message.text for message in read(hub)] == ["1", "2", "3", "4", "5", "6", "7"]


def test_publishers_at_once_share_one_total_order(hub: Hub) -> None:
    answers: dict[str, list[int]] = {}
    start = threading.Barrier(5)

    def publish_many(name: str) -> None:
        start.wait()
        pairs = [(say(hub, f"{name} {n}", producer=name), say_batch(hub, f"{name} {n} b")) for n in range(20)]
        answers[name] = [number for alone, batch in pairs for number in (alone[0], batch.seq)]

    threads = [threading.Thread(target=publish_many, args=(f"p{n}",)) for n in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    given = {number: name for name, numbers in answers.items() for number in numbers}
    stored = read(hub)
    assert [message.seq for message in stored] == list(range(1, 201))
    assert all(numbers == sorted(numbers) for numbers in answers.values())
    assert {message.seq: message.text.split()[0] for message in stored} == given


def test_two_subscribers_get_the_same_order(hub: Hub) -> None:
    say(hub, "a", "b")
    say_batch(hub, "c", "d")

    mine, yours = ask(hub, "mine").result(), ask(hub, "yours").result()

    assert seqs(mine) == seqs(yours) == [1, 2, 3, 4]
    assert bodies(mine) == bodies(yours) == ["a", "b", "c", "d"]


def test_a_message_arrives_as_it_was_sent(hub: Hub) -> None:
    sent = Outgoing(b"\x00\xff body", "the-id", "the-key", "application/xml", {"a": "1", "ñ": "€"})

    hub.publish(TOPIC, "registry", sent, published_us=1_234_567).result()

    (got,) = messages(ask(hub).result().batches)
    assert (got.body, got.id, got.key, got.content_type, got.headers) == (
        sent.body,
        sent.id,
        sent.key,
        sent.content_type,
        sent.headers,
    )
    assert (got.producer, got.published_us, got.seq) == ("registry", 1_234_567, 1)


def test_a_batch_arrives_as_it_was_sent(hub: Hub) -> None:
    sent = batch_of("x", b"\x00\x01", "")

    send(hub, sent).result()

    got = messages(ask(hub).result().batches)
    assert [message.body for message in got] == sent.column("body").to_pylist()
    assert [message.id for message in got] == sent.column("id").to_pylist()
