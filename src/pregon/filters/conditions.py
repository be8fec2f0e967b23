"""The conditions of which a filter is made, and what each finds in a message.

Reading them from JSON is `expression`'s; what XPath and JMESPath may say is `xml_bodies`' and `json_bodies`'.

Promises:
- A finding comes with a fact, and the fact is true of the message whether the condition holds or not: `not` only
  turns the answer round, and the facts of the parts joined by "and" are the reason for the whole.
- Conditions are looked at in the order in which they are written, and no further than needed.
- A body is parsed at most once in each way for one message, and only when a condition asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from lxml import etree

from pregon import limits
from pregon.errors import BadXml, TooLarge
from pregon.schemas.json import parse_json
from pregon.schemas.xml import parse_xml

NO_XML = "the body is not XML"
NO_JSON = "the body is not JSON"


class Examinable(Protocol):
    """What a condition may look at: a message, or the row of it that was sent to a child process."""

    @property
    def key(self) -> str | None:
        """The key, if it has one."""

    @property
    def content_type(self) -> str:
        """The content type of the body."""

    @property
    def producer(self) -> str:
        """Who published it."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers that the producer gave."""

    @property
    def body(self) -> bytes:
        """What was published."""


class Look:
    """One message while it is being looked at."""

    def __init__(self, message: Examinable) -> None:
        self.message = message

    @cached_property
    def xml(self) -> etree._Element | None:
        """The root element of the body; None if it is not XML that the hub reads."""
        try:
            return parse_xml(self.message.body)
        except (BadXml, TooLarge):
            return None

    @cached_property
    def json(self) -> tuple[bool, object]:
        """Whether the body is JSON that the hub reads, and its value."""
        try:
            return True, parse_json(self.message.body)
        except ValueError:
            return False, None


class Finding(NamedTuple):
    """Whether a condition holds, and what it saw."""

    holds: bool
    fact: str


class Condition(Protocol):
    """One condition, alone or made of others."""

    @property
    def plain(self) -> dict[str, Any]:
        """The condition as JSON has it, in the one order of names that we write."""

    @property
    def needs_body(self) -> bool:
        """Whether it looks into the body."""

    def find(self, look: Look) -> Finding:
        """What it finds; raises whatever evaluating it raises."""


@dataclass(frozen=True, slots=True)
class OfText:
    """A test of a header, or of another text that travels beside the body."""

    plain: dict[str, Any]
    value_of: Callable[[Examinable], str | None]
    passes: Callable[[str | None], bool]
    said: str
    """The test in words."""
    denied: str
    """That it does not pass, in words."""
    needs_body: bool = False

    def find(self, look: Look) -> Finding:
        """What it finds."""
        holds = self.passes(self.value_of(look.message))
        return Finding(holds, self.said if holds else self.denied)


@dataclass(frozen=True, slots=True)
class OfXml:
    """An XPath expression that is true of the body."""

    plain: dict[str, Any]
    is_true: Callable[[etree._Element], bool]
    said: str
    needs_body: bool = True

    def find(self, look: Look) -> Finding:
        """What it finds."""
        if look.xml is None:
            return Finding(False, NO_XML)
        holds = self.is_true(look.xml)
        return Finding(holds, self.said if holds else f"not {self.said}")


@dataclass(frozen=True, slots=True)
class OfJson:
    """A JMESPath expression that is true of the body."""

    plain: dict[str, Any]
    is_true: Callable[[object], bool]
    said: str
    needs_body: bool = True

    def find(self, look: Look) -> Finding:
        """What it finds."""
        is_json, value = look.json
        if not is_json:
            return Finding(False, NO_JSON)
        holds = self.is_true(value)
        return Finding(holds, self.said if holds else f"not {self.said}")


class All:
    """Every one of its parts holds."""

    def __init__(self, parts: list[Condition]) -> None:
        self.parts = parts
        self.plain: dict[str, Any] = {"and": [part.plain for part in parts]}
        self.needs_body = any(part.needs_body for part in parts)

    def find(self, look: Look) -> Finding:
        """The facts of all of them, or of the first that does not hold."""
        facts = []
        for part in self.parts:
            finding = part.find(look)
            if not finding.holds:
                return finding
            facts.append(finding.fact)
        return Finding(True, _joined(facts))


class Some:
    """At least one of its parts holds."""

    def __init__(self, parts: list[Condition]) -> None:
        self.parts = parts
        self.plain: dict[str, Any] = {"or": [part.plain for part in parts]}
        self.needs_body = any(part.needs_body for part in parts)

    def find(self, look: Look) -> Finding:
        """The fact of the first that holds, or those of all of them."""
        facts = []
        for part in self.parts:
            finding = part.find(look)
            if finding.holds:
                return finding
            facts.append(finding.fact)
        return Finding(False, _joined(facts))


class Not:
    """Its part does not hold."""

    def __init__(self, part: Condition) -> None:
        self.part = part
        self.plain: dict[str, Any] = {"not": part.plain}
        self.needs_body = part.needs_body

    def find(self, look: Look) -> Finding:
        """The same fact, which now says the opposite."""
        holds, fact = self.part.find(look)
        return Finding(not holds, fact)


def _joined(facts: list[str]) -> str:
    """The facts, each once: a body that is not XML need not be said for every expression."""
    return " and ".join(dict.fromkeys(facts))


def cut(text: str, characters_max: int = limits.FILTER_REASON_CHARACTERS_MAX) -> str:
    """The text in one line of printable characters, with dots where it was cut: fit for a header, a log, a table."""
    line = " ".join(text[: 4 * characters_max].split())
    if not line.isprintable():
        line = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in line)
    return line if len(line) <= characters_max else line[: characters_max - 1] + "…"
