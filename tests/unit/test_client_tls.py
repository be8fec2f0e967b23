"""The clients over https: real certificates, a real hub, and what a client says when they do not agree."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from pregon.client import AsyncClient, Client
from pregon.client.outbox import ProducerOptions
from pregon.errors import HubUnreachable, PregonError, SettingsInvalid
from pregon.testing import RunningHub, run_hub

DAY = datetime.timedelta(days=1)


class Files:
    """A CA in a file, and the certificates that it signed, each in a file with its key."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.ca = str(folder / f"{name}-ca.pem")
        Path(self.ca).write_bytes(self._sign(self._key.public_key(), self._name, is_ca=True))

    def issue(self, name: str) -> tuple[str, str]:
        """The files of a certificate for `localhost`, and of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        files = self._folder / f"{name}.crt", self._folder / f"{name}.key"
        files[0].write_bytes(self._sign(key.public_key(), subject, is_ca=False))
        lock = serialization.NoEncryption()
        files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock))
        files[1].chmod(0o600)
        return str(files[0]), str(files[1])

    def _sign(self, key: ec.EllipticCurvePublicKey, subject: x509.Name, *, is_ca: bool) -> bytes:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY)
            .not_valid_after(now + DAY)
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        )
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("ours"), "ours")


@pytest.fixture(scope="module")
def secure(ours: Files) -> Iterator[RunningHub]:
    """A hub with a certificate."""
    certificate, key = ours.issue("hub")
    with run_hub(tls_certificate=certificate, tls_key=key) as hub:
        yield hub


@pytest.fixture(scope="module")
def mutual(ours: Files) -> Iterator[RunningHub]:
    """A hub that asks its clients for one too."""
    certificate, key = ours.issue("mutual")
    with run_hub(tls_certificate=certificate, tls_key=key, tls_client_ca=ours.ca) as hub:
        yield hub


def by_name(hub: RunningHub) -> str:
    """The address of a hub as its certificate has it."""
    return hub.http.replace("127.0.0.1", "localhost")


def publish_with_both(url: str, topic: str, **options: Any) -> list[Any]:
    """Produce and publish with each client: the numbers of the messages published, or the errors."""
    producing = ProducerOptions(batch_messages=5, timeout_ms=options.get("timeout_ms", 30_000))

    async def with_asyncio() -> int:
        async with AsyncClient(url, **options) as client:
            async with client.producer(topic, producing) as out:
                await out.send_many([b"x"] * 20)
            return (await client.publish(topic, bytes(500_000))).seq

    def blocking() -> int:
        with Client(url, **options) as client:
            with client.producer(topic, producing) as out:
                out.send_many([b"x"] * 20)
            return client.publish(topic, bytes(500_000)).seq

    met: list[Any] = []
    for work in (blocking, lambda: asyncio.run(with_asyncio())):
        try:
            met.append(work())
        except PregonError as error:
            met.append(error)
    return met


def test_a_hub_whose_certificate_is_trusted_is_talked_to(secure: RunningHub, ours: Files) -> None:
    met = publish_with_both(by_name(secure), "trusted", ca=ours.ca)

    assert met == [21, 42]


def test_a_hub_whose_certificate_is_not_trusted_is_refused_at_once(secure: RunningHub, tmp_path: Path) -> None:
    strangers = Files(tmp_path, "strangers")

    met = publish_with_both(by_name(secure), "untrusted", ca=strangers.ca, timeout_ms=60_000)

    assert [type(one) for one in met] == [SettingsInvalid, SettingsInvalid], met
    assert all("certificate" in str(one) and "`ca`" in str(one) for one in met), met


def test_a_certificate_for_another_name_is_refused(secure: RunningHub, ours: Files) -> None:
    met = publish_with_both(secure.http, "misnamed", ca=ours.ca, timeout_ms=60_000)

    assert [type(one) for one in met] == [SettingsInvalid, SettingsInvalid], met


def test_a_hub_that_asks_for_a_certificate_gets_it(mutual: RunningHub, ours: Files) -> None:
    pair = ours.issue("client")
    both = Path(pair[0]).with_name("both.pem")
    both.write_text(Path(pair[0]).read_text() + Path(pair[1]).read_text())

    with_pair = publish_with_both(by_name(mutual), "mutual", ca=ours.ca, certificate=pair)
    with_file = publish_with_both(by_name(mutual), "mutual", ca=ours.ca, certificate=str(both))

    assert [*with_pair, *with_file] == [21, 42, 63, 84]


def test_without_the_certificate_that_a_hub_asks_for_nothing_is_done(mutual: RunningHub, ours: Files) -> None:
    met = publish_with_both(by_name(mutual), "nobody", ca=ours.ca, timeout_ms=300)

    assert all(isinstance(one, HubUnreachable | SettingsInvalid) for one in met), met
    assert all("`certificate`" in str(one) for one in met), met


def test_a_closed_client_leaves_nothing_of_a_long_poll_over_tls(secure: RunningHub, ours: Files) -> None:
    async def poll() -> str:
        async with AsyncClient(by_name(secure), ca=ours.ca) as client:
            polling = asyncio.create_task(client.pull("polled", "reader", wait_ms=30_000))
            await client.ping()
        return type((await asyncio.gather(polling, return_exceptions=True))[0]).__name__

    ended_with = asyncio.run(asyncio.wait_for(poll(), 10))

    assert ended_with == "HubStopping"
