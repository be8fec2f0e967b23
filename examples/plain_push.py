"""Publish with a plain ZeroMQ PUSH socket: nothing of Pregón is imported.

With a hub running (`make run`):

    .venv/bin/python examples/plain_push.py fallecidos 'Pepe Gómez'

A PUSH socket gets no answer: this is for what may be lost if the hub is killed before it has written it.
"""

import json
import sys

import zmq

topic, body = sys.argv[1:] if len(sys.argv) == 3 else ("fallecidos", "Pepe Gómez")
header = {"producer": "DGREC", "content_type": "text/plain; charset=utf-8"}

with zmq.Context() as context, context.socket(zmq.PUSH) as ingest:
    ingest.connect("tcp://127.0.0.1:5572")
    ingest.send_multipart([topic.encode(), json.dumps(header).encode(), body.encode()])
    # Leaving the block waits until ZeroMQ has sent it.
