"""A message of a group, pushed: its sender and its place in the causal order are seen in each format."""

from __future__ import annotations

import pytest

from pregon.delivery.formats import PushRequest, make_request
from pregon.model.batch import StoredBatch, encode, pack, stamp
from pregon.model.catalog import CLOUDEVENTS, RAW, SOAP
from pregon.model.group import PRODUCER
from pregon.model.message import Message, Outgoing
from pregon.soap.envelope import open_envelope
from pregon.soap.vocabulary import PS, SOAP_11

HEADERS = {"group-kind": "message", "group-stamp": "3:4", "group-after": "2:7 4:1", "group-answers": "2:7"}


def stored(headers: dict[str, str], topic: str) -> Message:
    message = Outgoing(b"hola", "a1", "Ana Mar\u00eda", "text/plain; charset=utf-8", headers)
    batch = stamp(pack([message], [1_763_000_000_000_001]), PRODUCER, 1_763_000_000_250_000)
    (only,) = StoredBatch(17, 1, encode(batch)).messages(topic)
    return only


def pushed(format: str, headers: dict[str, str], topic: str = "groups.plaza") -> PushRequest:
    return make_request(format, stored(headers, topic), secrets=(), now_s=1_763_000_000)


def soap_entries(request: PushRequest) -> dict[str, str]:
    _, root = open_envelope(request.body)
    header = root.find(SOAP_11.header)
    assert header is not None
    return {one.tag.removeprefix(f"{{{PS}}}"): one.text or "" for one in header if one.tag.startswith(f"{{{PS}}}group")}


def test_an_event_has_attributes_for_the_order() -> None:
    headers = {name.lower(): value for name, value in pushed(CLOUDEVENTS, HEADERS).headers.items()}

    assert headers["ce-pregongroupkind"] == "message"
    assert headers["ce-pregongroupstamp"] == "3:4"
    assert headers["ce-pregongroupafter"] == "2:7%204:1"
    assert headers["ce-pregongroupanswers"] == "2:7"
    assert headers["ce-partitionkey"] == "Ana%20Mar%C3%ADa"


def test_a_raw_push_has_headers_for_the_order() -> None:
    headers = {name.lower(): value for name, value in pushed(RAW, HEADERS).headers.items()}

    assert {name: headers[f"pregon-header-{name}"] for name in HEADERS} == HEADERS


def test_an_envelope_has_entries_for_the_order() -> None:
    assert soap_entries(pushed(SOAP, HEADERS)) == {
        "groupSender": "Ana Mar\u00eda",
        "groupKind": "message",
        "groupStamp": "3:4",
        "groupAfter": "2:7 4:1",
        "groupAnswers": "2:7",
    }


def test_what_a_message_does_not_depend_on_is_not_spoken_of() -> None:
    first = {"group-kind": "joining", "group-stamp": "1:1", "group-after": ""}

    assert soap_entries(pushed(SOAP, first)) == {
        "groupSender": "Ana Mar\u00eda",
        "groupKind": "joining",
        "groupStamp": "1:1",
    }
    names = {name.lower() for name in pushed(CLOUDEVENTS, first).headers}
    assert {name for name in names if "pregongroup" in name} == {"ce-pregongroupkind", "ce-pregongroupstamp"}


@pytest.mark.parametrize("format", [SOAP, CLOUDEVENTS])
def test_a_topic_that_is_no_group_has_no_order_whatever_its_producers_write(format: str) -> None:
    request = pushed(format, HEADERS, topic="noticias")

    assert b"groupStamp" not in request.body
    assert not [name for name in request.headers if "pregongroup" in name.lower()]
