"""The options of `format("pregon")`: every value checked, and refused with what to write instead.

Names follow the Kafka connector's where the thing is the same. Spark gives names in lower case, whatever was written.

Promises:
- A name that is not known is refused, with the one that was probably meant.
- The key is in no repr and in no error.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from pregon.addresses import HUB_VARIABLE, KEY_VARIABLE
from pregon.client.destination import Destination, find_destination
from pregon.errors import SettingsInvalid
from pregon.limits import INTEGER_MAX
from pregon.model.message import DEFAULT_CONTENT_TYPE
from pregon.model.names import check_name
from pregon.spark.schemas import MESSAGES, TABLES, schema_of

DEFAULT_HUB_URL = "http://127.0.0.1:5580"
EARLIEST, LATEST = "earliest", "latest"
BY_TASK, BY_ID = "task", "id"
_PATTERN_CHARACTERS_MAX = 1_000
_COLUMNS_CHARACTERS_MAX = 1_000
_TOPICS_MAX = 1_000

_OF_HUB = ("hub", "key", "ca", "certificate", "timeoutMs")
_OF_READING = (
    "table",
    "columns", "subscribe", "subscribePattern", "startingOffsets", "endingOffsets", "startingTimestamp",
    "endingTimestamp", "maxOffsetsPerTrigger", "minPartitions", "failOnDataLoss", "subscriber", "mark",
)  # fmt: skip
_OF_WRITING = ("topic", "producer", "contentType", "idempotence", "session")
NAMES = (*_OF_HUB, *_OF_READING, *_OF_WRITING)
"""Every option there is."""
_OF_SPARK = frozenset({"path", "checkpointlocation", "queryname", "mergeschema", "inferschema"})
"""What Spark itself puts among the options."""


def _bad(name: str, value: object, wanted: str) -> SettingsInvalid:
    return SettingsInvalid(f"option {name} is {str(value)[:80]!r}: write {wanted}")


def _number(name: str, text: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise _bad(name, text, f"a number from {least} to {most}")
    return int(text)


def _boolean(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise _bad(name, text, "true or false")
    return text.lower() == "true"


def _instant_us(name: str, text: str) -> int:
    """Milliseconds since 1970, as the Kafka connector takes them, or RFC 3339."""
    if text.isascii() and text.isdigit() and len(text) < 15:
        return int(text) * 1_000
    try:
        at = datetime.fromisoformat(text)
        if at.tzinfo is None:
            raise ValueError("no zone")
        return round(at.timestamp() * 1_000_000)
    except (ValueError, OverflowError) as error:
        raise _bad(name, text, "milliseconds since 1970, or a time with its zone: 2026-11-16T10:00:00Z") from error


class Numbers(dict[str, int]):
    """A number for each topic, -2 for earliest, -1 for latest; and when the topic was made, where that was said."""

    sinces: dict[str, int]


Offsets = str | Numbers
"""`earliest`, `latest`, or numbers."""


def _offsets(name: str, text: str) -> Offsets:
    wanted = f'{EARLIEST}, {LATEST}, or the number of a message for each topic: {{"fallecidos": 17}}'
    if text.lower() in (EARLIEST, LATEST):
        return text.lower()
    try:
        found = msgspec.json.decode(text.encode(), type=dict[str, int | dict[str, int]])
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise _bad(name, text, wanted) from error
    offsets = Numbers()
    offsets.sinces = {topic: one["since"] for topic, one in found.items() if isinstance(one, dict) and "since" in one}
    for topic, number in found.items():
        # The Kafka connector names a partition; a topic here has one.
        plain = number.get("0", number.get("next", -3)) if isinstance(number, dict) else number
        if not (plain in (-1, -2) or 1 <= plain <= INTEGER_MAX):
            raise _bad(name, text, wanted)
        offsets[topic] = plain
    return offsets


def _topics(name: str, text: str) -> tuple[str, ...]:
    topics = tuple(dict.fromkeys(topic.strip() for topic in text.split(",") if topic.strip()))
    if not topics or len(topics) > _TOPICS_MAX:
        raise _bad(name, text, f"1 to {_TOPICS_MAX} topics, with commas between them")
    for topic in topics:
        check_name("topic", topic)
    return topics


def _columns(name: str, text: str) -> tuple[str, ...]:
    columns = tuple(dict.fromkeys(column.strip() for column in text[:_COLUMNS_CHARACTERS_MAX].split(",")))
    if not all(columns):
        raise _bad(name, text, "columns of the table, with commas between them: topic,seq,body")
    return columns


def _pattern(name: str, text: str) -> str:
    try:
        if not text or len(text) > _PATTERN_CHARACTERS_MAX:
            raise re.error("too long")
        re.compile(text)
    except re.error as error:
        raise _bad(name, text, f"a regular expression of up to {_PATTERN_CHARACTERS_MAX} characters") from error
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """What was asked for, checked. It travels to the executors."""

    hub: str = DEFAULT_HUB_URL
    key: str = field(default="", repr=False)
    ca: str = ""
    certificate: str = ""
    timeout_ms: int = 60_000
    """How long an executor goes on trying to reach a hub that is away."""
    table: str = MESSAGES
    columns: tuple[str, ...] = ()
    """Those that are wanted, in this order; all of them if none is named."""
    topics: tuple[str, ...] = ()
    pattern: str = ""
    starting: Offsets | None = None
    ending: Offsets | None = None
    starting_us: int | None = None
    ending_us: int | None = None
    rows_per_trigger_max: int | None = None
    partitions_min: int = 1
    fails_on_data_loss: bool = True
    subscriber: str = ""
    """Streams acknowledge what is committed as this subscriber."""
    mark: str = ""
    """A stream of traces marks how far it is under this name, so that the hub keeps what comes after."""
    topic: str = ""
    producer: str = "spark"
    content_type: str = ""
    idempotence: str = BY_TASK
    session: str = ""
    """What makes a batch write that is run again the same one: what it stored before is not stored again."""

    def destination(self) -> Destination:
        """Where the hub is, and what is shown there."""
        key = self.key or os.environ.get(KEY_VARIABLE, "")
        return find_destination(self.hub, key, self.ca or None, self.certificate or None)

    def is_of(self, topic: str, since: int) -> bool:
        """Whether the offsets are of a topic that was made then, as far as they say so."""
        said = (one.sinces.get(topic) for one in (self.starting, self.ending) if isinstance(one, Numbers))
        return all(one in (None, since) for one in said)

    def offsets_of(self, topic: str, which: Offsets) -> int | str:
        """Where a topic is to begin or to end: a number, or one of the two words."""
        if isinstance(which, str):
            return which
        number = which.get(topic, -3)
        if number == -3:
            raise SettingsInvalid(f"the offsets name no number for {topic[:80]}: name every topic, -2 for {EARLIEST}")
        return {-1: LATEST, -2: EARLIEST}.get(number, number)


def _name_of(kind: str) -> Callable[[str, str], str]:
    def check(_name: str, text: str) -> str:
        return check_name(kind, text)

    return check


def _one_of(*words: str) -> Callable[[str, str], str]:
    def check(name: str, text: str) -> str:
        if text.lower() not in words:
            raise _bad(name, text, f"one of {', '.join(words)}")
        return text.lower()

    return check


def _hub(name: str, text: str) -> str:
    if text.partition("://")[0].lower() not in ("http", "https"):
        raise _bad(name, text, f"the address of the hub's HTTP door: {DEFAULT_HUB_URL}")
    return text.rstrip("/")


def _text(_name: str, text: str) -> str:
    return text


_READ: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "hub": ("hub", _hub),
    "key": ("key", _text),
    "ca": ("ca", _text),
    "certificate": ("certificate", _text),
    "timeoutMs": ("timeout_ms", lambda name, text: _number(name, text, 100, 86_400_000)),
    "table": ("table", _one_of(*TABLES)),
    "columns": ("columns", _columns),
    "subscribe": ("topics", _topics),
    "subscribePattern": ("pattern", _pattern),
    "startingOffsets": ("starting", _offsets),
    "endingOffsets": ("ending", _offsets),
    "startingTimestamp": ("starting_us", _instant_us),
    "endingTimestamp": ("ending_us", _instant_us),
    "maxOffsetsPerTrigger": ("rows_per_trigger_max", lambda name, text: _number(name, text, 1, INTEGER_MAX)),
    "minPartitions": ("partitions_min", lambda name, text: _number(name, text, 1, 10_000)),
    "failOnDataLoss": ("fails_on_data_loss", _boolean),
    "subscriber": ("subscriber", _name_of("subscriber")),
    "mark": ("mark", _name_of("mark")),
    "topic": ("topic", _name_of("topic")),
    "producer": ("producer", _name_of("producer")),
    "contentType": ("content_type", _text),
    "idempotence": ("idempotence", _one_of(BY_TASK, BY_ID)),
    "session": ("session", _name_of("session")),
}
assert set(_READ) == set(NAMES)


def read_options(given: Mapping[str, str]) -> SourceOptions:
    """The options as Spark gives them; raises SettingsInvalid or BadName, saying what to write."""
    known = {name.lower(): name for name in NAMES}
    values: dict[str, Any] = {}
    default_hub = os.environ.get(HUB_VARIABLE, "")
    if default_hub.lower().startswith(("http://", "https://")):
        values["hub"] = default_hub.rstrip("/")
    for lower, text in given.items():
        name = known.get(lower.lower())
        if name is None:
            if lower.lower() in _OF_SPARK or lower.startswith("__"):
                continue
            near = difflib.get_close_matches(lower.lower(), known, 1)
            hint = f"did you mean {known[near[0]]}?" if near else f"there are {', '.join(NAMES)}"
            raise SettingsInvalid(f"option {lower[:80]} is not known: {hint}")
        field_name, read = _READ[name]
        values[field_name] = read(name, text)
    path = given.get("path", "")
    if path and "topics" not in values and values.get("table", MESSAGES) == MESSAGES:
        values["topics"] = _topics("path", path)
    options = SourceOptions(**values)
    _check_together(options)
    options.destination()
    return options


def _check_together(options: SourceOptions) -> None:
    if options.topics and options.pattern:
        raise SettingsInvalid("options subscribe and subscribePattern are both given: keep one")
    if options.table != MESSAGES and (options.topics or options.pattern):
        raise SettingsInvalid(f"option table is {options.table}, which has no topics to subscribe to: leave them out")
    known = schema_of(options.table).names
    for column in options.columns:
        if column not in known:
            raise _bad("columns", column, f"columns of {options.table}: {', '.join(known)}")
    for offsets, instant, which in (
        (options.starting, options.starting_us, "starting"),
        (options.ending, options.ending_us, "ending"),
    ):
        if offsets is not None and instant is not None:
            raise SettingsInvalid(f"options {which}Offsets and {which}Timestamp are both given: keep one")
        if isinstance(offsets, Numbers) and options.pattern:
            raise SettingsInvalid(f"option {which}Offsets names topics, but a pattern may find others: use {EARLIEST}")
    if options.ending == EARLIEST:
        raise SettingsInvalid("option endingOffsets is earliest, which is before everything: use latest or numbers")
    if len(options.content_type) > 255 or not options.content_type.isprintable():
        raise _bad("contentType", options.content_type, f"a media type, such as {DEFAULT_CONTENT_TYPE}")


def require_topics(options: SourceOptions) -> None:
    """Raises SettingsInvalid when nothing says which topics to read."""
    if options.table == MESSAGES and not (options.topics or options.pattern):
        raise SettingsInvalid(
            'say which topics to read: option("subscribe", "fallecidos,nacidos"), or subscribePattern, or '
            f'option("table", …) for one of {", ".join(TABLES[1:])}'
        )
