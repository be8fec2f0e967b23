"""Read a topic by number and look at it as a table: no message is turned into a Python object.

With a hub running (`make run`), and something in the topic (`examples/batching_producer.py`):

    .venv/bin/python examples/read_with_pyarrow.py fallecidos
"""

import sys

import pyarrow as pa

from pregon import Client
from pregon.model.batch import SCHEMA_STORED

topic = sys.argv[1] if len(sys.argv) > 1 else "fallecidos"
batches: list[pa.RecordBatch] = []
next_seq = 1

with Client() as hub:
    while (part := hub.read(topic, next_seq, max=10_000)).last_seq is not None:
        batches += [batch.rows() for batch in part.batches]
        next_seq = part.last_seq + 1

table = pa.Table.from_batches(batches, SCHEMA_STORED)
print(f"{table.num_rows:,} messages, {table.nbytes:,} bytes")
print(table.group_by("producer").aggregate([("body", "count"), ("accepted_at", "max")]).to_pylist())
