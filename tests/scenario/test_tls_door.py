"""Doors to other machines: which hubs may open them, and the HTTP door over TLS.

REST, SOAP, WebSocket and our own client speak TLS with real certificates, with and without those of clients.
"""

from __future__ import annotations

import datetime
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect as connect_socket

from pregon.client import Client
from pregon.errors import NotSecured, PregonError, SettingsInvalid
from pregon.hub.access import NewKey
from pregon.testing import ANY_PORT, RunningHub, run_hub

from .identity_provider import IdentityProvider
from .soap_clients.plain import publication

DAY = datetime.timedelta(days=1)
TOPIC = "births"


@dataclass(frozen=True)
class Paper:
    """A certificate and its key, in files."""

    certificate: str
    key: str


class Authority:
    """Signs certificates for `localhost`; its own is `file`."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.file = str(folder / f"{name}.pem")
        Path(self.file).write_bytes(self._sign(name, self._key, is_authority=True))

    def issue(self, name: str) -> Paper:
        """A certificate for somebody."""
        key = ec.generate_private_key(ec.SECP256R1())
        paper = Paper(str(self._folder / f"{name}.crt"), str(self._folder / f"{name}.key"))
        Path(paper.certificate).write_bytes(self._sign(name, key))
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        Path(paper.key).write_bytes(key.private_bytes(*form))
        return paper

    def _sign(self, name: str, key: ec.EllipticCurvePrivateKey, is_authority: bool = False) -> bytes:
        now = datetime.datetime.now(datetime.UTC)
        usage = x509.KeyUsage(not is_authority, *[False] * 4, is_authority, is_authority, False, False)
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]))
            .issuer_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, self._name)]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY)
            .not_valid_after(now + DAY)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        )
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


@dataclass(frozen=True)
class Papers:
    """Who has which certificate."""

    authority: Authority
    server: Paper
    client: Paper
    stranger: Paper
    """Of an authority that the hub does not know."""

    def trust(self, own: Paper | None = None) -> ssl.SSLContext:
        """A client that trusts the hub's authority, and perhaps has a certificate."""
        context = ssl.create_default_context(cafile=self.authority.file)
        if own is not None:
            context.load_cert_chain(own.certificate, own.key)
        return context


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    folder = tmp_path_factory.mktemp("papers")
    authority = Authority(folder, "authority")
    return Papers(
        authority, authority.issue("server"), authority.issue("client"), Authority(folder, "others").issue("stranger")
    )


def settings(papers: Papers, *, is_mutual: bool) -> dict[str, str]:
    """Of a hub with a certificate, which perhaps asks clients for theirs."""
    given = {"tls_certificate": papers.server.certificate, "tls_key": papers.server.key, "http": "localhost:0"}
    return {**given, "tls_client_ca": papers.authority.file} if is_mutual else given


@pytest.fixture(scope="module", params=[False, True], ids=["tls", "mutual"])
def is_mutual(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def running(papers: Papers, is_mutual: bool) -> Iterator[RunningHub]:
    with run_hub(**settings(papers, is_mutual=is_mutual)) as hub:
        yield hub


def url(running: RunningHub) -> str:
    """The address with the name that is in the certificate."""
    return f"https://localhost:{running.http.rpartition(':')[2]}"


def own_paper(papers: Papers, is_mutual: bool) -> Paper | None:
    """What a welcome client has."""
    return papers.client if is_mutual else None


def test_rest_soap_and_websocket_work_over_tls(papers: Papers, running: RunningHub, is_mutual: bool) -> None:
    trust = papers.trust(own_paper(papers, is_mutual))
    with httpx.Client(base_url=url(running), verify=trust) as http:
        rest = http.post(f"/v1/topics/{TOPIC}/messages", content=b"x", headers={"Content-Type": "text/plain"})
        soap = http.post("/soap/novedades", content=publication("<a/>", TOPIC), headers={"Content-Type": "text/xml"})
        with http.stream("GET", f"/v1/topics/{TOPIC}/stream?from=1") as events:
            event = next(line for line in events.iter_lines() if line.startswith("data"))
        wsdl = http.get("/soap/novedades?wsdl").text

    with connect_socket(f"{url(running).replace('https', 'wss')}/v1/topics/{TOPIC}/stream?from=1", ssl=trust) as live:
        frame = str(live.recv(10))

    assert (rest.status_code, soap.status_code) == (201, 200)
    assert '"text":"x"' in event
    assert '"text":"x"' in frame
    assert f"{url(running)}/soap/novedades" in wsdl


def test_our_client_publishes_and_pulls_over_tls(papers: Papers, running: RunningHub, is_mutual: bool) -> None:
    own = own_paper(papers, is_mutual)
    certificate = None if own is None else (own.certificate, own.key)

    with Client(url(running), producer="registry", ca=papers.authority.file, certificate=certificate) as client:
        client.publish("mine", "hello")
        pulled = client.pull("mine", "bank")

    assert [message.text for message in pulled] == ["hello"]


def test_a_client_that_does_not_trust_the_authority_sends_nothing(running: RunningHub) -> None:
    before = running.server.hub.counters.messages_accepted

    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx.post(f"{url(running)}/v1/topics/{TOPIC}/messages", content=b"x")
    with Client(url(running), timeout_ms=500) as client, pytest.raises(PregonError):
        client.publish(TOPIC, "x")

    assert running.server.hub.counters.messages_accepted == before


def test_plain_http_is_not_spoken_where_tls_is(running: RunningHub) -> None:
    with pytest.raises(httpx.HTTPError):
        httpx.get(url(running).replace("https", "http") + "/healthz")

    with socket.create_connection(("localhost", int(url(running).rpartition(":")[2]))) as plain:
        plain.settimeout(5)
        plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try:
            answer = plain.recv(1_000)
        except ConnectionResetError:
            answer = b""
    assert b"200 OK" not in answer


@pytest.mark.parametrize("whose", ["none", "stranger"])
def test_a_client_without_a_certificate_of_the_authority_is_not_served(papers: Papers, whose: str) -> None:
    own = papers.stranger if whose == "stranger" else None
    with run_hub(**settings(papers, is_mutual=True)) as running:
        with pytest.raises((httpx.HTTPError, ssl.SSLError)):
            httpx.post(f"{url(running)}/v1/topics/{TOPIC}/messages", content=b"x", verify=papers.trust(own))
        address = f"{url(running).replace('https', 'wss')}/v1/topics/{TOPIC}/stream"
        with pytest.raises((OSError, WebSocketException)):
            with connect_socket(address, ssl=papers.trust(own)) as live:
                live.recv(10)
        certificate = None if own is None else (own.certificate, own.key)
        options = {"ca": papers.authority.file, "certificate": certificate, "timeout_ms": 500}
        with Client(url(running), **options) as client, pytest.raises(PregonError):  # type: ignore[arg-type]
            client.publish(TOPIC, "x")

        assert running.server.hub.counters.messages_accepted == 0


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_old_versions_of_tls_are_refused(
    papers: Papers, running: RunningHub, is_mutual: bool, version: ssl.TLSVersion
) -> None:
    trust = papers.trust(own_paper(papers, is_mutual))
    trust.minimum_version = trust.maximum_version = version
    trust.set_ciphers("ALL:@SECLEVEL=0")

    with socket.create_connection(("localhost", int(url(running).rpartition(":")[2]))) as plain:
        with pytest.raises(OSError):
            trust.wrap_socket(plain, server_hostname="localhost")

    trust = papers.trust(own_paper(papers, is_mutual))
    assert httpx.get(f"{url(running)}/healthz", verify=trust).status_code == 200


@pytest.mark.parametrize("left_out", ["tls_certificate", "tls_key"])
def test_a_hub_with_half_a_certificate_does_not_start(papers: Papers, left_out: str) -> None:
    given = settings(papers, is_mutual=True)
    given[left_out] = ""

    with pytest.raises(SettingsInvalid):
        with run_hub(**given):
            pass


BEYOND: dict[str, dict[str, str]] = {
    "zmq": {"zmq": "tcp://0.0.0.0:*"},
    "feed": {"feed": "tcp://*:*"},
    "ingest": {"ingest": "tcp://[::]:*"},
    "http": {"http": "0.0.0.0:0"},
}


@pytest.mark.parametrize("door", list(BEYOND))
def test_a_hub_that_anybody_could_administer_does_not_listen_beyond_this_machine(tmp_path: Path, door: str) -> None:
    with pytest.raises(NotSecured, match="administrator"):
        with run_hub(tmp_path, **BEYOND[door]):
            pass

    with run_hub(tmp_path, **ANY_PORT) as running:
        assert running.server.hub.list("topic").result() == []


def test_it_does_with_an_administrator_with_an_identity_provider_or_if_it_is_told_to(tmp_path: Path) -> None:
    with run_hub(tmp_path / "keys") as running:
        running.server.hub.create_key(NewKey(kind="token", owner="ana", scopes=("admin",))).result()
    with IdentityProvider() as provider:
        ways: list[tuple[Path, dict[str, Any]]] = [
            (tmp_path / "keys", {}),
            (tmp_path / "provider", {"oidc_issuer": provider.issuer, "oidc_audience": provider.audience}),
            (tmp_path / "open", {"open_to_all": True}),
        ]

        is_open = []
        for data, settings in ways:
            with run_hub(data, http="0.0.0.0:0", **settings) as running:
                is_open.append(running.server.hub.keyring.rules.is_open)

    assert is_open == [False, False, True]
