"""Who may do what by SOAP: keys in the header of ours, in that of WS-Security, and in that of HTTP."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import pytest

from pregon import Client
from pregon.hub.access import NewKey
from pregon.testing import RunningHub, run_hub

from ..soap_clients.plain import (
    CATALOGO,
    SOAP_11,
    SOAP_12,
    TRAZAS,
    WSSE,
    WSU,
    PlainClient,
    envelope,
    operation,
    publication,
    request,
)

PASSWORD_DIGEST = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordDigest"


@dataclass(frozen=True)
class Keys:
    """The keys that the tests have."""

    producer: str
    other_producer: str
    subscriber: str
    admin: str = ""


def make_keys(hub: RunningHub) -> Keys:
    """Keys of two producers and a subscriber that exist."""
    for producer in ("DGREC", "DNIC"):
        with hub.client(producer=producer) as client:
            client.publish("actas", b"<a/>")
            client.pull("actas", "BPS")
    made = [
        hub.server.hub.create_key(NewKey(kind=kind, owner=owner)).result().secret
        for kind, owner in (("producer", "DGREC"), ("producer", "DNIC"), ("subscriber", "BPS"))
    ]
    return Keys(*made)


@pytest.fixture(scope="module")
def keys(running: RunningHub) -> Keys:
    return make_keys(running)


def access_key(key: str) -> str:
    """The key in an entry of ours."""
    return f"<ps:accessKey>{key}</ps:accessKey>"


def username_token(name: str, key: str, attributes: str = 'e:mustUnderstand="1"', more: str = "") -> str:
    """The key in the entry of WS-Security."""
    return (
        f"<wsse:Security {attributes}>{more}<wsse:UsernameToken><wsse:Username>{name}</wsse:Username>"
        f"<wsse:Password>{key}</wsse:Password></wsse:UsernameToken></wsse:Security>"
    )


@pytest.mark.parametrize("version", [SOAP_11, SOAP_12], ids=["1.1", "1.2"])
@pytest.mark.parametrize("way", ["header", "wsse", "http"])
def test_a_producer_with_a_key_publishes_with_it(soap: PlainClient, keys: Keys, way: str, version: str) -> None:
    header = {"header": access_key(keys.producer), "wsse": username_token("DGREC", keys.producer), "http": ""}[way]
    sent = {"Authorization": f"Bearer {keys.producer}"} if way == "http" else {}

    reply = soap.post("novedades", publication("<a/>", "actas", header=header, version=version), headers=sent)

    assert reply.status == 200
    assert reply.notification_id > 2


@pytest.mark.parametrize("way", ["wsse", "key"])
def test_the_key_says_who_the_producer_is(soap: PlainClient, client: Client, keys: Keys, topic: str, way: str) -> None:
    header = {"wsse": username_token("DGREC", keys.producer), "key": access_key(keys.producer)}[way]

    soap.post("novedades", envelope("<a/>", f"<ps:topic>{topic}</ps:topic>{header}"))

    assert [one.producer for one in client.read(topic, 1)] == ["DGREC"]


WRONG_WAYS = {
    "missing": (lambda keys: "", "unauthorized"),
    "empty": (lambda keys: access_key(""), "unauthorized"),
    "unknown": (lambda keys: access_key("pgn_000000000000_nobody"), "unauthorized"),
    "no key": (lambda keys: access_key("let me in"), "unauthorized"),
    "cut": (lambda keys: access_key(keys.producer[:-1]), "unauthorized"),
    "other producer's": (lambda keys: access_key(keys.other_producer), "forbidden"),
    "subscriber's": (lambda keys: access_key(keys.subscriber), "forbidden"),
    "other name": (lambda keys: username_token("DNIC", keys.producer), "bad_request"),
    "digest": (
        lambda keys: username_token("DGREC", "aGFzaA==").replace(
            "<wsse:Password>", f'<wsse:Password Type="{PASSWORD_DIGEST}">'
        ),
        "unauthorized",
    ),
    "expired": (
        lambda keys: username_token(
            "DGREC",
            keys.producer,
            more="<wsu:Timestamp><wsu:Expires>2011-03-04T10:00:00Z</wsu:Expires></wsu:Timestamp>",
        ),
        "bad_request",
    ),
}


@pytest.mark.parametrize("way", list(WRONG_WAYS))
def test_without_its_own_key_nobody_speaks_for_a_producer(
    soap: PlainClient, client: Client, keys: Keys, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    make_header, error_code = WRONG_WAYS[way]
    head_seq = client.list("topic", names=["actas"])[0]["head_seq"]

    with caplog.at_level(logging.DEBUG):
        reply = soap.post("novedades", publication("<a/>", "actas", header=make_header(keys)))

    assert (reply.status, reply.fault.code, reply.fault.error_code) == (500, "Client", error_code)
    assert client.list("topic", names=["actas"])[0]["head_seq"] == head_seq
    for secret in (keys.producer, keys.other_producer, keys.subscriber):
        assert secret[-20:] not in reply.content.decode() + caplog.text


def test_a_producer_without_a_key_needs_none_on_an_open_hub(soap: PlainClient, keys: Keys, topic: str) -> None:
    reply = soap.post("novedades", publication("<a/>", topic, producer="IMM"))

    assert reply.notification_id == 1


def test_the_key_of_the_header_goes_before_that_of_http(soap: PlainClient, keys: Keys) -> None:
    said = publication("<a/>", "actas", header=access_key(keys.producer))

    reply = soap.post("novedades", said, headers={"Authorization": f"Bearer {keys.other_producer}"})

    assert reply.status == 200


def test_a_security_entry_for_another_node_is_not_ours(soap: PlainClient, keys: Keys) -> None:
    header = username_token("DGREC", keys.producer, attributes='e:actor="urn:another-node"')

    reply = soap.post("novedades", publication("<a/>", "actas", header=header))

    assert reply.fault.error_code == "unauthorized"


def test_a_security_entry_that_is_still_valid_is_understood(soap: PlainClient, keys: Keys) -> None:
    fresh = f'<u:Timestamp xmlns:u="{WSU}"><u:Expires>2099-01-01T00:00:00Z</u:Expires></u:Timestamp>'
    header = username_token("DGREC", keys.producer, more=fresh)

    reply = soap.post("novedades", publication("<a/>", "actas", header=header))

    assert WSSE in envelope().decode()
    assert reply.status == 200


def test_a_subscriber_with_a_key_receives_with_it_and_only_with_it(soap: PlainClient, keys: Keys) -> None:
    right = soap.post("recepcion", request("actas", header=access_key(keys.subscriber)))
    by_name = soap.post(
        "recepcion",
        envelope(
            "<ps:NotificationRequest><topic>actas</topic></ps:NotificationRequest>",
            username_token("BPS", keys.subscriber),
        ),
    )
    missing = soap.post("recepcion", request("actas"))
    wrong = soap.post("recepcion", request("actas", header=access_key(keys.producer)))

    assert [right.notification_id, by_name.notification_id] == [1, 1]
    assert [missing.fault.error_code, wrong.fault.error_code] == ["unauthorized", "forbidden"]


def test_once_there_is_an_administrator_the_catalogue_is_the_administrators() -> None:
    with run_hub() as hub:
        keys = make_keys(hub)
        admin = hub.server.hub.create_key(NewKey(kind="token", owner="ana", scopes=("admin",))).result().secret
        soap = PlainClient(hub.http)
        asked = [("catalogo", "CreateTopic", "<name>t</name>", CATALOGO), ("trazas", "SearchTraces", "", TRAZAS)]

        replies = {
            who: [
                soap.post(service, operation(name, inside, namespace, header=header))
                for service, name, inside, namespace in asked
            ]
            for who, header in (
                ("nobody", ""),
                ("producer", access_key(keys.producer)),
                ("admin", access_key(admin)),
                ("admin by name", username_token("ana", admin)),
            )
        }
        as_producer = soap.post("novedades", publication("<a/>", "actas", header=access_key(admin)))

        soap.close()
    assert [one.fault.error_code for one in replies["nobody"]] == ["unauthorized", "unauthorized"]
    assert replies["producer"][0].fault.error_code == "forbidden"
    assert set(replies["producer"][1].fields("trace", "producer")) == {"DGREC"}
    assert [one.status for one in replies["admin"] + replies["admin by name"]] == [200] * 4
    assert as_producer.fault.error_code == "forbidden"
