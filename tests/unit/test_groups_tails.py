"""The newest messages of groups in memory: all from the first on, never more than the disk has."""

import pytest

from pregon.groups.tails import Tails
from pregon.model.batch import Packing, StoredBatch, encode, stamp
from pregon.model.message import Outgoing

TOPIC = "groups.design"


def batch(base_seq: int, count: int, size: int = 1) -> StoredBatch:
    packing = Packing()
    for row in range(count):
        packing.add(Outgoing(b"x" * size, f"{base_seq + row}"), 0, f"{base_seq + row}")
    return StoredBatch(base_seq, count, encode(stamp(packing.pack(""), "p", 0)))


def found(tails: Tails, after: int, messages_max: int = 100, bytes_max: int = 10**7) -> list[int] | None:
    read = tails.find(TOPIC, after, messages_max, bytes_max)
    return None if read is None else [one.seq for part in read.batches for one in part.messages(TOPIC)]


@pytest.fixture
def tails() -> Tails:
    """Messages 5 to 9, in two batches."""
    made = Tails()
    made.add(TOPIC, 1, batch(5, 3))
    made.add(TOPIC, 1, batch(8, 2))
    return made


def test_what_comes_after_a_number_is_given_from_there_on(tails: Tails) -> None:
    assert found(tails, 4) == [5, 6, 7, 8, 9]
    assert found(tails, 6) == [7, 8, 9]
    assert found(tails, 9) == []
    read = tails.find(TOPIC, 9, 1, 1)
    assert read is not None
    assert read.head_seq == 9


def test_what_is_older_or_too_much_is_left_to_the_store(tails: Tails) -> None:
    assert found(tails, 3) is None
    assert found(tails, 4, messages_max=4) is None
    assert found(tails, 4, bytes_max=10) is None
    assert Tails().find(TOPIC, 0, 1, 1) is None


def test_a_gap_begins_a_new_tail(tails: Tails) -> None:
    tails.add(TOPIC, 1, batch(12, 1))

    assert found(tails, 9) is None
    assert found(tails, 11) == [12]


def test_a_topic_made_again_begins_a_new_tail(tails: Tails) -> None:
    tails.add(TOPIC, 2, batch(1, 1))

    assert found(tails, 0) == [1]
    tails.forget(TOPIC)
    assert found(tails, 0) is None


def test_a_tail_is_bounded() -> None:
    tails = Tails()
    for number in range(1, 201):
        tails.add(TOPIC, 1, batch(number, 1, size=10_000))

    assert found(tails, 199) == [200]
    assert found(tails, 100) is None
