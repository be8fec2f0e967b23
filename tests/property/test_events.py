"""Any event, as a message and back, is the same event."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from pregon.errors import BadEvent
from pregon.model import events
from pregon.model.batch import Packing, StoredBatch, encode, stamp
from pregon.model.message import Message, Outgoing

OURS = {"pregontopic", "pregonproducer", "pregonsequence"}
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
sources = st.from_regex(r"[a-z/:.%-]{1,20}", fullmatch=True)
extension_names = st.from_regex(r"[a-z][a-z0-9]{0,19}", fullmatch=True).filter(
    lambda name: name not in {"id", "source", "type", "time", "specversion", "data", "datacontenttype", *OURS}
)
times = st.datetimes().map(lambda moment: moment.isoformat() + "Z")
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def whole_events(draw: st.DrawFn) -> dict[str, Any]:
    """An event as its JSON."""
    event: dict[str, Any] = {"specversion": "1.0", "id": draw(texts), "source": draw(sources), "type": draw(texts)}
    event |= draw(st.dictionaries(extension_names, texts, max_size=3))
    if draw(st.booleans()):
        event["time"] = draw(times)
    data = draw(st.sampled_from(["none", "json", "text", "binary"]))
    if data == "json":
        event |= {"datacontenttype": "application/json", "data": draw(json_values)}
    elif data == "text":
        event |= {"datacontenttype": "text/plain", "data": draw(texts)}
    elif data == "binary":
        body = draw(st.binary(min_size=1, max_size=40))
        event |= {"datacontenttype": "image/png", "data_base64": base64.b64encode(body).decode()}
    return event


def stored(message: Outgoing, published_us: int | None) -> Message:
    packing = Packing()
    packing.add(message, published_us or 0)
    (found,) = StoredBatch(1, 1, encode(stamp(packing.pack("id-"), "dgrec", 7))).messages("actas")
    return found


def again(message: Outgoing, published_us: int | None) -> dict[str, Any]:
    """The event that is served for a message, without what the hub adds."""
    text = msgspec.json.encode(events.as_structured(stored(message, published_us)))
    return {name: value for name, value in msgspec.json.decode(text).items() if name not in OURS}


@given(whole_events())
def test_an_event_comes_back_as_it_went(event: dict[str, Any]) -> None:
    decoded = events.decode_structured(msgspec.json.encode(event))

    assert again(*decoded) == event


@given(whole_events())
def test_binary_and_structured_mode_make_the_same_message(event: dict[str, Any]) -> None:
    structured, published_us = events.decode_structured(msgspec.json.encode(event))
    attributes = {name: value for name, value in event.items() if not name.startswith("data") or name == "dataschema"}

    binary = events.decode_binary(attributes, structured.content_type, structured.body)

    assert binary == (structured, published_us)


@given(st.lists(whole_events(), min_size=1, max_size=4))
def test_a_batch_is_each_of_its_events(listed: list[dict[str, Any]]) -> None:
    decoded = events.decode_batch(msgspec.json.encode(listed))

    assert decoded == [events.decode_structured(msgspec.json.encode(one)) for one in listed]


@given(st.tuples(texts, texts), st.tuples(texts, texts))
def test_another_source_or_id_is_another_message(first: tuple[str, str], second: tuple[str, str]) -> None:
    made: list[str | None] = []
    for source, event_id in (first, second):
        event = {"specversion": "1.0", "type": "t", "source": source, "id": event_id}
        try:
            made.append(events.decode_structured(msgspec.json.encode(event))[0].id)
        except BadEvent:
            return

    assert (made[0] == made[1]) == (first == second)


@given(st.dictionaries(texts.map(lambda name: "ce-" + name) | texts, texts, max_size=5), st.binary(max_size=20), texts)
def test_any_message_is_an_event_that_can_be_published(headers: dict[str, str], body: bytes, content_type: str) -> None:
    message = stored(Outgoing(body, id="own", content_type=content_type, headers=headers), 0)

    served = msgspec.json.encode(events.as_structured(message))

    decoded, _ = events.decode_structured(served)
    assert decoded.body == body
