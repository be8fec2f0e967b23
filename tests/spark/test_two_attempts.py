"""Two attempts of one task at once, on a real hub and without Spark: what one has stored the other does not."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from scenario.hub_process import HubProcess

from pregon import Client
from pregon.errors import WrittenMeanwhile
from pregon.spark.hub_door import HubDoor
from pregon.spark.options import SourceOptions
from pregon.spark.outgoing import as_messages
from pregon.spark.publication import Publication

from .tables import address

BODY = b"%06d" + b"x" * 1_000
"""So large that two thousand of them are sent at once."""


def rows(first: int, last: int) -> pa.RecordBatch:
    bodies = pa.array([BODY % number for number in range(first, last + 1)], pa.binary())
    return as_messages(pa.record_batch({"body": bodies}), SourceOptions(), 1)


@pytest.fixture
def door(hub: HubProcess) -> Iterator[HubDoor]:
    door = HubDoor(SourceOptions(hub=address(hub)).destination())
    yield door
    door.close()


def test_a_longer_batch_of_the_other_is_not_taken_for_ones_own(client: Client, door: HubDoor, topic: str) -> None:
    one = Publication(client, door, topic, "spark-q-0-0", has_ids=False)
    one.add(rows(1, 2_500))
    other = Publication(client, door, topic, "spark-q-0-0", has_ids=False)
    one.add(rows(2_501, 5_500))

    other.add(rows(1, 2_500))
    with pytest.raises(WrittenMeanwhile):
        other.add(rows(2_501, 4_600))

    third = Publication(client, door, topic, "spark-q-0-0", has_ids=False)
    for first in range(1, 6_001, 2_000):
        third.add(rows(first, first + 1_999))
    third.finish()
    pages = [client.read(topic, first, first + 499) for first in range(1, 6_001, 500)]
    stored = [int(message.body[:6]) for page in pages for message in page]
    assert sorted(stored) == list(range(1, 6_001))
    assert (third.rows_found, third.rows_sent) == (5_500, 500)


def test_a_batch_whose_answer_was_lost_is_known_again(client: Client, door: HubDoor, topic: str) -> None:
    one = Publication(client, door, topic, "spark-q-0-0", has_ids=False)
    other = Publication(client, door, topic, "spark-q-0-0", has_ids=False)
    one.add(rows(1, 2_500))

    other.add(rows(1, 2_500))
    other.add(rows(2_501, 2_600))
    other.finish()

    assert client.show("topic", topic)["head_seq"] == 2_600
