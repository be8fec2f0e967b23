"""Those who pull in a soak: each subscription of theirs is asked in turn, and acknowledged with the next question.

Run as `python -m pregon.bench.soak.pullers CAST OUTPUT`. Now and then an acknowledgement is forgotten, as by a program
that died: what was pulled comes again. SIGTERM has the rest pulled, all written to OUTPUT, and ends.
"""

from __future__ import annotations

import hashlib
import random
import signal
import sys
import threading
import time
from pathlib import Path

import msgspec

from pregon.bench.soak.cast import load_cast
from pregon.bench.soak.stations import Taken
from pregon.client import Client
from pregon.errors import PregonError
from pregon.model.catalog import PULL

_THREADS = 3
_PAUSE_S = 0.02
_FORGOTTEN = 0.05
_DRAIN_S_MAX = 60.0


class _Place:
    """One subscription."""

    def __init__(self, topic: str, subscriber: str) -> None:
        self.topic = topic
        self.subscriber = subscriber
        self.ack: int | None = None
        self.epoch: int | None = None
        self.is_empty = False


class _Puller:
    """Pulls some subscriptions, in a thread."""

    def __init__(self, hub: str, places: list[_Place], seed: int, stop: threading.Event) -> None:
        self._hub = hub
        self._places = places
        self._chance = random.Random(seed)
        self._stop = stop
        self.taken: list[Taken] = []

    def run(self) -> None:
        """Until everything is pulled after it was told to stop."""
        with Client(self._hub, timeout_ms=5_000) as client:
            while not self._stop.is_set():
                for place in self._places:
                    self._pull(client, place, may_forget=True)
                    time.sleep(_PAUSE_S)
            last = time.monotonic() + _DRAIN_S_MAX
            for place in self._places:
                place.is_empty = False
                while not place.is_empty and time.monotonic() < last:
                    self._pull(client, place, may_forget=False)

    def _pull(self, client: Client, place: _Place, *, may_forget: bool) -> None:
        if may_forget and self._chance.random() < _FORGOTTEN:
            place.ack = place.epoch = None
        try:
            pulled = client.pull(place.topic, place.subscriber, ack=place.ack, epoch=place.epoch, max=50)
        except PregonError:
            time.sleep(0.2)
            return
        for message in pulled:
            digest = hashlib.blake2b(message.body, digest_size=16).digest()
            self.taken.append(Taken(place.subscriber, place.topic, message.seq, message.id, digest, "", True))
        place.is_empty = not len(pulled)
        place.ack, place.epoch = (pulled.last_seq, pulled.epoch) if len(pulled) else (None, None)


def main(file: Path, output: Path) -> None:
    """Pull until told to stop, and then what is left."""
    cast, stop = load_cast(file), threading.Event()
    places = [_Place(topic, part.name) for topic, part in cast.subscriptions if part.mode == PULL]
    pullers = [_Puller(cast.hub, places[n::_THREADS], cast.seed + n, stop) for n in range(_THREADS)]
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    threads = [threading.Thread(target=puller.run) for puller in pullers]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        for thread in threads:
            thread.join(0.5)
    output.write_bytes(msgspec.msgpack.encode([one for puller in pullers for one in puller.taken]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
