"""The SOAP door when the hub behind it has a bug."""

from __future__ import annotations

import asyncio
import logging
from typing import cast

import pytest

from pregon.edges.soap.door import SoapDoor
from pregon.edges.soap.exchange import SoapHttpAnswer, SoapHttpRequest
from pregon.hub.bridge import Bridge
from pregon.hub.gate import Gate
from pregon.soap.vocabulary import PS, SOAP_11, SOAP_12, SoapVersion


class BrokenGate:
    """A gate with a bug that no request can reach in the real one."""

    def identify(self, presented: str) -> object:
        raise RuntimeError("the bug")


class NoCommitter:
    """A committer for requests that never come so far."""

    def hold(self) -> None:
        raise AssertionError

    def let_go(self, here_bytes_max: int = 0) -> None:
        raise AssertionError


def ask(version: SoapVersion, header: str = "") -> SoapHttpAnswer:
    """Publish through the broken gate."""
    door = SoapDoor(cast(Gate, BrokenGate()), Bridge(NoCommitter()))
    spaces = f'xmlns:e="{version.namespace}" xmlns:ps="{PS}"'
    body = f"<e:Envelope {spaces}><e:Header>{header}</e:Header><e:Body/></e:Envelope>".encode()
    request = SoapHttpRequest("POST", "/soap/novedades", content_type="text/xml", bearer="s3cret", body=body)
    return asyncio.run(door.handle(request))


@pytest.mark.parametrize(
    ("version", "code"), [(SOAP_11, b"soapenv:Server"), (SOAP_12, b"soapenv:Receiver")], ids=["1.1", "1.2"]
)
def test_a_bug_is_an_internal_error_without_its_traceback(version: SoapVersion, code: bytes) -> None:
    answered = ask(version)

    assert (answered.status, answered.content_type) == (500, f"{version.media_type}; charset=utf-8")
    assert code in answered.body
    assert b"<ps:code>internal_error</ps:code>" in answered.body
    assert b"the bug" not in answered.body
    assert b"Traceback" not in answered.body


def test_a_bug_is_logged_once_with_its_traceback_and_without_a_key(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="pregon"):
        ask(SOAP_11, "<ps:accessKey>s3cret</ps:accessKey>")

    (record,) = [one for one in caplog.records if one.name == "pregon.soap"]
    assert (record.levelname, record.exc_info is not None) == ("ERROR", True)
    assert "s3cret" not in caplog.text
    assert "s3cret" not in str(record.__dict__)
