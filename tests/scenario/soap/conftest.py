"""A hub in this process for each module of SOAP tests, a plain SOAP client of it, and a client by another door."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pregon import Client
from pregon.testing import RunningHub, run_hub

from ..soap_clients.plain import PlainClient


@pytest.fixture(scope="module")
def running() -> Iterator[RunningHub]:
    with run_hub() as hub:
        yield hub


@pytest.fixture
def soap(running: RunningHub) -> Iterator[PlainClient]:
    client = PlainClient(running.http)
    yield client
    client.close()


@pytest.fixture
def client(running: RunningHub) -> Iterator[Client]:
    with running.client() as client:
        yield client
