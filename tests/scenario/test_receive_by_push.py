"""The web service that docs/how-to/receive-by-push.md tells subscribers to write, as a program, against a real hub."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from pregon.security.signatures import decode_secret, sign
from pregon.testing import RunningHub, run_hub

from .hub_process import find_port, wait_until

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "examples" / "receive_pushes.py"
SOAP_PATH = "/9f86d081884c7d65"


class Service:
    """The program, which can be ended and run again."""

    def __init__(self, secret: str, file: Path) -> None:
        self.port = find_port()
        self.url = f"http://127.0.0.1:{self.port}/"
        self._file = file
        self._secret = secret
        self._running: subprocess.Popen[str] | None = None

    def start(self) -> None:
        environment = {**os.environ, "WEBHOOK_SECRET": self._secret, "SOAP_PATH": SOAP_PATH}
        command = [sys.executable, str(PROGRAM), str(self.port), str(self._file)]
        self._running = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        assert self._running.stdout is not None
        assert self._running.stdout.readline() == f"listening on {self.port}\n"

    def end(self) -> None:
        if self._running is not None:
            self._running.send_signal(signal.SIGKILL)
            self._running.communicate()
            self._running = None

    def kept(self) -> list[tuple[str, str, int, bytes]]:
        database = sqlite3.connect(self._file)
        try:
            return database.execute("SELECT id, topic, seq, body FROM message ORDER BY seq").fetchall()
        finally:
            database.close()


@pytest.fixture(scope="module")
def hub() -> Iterator[RunningHub]:
    with run_hub(push_allow="127.0.0.1") as hub:
        yield hub


@pytest.fixture
def secret(hub: RunningHub, topic: str) -> str:
    """The secret of a subscriber that is called as the topic, and subscribed to it."""
    with hub.client() as client:
        client.create("subscriber", name=topic, push={"delay_ms_first": 50, "delay_ms_max": 200})
        client.create("subscription", topic=topic, subscriber=topic)
        return str(client.create("secret", subscriber=topic)["secret"])


@pytest.fixture
def service(secret: str, tmp_path: Path) -> Iterator[Service]:
    service = Service(secret, tmp_path / "novedades.db")
    service.start()
    yield service
    service.end()


def test_the_document_has_the_program_as_it_is() -> None:
    document = (ROOT / "docs/how-to/receive-by-push.md").read_text()

    shown = re.findall(r"^```python\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)

    assert shown == [PROGRAM.read_text()]


@pytest.mark.parametrize(
    ("format", "path", "named"),
    [("cloudevents", "", "{}:{}:"), ("raw", "", "{}:{}:"), ("soap", SOAP_PATH[1:], "urn:pregon:{}:{}:")],
)
def test_it_keeps_what_is_pushed_to_it(
    hub: RunningHub, service: Service, topic: str, format: str, path: str, named: str
) -> None:
    with hub.client(producer="DGREC") as client:
        client.update("subscriber", topic, mode="push", format=format, endpoint=service.url + path)

        for number in (1, 2, 3):
            client.publish(topic, f"<a>Gómez {number}</a>", content_type="text/xml")
        wait_until(lambda: client.account(topic, topic).acknowledged == 3, "all of them are acknowledged")

    assert [row[1:3] for row in service.kept()] == [(topic, n) for n in (1, 2, 3)]
    assert all(row[0].startswith(named.format(topic, row[2])) for row in service.kept())
    assert all("Gómez".encode() in row[3] for row in service.kept())


def test_what_comes_while_it_is_dead_comes_when_it_is_back_each_once(
    hub: RunningHub, service: Service, topic: str
) -> None:
    with hub.client() as client:
        client.update("subscriber", topic, mode="push", endpoint=service.url)
        client.publish(topic, "1")
        wait_until(lambda: client.account(topic, topic).acknowledged == 1, "the first is acknowledged")

        service.end()
        for number in (2, 3):
            client.publish(topic, str(number))
        wait_until(lambda: client.show("push", topic, topic)["attempts"] > 0, "a push fails")
        service.start()
        client.replay(topic, topic, from_seq=1)
        wait_until(lambda: client.account(topic, topic).acknowledged == 3, "all of them are acknowledged")

    assert [row[2:] for row in service.kept()] == [(1, b"1"), (2, b"2"), (3, b"3")]


def test_who_does_not_sign_or_signs_late_is_refused(service: Service, secret: str) -> None:
    def post(body: bytes, signed: bytes, at_s: int) -> int:
        headers = {
            "webhook-id": "t:1",
            "webhook-timestamp": str(at_s),
            "webhook-signature": sign([decode_secret(secret)], "t:1", at_s, signed),
            "Pregon-Topic": "t",
            "Pregon-Seq": "1",
        }
        return httpx.post(service.url, content=body, headers=headers).status_code

    now_s = int(time.time())
    unsigned = httpx.post(service.url, content=b"x", headers={"webhook-id": "t:1"}).status_code
    answers = [post(b"x", b"y", now_s), post(b"x", b"x", now_s - 3_600), post(b"x", b"x", now_s)]
    again = post(b"x", b"x", now_s)

    assert unsigned == 401
    assert answers == [401, 401, 204]
    assert again == 204
    assert [row[2:] for row in service.kept()] == [(1, b"x")]


@pytest.mark.parametrize(
    ("path", "envelope", "status"),
    [("", "<a/>", 404), (SOAP_PATH[1:], "<a", 400), (SOAP_PATH[1:], "<a/>", 400)],
)
def test_an_envelope_at_another_address_or_that_is_none_is_refused(
    service: Service, path: str, envelope: str, status: int
) -> None:
    answer = httpx.post(service.url + path, content=envelope, headers={"Content-Type": "text/xml"})

    assert answer.status_code == status
    assert service.kept() == []
