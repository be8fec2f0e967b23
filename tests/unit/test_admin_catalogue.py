"""What forms of the catalogue make of what people enter, and back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from pregon.edges.admin.catalogue import changed_values, differences, read_count
from pregon.edges.admin.keys import read_key
from pregon.edges.admin.subscribers import read_subscriber, write_subscriber
from pregon.edges.admin.topic_page import beginning_of
from pregon.edges.admin.topic_schemas import mark_of
from pregon.edges.admin.topics import read_topic, write_topic
from pregon.errors import BadRequest
from pregon.model.catalog import PARK, PUSH, PushOptions, Retention, Subscriber, Topic

SUBSCRIBER = Subscriber(
    name="bps",
    description="Banco de Previsión Social",
    mode=PUSH,
    endpoint="https://bps.example/novedades",
    format="soap",
    push=PushOptions(
        time_limit_ms=1_500, rate_per_s=7, parallel=3, attempts_max=4, delay_ms_max=7_200_000, on_poison=PARK
    ),
)
TOPIC = Topic(
    name="fallecidos",
    description="Personas",
    restricted=True,
    retention=Retention(age_ms=90_000, bytes_max=64 << 20, when_acknowledged=True),
)


def test_what_a_form_shows_of_an_entry_is_what_it_reads_again() -> None:
    assert changed_values(TOPIC, read_topic(write_topic(TOPIC))) == {}
    assert changed_values(Topic(name="x"), read_topic(write_topic(Topic(name="x")))) == {}
    assert changed_values(SUBSCRIBER, read_subscriber(write_subscriber(SUBSCRIBER))) == {}
    assert changed_values(Subscriber(name="x"), read_subscriber(write_subscriber(Subscriber(name="x")))) == {}


def test_only_what_was_changed_is_asked_for() -> None:
    entered = write_topic(TOPIC) | {"retention_age": "2 h", "restricted": ""}

    changed = changed_values(TOPIC, read_topic(entered))

    assert changed == {
        "restricted": False,
        "retention": {"age_ms": 7_200_000, "bytes_max": 64 << 20, "when_acknowledged": True},
    }


def test_what_of_a_push_is_left_empty_is_as_usual() -> None:
    empty = dict.fromkeys(write_subscriber(SUBSCRIBER), "")

    values = read_subscriber(empty | {"mode": "pull", "format": "raw"})

    assert values["push"] == msgspec.to_builtins(PushOptions())


@pytest.mark.parametrize(
    "field, text", [("time_limit", "soon"), ("rate", "-1"), ("parallel", "1.5"), ("attempts", "9" * 10), ("rate", "٣")]
)
def test_what_is_no_duration_and_no_number_is_refused(field: str, text: str) -> None:
    with pytest.raises(BadRequest, match="is not a"):
        read_subscriber(write_subscriber(SUBSCRIBER) | {field: text})


def test_a_number_may_be_left_out() -> None:
    assert (read_count(""), read_count("0"), read_count("17")) == (None, 0, 17)


def test_what_differs_now_is_what_was_entered_differently() -> None:
    entered = write_topic(TOPIC) | {"description": "mine"}
    now = write_topic(msgspec.structs.replace(TOPIC, description="theirs"))

    assert differences(entered, now) == {"description": "theirs"}


KEY: dict[str, str] = {
    "label": "portal",
    "lifetime": "90d",
    "requests_per_s": "",
    "body_bytes_max": "64KiB",
    "others": "stay",
    "overlap": "24h",
}


@pytest.mark.parametrize(
    "changes, overlap_ms",
    [({}, None), ({"others": "end"}, 86_400_000), ({"others": "end", "overlap": ""}, 0), ({"others": "x"}, None)],
)
def test_a_new_key_ends_the_others_only_if_that_is_chosen(changes: dict[str, str], overlap_ms: int | None) -> None:
    wanted = read_key("producer", "dgrec", KEY | changes)

    assert (wanted.label, wanted.lifetime_ms, wanted.body_bytes_max) == ("portal", 90 * 86_400_000, 65_536)
    assert (wanted.requests_per_s, wanted.overlap_ms) == (None, overlap_ms)


@pytest.mark.parametrize(
    "body, shown",
    [
        (b"", ""),
        ("Pepe  Gómez\n".encode(), "Pepe Gómez"),
        (b"\xff\xfe", ""),
        (b"a\0b", ""),
        (b"\x1b[2J", ""),
        ("ñ".encode() * 400, "ñ" * 90 + "…"),
        (b"x" + "ñ".encode() * 400, "x" + "ñ" * 89 + "…"),
        (b"x" * 90, "x" * 90),
    ],
)
def test_the_beginning_of_a_body_is_a_line_of_text_or_nothing(body: bytes, shown: str) -> None:
    assert beginning_of(body) == shown


def test_a_schema_that_was_compared_is_known_by_kind_text_and_version() -> None:
    compared: set[Any] = {
        mark_of(kind, text, version)
        for kind, text, version in (
            ("json", "", 1),
            ("xml", "", 1),
            ("json", "", 2),
            ("json-schema", "{}", 1),
            ("json-schema", "{ }", 1),
        )
    }

    assert len(compared) == 5
    assert mark_of("json", "", 1) in compared
