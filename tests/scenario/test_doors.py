"""The plain doors: a SUB socket sees what was accepted, a PUSH socket publishes, a browser asks how the hub is.

None of them needs our client: the sockets here are those that any ZeroMQ program in any language has.
"""

from __future__ import annotations

import json
import socket
import sqlite3
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
import zmq

from pregon.client import Client
from pregon.client.outbox import ProducerOptions

from .conftest import MakeHub
from .hub_process import HubProcess, wait_until

Socket = zmq.Socket[bytes]


@contextmanager
def opened(kind: int, address: str, **options: int | bytes) -> Iterator[Socket]:
    """A plain socket that is connected to a door."""
    with zmq.Context() as context, context.socket(kind) as socket:
        socket.setsockopt(zmq.LINGER, 0)
        for name, value in options.items():
            socket.setsockopt(getattr(zmq, name.upper()), value)
        socket.connect(address)
        yield socket


@contextmanager
def subscribed(hub: HubProcess, client: Client, prefix: str, **options: int) -> Iterator[Socket]:
    """A SUB socket that the feed already knows: it has seen a message of a topic made for that."""
    with opened(zmq.SUB, hub.addresses.feed, **options) as feed:
        feed.setsockopt(zmq.SUBSCRIBE, prefix.encode())
        feed.setsockopt(zmq.SUBSCRIBE, b"warm-up-" + prefix.encode())
        wait_until(lambda: client.publish("warm-up-" + prefix, "") and feed.poll(20), "the feed knows the subscriber")
        drain(feed)
        yield feed


def receive(feed: Socket, deadline_ms: int = 10_000) -> tuple[str, dict[str, Any], bytes]:
    """The next message of the feed."""
    assert feed.poll(deadline_ms), "the feed shows nothing"
    topic, header, body = feed.recv_multipart()
    return topic.decode(), json.loads(header), body


def drain(feed: Socket, topic: str = "") -> list[int]:
    """Take all that is on its way; the numbers of a topic's."""
    seen = []
    while feed.poll(300):
        shown, header, _ = receive(feed)
        if shown == topic:
            seen.append(header["seq"])
    return seen


def stored(client: Client, topic: str, count: int) -> list[Any]:
    """The first messages of a topic, when there are so many."""

    def are_there() -> bool:
        rows = client.list("topic", names=[topic])
        return bool(rows) and rows[0]["head_seq"] >= count

    wait_until(are_there, f"{topic} has {count} messages")
    return [message for first in range(1, count + 1, 5_000) for message in client.read(topic, first, max=5_000)]


# The live feed.


def test_a_plain_subscriber_sees_topic_header_and_body_by_prefix(hub: HubProcess, client: Client, topic: str) -> None:
    with subscribed(hub, client, topic) as feed:
        client.publish("another-" + topic, "not for this one")
        client.publish(topic + ".inner", b"\0body", id="id-1", key="k", headers={"a": "b"})
        shown, header, body = receive(feed)

    assert (shown, body) == (topic + ".inner", b"\0body")
    accepted_at, published_at = header.pop("accepted_at"), header.pop("published_at")
    assert header == {
        "topic": topic + ".inner",
        "seq": 1,
        "id": "id-1",
        "key": "k",
        "content_type": "application/octet-stream",
        "headers": {"a": "b"},
        "producer": "local",
    }
    assert accepted_at.endswith("Z") and published_at.endswith("Z")


def test_a_message_is_shown_only_after_its_commit(hub: HubProcess, client: Client, topic: str) -> None:
    with (
        subscribed(hub, client, topic) as feed,
        closing(sqlite3.connect(hub.data / "pregon.db", isolation_level=None)) as database,
        opened(zmq.PUSH, hub.addresses.ingest) as push,
    ):
        database.execute("BEGIN IMMEDIATE")  # While this is held, the hub cannot commit.
        push.send_multipart([topic.encode(), b"held back"])
        shown_before = feed.poll(300)
        database.execute("ROLLBACK")
        _, header, body = receive(feed)

    assert not shown_before
    assert (header["seq"], body) == (1, b"held back")


def test_a_subscriber_that_comes_late_sees_from_then_on_and_knows_by_the_number(
    hub: HubProcess, client: Client, topic: str
) -> None:
    for _ in range(3):
        client.publish(topic, "before")

    with subscribed(hub, client, topic) as feed:
        client.publish(topic, "after")
        _, header, body = receive(feed)

    assert (header["seq"], body) == (4, b"after")


def test_a_subscriber_that_does_not_read_misses_messages_and_delays_nobody(
    hub: HubProcess, client: Client, topic: str
) -> None:
    count, body = 20_000, b"x" * 1_000

    with subscribed(hub, client, topic, rcvhwm=10, rcvbuf=4_096) as sleeper, subscribed(hub, client, topic) as awake:
        with client.producer(topic, ProducerOptions(batch_messages=100)) as out:
            for _ in range(count):
                out.send(body)
        acknowledged = out.outbox.acknowledged
        drain(awake)
        client.publish(topic, "last")
        shown = receive(awake)
        seen = drain(sleeper, topic)

    assert acknowledged == count
    assert (shown[1]["seq"], shown[2]) == (count + 1, b"last")
    assert seen == sorted(set(seen)), "in order, none twice"
    assert len(seen) < count, "some were missed"
    assert any(after > before + 1 for before, after in zip(seen, [*seen[1:], count + 2], strict=True)), "and it shows"


def test_a_subscriber_that_left_is_forgotten(hub: HubProcess, client: Client, topic: str) -> None:
    with subscribed(hub, client, topic):
        pass

    def is_forgotten() -> bool:
        before = hub.counters()["feed_messages"]
        client.publish(topic, "nobody listens")
        return hub.counters()["feed_messages"] == before

    wait_until(is_forgotten, "nothing is shown to nobody")


def test_the_feed_ignores_what_is_no_subscription(hub: HubProcess, client: Client, topic: str) -> None:
    with opened(zmq.XSUB, hub.addresses.feed) as stranger:
        for frame in (b"", b"\x02", b"\xff" * 100, b"hello", b"\x00never-subscribed"):
            stranger.send(frame)

        with subscribed(hub, client, topic) as feed:
            client.publish(topic, "still shown")
            _, _, body = receive(feed)

    assert body == b"still shown"


# The ingest.


def test_a_plain_pusher_publishes_with_and_without_a_header(hub: HubProcess, client: Client, topic: str) -> None:
    header = {"producer": "sensor", "id": "7", "key": "k", "content_type": "text/plain", "headers": {"a": "b"}}

    with opened(zmq.PUSH, hub.addresses.ingest) as push:
        push.send_multipart([topic.encode(), b"plain"])
        push.send_multipart([topic.encode(), json.dumps(header).encode(), b"with a header"])
        push.send_multipart([topic.encode(), json.dumps(header).encode(), b"the same id again"])
        push.send_multipart([topic.encode(), b"{}", b""])
        messages = stored(client, topic, 3)

    assert [(one.producer, one.body) for one in messages] == [
        ("ingest", b"plain"),
        ("sensor", b"with a header"),
        ("ingest", b""),
    ]
    assert messages[1].describe().items() >= header.items()


def test_what_the_ingest_cannot_store_is_dropped_and_counted(hub: HubProcess, client: Client, topic: str) -> None:
    name = topic.encode()
    wrong = [
        [name],
        [name, b"{}", b"body", b"more"],
        [name, b"{", b"body"],
        [name, b"[]", b"body"],
        [name, b'{"producer": 1}', b"body"],
        [name, b'{"headers": {"a": 1}}', b"body"],
        [name, b'{"id": ""}', b"body"],
        [name, b'{"producer": "not a name!"}', b"body"],
        [name, b'{"x": ' + b"[" * 30_000, b"body"],
        [name, b'{"key": "' + b"k" * 70_000 + b'"}', b"body"],
        [b"not a name!", b"body"],
        [b"\xff\xfe", b"body"],
        [b"", b"body"],
        [b"x" * 129, b"body"],
        [name, bytes(1024 * 1024 + 1)],
    ]
    before = hub.counters()

    with opened(zmq.PUSH, hub.addresses.ingest) as push:
        for frames in wrong:
            push.send_multipart(frames)
        push.send_multipart([name, b"right"])
        messages = stored(client, topic, 1)

    after = hub.counters()
    assert [message.body for message in messages] == [b"right"]
    assert after["ingest_dropped"] - before["ingest_dropped"] == len(wrong)
    assert after["ingest_messages"] - before["ingest_messages"] == 1


def test_a_pusher_waits_while_the_hub_cannot_write_and_nothing_is_dropped(make_hub: MakeHub) -> None:
    hub = make_hub().start()
    body, sent = b"x" * 1_000, 0
    with (
        hub.client(timeout_ms=30_000) as client,
        closing(sqlite3.connect(hub.data / "pregon.db", isolation_level=None)) as database,
        opened(zmq.PUSH, hub.addresses.ingest, sndhwm=100, sndbuf=4_096) as push,
    ):
        client.publish("pushed", "first")
        database.execute("BEGIN IMMEDIATE")
        while push.poll(300, zmq.POLLOUT):
            push.send_multipart([b"pushed", body])
            sent += 1
            assert sent < 100_000, "somebody must hold it back"
        database.execute("ROLLBACK")
        messages = stored(client, "pushed", sent + 1)

    assert sent > 1_000
    assert len(messages) == sent + 1
    assert hub.counters()["ingest_dropped"] == 0


# The HTTP door.


def get(hub: HubProcess, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{hub.addresses.http}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_the_hub_says_that_it_lives_and_is_ready(hub: HubProcess) -> None:
    answers = [get(hub, path) for path in ("/healthz", "/readyz", "/nothing-here")]

    assert answers[:2] == [(200, "ok\n"), (200, "ready\n")]
    assert answers[2][0] == 404


def test_the_metrics_count_what_happened(hub: HubProcess, client: Client, topic: str) -> None:
    def read() -> dict[str, float]:
        status, text = get(hub, "/metrics")
        assert status == 200
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        return {name: float(value) for name, _, value in (line.partition(" ") for line in lines)}

    before = read()
    for _ in range(5):
        client.publish(topic, "counted", id="once")
    client.pull(topic, "bps")
    client.ack(topic, "bps", 1)
    after = read()

    changed = {name: after[name] - before.get(name, 0.0) for name in after}
    assert changed["pregon_messages_accepted_total"] == 1
    assert changed["pregon_duplicates_total"] == 4
    assert changed["pregon_messages_delivered_total"] == 1
    assert changed["pregon_acknowledgements_total"] == 1
    assert changed["pregon_requests_total"] == 7
    assert changed["pregon_commits_total"] >= 2
    assert after["pregon_commit_queue"] == 0


@pytest.mark.parametrize("request_line", [b"GET / HTTP/9.9", b"\0\0\0\0", b"GET " + b"/" * 100_000 + b" HTTP/1.1"])
def test_the_http_door_survives_garbage(hub: HubProcess, request_line: bytes) -> None:
    host, _, port = hub.addresses.http.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        try:
            connection.sendall(request_line + b"\r\n\r\n")
            connection.recv(100)
        except ConnectionError:
            pass

    assert get(hub, "/healthz") == (200, "ok\n")


def test_what_is_said_in_a_group_is_not_on_the_feed(hub: HubProcess, client: Client) -> None:
    with subscribed(hub, client, "groups.") as feed, client.join("design", name="ana") as group:
        group.send("solo para quienes participan")
        client.publish("groups-of-people", "para todos")

        assert drain(feed, "groups.design") == []
    with subscribed(hub, client, "groups") as feed:
        client.publish("groups-of-people", "para todos")

        assert len(drain(feed, "groups-of-people")) == 1
