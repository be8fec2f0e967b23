"""The hub is killed again and again while REST, SOAP and ZeroMQ publish at once, and whoever was answered was told
the truth.

Each sender repeats what was not answered, under the name that makes a repetition harmless at its door: the
Idempotency-Key of a request, the wsa:MessageID of an envelope, the id of a message.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

import httpx

from pregon.client import Client
from pregon.model.message import Message

from . import audit
from .conftest import MakeHub
from .hub_process import HubProcess, open_hub, wait_until
from .soap_clients.plain import SOAP_11, Reply, publication

KILLS = 12
TOPIC = "novedades"
_BATCH = 5
_PACE_S = 0.003
_PATIENCE_S = 60.0


@dataclass
class Sender:
    """A thread that publishes at one door, and what it was told."""

    name: str
    door: Door
    told: dict[str, list[int]] = field(default_factory=dict)
    """The numbers of each publication that was answered, by its name."""
    repeated: int = 0

    def bodies(self, name: str) -> list[str]:
        """What a publication of this name holds."""
        return [f"<n>{name}</n>"] if self.door in SINGLE else [f"<n>{name}-{row}</n>" for row in range(_BATCH)]


Door = Callable[["Doors", "Sender", str], list[int]]


class Doors:
    """Connections of one sender to the doors of a hub."""

    def __init__(self, hub: HubProcess) -> None:
        self.http = httpx.Client(base_url=f"http://{hub.addresses.http}", timeout=5)
        self._hub = hub
        self._client: Client | None = None

    def client(self, producer: str) -> Client:
        """The connection of the fast lane, made when it is first used."""
        if self._client is None:
            self._client = self._hub.client(producer=producer, timeout_ms=_PATIENCE_S * 1_000)
        return self._client

    def close(self) -> None:
        """Leave."""
        self.http.close()
        if self._client is not None:
            self._client.close()


def rest_single(doors: Doors, sender: Sender, name: str) -> list[int]:
    """One message, with an Idempotency-Key."""
    sent = {"Idempotency-Key": name, "Pregon-Producer": sender.name, "Content-Type": "application/xml"}
    reply = doors.http.post(f"/v1/topics/{TOPIC}/messages", content=sender.bodies(name)[0], headers=sent)
    return [reply.raise_for_status().json()["seq"]]


def rest_batch(doors: Doors, sender: Sender, name: str) -> list[int]:
    """Messages without ids, recognised together by an Idempotency-Key."""
    messages = [{"text": body} for body in sender.bodies(name)]
    sent = {"Idempotency-Key": name, "Pregon-Producer": sender.name}
    reply = doors.http.post(f"/v1/topics/{TOPIC}/batches", json={"messages": messages}, headers=sent)
    return list(reply.raise_for_status().json()["seqs"])


def rest_ids(doors: Doors, sender: Sender, name: str) -> list[int]:
    """Messages with ids of their own."""
    messages = [{"text": body, "id": f"{name}-{row}"} for row, body in enumerate(sender.bodies(name))]
    sent = {"Pregon-Producer": sender.name}
    reply = doors.http.post(f"/v1/topics/{TOPIC}/batches", json={"messages": messages}, headers=sent)
    return list(reply.raise_for_status().json()["seqs"])


def soap(doors: Doors, sender: Sender, name: str) -> list[int]:
    """An envelope with a wsa:MessageID."""
    header = f"<wsa:MessageID>{name}</wsa:MessageID><wsa:Action>urn:publish</wsa:Action>"
    content = publication(sender.bodies(name)[0], TOPIC, sender.name, header, SOAP_11)
    reply = doors.http.post("/soap/novedades", content=content, headers={"Content-Type": "text/xml; charset=utf-8"})
    answer = reply.raise_for_status()
    return [Reply(answer.status_code, "text/xml", answer.content).notification_id]


def fast_lane(doors: Doors, sender: Sender, name: str) -> list[int]:
    """One message of our client, with an id."""
    return [doors.client(sender.name).publish(TOPIC, sender.bodies(name)[0], id=name).seq]


SINGLE = (rest_single, soap, fast_lane)
SENDERS = {"ministry": rest_single, "registry": rest_batch, "hospital": rest_ids, "notary": soap, "clinic": fast_lane}


def send_until_answered(doors: Doors, sender: Sender, name: str) -> list[int]:
    """Publish, and publish again while the hub is away."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return sender.door(doors, sender, name)
        except httpx.HTTPError as error:
            is_refused = isinstance(error, httpx.HTTPStatusError) and error.response.status_code != 503
            assert not is_refused, error.response.text  # type: ignore[attr-defined]
            assert time.monotonic() < deadline, "the hub never came back"
            sender.repeated += 1
            time.sleep(0.02)


@contextmanager
def sending(hub: HubProcess, senders: list[Sender]) -> Iterator[None]:
    """Everybody sends; at the end each goes on until its last publication is answered."""
    stopping = threading.Event()
    failures: list[BaseException] = []

    def work(sender: Sender) -> None:
        doors = Doors(hub)
        try:
            while not stopping.wait(_PACE_S):
                name = f"{sender.name}-{len(sender.told)}"
                sender.told[name] = send_until_answered(doors, sender, name)
        except BaseException as error:  # Whatever it is, it is the test's to report, not the thread's to lose.
            failures.append(error)
        finally:
            doors.close()

    threads = [threading.Thread(target=work, args=(sender,), name=sender.name) for sender in senders]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stopping.set()
        for thread in threads:
            thread.join(_PATIENCE_S)
    assert not failures, failures
    assert not any(thread.is_alive() for thread in threads)


def answered(senders: list[Sender]) -> list[int]:
    """How much each was told so far."""
    return [len(sender.told) for sender in senders]


def test_whatever_any_door_answered_is_on_disk_once_however_often_the_hub_is_killed(make_hub: MakeHub) -> None:
    hub = make_hub(maintenance_every_ms="100").start()
    senders = [Sender(name, door) for name, door in SENDERS.items()]
    rng = Random(7)

    with sending(hub, senders):
        for _ in range(KILLS):
            before = answered(senders)
            wait_until(lambda before=before: answered(senders) > before, "somebody was answered")  # type: ignore[misc]
            time.sleep(rng.uniform(0.0, 0.3))
            hub.kill()
            hub.start()
        wait_until(lambda: all(count > KILLS for count in answered(senders)), "every door has worked")
    last = {sender.name: list(sender.told)[-20:] for sender in senders}
    doors = Doors(hub)
    again = {name: SENDERS[sender.name](doors, sender, name) for sender in senders for name in last[sender.name]}
    doors.close()
    assert hub.stop() == 0

    assert sum(sender.repeated for sender in senders) >= KILLS, "kills came while requests were under way"
    for sender in senders:
        for name in last[sender.name]:
            assert again[name] == sender.told[name], "a repetition gets the first numbers"
    with open_hub(hub.data) as opened:
        assert audit.find_problems(opened) == []
        check_against_log(senders, audit.read_topic(opened, TOPIC))
    assert audit.check_integrity(hub.data) == []


def check_against_log(senders: list[Sender], log: list[Message]) -> None:
    """Everything that was answered is where it was said to be, with its id, in its sender's order, and nothing else."""
    for sender in senders:
        mine = [message for message in log if message.producer == sender.name]
        expected = [(seq, body) for name in sender.told for seq, body in zip(
            sender.told[name], sender.bodies(name), strict=True
        )]  # fmt: skip
        # An element out of an envelope brings the declarations of its namespaces along.
        assert [(message.seq, re.sub(r"<n [^>]*>", "<n>", message.text)) for message in mine] == expected
        if sender.door in SINGLE:
            assert [message.id for message in mine] == list(sender.told)
        elif sender.door is rest_ids:
            assert [message.id for message in mine] == [
                f"{name}-{row}" for name in sender.told for row in range(_BATCH)
            ]
    assert len(log) == sum(len(numbers) for sender in senders for numbers in sender.told.values())
