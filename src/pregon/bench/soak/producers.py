"""The producers of a soak: threads that publish through every door at a steady pace, to topics by chance.

Run as `python -m pregon.bench.soak.producers CAST OUTPUT`. Each publication has an id and is repeated until it is
acknowledged, whatever happens to the hub. SIGTERM has the last ones finished, all written to OUTPUT, and ends.
"""

from __future__ import annotations

import http.client
import random
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from pregon.bench.soak.cast import PRODUCERS, REGIONS, SPACE, Cast, load_cast
from pregon.client import Client
from pregon.errors import PregonError

_RETRY_S = 0.2
_BATCH = 5
_ENVELOPE = (
    '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:ps="http://ps.agesic.gub.uy" '
    'xmlns:wsa="http://www.w3.org/2005/08/addressing"><soapenv:Header><ps:producer>{producer}</ps:producer>'
    "<ps:topic>{topic}</ps:topic><ps:key>{key}</ps:key><wsa:MessageID>{token}</wsa:MessageID></soapenv:Header>"
    "<soapenv:Body>{body}</soapenv:Body></soapenv:Envelope>"
)
_NOTIFICATION = re.compile(rb"notificationId>([0-9]+)<")


class Published(msgspec.Struct, array_like=True):
    """A publication that was acknowledged, with its number if the door said it."""

    topic: str
    token: str
    seq: int
    is_certain: bool = True
    """False if its acknowledgement was lost for good: it is stored once or not at all."""


class _Novelty:
    """A message to publish."""

    def __init__(self, producer: str, number: int, chance: random.Random) -> None:
        self.producer = producer
        self.token = f"token-{producer}-{number}"
        self.key = str(chance.randrange(30))
        self.region = chance.choice(REGIONS)
        self.edad = chance.randrange(100)

    @property
    def json(self) -> bytes:
        """As JSON."""
        return msgspec.json.encode({"token": self.token, "edad": self.edad, "texto": "ñandú " * 20})

    @property
    def xml(self) -> str:
        """As XML."""
        words = "pingüino " * 20
        return f'<s:p xmlns:s="{SPACE}"><s:t>{self.token}</s:t><s:edad>{self.edad}</s:edad><s:w>{words}</s:w></s:p>'


class _Rest:
    """Publishes over REST."""

    def __init__(self, cast: Cast) -> None:
        self._address = cast.http
        self._connection: http.client.HTTPConnection | None = None

    def publish(self, topic: str, one: _Novelty) -> int:
        """The number of the message; raises OSError or HTTPException."""
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": one.token,
            "Pregon-Producer": one.producer,
            "Pregon-Key": one.key,
            "Pregon-Header-region": one.region,
        }
        answer = self.post(f"/v1/topics/{topic}/messages", one.json, headers)
        return int(msgspec.json.decode(answer)["seq"])

    def post(self, path: str, body: bytes, headers: dict[str, str]) -> bytes:
        """The answer to a request; raises OSError or HTTPException."""
        try:
            if self._connection is None:
                self._connection = http.client.HTTPConnection(self._address, timeout=20)
            self._connection.request("POST", path, body, headers)
            response = self._connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException):
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            raise
        if response.status >= 300:
            raise OSError(f"HTTP {response.status}: {answer[:300]!r}")
        return answer


class _Soap(_Rest):
    """Publishes over SOAP."""

    def publish(self, topic: str, one: _Novelty) -> int:
        """The number of the message; raises OSError or HTTPException."""
        text = _ENVELOPE.format(producer=one.producer, topic=topic, key=one.key, token=one.token, body=one.xml)
        headers = {"Content-Type": "text/xml; charset=utf-8", "SOAPAction": '""'}
        found = _NOTIFICATION.search(self.post("/soap/novedades", text.encode(), headers))
        if found is None:
            raise OSError("the answer has no number")
        return int(found[1])


class _Zmq:
    """Publishes over ZeroMQ, one by one."""

    def __init__(self, cast: Cast, producer: str) -> None:
        self.client = Client(cast.hub, producer=producer, timeout_ms=5_000)

    def publish(self, topic: str, one: _Novelty) -> int:
        """The number of the message; raises PregonError."""
        headers = {"region": one.region}
        return self.client.publish(
            topic, one.json, id=one.token, key=one.key, content_type="application/json", headers=headers
        ).seq


class _Troupe:
    """All of them at work."""

    def __init__(self, cast: Cast) -> None:
        self._cast = cast
        self._stop = threading.Event()
        self.published: list[Published] = []
        self.retries = 0

    def stop(self, *_: object) -> None:
        """Publish no more."""
        self._stop.set()

    def run(self) -> None:
        """Publish until it is stopped."""
        threads = [threading.Thread(target=self._run_one, args=(name,)) for name in PRODUCERS]
        for thread in threads:
            thread.start()
        while not self._stop.is_set():
            self._stop.wait(1)
        for thread in threads:
            thread.join()

    def _run_one(self, name: str) -> None:
        cast, chance = self._cast, random.Random(f"{self._cast.seed} {name}")
        kind = name.split("-")[0]
        if kind == "batch":
            self._run_batches(name, chance)
            return
        door = _Zmq(cast, name) if kind == "zmq" else _Soap(cast) if kind == "soap" else _Rest(cast)
        pause_s, number = len(PRODUCERS) / cast.publications_per_s, 0
        next_s = time.monotonic()
        while not self._stop.is_set():
            number += 1
            topic, one = chance.choice(cast.topics), _Novelty(name, number, chance)
            seq = self._insist(lambda topic=topic, one=one: door.publish(topic, one))  # type: ignore[misc]
            self.published.append(Published(topic, one.token, seq))
            next_s = max(next_s + pause_s, time.monotonic() - 1)
            self._stop.wait(max(0.0, next_s - time.monotonic()))

    def _insist(self, publish: Callable[[], int]) -> int:
        while True:
            try:
                return publish()
            except (OSError, http.client.HTTPException, PregonError):
                self.retries += 1
                time.sleep(_RETRY_S)

    def _run_batches(self, name: str, chance: random.Random) -> None:
        """Batches are recognised by their session, not by the ids in them: what fails for good is not repeated."""
        pause_s, number = _BATCH * len(PRODUCERS) / self._cast.publications_per_s, 0
        with Client(self._cast.hub, producer=name, timeout_ms=30_000) as client:
            while not self._stop.is_set():
                topic = chance.choice(self._cast.topics)
                batch = [_Novelty(name, number + step, chance) for step in range(_BATCH)]
                number += _BATCH
                try:
                    with client.producer(topic) as out:
                        for one in batch:
                            headers = {"region": one.region}
                            out.send(one.json, key=one.key, content_type="application/json", headers=headers)
                    is_certain = True
                except PregonError:
                    is_certain = False
                self.published += [Published(topic, one.token, 0, is_certain) for one in batch]
                self._stop.wait(pause_s)


def main(cast: Path, output: Path) -> None:
    """Publish until told to stop."""
    troupe = _Troupe(load_cast(cast))
    signal.signal(signal.SIGTERM, troupe.stop)
    troupe.run()
    output.write_bytes(msgspec.msgpack.encode((troupe.published, troupe.retries)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
