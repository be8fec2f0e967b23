"""Testing a web service: the audit says who had it done, also of a test that was given up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from pregon.delivery.rehearsal import Trial
from pregon.errors import BadRequest
from pregon.model.administration import AuditQuery
from pregon.model.catalog import Subscriber
from pregon.security.callers import ANYBODY, Caller, scopes_of
from pregon.security.keys import OPERATE
from pregon.server.hub_server import Server
from pregon.testing import run_hub

from ..hub_process import wait_until
from .receiver import Station
from .subscriber_hub import BPS, TOPIC, register


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with run_hub(tmp_path, push_allow="127.0.0.1", feed="", ingest="", http="") as running:
        yield running.server


def test_the_audit_says_who_tested_what(server: Server, station: Station) -> None:
    register(server.hub, station)
    server.hub.create(Subscriber(name="nowhere")).result()
    luis = Caller(name="token luis", scopes=scopes_of((OPERATE,)))

    server.rehearsals.rehearse(luis, BPS, Trial(topic=TOPIC)).result()
    with pytest.raises(BadRequest):
        server.rehearsals.rehearse(luis, "nowhere").result()

    (note,) = server.gate.audit(ANYBODY, AuditQuery(action="test")).result()
    assert (note.who, note.kind, note.object) == ("token luis", "subscriber", BPS)
    assert msgspec.json.decode(note.detail) == {"endpoint": station.url(f"/{BPS}"), "topic": TOPIC}


def test_a_test_that_was_given_up_is_in_the_audit(server: Server, station: Station) -> None:
    register(server.hub, station)
    station.hold()
    ticket = server.rehearsals.rehearse(ANYBODY, BPS)
    station.wait_for(1)

    ticket.abandon()
    wait_until(lambda: ticket.is_done, "the test is given up")

    (note,) = server.gate.audit(ANYBODY, AuditQuery(action="test")).result()
    assert (note.kind, note.object) == ("subscriber", BPS)
