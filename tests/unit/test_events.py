"""CloudEvents as messages and messages as events, without HTTP."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from pregon.errors import BadEvent
from pregon.limits import MESSAGE_ID_BYTES_MAX
from pregon.model import events
from pregon.model.batch import Packing, StoredBatch, encode, stamp
from pregon.model.message import Message, Outgoing

PLAIN = {"specversion": "1.0", "id": "1", "source": "/dgrec", "type": "acta"}


def accepted(message: Outgoing, published_us: int = 5) -> Message:
    """The message as a subscriber has it."""
    packing = Packing()
    packing.add(message, published_us)
    batch = StoredBatch(17, 1, encode(stamp(packing.pack("id-"), "dgrec", 7)))
    (stored,) = batch.messages("actas")
    return stored


def shown(message: Outgoing) -> dict[str, Any]:
    """The event that a message is, as its JSON says."""
    value: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(events.as_structured(accepted(message))))
    return value


@pytest.mark.parametrize(
    ("content_type", "is_json"),
    [
        ("application/json", True),
        ("Application/JSON; charset=utf-8", True),
        ("application/geo+json", True),
        ("text/json5", False),
        ("application/jsonl", False),
        ("", False),
    ],
)
def test_json_is_recognised_by_its_content_type(content_type: str, is_json: bool) -> None:
    assert events.is_json(content_type) is is_json


def test_attributes_become_headers_and_data_the_body() -> None:
    said = {**PLAIN, "subject": "s", "partitionkey": "k", "time": "1970-01-01T00:00:01Z", "data": {"a": [1, 2.50]}}

    message, published_us = events.decode_structured(msgspec.json.encode(said))

    assert message.headers == {f"ce-{name}": value for name, value in said.items() if name != "data"}
    assert msgspec.json.decode(message.body) == said["data"]
    assert (message.key, message.content_type, published_us) == ("k", "application/json", 1_000_000)


def test_a_message_that_was_an_event_is_the_same_event_again() -> None:
    said = {**PLAIN, "sequence": "abc", "datacontenttype": "text/plain", "data": "línea\n2"}
    message, _ = events.decode_structured(msgspec.json.encode(said))

    again = shown(message)

    ours = {"pregontopic": "actas", "pregonproducer": "dgrec"}
    assert {name: again[name] for name in said} == said
    assert again.items() >= ours.items()
    assert events.decode_structured(msgspec.json.encode({name: again[name] for name in said}))[0] == message


def test_a_message_that_was_no_event_says_where_it_comes_from() -> None:
    again = shown(Outgoing(b"\xff", id="x", key="k", content_type="image/png"))

    assert (again["specversion"], again["id"], again["type"]) == ("1.0", "x", "pregon.message")
    assert (again["source"], again["time"]) == ("/producers/dgrec", "1970-01-01T00:00:00.000005Z")
    assert (again["data_base64"], again["datacontenttype"], again["partitionkey"]) == ("/w==", "image/png", "k")
    assert "data" not in again


@pytest.mark.parametrize(
    "headers",
    [
        {"ce-specversion": "9", "ce-id": "1", "ce-source": "/s", "ce-type": "t"},
        {"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/s"},
        {"ce-specversion": "1.0", "ce-id": "", "ce-source": "/s", "ce-type": "t"},
        {"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/s", "ce-type": "t", "ce-data": "x"},
        {"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/s", "ce-type": "t", "ce-data_base64": "x"},
        {"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/s", "ce-type": "t", "ce-time": "never"},
        {"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/s", "ce-type": "t", "ce-A b": "x"},
    ],
)
def test_headers_that_are_not_all_of_an_event_make_none(headers: dict[str, str]) -> None:
    again = shown(Outgoing(b"\xff", id="own", headers=headers))

    assert (again["specversion"], again["id"], again["type"]) == ("1.0", "own", "pregon.message")
    assert again["data_base64"] == "/w=="
    assert "data" not in again
    events.decode_structured(msgspec.json.encode(again))


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "image/png"])
def test_no_data_stays_no_data(content_type: str) -> None:
    again = shown(Outgoing(b"", id="1", content_type=content_type))

    assert not again.keys() & {"data", "data_base64", "datacontenttype"}


@pytest.mark.parametrize("body", [b"{", b"\xff", b"\xef\xbb\xbf{}", b"NaN", b"[" * 5_000 + b"]" * 5_000])
def test_what_only_claims_to_be_json_is_given_as_bytes(body: bytes) -> None:
    again = shown(Outgoing(body, id="1", content_type="application/json"))

    assert "data" not in again
    assert events.decode_structured(msgspec.json.encode(again))[0].body == body


def test_a_long_source_and_id_still_make_one_message_id() -> None:
    long = {**PLAIN, "id": "x" * 500}

    ids = [events.decode_structured(msgspec.json.encode({**long, "source": s}))[0].id for s in ("/a", "/b", "/a")]

    assert ids[0] == ids[2] != ids[1]
    assert all(one is not None and len(one.encode()) <= MESSAGE_ID_BYTES_MAX for one in ids)


@pytest.mark.parametrize(("first", "second"), [(("/a b", "c"), ("/a", "b c")), (("/a", " b"), ("/a ", "b"))])
def test_two_events_never_make_one_message_id(first: tuple[str, str], second: tuple[str, str]) -> None:
    made = []
    for source, event_id in (first, second):
        try:
            made.append(
                events.decode_structured(msgspec.json.encode({**PLAIN, "source": source, "id": event_id}))[0].id
            )
        except BadEvent:
            made.append(f"refused {source} {event_id!r}")

    assert made[0] != made[1]


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("2026-11-15T10:00:00Z", True),
        ("2026-11-15t10:00:00z", True),
        ("2026-11-15T10:00:00.123456789-03:00", True),
        ("2026-11-15T10:00:00", False),
        ("2026-11-15", False),
        ("2026-02-30T10:00:00Z", False),
        ("20261115T100000Z", False),
        ("2026-11-15T10:00:00+00:00:30", False),
        ("２026-11-15T10:00:00Z", False),
        ("2026-11-15T10:00:00Z\n", False),
        ("", False),
    ],
)
def test_a_time_is_as_rfc_3339_writes_it(text: str, is_one: bool) -> None:
    assert events.is_rfc_3339(text) is is_one


@pytest.mark.parametrize("text", [b"", b"[]", b"5", b"null", b"{", b'{"id": 1', b"\xff", b'{"id": ' + b"[" * 100_000])
def test_bytes_that_are_no_event_are_refused(text: bytes) -> None:
    with pytest.raises(BadEvent):
        events.decode_structured(text)
    if text != b"[]":
        with pytest.raises(BadEvent):
            events.decode_batch(text)
