"""CloudEvents over REST, against the CloudEvents package: what it writes is taken, and it reads what we answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import httpx
import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_http, to_binary, to_structured
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

from .rest import EVENT, EVENTS, messages_of, publish, publish_event, require_problem, rest_hub

PLAIN = {"specversion": "1.0", "id": "1", "source": "/dgrec", "type": "uy.gub.acta"}
MONTEVIDEO = timezone(timedelta(hours=-3))
ATTRIBUTES: list[dict[str, Any]] = [
    {},
    {"subject": "1.111.111-1", "dataschema": "https://example.org/acta.json", "ext1": "x", "partitionkey": "k"},
    {"id": 'ñandú 🦤 "100%" a%20b', "source": "urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66", "subject": "Ñ \t é"},
    {"time": datetime(2026, 11, 15, 10, 0, 0, 123456, tzinfo=UTC)},
    {"time": datetime(2026, 11, 15, 10, 0, 0, tzinfo=MONTEVIDEO), "sequence": "17", "sequencetype": "Integer"},
    {"time": datetime(1932, 2, 29, tzinfo=UTC), "id": "x" * 300},
]
DATA: list[tuple[str | None, Any]] = [
    ("application/json", {"nombre": "José", "años": [1, 2.5, None, True], "vacío": {}}),
    (None, {"a": 1}),
    ("application/vnd.acta+json", {"a": "ñ"}),
    ("text/plain", 'línea 1\nlínea 2 "\\ 🦤'),
    ("text/xml; charset=utf-8", "<acta>ñ</acta>"),
    ("application/octet-stream", bytes(range(256))),
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    (None, None),
]


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with rest_hub() as (_, http):
        yield http


def event_of(attributes: dict[str, Any], content_type: str | None, data: Any) -> CloudEvent:
    said = {**PLAIN, **attributes}
    return CloudEvent({**said, "datacontenttype": content_type} if content_type else said, data)


def send(http: httpx.Client, topic: str, event: CloudEvent, mode: str) -> httpx.Response:
    """Publish an event as the package writes it."""
    if mode == "batch":
        body = b"[" + JSONFormat().write(event) + b"]"
        return publish_event(http, topic, body, EVENTS)
    message = (to_binary if mode == "binary" else to_structured)(event, JSONFormat())
    return http.post(f"/v1/topics/{topic}/messages", content=message.body, headers=message.headers)


def read(http: httpx.Client, topic: str, seq: int = 1) -> CloudEvent:
    """A message as the package reads it."""
    answer = http.get(f"/v1/topics/{topic}/messages/{seq}", headers={"Accept": EVENT})
    assert answer.headers["content-type"] == EVENT
    event = from_http(HTTPMessage(dict(answer.headers), answer.content), JSONFormat())
    assert isinstance(event, CloudEvent)
    return event


def own(event: CloudEvent) -> dict[str, Any]:
    """The attributes of an event but those that the hub adds."""
    return {name: value for name, value in event.get_attributes().items() if not name.startswith("pregon")}


@pytest.mark.parametrize("mode", ["binary", "structured", "batch"])
@pytest.mark.parametrize("attributes", ATTRIBUTES, ids=lambda one: ",".join(one) or "required only")
def test_attributes_survive_exactly(http: httpx.Client, topic: str, attributes: dict[str, Any], mode: str) -> None:
    event = event_of(attributes, "application/json", {"a": 1})

    sent = send(http, topic, event, mode)

    assert sent.status_code == 201, sent.text
    assert own(read(http, topic)) == event.get_attributes()


@pytest.mark.parametrize("mode", ["binary", "structured", "batch"])
@pytest.mark.parametrize(("content_type", "data"), DATA, ids=lambda one: str(one)[:20])
def test_data_survives_exactly(http: httpx.Client, topic: str, content_type: str | None, data: Any, mode: str) -> None:
    event = event_of({}, content_type, data)

    sent = send(http, topic, event, mode)

    got = read(http, topic)
    assert sent.status_code == 201, sent.text
    shown = got.get_data()
    if content_type is None and data is not None and mode == "binary":
        # Without a content type nobody knows that these bytes are JSON: they come back as bytes.
        assert json.loads(shown) == data
    else:
        assert shown == data
        assert got.get_datacontenttype() in (content_type, "application/json" if content_type is None else None)
    assert (got.get_datacontenttype() is None) == (data is None)


def test_a_page_and_a_pull_are_batches_that_the_package_reads(http: httpx.Client, topic: str) -> None:
    sent = [event_of({"id": str(n)}, *DATA[n]) for n in range(4)]
    for event in sent:
        send(http, topic, event, "structured")

    page = http.get(f"/v1/topics/{topic}/messages", headers={"Accept": EVENTS})
    pulled = http.post(f"/v1/topics/{topic}/subscriptions/s/pull", headers={"Accept": EVENTS})

    for answer in (page, pulled):
        events = [JSONFormat().read(CloudEvent, json.dumps(one)) for one in answer.json()]
        assert answer.headers["content-type"] == EVENTS
        assert [one.get_data() for one in events] == [one.get_data() for one in sent]
        assert [one.get_id() for one in events] == ["0", "1", "2", "3"]
    assert pulled.headers["pregon-last-seq"] == pulled.headers["pregon-head-seq"] == "4"


def test_a_message_that_was_no_event_is_one_that_the_package_reads(http: httpx.Client, topic: str) -> None:
    forged = {"specversion": "9", "data": "x", "data_base64": "x", "time": "never", "id": "", "datacontenttype": "q"}
    publish(http, topic, b"\xff", Pregon_Producer="dgrec", Pregon_Key="k")
    publish(http, topic, b"\xff", **{f"Pregon_Header_ce_{name}": value for name, value in forged.items()})

    first, second = read(http, topic), read(http, topic, 2)

    assert (first.get_type(), first.get_source()) == ("pregon.message", "/producers/dgrec")
    assert (first.get_extension("partitionkey"), first.get_extension("pregontopic")) == ("k", topic)
    assert first.get_data() == second.get_data() == b"\xff"
    assert second.get_datacontenttype() == "application/octet-stream"
    assert second.get_specversion() == "1.0"


def test_the_same_source_and_id_is_one_event_and_another_source_is_another(http: httpx.Client, topic: str) -> None:
    said = [("/a", "1"), ("/b", "1"), ("/a", "1"), ("/a", "2"), ("/a 1", "2"), ("/a", "1 2")]

    answers = [publish_event(http, topic, {**PLAIN, "source": source, "id": id}) for source, id in said[:4]]
    batch = publish_event(http, topic, [{**PLAIN, "source": source, "id": id} for source, id in said[:4]], EVENTS)

    assert [one.json()["seq"] for one in answers] == [1, 2, 1, 3]
    assert [one.status_code for one in answers] == [201, 201, 200, 201]
    assert (batch.status_code, batch.json()["seqs"], batch.json()["duplicates"]) == (200, [1, 2, 1, 3], 4)


def test_a_source_and_id_that_read_the_same_when_joined_are_still_two(http: httpx.Client, topic: str) -> None:
    answers = [publish_event(http, topic, {**PLAIN, "source": s, "id": id}) for s, id in (("/a b", "c"), ("/a", "b c"))]

    assert [one.json()["seq"] for one in answers] == [1, 2]


def test_an_event_is_published_when_it_says(http: httpx.Client, topic: str) -> None:
    event = {**PLAIN, "time": "2020-02-29T10:00:00.5-03:00"}

    publish_event(http, topic, event)
    publish_event(http, topic, [{**event, "id": "2"}], EVENTS)

    assert [one["published_at"] for one in messages_of(http, topic)] == ["2020-02-29T13:00:00.500000Z"] * 2


def test_an_attribute_that_is_null_is_one_that_is_not_there(http: httpx.Client, topic: str) -> None:
    sent = publish_event(http, topic, {**PLAIN, "subject": None, "data_base64": None, "data": {"a": None}})

    got = read(http, topic)
    assert sent.status_code == 201
    assert "subject" not in got.get_attributes()
    assert got.get_data() == {"a": None}


def test_whole_numbers_and_booleans_become_the_texts_that_headers_would_have(http: httpx.Client, topic: str) -> None:
    publish_event(http, topic, {**PLAIN, "n": -5, "yes": True, "no": False})

    attributes = read(http, topic).get_attributes()
    assert (attributes["n"], attributes["yes"], attributes["no"]) == ("-5", "true", "false")


def test_media_types_are_the_same_in_any_case(http: httpx.Client, topic: str) -> None:
    publish_event(http, topic, PLAIN, "Application/CloudEvents+JSON; charset=UTF-8")

    assert read(http, topic).get_type() == PLAIN["type"]


@pytest.mark.parametrize("batch", [False, True], ids=["structured", "batch"])
@pytest.mark.parametrize(
    "wrong",
    [
        *({name: None} for name in PLAIN),
        *({name: ""} for name in PLAIN),
        {"specversion": "0.3"},
        {"specversion": 1.0},
        {"data": 1, "data_base64": "AA=="},
        {"data_base64": "no!"},
        {"data_base64": 5},
        {"subject": 1.5},
        {"subject": []},
        {"subject": {}},
        {"Upper": "x"},
        {"with-dash": "x"},
        {"with_line": "x"},
        {"": "x"},
        {"a" * 21: "x"},
        {"time": "yesterday"},
        {"time": "2026-11-15"},
        {"time": "2026-11-15T10:00:00"},
        {"time": "2026-02-30T10:00:00Z"},
    ],
    ids=lambda one: str(one)[:40],
)
def test_what_is_no_event_is_refused(http: httpx.Client, topic: str, wrong: dict[str, Any], batch: bool) -> None:
    event = {**PLAIN, **wrong}

    answer = publish_event(http, topic, [{**PLAIN, "id": "0"}, event] if batch else event, EVENTS if batch else EVENT)

    require_problem(answer, 400, "bad_event")
    assert messages_of(http, topic) == []


@pytest.mark.parametrize(
    "headers",
    [
        {"ce-specversion": "1.0"},
        {"ce-specversion": "0.3", "ce-id": "1", "ce-source": "/s", "ce-type": "t"},
        {"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/s"},
        {"ce-specversion": "1.0", "ce-id": "", "ce-source": "/s", "ce-type": "t"},
        {"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/s", "ce-type": "t", "ce-time": "now"},
        {"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/s", "ce-type": "t", "ce-datacontenttype": "x/y"},
        {"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/s", "ce-type": "t", "ce-data": "x"},
        {"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/s", "ce-type": "t", "ce-a-b": "x"},
    ],
    ids=lambda one: ",".join(one),
)
def test_a_binary_event_that_is_none_is_refused(http: httpx.Client, topic: str, headers: dict[str, str]) -> None:
    answer = http.post(f"/v1/topics/{topic}/messages", content=b"x", headers=headers)

    require_problem(answer, 400, "bad_event")
    assert messages_of(http, topic) == []


def test_a_value_of_a_header_that_decodes_to_no_text_is_refused(http: httpx.Client, topic: str) -> None:
    headers = {"ce-specversion": "1.0", "ce-id": "%ff", "ce-source": "/s", "ce-type": "t"}

    answer = http.post(f"/v1/topics/{topic}/messages", content=b"x", headers=headers)

    require_problem(answer, 400, answer.json()["code"])
    assert messages_of(http, topic) == []


def test_a_mode_of_cloudevents_that_is_not_taken_says_so(http: httpx.Client, topic: str) -> None:
    answer = publish_event(http, topic, b"<event/>", "application/cloudevents+xml")

    require_problem(answer, 415, "media_type_unknown")
