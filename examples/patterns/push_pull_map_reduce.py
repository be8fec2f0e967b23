"""PUSH/PULL, one to many to one: map and reduce: share work among workers, collect the results.

    .venv/bin/python examples/patterns/push_pull_map_reduce.py

Guarantees: While all live, each piece reaches one worker, and each result the collector.
Traps: Results come in any order: number the pieces. A worker that dies takes its pieces with it: count the results,
and send again what is missing.
"""

from threading import Event, Thread

from pregon.patterns import bound_address, puller, pusher

WORDS = ["dijo", "el", "pregonero", "que", "el", "lunes", "no", "hay", "feria", "y", "el", "martes", "sí"]
WORKERS = 3
is_done = Event()


def work(source: str, sink: str) -> None:
    """A worker: how long is each word? It would be a program of its own."""
    with puller(connect=source) as pieces, pusher(connect=sink) as results:
        while not is_done.is_set():
            if pieces.poll(20):
                number, word = pieces.recv_multipart()
                results.send_multipart([number, str(len(word.decode())).encode()])


with pusher(bind="tcp://127.0.0.1:*") as source, puller(bind="tcp://127.0.0.1:*") as sink:
    workers = [Thread(target=work, args=[bound_address(source), bound_address(sink)]) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    for number, word in enumerate(WORDS):
        source.send_multipart([str(number).encode(), word.encode()])
    lengths: dict[int, int] = {}
    while len(lengths) < len(WORDS):
        number, length = sink.recv_multipart()
        lengths[int(number)] = int(length)
    print(f"{len(WORDS)} words, {len(lengths)} results")
    print("in order again:", *(lengths[number] for number in sorted(lengths)))
    print("letters together:", sum(lengths.values()))
    is_done.set()
    for worker in workers:
        worker.join()
