"""Test messages from the administration pages: a message like any other, and the audit says who sent it."""

from __future__ import annotations

from typing import cast
from urllib.parse import urlencode

import msgspec
import pytest

from pregon.delivery.activity import Activity
from pregon.delivery.rehearsals import Rehearsals
from pregon.edges.admin.desk import AdminDesk
from pregon.edges.admin.exchange import AdminAnswer, AdminRequest
from pregon.edges.admin.topic_trials import send_trial
from pregon.edges.admin.visit import SESSION, Visit
from pregon.edges.http.answers import status_of
from pregon.errors import Forbidden
from pregon.hub.access import NewKey
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.model.administration import AuditEntry, AuditQuery
from pregon.model.catalog import Producer, Topic
from pregon.security.callers import ANYBODY, Caller, scopes_of
from pregon.security.keys import READ
from pregon.settings import Settings

from .people_stage import ADMIN, GOOD, people_of


@pytest.fixture
def desk(hub: Hub) -> AdminDesk:
    """The pages' desk on a hub with an operator, a topic and a producer; what these tests do not use is not there."""
    gate = Gate(hub)
    gate.people = people_of(hub)
    gate.people.create(ADMIN, "ana", GOOD, "administrator")
    gate.people.create(ADMIN, "olga", GOOD, "operator")
    hub.create(Topic(name="births")).result()
    hub.create(Producer(name="registry")).result()
    return AdminDesk(
        gate=gate,
        activity=cast(Activity, None),
        rehearsals=cast(Rehearsals, None),
        settings=Settings(),
        status=dict,
        status_of=status_of,
    )


def send(desk: AdminDesk, body: str, producer: str = "registry") -> AdminAnswer:
    """Send the form in the name of the operator."""
    token, _ = desk.people.enter("olga", GOOD)
    form = urlencode({"producer": producer, "content_type": "application/json", "body": body})
    request = AdminRequest(
        method="POST",
        path="topics/births/test",
        body=form.encode(),
        content_type="application/x-www-form-urlencoded",
        cookies=f"{SESSION}={token}",
    )
    visit = Visit(desk, request)
    visit.names["topic"] = "births"
    visit.identify(is_active=True)
    return send_trial(visit)


def noted(desk: AdminDesk) -> list[AuditEntry]:
    """What the audit says of tests."""
    return list(desk.gate.audit(ANYBODY, AuditQuery(action="test")).result())


def test_the_audit_says_who_sent_a_test_message_to_a_topic(desk: AdminDesk) -> None:
    answer = send(desk, '{"test": true}')

    (note,) = noted(desk)
    assert answer.status == 303
    assert (note.who, note.kind, note.object) == ("administrator olga", "topic", "births")
    assert msgspec.json.decode(note.detail) == {"producer": "registry", "seq": 1}


def test_a_test_message_that_was_refused_is_not_in_the_audit(desk: AdminDesk) -> None:
    answer = send(desk, '{"test": true}', producer="not a name")

    assert answer.status == 400
    assert noted(desk) == []


def test_only_who_operates_can_have_a_test_noted(desk: AdminDesk) -> None:
    reader = Caller(name="token grafana", scopes=scopes_of((READ,)))
    desk.gate.create_key(ADMIN, NewKey(kind="token", owner="first", scopes=("admin",))).result()

    with pytest.raises(Forbidden):
        desk.gate.note_test(reader, "topic", "births", {})
