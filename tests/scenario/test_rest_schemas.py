"""Schemas over REST: set, compared, removed; what does not fit is refused through every door, also while it changes."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

from pregon.errors import SchemaMismatch
from pregon.limits import SCHEMA_BYTES_MAX
from pregon.model.catalog import SchemaVersion
from pregon.model.message import Outgoing
from pregon.testing import RunningHub

from .rest import (
    EVENTS,
    messages_of,
    publish,
    publish_event,
    publish_table,
    require_problem,
    rest_hub,
)
from .soap_clients.plain import PlainClient, publication

OBJECT = {"kind": "json-schema", "text": '{"type": "object", "required": ["nombre"]}'}
EVENT = {"specversion": "1.0", "source": "/s", "type": "t"}
XSD = (
    '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="acta"><xs:complexType><xs:sequence>'
    '<xs:element name="ci" type="xs:int"/></xs:sequence></xs:complexType></xs:element></xs:schema>'
)
Send = Callable[[RunningHub, httpx.Client, str, str], bool]


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[RunningHub, httpx.Client]]:
    with rest_hub() as both:
        yield both


@pytest.fixture
def http(running: tuple[RunningHub, httpx.Client]) -> httpx.Client:
    return running[1]


def is_taken(answer: httpx.Response) -> bool:
    """Whether a publication was stored; if not, because it does not fit."""
    if answer.status_code == 201:
        return True
    assert "fit the schema" in require_problem(answer, 422, "schema_mismatch")
    return False


def single(hub: RunningHub, http: httpx.Client, topic: str, body: str) -> bool:
    return is_taken(publish(http, topic, body))


def json_batch(hub: RunningHub, http: httpx.Client, topic: str, body: str) -> bool:
    messages = [{"text": '{"nombre": "first"}'}, {"text": body}]
    return is_taken(http.post(f"/v1/topics/{topic}/batches", json={"messages": messages}))


def batch_with_ids(hub: RunningHub, http: httpx.Client, topic: str, body: str) -> bool:
    messages = [{"text": '{"nombre": "first"}', "id": "1"}, {"text": body, "id": "2"}]
    return is_taken(http.post(f"/v1/topics/{topic}/batches", json={"messages": messages}))


def structured(hub: RunningHub, http: httpx.Client, topic: str, body: str) -> bool:
    return is_taken(publish_event(http, topic, {**EVENT, "id": "1", "datacontenttype": "text/plain", "data": body}))


def events(hub: RunningHub, http: httpx.Client, topic: str, body: str) -> bool:
    said = [{**EVENT, "id": "1", "data": {"nombre": "first"}}, {**EVENT, "id": "2", "data": json.loads(body)}]
    return is_taken(publish_event(http, topic, said, EVENTS))


def arrow(hub: RunningHub, http: httpx.Client, topic: str, body: str) -> bool:
    return is_taken(publish_table(http, topic, pa.table({"body": ['{"nombre": "first"}', body]})))


def fast_lane(hub: RunningHub, http: httpx.Client, topic: str, body: str) -> bool:
    with hub.client() as client:
        try:
            client.publish(topic, body)
        except SchemaMismatch:
            return False
    return True


@pytest.mark.parametrize("send", [single, json_batch, batch_with_ids, structured, events, arrow, fast_lane])
def test_what_does_not_fit_is_refused_through_every_door_and_nothing_is_stored(
    running: tuple[RunningHub, httpx.Client], topic: str, send: Send
) -> None:
    hub, http = running
    http.post("/v1/topics", json={"name": topic})
    http.put(f"/v1/topics/{topic}/schema", json=OBJECT)

    wrong = send(hub, http, topic, '{"apellido": "x"}')
    after_wrong = messages_of(http, topic)
    right = send(hub, http, topic, '{"nombre": "Pepe"}')

    assert (wrong, after_wrong, right) == (False, [], True)
    assert len(messages_of(http, topic)) > 0


def test_what_does_not_fit_an_xsd_is_refused_by_soap_too(running: tuple[RunningHub, httpx.Client], topic: str) -> None:
    hub, http = running
    http.post("/v1/topics", json={"name": topic})
    http.put(f"/v1/topics/{topic}/schema", json={"kind": "xsd", "text": XSD})
    soap = PlainClient(hub.http)

    wrong = soap.post("novedades", publication("<acta><ci>x</ci></acta>", topic))
    after_wrong = messages_of(http, topic)
    right = soap.post("novedades", publication("<acta><ci>5</ci></acta>", topic))
    soap.close()

    assert (wrong.status != 200, after_wrong, right.status) == (True, [], 200)
    assert len(messages_of(http, topic)) == 1


def test_a_mismatch_says_which_message_where_and_why(http: httpx.Client, topic: str) -> None:
    http.post("/v1/topics", json={"name": topic})
    deep = {"type": "object", "properties": {"hijos": {"items": {"type": "integer"}}}}
    http.put(f"/v1/topics/{topic}/schema", json={"kind": "json-schema", "text": json.dumps(deep)})

    messages = [{"json": {}}, {"json": {"hijos": [1, "dos"]}}]
    detail = require_problem(
        http.post(f"/v1/topics/{topic}/batches", json={"messages": messages}), 422, "schema_mismatch"
    )

    for part in ("message 2", topic, "hijos", "1", "integer"):
        assert part in detail


def test_versions_are_numbered_compared_and_kept(http: httpx.Client, topic: str) -> None:
    at = f"/v1/topics/{topic}/schema"
    http.post("/v1/topics", json={"name": topic})
    require_problem(http.get(at), 404, "not_found")

    first = http.put(at, json=OBJECT).json()
    wider = {"kind": "json-schema", "text": '{"type": "object"}'}
    compared = http.post(f"{at}/compare", json=wider).json()
    unchanged = http.get(at).json()
    second = http.put(at, json=wider).json()
    third = http.put(at, json=OBJECT).json()
    removed = http.delete(at)
    gone = http.get(at)
    anything = publish(http, topic, b"\xff")
    versions = http.get(f"{at}/versions").json()

    assert (first["version"], second["version"], third["version"]) == (1, 2, 3)
    assert (compared["compatible"], second["compatible"], third["compatible"]) == ("yes", "yes", "no")
    assert third["reasons"]
    assert unchanged == first
    assert (removed.status_code, anything.status_code) == (204, 201)
    require_problem(gone, 404, "not_found")
    assert [one["version"] for one in versions["items"]] == [4, 3, 2, 1]
    assert [one["kind"] for one in versions["items"]] == ["none", "json-schema", "json-schema", "json-schema"]
    assert http.get(f"/v1/topics/{topic}").json()["schema_version"] == 4


def test_pages_of_versions_are_every_version_once(http: httpx.Client, topic: str) -> None:
    at = f"/v1/topics/{topic}/schema"
    http.post("/v1/topics", json={"name": topic})
    for _ in range(5):
        http.put(at, json={"kind": "json"})
    seen: list[int] = []

    query: dict[str, Any] = {"max": 2}
    while True:
        page = http.get(f"{at}/versions", params=query).json()
        seen += [one["version"] for one in page["items"]]
        if page["next"] is None:
            break
        query["cursor"] = page["next"]

    assert seen == [5, 4, 3, 2, 1]


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ({}, "bad_request"),
        ({"kind": "avro"}, "bad_request"),
        ({"kind": "none"}, "bad_request"),
        ({"kind": "json", "more": 1}, "bad_request"),
        ({"kind": "json-schema", "text": "x" * (SCHEMA_BYTES_MAX + 1)}, "bad_request"),
        ({"kind": "json-schema", "text": "{"}, "bad_schema"),
        ({"kind": "json-schema", "text": '{"type": "nothing"}'}, "bad_schema"),
        ({"kind": "json-schema", "text": '{"$ref": "http://example.org/s.json"}'}, "bad_schema"),
        ({"kind": "xsd", "text": "<xs:schema"}, "bad_schema"),
        ({"kind": "xsd", "text": '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}, "bad_schema"),
    ],
    ids=lambda one: str(one)[:40],
)
def test_a_schema_that_cannot_be_used_is_refused(
    http: httpx.Client, topic: str, wanted: dict[str, Any], code: str
) -> None:
    http.post("/v1/topics", json={"name": topic})

    require_problem(http.put(f"/v1/topics/{topic}/schema", json=wanted), 400, code)
    require_problem(http.post(f"/v1/topics/{topic}/schema/compare", json=wanted), 400, code)

    assert http.get(f"/v1/topics/{topic}/schema/versions").json()["items"] == []


def test_a_topic_that_is_not_there_has_no_schema(http: httpx.Client) -> None:
    at = "/v1/topics/nothing/schema"

    require_problem(http.get(at), 404, "not_found")
    require_problem(http.put(at, json=OBJECT), 404, "not_found")
    require_problem(http.delete(at), 404, "not_found")


def test_a_schema_outlives_the_hub(tmp_path: Path) -> None:
    with rest_hub(tmp_path) as (_, http):
        http.post("/v1/topics", json={"name": "t"})
        http.put("/v1/topics/t/schema", json=OBJECT)

    with rest_hub(tmp_path) as (_, http):
        wrong, right = publish(http, "t", b"5"), publish(http, "t", b'{"nombre": ""}')

    require_problem(wrong, 422, "schema_mismatch")
    assert right.status_code == 201


def test_nothing_that_does_not_fit_is_stored_after_the_change_is_acknowledged(
    running: tuple[RunningHub, httpx.Client], topic: str
) -> None:
    hub, http = running
    publish(http, topic, b"5")
    stop = threading.Event()
    answers: list[tuple[float, float, httpx.Response]] = []

    def produce() -> None:
        with httpx.Client(base_url=hub.http, timeout=30) as own:
            while not stop.is_set():
                began = time.monotonic()
                answer = publish(own, topic, b"5")
                answers.append((began, time.monotonic(), answer))

    threads = [threading.Thread(target=produce) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(answers) < 40:
        time.sleep(0.01)
    acknowledged = http.put(f"/v1/topics/{topic}/schema", json=OBJECT)
    head = http.get(f"/v1/topics/{topic}").json()["head_seq"]
    moment = time.monotonic()
    count = len(answers)
    while len(answers) < count + 40:
        time.sleep(0.01)
    stop.set()
    for thread in threads:
        thread.join()

    assert acknowledged.status_code == 200
    assert http.get(f"/v1/topics/{topic}").json()["head_seq"] == head
    taken = [answer.json()["seq"] for _, _, answer in answers if answer.status_code == 201]
    assert sorted(taken) == list(range(2, head + 1))
    assert {answer.status_code for began, _, answer in answers if began > moment} == {422}


def test_several_messages_and_a_schema_in_one_transaction_are_still_all_or_none(tmp_path: Path) -> None:
    with rest_hub(tmp_path) as (hub, http):
        publish(http, "t", b"{}")
        inner = hub.server.hub
        with closing(sqlite3.connect(tmp_path / "pregon.db", isolation_level=None)) as database:
            # While this is held the hub cannot commit, so what comes meanwhile shares the next transaction.
            database.execute("BEGIN IMMEDIATE")
            first = inner.publish("another", "p", Outgoing(b"x"))
            time.sleep(0.2)
            many = inner.publish_many(
                "t", "p", [Outgoing(body, id=body.decode()) for body in (b"{}", b"5", b'{"a":1}')]
            )
            change = inner.set_schema(SchemaVersion(topic="t", kind="json-schema", text='{"type": "object"}'))
            time.sleep(0.1)
            database.execute("ROLLBACK")
        deadline = time.monotonic() + 10
        while not (first.is_done and many.is_done and change.is_done) and time.monotonic() < deadline:
            time.sleep(0.01)
        stored = len(messages_of(http, "t")) - 1

    try:
        count = len(many.value())
    except SchemaMismatch:
        count = 0
    assert change.value().version == 1
    assert stored == count
    assert count in (0, 3)
