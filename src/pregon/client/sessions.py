"""Batches that somebody else packed, sent under a session and a number of its own choosing.

The producer of the library keeps its session to itself; a program whose tasks are tried again elsewhere (Spark) needs
to name it, so that another process can go on with it.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from pregon.client.calls import Call, Published
from pregon.client.sync import Client
from pregon.model.batch import encode
from pregon.wire import commands as c


def publish_batch(
    client: Client, topic: str, producer: str, batch: pa.RecordBatch, place: tuple[str, int]
) -> Published:
    """Store a batch as the given number of a session; returns when it is on the hub's disk, or was there already."""
    session, number = place
    header = c.PublishBatch(topic=topic, producer=producer, session=session, number=number)

    def read(answer: Any, _payload: Any) -> Published:
        return Published(answer.seq, answer.duplicate)

    return client._run(Call(header, (encode(batch),), read))
