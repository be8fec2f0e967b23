"""A hub to which everything happens that can, in an order that chance decides, and its tables as they then are."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pyarrow as pa
from scenario.hub_process import HubProcess, wait_until

from pregon import Client
from pregon.errors import BadRequest, NotPending
from pregon.testing import Receiver, Reply

TOPICS = ("births", "deaths")
FILTERS = ("", json.dumps({"header": "r", "equals": "a"}), json.dumps({"header": "r", "equals": "b"}))
PULLERS = ("bank", "court", "limited", "again")
PUSHED = "pushed"


class Life:
    """What happens, by a seed. Every step is one that somebody could take; what the hub refuses changes nothing."""

    def __init__(self, client: Client, receiver: Receiver, seed: int) -> None:
        self._client = client
        self._chance = random.Random(seed)
        self._receiver = receiver
        push = {"delay_ms_first": 10, "delay_ms_max": 20, "attempts_max": 2, "on_poison": "park", "parallel": 4}
        client.create("subscriber", name=PUSHED, mode="push", endpoint=receiver.url, push=push)
        for topic in TOPICS:
            client.create("topic", name=topic)
            for name in (*PULLERS, PUSHED):
                client.create("subscription", topic=topic, subscriber=name, filter=FILTERS[name == "court"])

    def publish(self, topic: str, count: int) -> None:
        """Messages with a letter that filters look at; of some the web service says that they are no good."""
        for _ in range(count):
            self._client.publish(topic, b"x", headers={"r": self._chance.choice("abc")})

    def step(self) -> None:
        """One thing happens."""
        chance, client = self._chance, self._client
        who = topic, name = chance.choice(TOPICS), chance.choice((*PULLERS, PUSHED))
        head = client.account(*who).head_seq
        first = chance.randint(1, head)
        some = list(range(first, min(head, first + chance.randint(0, 3)) + 1))
        verb = chance.choice(
            ("publish", "ack", "ack", "park", "unpark", "cancel", "replay", "limit", "filter", "refuse")
        )
        try:
            if verb == "publish":
                self.publish(topic, chance.randint(1, 4))
            elif verb == "ack":
                pulled = client.pull(*who, max=chance.randint(1, 9))
                if pulled.messages:
                    client.ack(*who, pulled.messages[-1].seq, pulled.epoch)
            elif verb == "park":
                client.park(*who, some, "no good")
            elif verb == "unpark":
                client.unpark(*who, chance.choice((some, [])))
            elif verb == "cancel":
                client.cancel(*who, some, "never mind")
            elif verb == "replay":
                client.replay(*who, from_seq=first)
            elif verb == "limit":
                self.expire(topic, chance.randint(4, 12))
            elif verb == "filter" and name in ("court", PUSHED):
                client.update("subscription", *who, filter=chance.choice(FILTERS))
            elif verb == "refuse":
                self._receiver.then(*[Reply(chance.choice((200, 400, 503))) for _ in range(6)])
        except (NotPending, BadRequest):
            pass

    def expire(self, topic: str, pending_max: int) -> None:
        """Have one of the subscriptions give up what is too much for it; what was unparked does not expire."""
        client, who = self._client, (topic, "limited")

        def is_done() -> bool:
            returned = sum(one["returned"] for one in client.parked(*who))
            return client.account(*who).pending - returned <= pending_max

        client.update("subscription", *who, pending_max=pending_max)
        wait_until(is_done, "the rest has expired")
        client.update("subscription", *who, pending_max=None)

    def make_again(self, topic: str) -> None:
        """A subscription and a topic go, and others of the same names come."""
        client = self._client
        client.delete("subscription", topic, "again")
        client.create(
            "subscription", topic=topic, subscriber="again", start=self._chance.choice(("earliest", "latest"))
        )
        for _ in range(2):
            client.delete("topic", "notices")
            for _ in range(self._chance.randint(3, 6)):
                client.publish("notices", b"x")
            client.create("subscription", topic="notices", subscriber="bank")
            client.ack("notices", "bank", 2)

    def run(self, steps: int) -> None:
        """A life of so many steps."""
        for topic in TOPICS:
            self.publish(topic, 20)
        for number in range(steps):
            if number % 40 == 20:
                self.make_again(self._chance.choice(TOPICS))
            self.step()


@contextmanager
def going_on(life: Life) -> Iterator[None]:
    """While this lasts, things go on happening."""
    is_over = threading.Event()

    def go_on() -> None:
        while not is_over.is_set():
            life.step()

    thread = threading.Thread(target=go_on, name="life")
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def read_table(hub: HubProcess, table: str) -> pa.Table:
    """A table of the hub, whole, as its REST interface gives it."""
    answer = httpx.get(f"http://{hub.addresses.http}/v1/{table}/batches", timeout=30)
    answer.raise_for_status()
    with pa.ipc.open_stream(answer.content) as stream:
        return stream.read_all()


def rows_of(table: pa.Table, **values: Any) -> list[dict[str, Any]]:
    """The rows that have these values."""
    return [row for row in table.to_pylist() if all(row[name] == value for name, value in values.items())]
