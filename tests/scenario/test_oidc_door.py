"""Tokens of an identity provider at the doors: what each scope opens, and which tokens open nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from websockets.sync.client import connect as connect_socket

from pregon.client import Client
from pregon.errors import Forbidden, PregonError, Unauthorized
from pregon.hub.access import NewKey
from pregon.model.catalog import Producer, Subscriber, Subscription, Topic
from pregon.model.message import Outgoing
from pregon.testing import RunningHub, run_hub

from .hub_process import wait_until
from .identity_provider import IdentityProvider
from .soap_clients.plain import PlainClient, publication

TOPIC = "births"


@dataclass(frozen=True)
class Site:
    """A hub that trusts a provider."""

    running: RunningHub
    provider: IdentityProvider

    def client(self, scopes: str = "", *, producer: str = "registry", subject: str = "ana") -> Client:
        """A client of the fast lane with a token of these scopes."""
        return self.running.client(producer=producer, key=self.provider.sign(subject, scopes))

    def status(self, token: str, path: str = "/v1/status") -> int:
        """The status of what REST answers to this token."""
        return httpx.get(self.running.http + path, headers={"Authorization": f"Bearer {token}"}).status_code


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with IdentityProvider() as provider:
        with run_hub(oidc_issuer=provider.issuer, oidc_audience=provider.audience) as running:
            hub = running.server.hub
            hub.create(Topic(name=TOPIC)).result()
            for name in ("registry", "hospital"):
                hub.create(Producer(name=name)).result()
                hub.create_key(NewKey(kind="producer", owner=name)).result()
            for name in ("bank", "archive"):
                hub.create(Subscriber(name=name)).result()
                hub.create(Subscription(topic=TOPIC, subscriber=name)).result()
                hub.create_key(NewKey(kind="subscriber", owner=name)).result()
            hub.publish(TOPIC, "registry", Outgoing(b"first", content_type="text/plain")).result()
            made = Site(running, provider)
            wait_until(lambda: made.status(provider.sign("ana", "pregon:read")) == 200, "the keys were fetched")
            yield made


VERBS: dict[str, Callable[[Client], object]] = {
    "publish": lambda client: client.publish(TOPIC, "x"),
    "pull": lambda client: client.pull(TOPIC, "bank"),
    "account": lambda client: client.account(TOPIC, "bank"),
    "unpark": lambda client: client.unpark(TOPIC, "bank"),
    "read": lambda client: client.read(TOPIC, 1),
    "status": lambda client: client.status(),
    "list": lambda client: client.list("topic"),
    "create": lambda client: client.create("topic", name=TOPIC),
    "list keys": lambda client: client.list("key", names=["producer", "registry"]),
}
READING, ALL_SCOPES = {"account", "read", "status", "list"}, {"account", "read", "status", "list", "unpark"}
SCOPES = {
    "": set[str](),
    "pregon:read": READING,
    "pregon:operate": ALL_SCOPES,
    "pregon:admin": {*ALL_SCOPES, "create", "list keys"},
    "pregon:producer:registry": {"publish"},
    "pregon:producer:hospital": set(),
    "pregon:subscriber:bank": {"pull", "account", "unpark", "read"},
    "pregon:subscriber:archive": {"read"},
    "pregon:producer:registry pregon:subscriber:bank openid": {"publish", "pull", "account", "unpark", "read"},
    "admin read pregon:root email": set(),
}


@pytest.mark.parametrize("scopes", list(SCOPES))
def test_a_scope_opens_what_it_says_and_nothing_else(site: Site, scopes: str) -> None:
    opened, refusals = set(), set()

    with site.client(scopes) as client:
        for name, ask in VERBS.items():
            try:
                ask(client)
                opened.add(name)
            except PregonError as error:
                refusals.add(error.code)

    assert opened == SCOPES[scopes]
    assert refusals <= {"forbidden"}, "its bearer is known"


def forged(site: Site) -> dict[str, str]:
    """Tokens that are wrong, each in one thing."""
    sign = site.provider.sign
    stranger = ec.generate_private_key(ec.SECP256R1())
    claims = {"iss": site.provider.issuer, "aud": site.provider.audience, "sub": "ana", "scope": "pregon:admin"}
    claims |= {"exp": 4_000_000_000}
    right = sign("ana", "pregon:admin")
    return {
        "another audience": sign("ana", "pregon:admin", aud="another program"),
        "no audience": sign("ana", "pregon:admin", aud=[]),
        "another issuer": sign("ana", "pregon:admin", iss="https://example.com"),
        "expired": sign("ana", "pregon:admin", valid_s=-3_600),
        "not yet": sign("ana", "pregon:admin", nbf=4_000_000_000),
        "another's signature": jwt.encode(claims, stranger, "ES256", headers={"kid": "key-1"}),
        "no signature": jwt.encode(claims, None, "none"),
        "a shared secret": jwt.encode(claims, "x" * 32, "HS256", headers={"kid": "key-1"}),
        "changed": right[:-4] + ("AAAA" if right[-4:] != "AAAA" else "BBBB"),
        "nobody": sign("", "pregon:admin"),
    }


def test_a_token_that_is_wrong_in_one_thing_opens_nothing_at_any_door(site: Site) -> None:
    soap = PlainClient(site.running.http)
    answers = {}

    for what, token in forged(site).items():
        with site.running.client(key=token) as client:
            try:
                client.status()
                answers[what, "zmq"] = "served"
            except Unauthorized:
                answers[what, "zmq"] = "unauthorized"
        answers[what, "rest"] = str(site.status(token))
        header = f"<ps:accessKey>{token}</ps:accessKey>"
        reply = soap.post("novedades", publication("<a/>", TOPIC, "registry", header))
        answers[what, "soap"] = reply.fault.error_code
    soap.close()

    refused = {"zmq": "unauthorized", "rest": "401", "soap": "unauthorized"}
    assert {case: told for case, told in answers.items() if told != refused[case[1]]} == {}


def test_the_doors_of_http_take_the_same_tokens(site: Site) -> None:
    sent = {"Authorization": f"Bearer {site.provider.sign('ana', 'pregon:producer:registry')}"}
    reader = {"Authorization": f"Bearer {site.provider.sign('luis', ['pregon:subscriber:bank'])}"}
    url = f"{site.running.http}/v1/topics/{TOPIC}"
    soap = PlainClient(site.running.http)

    rest = httpx.post(f"{url}/messages", content=b"x", headers=sent)
    by_soap = soap.post("novedades", publication("<a/>", TOPIC, "registry"), headers=sent)
    with connect_socket(f"{url.replace('http', 'ws')}/stream?from=1", additional_headers=reader) as socket:
        first = str(socket.recv(10))
    with Client(site.running.http, producer="registry", key=sent["Authorization"].split()[1]) as client:
        by_frames = client.publish(TOPIC, "x")
    soap.close()

    assert (rest.status_code, by_soap.status) == (201, 200)
    assert "first" in first
    assert by_frames.seq > 0


def test_a_hub_that_trusts_a_provider_is_not_open(site: Site) -> None:
    with site.running.client(producer="somebody") as nobody:
        for ask in (lambda: nobody.create("topic", name="x"), nobody.status, lambda: nobody.publish("new", "x")):
            with pytest.raises(Unauthorized):
                ask()

    assert len(site.running.server.hub.list("topic").result()) == 1


def test_keys_and_tokens_live_side_by_side(site: Site) -> None:
    key = site.running.server.hub.create_key(NewKey(kind="producer", owner="registry")).result()

    with site.running.client(producer="registry", key=key.secret) as client:
        published = client.publish(TOPIC, "x")

    assert published.seq > 0
    with site.client("pregon:admin") as administrator, pytest.raises(Forbidden):
        administrator.publish(TOPIC, "in another's name")
