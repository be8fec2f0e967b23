"""A hub with keys from outside: rotation, revocation and limits at every door, first use, and where no secret is.

Hubs run in this process where the test needs their inside, and in one of their own where it needs their log.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import websockets.exceptions
import zmq
from websockets.sync.client import connect as connect_socket

from pregon.client import Client
from pregon.errors import Forbidden, RateLimited, Unauthorized
from pregon.hub.access import NewKey, ShownKey
from pregon.hub.hub import Hub
from pregon.model.catalog import Producer, Subscriber, Subscription, Topic
from pregon.model.message import Outgoing
from pregon.model.trace import TraceQuery
from pregon.store.database import DATABASE_FILE
from pregon.testing import RunningHub, run_hub

from .conftest import MakeHub
from .hub_process import wait_until
from .soap_clients.plain import PlainClient, envelope, publication, request

TOPIC, PRODUCER, SUBSCRIBER = "births", "registry", "bank"


def give_key(hub: Hub, kind: str, owner: str, **options: Any) -> ShownKey:
    """A new key."""
    return hub.create_key(NewKey(kind=kind, owner=owner, **options)).result()


@dataclass
class Site:
    """A hub with an administrator, a producer and a subscriber who have keys, and one of each who has none."""

    running: RunningHub
    admin: str
    producer: ShownKey
    subscriber: ShownKey

    @property
    def hub(self) -> Hub:
        """The hub itself."""
        return self.running.server.hub

    def publishes(self, key: str) -> dict[str, bool]:
        """Whether this key publishes in the producer's name, at each door."""
        return {
            "zmq": self._by_client(self.running.url, key),
            "http": self._by_client(self.running.http, key),
            "rest": self._by_rest(key),
            "soap": self._by_soap(key),
        }

    def _by_client(self, address: str, key: str) -> bool:
        with Client(address, producer=PRODUCER, key=key) as client:
            try:
                return client.publish(TOPIC, "x").seq > 0
            except (Unauthorized, Forbidden):
                return False

    def _by_rest(self, key: str) -> bool:
        sent = {"Authorization": f"Bearer {key}", "Pregon-Producer": PRODUCER}
        reply = httpx.post(f"{self.running.http}/v1/topics/{TOPIC}/messages", content=b"x", headers=sent)
        assert reply.status_code in (201, 401, 403)
        return reply.status_code == 201

    def _by_soap(self, key: str) -> bool:
        soap = PlainClient(self.running.http)
        header = f"<ps:accessKey>{key}</ps:accessKey>"
        reply = soap.post("novedades", publication("<a/>", TOPIC, PRODUCER, header))
        soap.close()
        return reply.status == 200


ALL, NONE = dict.fromkeys(("zmq", "http", "rest", "soap"), True), dict.fromkeys(("zmq", "http", "rest", "soap"), False)


def settle_in(running: RunningHub) -> Site:
    """People the hub."""
    hub = running.server.hub
    hub.create(Topic(name=TOPIC)).result()
    for name in (PRODUCER, "clinic"):
        hub.create(Producer(name=name)).result()
    for name in (SUBSCRIBER, "press"):
        hub.create(Subscriber(name=name)).result()
        hub.create(Subscription(topic=TOPIC, subscriber=name)).result()
    admin = give_key(hub, "token", "ana", scopes=("admin",)).secret
    return Site(running, admin, give_key(hub, "producer", PRODUCER), give_key(hub, "subscriber", SUBSCRIBER))


@pytest.fixture
def site() -> Iterator[Site]:
    with run_hub() as running:
        yield settle_in(running)


def test_a_key_works_at_every_door_until_it_is_revoked_and_then_at_none(site: Site) -> None:
    before = site.publishes(site.producer.secret)

    site.hub.revoke_key("producer", PRODUCER, site.producer.id).result()

    assert before == ALL
    assert site.publishes(site.producer.secret) == NONE
    give_key(site.hub, "producer", PRODUCER)


def test_both_keys_work_during_an_overlap_and_the_old_one_ends_with_it(site: Site) -> None:
    new = give_key(site.hub, "producer", PRODUCER, overlap_ms=1_500)
    begun = time.monotonic()

    during = site.publishes(site.producer.secret), site.publishes(new.secret)
    is_early = time.monotonic() - begun < 1.4
    time.sleep(max(0.0, 1.6 - (time.monotonic() - begun)))

    assert during == (ALL, ALL) or not is_early
    assert site.publishes(site.producer.secret) == NONE
    assert site.publishes(new.secret) == ALL


def test_a_revoked_key_ends_what_it_is_following(site: Site) -> None:
    url = f"{site.running.http}/v1/topics/{TOPIC}/stream?from=1"
    bearer = {"Authorization": f"Bearer {site.subscriber.secret}"}
    site.hub.publish(TOPIC, "clinic", Outgoing(b"before", content_type="text/plain")).result()

    with (
        connect_socket(url.replace("http", "ws"), additional_headers=bearer) as socket,
        httpx.stream("GET", url, headers=bearer, timeout=10) as events,
    ):
        lines = events.iter_lines()
        seen = [socket.recv(10), next(line for line in lines if line.startswith("data"))]
        site.hub.revoke_key("subscriber", SUBSCRIBER, site.subscriber.id).result()
        site.hub.publish(TOPIC, "clinic", Outgoing(b"afterwards", content_type="text/plain")).result()
        with pytest.raises(websockets.exceptions.ConnectionClosed):
            socket.recv(10)
        rest: list[str] = []
        with pytest.raises(httpx.HTTPError):
            rest.extend(lines)

    assert all("before" in str(one) for one in seen)
    assert "afterwards" not in "".join(rest)


def test_a_key_that_asks_too_often_gets_429_and_when_to_come_back(site: Site) -> None:
    key = give_key(site.hub, "producer", PRODUCER, requests_per_s=2)
    sent = {"Authorization": f"Bearer {key.secret}", "Pregon-Producer": PRODUCER}

    with httpx.Client(base_url=site.running.http, headers=sent) as http:
        replies = [http.post(f"/v1/topics/{TOPIC}/messages", content=b"x") for _ in range(6)]
        refused = next(one for one in replies if one.status_code == 429)
        time.sleep(int(refused.headers["retry-after"]))
        later = http.post(f"/v1/topics/{TOPIC}/messages", content=b"x")

    assert (refused.json()["code"], refused.json()["retryable"]) == ("rate_limited", True)
    assert later.status_code == 201


def test_our_client_is_told_that_it_may_ask_again_and_then_it_is_served(site: Site) -> None:
    key = give_key(site.hub, "producer", PRODUCER, requests_per_s=5)
    refusals = 0

    with Client(site.running.url, producer=PRODUCER, key=key.secret, timeout_ms=100) as client:
        published = 0
        while published < 8:
            try:
                client.publish(TOPIC, "x")
                published += 1
            except RateLimited as error:
                assert error.is_retryable
                refusals += 1
                time.sleep(0.1)

    assert refusals > 0
    assert site.hub.show("topic", (TOPIC,)).result().head_seq == 8  # type: ignore[union-attr]


def test_a_body_larger_than_its_key_may_send_gets_413(site: Site) -> None:
    key = give_key(site.hub, "producer", PRODUCER, body_bytes_max=4)
    sent = {"Authorization": f"Bearer {key.secret}"}
    url = f"{site.running.http}/v1/topics/{TOPIC}"

    small = httpx.post(f"{url}/messages", content=b"1234", headers=sent)
    large = httpx.post(f"{url}/messages", content=b"12345", headers=sent)
    batch = httpx.post(f"{url}/batches", json={"messages": [{"text": "1"}, {"text": "12345"}]}, headers=sent)

    assert [one.status_code for one in (small, large, batch)] == [201, 413, 413]


WAYS: dict[str, tuple[str, str, Callable[[Client], object]]] = {
    "a new topic": ("clinic", "", lambda client: client.publish("new", "x")),
    "a new producer": ("new", "", lambda client: client.publish(TOPIC, "x")),
    "a new subscription": ("clinic", "", lambda client: client.pull(TOPIC, "new")),
    "with a producer's key": (PRODUCER, "producer", lambda client: client.publish("new", "x")),
    "with a subscriber's key": (PRODUCER, "subscriber", lambda client: client.pull("new", SUBSCRIBER)),
    "by hand": (PRODUCER, "producer", lambda client: client.create("topic", name="new")),
}
"""Who publishes, whose key is presented, and what is asked."""


@pytest.mark.parametrize("way", list(WAYS))
def test_with_an_administrator_nobody_else_makes_things(site: Site, way: str) -> None:
    kinds = ("topic", "producer", "subscriber", "subscription")
    before = [site.hub.list(kind).result() for kind in kinds]

    producer, whose, ask = WAYS[way]
    key = getattr(site, whose).secret if whose else None
    with site.running.client(producer=producer, key=key) as client, pytest.raises((Forbidden, Unauthorized)):
        ask(client)

    assert [site.hub.list(kind).result() for kind in kinds] == before
    with site.running.client(producer="first-use", key=site.admin) as admin:
        assert admin.publish("new", "x").seq == 1


def test_plain_senders_without_a_key_cannot_speak_for_who_has_one_and_plain_listeners_hear_nothing(
    site: Site,
) -> None:
    with zmq.Context() as context, context.socket(zmq.PUSH) as push, context.socket(zmq.SUB) as sub:
        sub.linger = push.linger = 0
        sub.connect(site.running.feed)
        sub.subscribe(b"")
        push.connect(site.running.ingest)
        push.send_multipart([TOPIC.encode(), b'{"producer": "registry"}', b"forged"])
        push.send_multipart([b"new-topic", b'{"producer": "clinic"}', b"new"])
        push.send_multipart([TOPIC.encode(), b'{"producer": "clinic"}', b"honest"])

        wait_until(lambda: site.hub.counters.ingest_messages == 1, "the honest one is stored")
        heard = sub.poll(300)

    read = site.hub.read_log(TOPIC, 1, None, 10, 10**6).result()
    assert [message.text for batch in read.batches for message in batch.messages(TOPIC)] == ["honest"]
    assert site.hub.counters.ingest_dropped == 2
    assert heard == 0
    assert len(site.hub.list("topic").result()) == 1


def test_a_subscriber_sees_nothing_of_another(site: Site) -> None:
    site.hub.create(Topic(name="others")).result()
    site.hub.publish("others", "clinic", Outgoing(b"secret")).result()

    with site.running.client(key=site.subscriber.secret) as bank:
        for ask in (
            lambda: bank.read("others", 1),
            lambda: bank.pull("others", SUBSCRIBER),
            lambda: bank.traces(TraceQuery(subscriber="press")),
            lambda: bank.traces(TraceQuery(producer="clinic", topic="others")),
            lambda: bank.show("subscription", TOPIC, "other"),
            lambda: bank.list("subscription"),
            lambda: bank.list("topic"),
        ):
            with pytest.raises(Forbidden):
                ask()
        stream = httpx.get(
            f"{site.running.http}/v1/topics/others/stream",
            headers={"Authorization": f"Bearer {site.subscriber.secret}"},
        )
        own = bank.list("subscription", names=["", SUBSCRIBER])

    assert stream.status_code == 403
    assert [(one["topic"], one["subscriber"]) for one in own] == [(TOPIC, SUBSCRIBER)]


def test_an_open_hub_needs_no_keys_but_for_acting_as_one_who_has_one() -> None:
    with run_hub() as running, running.client(producer="anybody") as client:
        client.publish("news", "x")
        client.pull("news", "reader")
        give_key(running.server.hub, "producer", "anybody")
        give_key(running.server.hub, "subscriber", "reader")

        for ask in (
            lambda: client.publish("news", "x"),
            lambda: client.pull("news", "reader"),
            lambda: client.ack("news", "reader", 1),
            lambda: client.park("news", "reader", [1]),
            lambda: client.replay("news", "reader", from_seq=1),
            lambda: client.account("news", "reader"),
        ):
            with pytest.raises(Unauthorized):
                ask()
        client.create("topic", name="another")
        read = client.read("news", 1)
        with running.client(producer="somebody-else") as other:
            published = other.publish("news", "y")

    assert [message.text for message in read] == ["x"]
    assert published.seq == 2


def test_no_secret_is_in_any_file_log_trace_error_metric_or_status(make_hub: MakeHub) -> None:
    hub = make_hub(log_level="debug", maintenance_every_ms="50").start()
    base = f"http://{hub.addresses.http}"
    with hub.client(producer=PRODUCER) as client:
        client.publish(TOPIC, "x")
        client.pull(TOPIC, SUBSCRIBER)
        keys = [client.create("key", kind=kind, owner=name)["secret"] for kind, name in OWNERS]
        keys.append(client.create("key", kind="token", owner="ana", scopes=["admin"])["secret"])
    said = _use_and_misuse(hub.url, base, keys)
    bearer = {"Authorization": f"Bearer {keys[-1]}"}
    said += [httpx.get(base + path, headers=bearer).text for path in ("/metrics", "/v1/status", "/v1/traces")]
    said += [httpx.get(f"{base}/v1/{path}", headers=bearer).text for path in ("producers/registry/keys", "tokens")]

    assert hub.stop() == 0
    files = {path.name: path.read_bytes() for path in (*hub.data.rglob("*"), hub.log) if path.is_file()}

    assert {DATABASE_FILE, hub.log.name} <= set(files)
    for key in keys:
        _, key_id, secret = key.split("_", 2)
        found = [name for name, content in files.items() if secret.encode() in content]
        assert found == []
        assert secret not in "".join(said)
        assert any(key_id.encode() in content for content in files.values()), "the id is public"


OWNERS = [("producer", PRODUCER), ("subscriber", SUBSCRIBER)]


def _use_and_misuse(url: str, base: str, keys: list[str]) -> list[str]:
    """Present every key rightly and wrongly at every door; what the hub said."""
    said = []
    soap, http = PlainClient(base), httpx.Client(base_url=base)
    for key in [*keys, *(f"{key}x" for key in keys), *(f"pgn_{key.split('_', 2)[2]}" for key in keys)]:
        with Client(url, producer=PRODUCER, key=key) as client:
            for ask in (lambda: client.publish(TOPIC, "x"), lambda: client.pull(TOPIC, SUBSCRIBER), client.status):
                try:
                    ask()
                except (Unauthorized, Forbidden) as error:
                    said.append(str(error))
        sent = {"Authorization": f"Bearer {key}"}
        said.append(http.post(f"/v1/topics/{TOPIC}/messages", content=b"x", headers=sent).text)
        said.append(http.get(f"/v1/topics/{TOPIC}?key={key[:3]}", headers=sent).text)
        said.append(http.get("/v1/topics", headers={"Authorization": f"Digest {key}"}).text)
        header = f"<ps:accessKey>{key}</ps:accessKey>"
        said.append(soap.post("recepcion", request(TOPIC, SUBSCRIBER, header=header)).content.decode())
        said.append(soap.post("catalogo", envelope("<broken/>", header)).content.decode())
    soap.close()
    http.close()
    return said
