"""Publish many messages in batches, and know which of them are on the hub's disk.

With a hub running (`make run`):

    .venv/bin/python examples/batching_producer.py 10000
"""

import sys

from pregon import Client, ProducerOptions, Receipt

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000


def on_disk(receipt: Receipt) -> None:
    """Called for every batch that the hub has acknowledged."""
    last_seq = receipt.first_seq + receipt.count - 1
    print(f"on disk: {receipt.first_seq}..{last_seq}")


with Client(producer="DGREC") as hub:
    with hub.producer("fallecidos", ProducerOptions(batch_messages=1_000, on_receipt=on_disk)) as out:
        for number in range(COUNT):
            out.send(f"acta {number}", key=str(number % 19))
    # Leaving the block waited until everything was on disk, or raised.
    print(f"{out.outbox.acknowledged:,} of {COUNT:,} on disk")
