"""Leave a request with the hub, which keeps it on its disk, and collect the result later: after a restart, if need be.

With a hub running (`make run`), with or without a worker (`examples/service_worker.py`):

    .venv/bin/python examples/service_durable.py

Without a worker the result is not there yet. Start one, run this again, and it is: the key is the same, so that nothing
is asked twice.
"""

from pregon import Client
from pregon.errors import AnswerTimeout

with Client() as hub:
    id = hub.submit("primes", 50_000, key="primes-to-50000")
    print(f"{id} is on disk")
    try:
        print("result:", hub.collect(id, wait_ms=3_000, returns=int))
    except AnswerTimeout:
        print("no result yet: is there a worker? It will find the request when it comes")
