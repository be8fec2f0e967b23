"""The catalogue and the traces by SOAP: what an administrator does there, and what the hub then has."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from pregon import Client
from pregon.testing import RunningHub

from ..soap_clients.plain import SOAP_11, SOAP_12, TRAZAS, PlainClient, Reply, operation, publication, request


def ask(soap: PlainClient, name: str, inside: str = "", version: str = SOAP_11) -> Reply:
    """An operation of the catalogue that must succeed."""
    reply = soap.post("catalogo", operation(name, inside, version=version))
    assert reply.status == 200, reply.content
    return reply


@pytest.mark.parametrize("version", [SOAP_11, SOAP_12], ids=["1.1", "1.2"])
@pytest.mark.parametrize("kind", ["topic", "producer", "subscriber"])
def test_an_entry_is_made_shown_changed_listed_and_deleted(
    soap: PlainClient, client: Client, topic: str, kind: str, version: str
) -> None:
    name, title = f"<name>{topic}</name>", kind.capitalize()

    made = ask(soap, f"Create{title}", f"{name}<description>Gómez &amp; co</description>", version)
    shown = ask(soap, f"Get{title}", name, version)
    changed = ask(soap, f"Update{title}", f"{name}<description>other</description>", version)
    listed = ask(soap, f"List{title}s", f"<after>{topic[:-1]}</after><max>1</max>", version)
    deleted = [ask(soap, f"Delete{title}", name, version).fields("existed") for _ in range(2)]

    assert made.content == shown.content.replace(f"Get{title}".encode(), f"Create{title}".encode())
    assert shown.fields(kind, "description") == ["Gómez & co"]
    assert changed.fields(kind, "description") == ["other"]
    assert listed.fields(kind, "name") == [topic]
    assert deleted == [["true"], ["false"]]
    assert client.list(kind, names=[topic]) == []


def test_a_topic_has_what_it_was_given(soap: PlainClient, client: Client, topic: str) -> None:
    retention = "<retention><ageMs>86400000</ageMs><whenAcknowledged>true</whenAcknowledged></retention>"

    made = ask(soap, "CreateTopic", f"<name>{topic}</name><restricted>true</restricted>{retention}")
    ask(soap, "UpdateTopic", f"<name>{topic}</name><description>d</description>")

    (there,) = client.list("topic", names=[topic])
    assert (there["restricted"], there["retention"]["age_ms"], there["retention"]["when_acknowledged"]) == (
        True,
        86_400_000,
        True,
    )
    assert there["description"] == "d"
    assert made.fields("topic", "retention", "bytesMax") == []
    assert made.fields("topic", "lastNotificationId") == ["0"]


def test_a_grant_lets_a_producer_into_a_restricted_topic_and_its_end_lets_it_out(soap: PlainClient, topic: str) -> None:
    ask(soap, "CreateTopic", f"<name>{topic}</name><restricted>true</restricted>")
    ask(soap, "CreateTopic", f"<name>{topic}-2</name>")
    ask(soap, "CreateProducer", f"<name>{topic}</name><topics><topic>{topic}-2</topic></topics>")
    names = f"<producer>{topic}</producer><topic>{topic}</topic>"
    said = publication("<a/>", topic, producer=topic)

    before = soap.post("novedades", said)
    granted = ask(soap, "GrantTopic", names)
    between = soap.post("novedades", said)
    revoked = ask(soap, "RevokeTopic", names)
    after = soap.post("novedades", said)

    assert granted.fields("producer", "topics", "topic") == [topic, f"{topic}-2"]
    assert revoked.fields("producer", "topics", "topic") == [f"{topic}-2"]
    assert (before.fault.error_code, between.notification_id, after.fault.error_code) == ("forbidden", 1, "forbidden")


def test_grants_at_the_same_time_all_stay(running: RunningHub, soap: PlainClient, topic: str) -> None:
    topics = [f"{topic}-{number}" for number in range(4)]
    for name in topics:
        ask(soap, "CreateTopic", f"<name>{name}</name>")
    ask(soap, "CreateProducer", f"<name>{topic}</name>")

    def grant(name: str) -> int:
        client = PlainClient(running.http)
        status = client.post(
            "catalogo", operation("GrantTopic", f"<producer>{topic}</producer><topic>{name}</topic>")
        ).status
        client.close()
        return status

    with ThreadPoolExecutor(len(topics)) as pool:
        statuses = list(pool.map(grant, topics))

    assert statuses == [200] * len(topics)
    shown = ask(soap, "GetProducer", f"<name>{topic}</name>")
    assert shown.fields("producer", "topics", "topic") == topics


def test_an_update_tells_what_is_left_out_from_what_is_taken_away(soap: PlainClient, topic: str) -> None:
    names = f"<topic>{topic}</topic><subscriber>BPS</subscriber>"
    nil = '<pendingMax xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:nil="true"/>'

    made = ask(soap, "CreateSubscription", f"{names}<pendingMax>5</pendingMax><pendingAgeMs>6</pendingAgeMs>")
    kept = ask(soap, "UpdateSubscription", f"{names}<pendingAgeMs>7</pendingAgeMs>")
    taken = ask(soap, "UpdateSubscription", f"{names}{nil}")

    assert [made.fields("subscription", name) for name in ("pendingMax", "pendingAgeMs")] == [["5"], ["6"]]
    assert [kept.fields("subscription", name) for name in ("pendingMax", "pendingAgeMs")] == [["5"], ["7"]]
    assert [taken.fields("subscription", name) for name in ("pendingMax", "pendingAgeMs")] == [[], ["7"]]


def test_subscriptions_are_listed_by_topic_by_subscriber_and_by_pages(soap: PlainClient, topic: str) -> None:
    for subscriber in ("BPS", "CGN", "IMM"):
        ask(soap, "CreateSubscription", f"<topic>{topic}</topic><subscriber>{subscriber}</subscriber>")

    of_topic = ask(soap, "ListSubscriptions", f"<topic>{topic}</topic>")
    of_one = ask(soap, "ListSubscriptions", f"<topic>{topic}</topic><subscriber>CGN</subscriber>")
    page = ask(
        soap,
        "ListSubscriptions",
        f"<topic>{topic}</topic><afterTopic>{topic}</afterTopic><afterSubscriber>BPS</afterSubscriber><max>1</max>",
    )

    assert of_topic.fields("subscription", "subscriber") == ["BPS", "CGN", "IMM"]
    assert of_one.fields("subscription", "subscriber") == ["CGN"]
    assert page.fields("subscription", "subscriber") == ["CGN"]


def test_a_subscription_that_begins_at_the_latest_gets_what_comes_after(soap: PlainClient, topic: str) -> None:
    soap.post("novedades", publication("<old/>", topic))
    ask(soap, "CreateSubscription", f"<topic>{topic}</topic><subscriber>BPS</subscriber><start>latest</start>")

    soap.post("novedades", publication("<new/>", topic))
    reply = soap.post("recepcion", request(topic))

    assert reply.notification_id == 2


@pytest.mark.parametrize("kind", ["producer", "subscriber"])
def test_a_key_is_shown_once_works_and_is_revoked(soap: PlainClient, topic: str, kind: str) -> None:
    title, name = kind.capitalize(), f"<name>{topic}</name>"
    ask(soap, f"Create{title}", name)
    said = {
        "producer": lambda header: ("novedades", publication("<a/>", topic, producer=topic, header=header)),
        "subscriber": lambda header: ("recepcion", request(topic, subscriber=topic, header=header)),
    }[kind]

    made = ask(soap, f"Create{title}Key", f"{name}<label>prueba</label><lifetimeMs>3600000</lifetimeMs>")
    (key,), (key_id,) = made.fields("accessKey"), made.fields("keyId")
    listed = ask(soap, f"List{title}Keys", name)
    without, with_it = soap.post(*said("")), soap.post(*said(f"<ps:accessKey>{key}</ps:accessKey>"))
    revoked = ask(soap, f"Revoke{title}Key", f"{name}<keyId>{key_id}</keyId>")
    afterwards = soap.post(*said(f"<ps:accessKey>{key}</ps:accessKey>"))

    assert (without.fault.error_code, with_it.status) == ("unauthorized", 200)
    assert listed.fields("key", "label") == ["prueba"]
    assert str(key).encode() not in listed.content
    assert revoked.fields("existed") == ["true"]
    assert afterwards.fault.error_code == "unauthorized"


def test_traces_are_found_by_each_of_their_fields(soap: PlainClient, topic: str) -> None:
    for producer in ("DGREC", "DNIC"):
        soap.post("novedades", publication("<a/>", topic, producer=producer))
    soap.post("recepcion", request(topic))
    soap.post("recepcion", request(topic, ack=1))
    # What is there already is written after the acknowledgement, which nobody waits for.
    ask(soap, "CreateTopic", f"<name>{topic}</name>")

    def search(inside: str) -> list[tuple[str | None, ...]]:
        reply = soap.post("trazas", operation("SearchTraces", f"<topic>{topic}</topic>{inside}", TRAZAS))
        names = ("kind", "firstNotificationId")
        return list(zip(*(reply.fields("trace", name) for name in names), strict=True))

    found = {
        inside: search(inside)
        for inside in (
            "<producer>DNIC</producer>",
            "<subscriber>BPS</subscriber><kind>acknowledged</kind>",
            "<kind>accepted</kind>",
            "<notificationId>2</notificationId><kind>accepted</kind>",
            "<notificationId>2</notificationId><kind>pulled</kind>",
            "<from>2099-01-01T00:00:00Z</from>",
            "<to>2099-01-01T00:00:00-03:00</to><kind>accepted</kind>",
            "<to>1969-01-01T00:00:00Z</to>",
        )
    }

    assert list(found.values()) == [
        [("accepted", "2")],
        [("acknowledged", "1")],
        [("accepted", "2"), ("accepted", "1")],
        [("accepted", "2")],
        [("pulled", "2")],
        [],
        [("accepted", "2"), ("accepted", "1")],
        [],
    ]


def test_traces_come_by_pages_newest_first(soap: PlainClient, topic: str) -> None:
    for _ in range(3):
        soap.post("novedades", publication("<a/>", topic))
    asked = f"<topic>{topic}</topic><max>2</max>"

    first = soap.post("trazas", operation("SearchTraces", asked, TRAZAS))
    (before,) = first.fields("before")
    second = soap.post("trazas", operation("SearchTraces", f"{asked}<before>{before}</before>", TRAZAS))

    assert first.fields("trace", "firstNotificationId") == ["3", "2"]
    assert second.fields("trace", "firstNotificationId") == ["1"]
    assert second.fields("before") == []
