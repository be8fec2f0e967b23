"""Watch a topic live with a plain ZeroMQ SUB socket: nothing of Pregón is imported.

With a hub running (`make run`):

    .venv/bin/python examples/plain_sub.py fallecidos

The live feed keeps nothing: what is published while nobody watches is not shown later. To miss nothing, pull.
"""

import json
import sys

import zmq

topic = sys.argv[1] if len(sys.argv) > 1 else ""
feed = zmq.Context.instance().socket(zmq.SUB)
feed.connect("tcp://127.0.0.1:5571")
feed.setsockopt_string(zmq.SUBSCRIBE, topic)  # A prefix: "" is every topic.

last_seq: dict[str, int] = {}
while True:
    name, header, body = feed.recv_multipart()
    said = json.loads(header)
    missed = said["seq"] - last_seq.get(said["topic"], said["seq"] - 1) - 1
    last_seq[said["topic"]] = said["seq"]
    if missed > 0:
        print(f"  ({missed} not shown: read them by number)")
    print(f"{said['topic']} {said['seq']} from {said['producer']}: {body.decode(errors='replace')}", flush=True)
