"""Keys, schemas and cancelling through the clients: both clients, over ZeroMQ and over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pregon.addresses import HUB_VARIABLE, KEY_VARIABLE
from pregon.errors import Forbidden, PregonError, SchemaMismatch, Unauthorized
from pregon.model.trace import TraceQuery

from .both_clients import KINDS, WAYS, address_of, open_client
from .hub_process import HubProcess, end

EVERY_CLIENT = pytest.mark.parametrize(("kind", "way"), [(kind, way) for kind in KINDS for way in WAYS])
WRONG = "pgn_000000000000_not-a-secret-that-anybody-has"


@pytest.fixture(scope="module")
def admin_key(module_hub: HubProcess) -> str:
    """The key of the administrator, whose making closes the hub to everybody else."""
    with module_hub.client() as anybody:
        made = anybody.create("key", kind="token", owner="admin", scopes=["admin"])
    return str(made["secret"])


@pytest.fixture(scope="module")
def module_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    hub = HubProcess(tmp_path_factory.mktemp("hub") / "data").start()
    yield hub
    end(hub)


@pytest.fixture(params=[(kind, way) for kind in KINDS for way in WAYS], ids="-".join)
def opened(request: pytest.FixtureRequest, hub: HubProcess, admin_key: str) -> Any:
    """Opens a client of each kind, by each way, with a key."""
    kind, way = request.param
    return lambda key, **options: open_client(kind, address_of(hub, way), key=key, **options)


@pytest.fixture
def admin(opened: Any, admin_key: str) -> Iterator[Any]:
    """A client of each kind, by each way, that may do everything."""
    with opened(admin_key) as client:
        yield client


@pytest.fixture
def producer_key(admin: Any, topic: str) -> str:
    """The key of a producer that is called as the topic is, and may publish there."""
    admin.create("topic", name=topic)
    admin.create("producer", name=topic, topics=[topic])
    return str(admin.create("key", kind="producer", owner=topic)["secret"])


def test_a_key_opens_what_is_closed_without_it(opened: Any, producer_key: str, topic: str) -> None:
    with opened("", producer=topic) as nobody, pytest.raises(Unauthorized):
        nobody.publish(topic, "x")

    with opened(producer_key, producer=topic) as known:
        published = known.publish(topic, "x")

    assert published.seq == 1


def test_a_producer_presents_its_key_with_every_batch(opened: Any, producer_key: str, topic: str) -> None:
    with opened("", producer=topic) as nobody:
        with pytest.raises(Unauthorized), nobody.producer(topic) as out:
            out.send("x")

    with opened(producer_key, producer=topic) as known:
        with known.producer(topic) as out:
            out.send_many([b"x"] * 1_200)

    assert out.outbox.acknowledged == 1_200


def test_a_wrong_key_and_the_key_of_another_are_refused(opened: Any, producer_key: str, topic: str) -> None:
    with opened(WRONG) as wrong, opened(producer_key) as producer:
        with pytest.raises(Unauthorized, match="unknown, wrong, revoked or expired"):
            wrong.ping()
        with pytest.raises(Forbidden, match="scope read"):
            producer.status()
        with pytest.raises(Forbidden):
            producer.create("topic", name=f"{topic}-2")


def test_a_revoked_key_opens_nothing_more(admin: Any, opened: Any, producer_key: str, topic: str) -> None:
    (listed,) = admin.list("key", names=["producer", topic])
    with opened(producer_key, producer=topic) as known:
        known.publish(topic, "before")

        existed = admin.delete("key", "producer", topic, listed["id"])

        with pytest.raises(Unauthorized):
            known.publish(topic, "after")
    assert existed
    assert not admin.delete("key", "producer", topic, listed["id"])
    assert admin.list("key", names=["producer", topic]) == []
    assert "secret" not in listed


def test_the_key_is_in_no_error_and_in_nothing_that_is_shown(opened: Any) -> None:
    with opened(WRONG, timeout_ms=1_000) as client, pytest.raises(PregonError) as raised:
        client.ping()

    inner = getattr(client, "_inner", client)
    shown = [str(raised.value), repr(raised.value), repr(inner), repr(vars(inner)), repr(inner._destination)]
    assert not any(WRONG in text for text in shown)


@EVERY_CLIENT
def test_the_key_and_the_hub_are_found_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, hub: HubProcess, admin_key: str, kind: str, way: str
) -> None:
    monkeypatch.setenv(HUB_VARIABLE, address_of(hub, way))
    monkeypatch.setenv(KEY_VARIABLE, admin_key)

    with open_client(kind, "") as found, open_client(kind, "", key="") as nobody:
        status = found.status()
        with pytest.raises(Unauthorized):
            nobody.status()

    assert status["version"]


def test_a_topic_is_given_a_schema_and_holds_to_it(admin: Any, topic: str) -> None:
    admin.create("topic", name=topic)

    made = admin.create("schema", topic=topic, kind="json-schema", text='{"type": "object", "required": ["name"]}')

    assert (made["topic"], made["kind"]) == (topic, "json-schema")
    assert [row["kind"] for row in admin.list("schema", names=[topic])] == ["json-schema"]
    assert admin.publish(topic, '{"name": "Pepe"}', content_type="application/json").seq == 1
    with pytest.raises(SchemaMismatch, match="name"):
        admin.publish(topic, "{}", content_type="application/json")


def test_messages_that_are_cancelled_are_never_delivered(admin: Any, topic: str) -> None:
    admin.create("topic", name=topic)
    admin.create("subscription", topic=topic, subscriber=topic)
    for number in range(1, 5):
        admin.publish(topic, str(number))
    admin.park(topic, topic, [3])

    counted = admin.cancel(topic, topic, [2, 3], "sent by mistake")

    assert counted == 2
    assert [message.seq for message in admin.pull(topic, topic)] == [1, 4]
    assert {trace.detail for trace in admin.traces(TraceQuery(topic=topic, kind="cancelled"))} == {"sent by mistake"}
    assert admin.account(topic, topic).pending == 2
