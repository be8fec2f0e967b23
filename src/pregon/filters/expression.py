"""A filter: from its JSON text to what tells whether a message is wanted, and why.

    {"header": "region", "equals": "montevideo"}
    {"field": "key", "prefix": "1."}
    {"xpath": "//not:ci", "namespaces": {"not": "http://noticias.agesic.gub.uy/"}}
    {"jmespath": "persona.edad > `60`"}
    {"and": […]}, {"or": […]}, {"not": {…}}

Where and for how long a filter runs is `examiner`'s.

Promises:
- Any text makes a filter or raises BadFilter, which says where and what to write. Compiling evaluates nothing.
- A filter fails open: what raises while a message is examined lets the message pass, and says so in the reason.
- The canonical text of a filter compiles to the same filter, and is its own canonical text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec

from pregon import limits
from pregon.errors import BadFilter
from pregon.filters.conditions import All, Condition, Examinable, Look, Not, OfJson, OfText, OfXml, Some, cut
from pregon.filters.json_bodies import compile_jmespath
from pregon.filters.xml_bodies import compile_xpath

FIELDS: dict[str, Callable[[Examinable], str | None]] = {
    "key": lambda message: message.key,
    "content_type": lambda message: message.content_type,
    "producer": lambda message: message.producer,
}
"""What may be tested beside headers."""

_KINDS = ("header", "field", "xpath", "jmespath", "and", "or", "not")
_TESTS = ("equals", "in", "prefix", "exists")
_Compiled = TypeVar("_Compiled")
_EXAMPLE = 'such as {"header": "region", "equals": "montevideo"}'


class Verdict(msgspec.Struct, frozen=True):
    """What a filter says of a message."""

    matched: bool
    """Whether the subscription wants it, or has to take it because the filter failed."""
    reason: str
    """What made it match, or why it does not; at most `limits.FILTER_REASON_CHARACTERS_MAX` long, one line."""


def failure(what: str) -> Verdict:
    """The verdict on a message that could not be examined: it passes, and says why."""
    return Verdict(True, cut(f"the filter failed: {what}"))


class Filter:
    """A filter, ready to use; by one thread at a time if it needs bodies."""

    def __init__(self, condition: Condition | None) -> None:
        self._condition = condition
        self.text = "" if condition is None else msgspec.json.encode(condition.plain).decode()
        """The canonical text."""
        self.needs_body = condition is not None and condition.needs_body
        """Whether it looks into bodies, which may take long."""

    def examine(self, message: Examinable) -> Verdict:
        """Whether the message is wanted, and why; never raises."""
        if self._condition is None:
            return Verdict(True, "")
        try:
            holds, fact = self._condition.find(Look(message))
        except MemoryError:
            return failure("it needs too much memory")
        except Exception as error:  # Whatever a strange body makes XPath or JMESPath raise: no message is lost by it.
            return failure(str(error) or type(error).__name__)
        return Verdict(holds, cut(fact))


def check_filter(text: str) -> str:
    """The canonical text of a filter, "" for one that wants everything; raises BadFilter."""
    return compile_filter(text).text


def compile_filter(text: str) -> Filter:
    """The filter in a text; raises BadFilter."""
    if not text.strip():
        return Filter(None)
    try:
        data = text.encode()
        if len(data) > limits.FILTER_BYTES_MAX:
            raise BadFilter(f"the filter has {len(data)} bytes: write at most {limits.FILTER_BYTES_MAX}")
        value = msgspec.json.decode(data)
    except RecursionError as error:
        raise BadFilter(f"the filter is too deep: write at most {limits.FILTER_DEPTH_MAX} levels") from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise BadFilter(f"the filter is not JSON ({cut(str(error), 100)}): write an object {_EXAMPLE}") from error
    return Filter(_Reading().condition(value, "the filter", 1))


class _Reading:
    """Reads one filter, and counts what it has."""

    def __init__(self) -> None:
        self._count = 0

    def condition(self, value: object, place: str, depth: int) -> Condition:
        """The condition that a JSON value means."""
        if not isinstance(value, dict):
            raise BadFilter(f"{place} is no object: write one {_EXAMPLE}")
        if depth > limits.FILTER_DEPTH_MAX:
            raise BadFilter(f"{place} is too deep: write at most {limits.FILTER_DEPTH_MAX} levels")
        kinds = [kind for kind in _KINDS if kind in value]
        if len(kinds) != 1:
            found = _listed(kinds) or "no condition"
            raise BadFilter(f"{place} has {found}: write one of {', '.join(_KINDS)}, {_EXAMPLE}")
        (kind,) = kinds
        if kind in {"and", "or"}:
            _check_names(value, place, (kind,))
            parts = self._parts(value[kind], f"{place}: {kind}", depth)
            return All(parts) if kind == "and" else Some(parts)
        if kind == "not":
            _check_names(value, place, (kind,))
            return Not(self.condition(value[kind], f"{place}: not", depth + 1))
        self._count += 1
        if self._count > limits.FILTER_CONDITIONS_MAX:
            raise BadFilter(f"the filter has too many conditions: write at most {limits.FILTER_CONDITIONS_MAX}")
        return _LEAVES[kind](value, place)

    def _parts(self, values: object, place: str, depth: int) -> list[Condition]:
        if not isinstance(values, list) or not values:
            raise BadFilter(f"{place} is no list with something in it: write the conditions in a list, [{{…}}, {{…}}]")
        return [self.condition(value, f"{place}[{number}]", depth + 1) for number, value in enumerate(values)]


def _header(value: dict[str, Any], place: str) -> Condition:
    name = _text(value["header"], f"{place}: header")
    if not name:
        raise BadFilter(f"{place}: header is empty: write the name of a header")
    return _of_text(value, place, ("header", name), lambda message: message.headers.get(name))


def _field(value: dict[str, Any], place: str) -> Condition:
    name = value["field"]
    if not isinstance(name, str) or name not in FIELDS:
        raise BadFilter(f"{place}: field is none that there is: write one of {', '.join(FIELDS)}")
    return _of_text(value, place, ("field", name), FIELDS[name])


def _of_text(
    value: dict[str, Any], place: str, subject: tuple[str, str], value_of: Callable[[Examinable], str | None]
) -> Condition:
    """The one test that there is of a header or field."""
    tests = [test for test in _TESTS if test in value]
    if len(tests) != 1:
        raise BadFilter(f"{place} has {_listed(tests) or 'no test'}: write one of {', '.join(_TESTS)}, {_EXAMPLE}")
    (test,) = tests
    kind, name = subject
    _check_names(value, place, (kind, test))
    wanted, where = value[test], f"{place}: {test}"
    said = f"header {name}" if kind == "header" else name.replace("_", " ")
    plain = {kind: name, test: wanted}
    if test == "exists":
        if not isinstance(wanted, bool):
            raise BadFilter(f"{where} is neither true nor false: write one of them, without quotes")
        there, absent = f"{said} is there", f"{said} is not there"
        words = (there, absent) if wanted else (absent, there)
        return OfText(plain, value_of, lambda found: (found is not None) == wanted, *words)
    if test == "in":
        if not isinstance(wanted, list) or not wanted:
            raise BadFilter(f'{where} is no list with something in it: write one such as ["a", "b"]')
        texts = frozenset(_text(each, f"{where}[{number}]") for number, each in enumerate(wanted))
        words = _both_ways(f"{said} is one of {', '.join(wanted)}")
        return OfText(plain, value_of, lambda found: found in texts, *words)
    text = _text(wanted, where)
    if test == "equals":
        return OfText(plain, value_of, lambda found: found == text, *_both_ways(f"{said} = {text}"))
    words = _both_ways(f"{said} begins with {text}")
    return OfText(plain, value_of, lambda found: found is not None and found.startswith(text), *words)


def _xpath(value: dict[str, Any], place: str) -> Condition:
    _check_names(value, place, ("xpath", "namespaces"))
    expression = _text(value["xpath"], f"{place}: xpath")
    namespaces = value.get("namespaces", {})
    if not isinstance(namespaces, dict):
        raise BadFilter(f'{place}: namespaces is no object: write one such as {{"not": "http://…"}}')
    for prefix, uri in namespaces.items():
        _text(uri, f"{place}: namespaces: {cut(prefix, 80)}")
    plain = {"xpath": expression, **({"namespaces": dict(sorted(namespaces.items()))} if namespaces else {})}
    is_true = _at(place, lambda: compile_xpath(expression, namespaces))
    return OfXml(plain, is_true, cut(f"xpath {expression}"))


def _jmespath(value: dict[str, Any], place: str) -> Condition:
    _check_names(value, place, ("jmespath",))
    expression = _text(value["jmespath"], f"{place}: jmespath")
    is_true = _at(place, lambda: compile_jmespath(expression))
    return OfJson({"jmespath": expression}, is_true, cut(f"jmespath {expression}"))


def _at(place: str, compile_it: Callable[[], _Compiled]) -> _Compiled:
    """What compiles does not know where in the filter it stands: its complaints are told where."""
    try:
        return compile_it()
    except BadFilter as error:
        raise BadFilter(f"{place}: {error}") from error


_LEAVES: dict[str, Callable[[dict[str, Any], str], Condition]] = {
    "header": _header,
    "field": _field,
    "xpath": _xpath,
    "jmespath": _jmespath,
}


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise BadFilter(f'{place} is no text: write one between quotes, "…"')
    return value


def _check_names(value: dict[str, Any], place: str, known: tuple[str, ...]) -> None:
    unknown = [name for name in value if name not in known]
    if unknown:
        allowed = _listed(known[1:]) or "nothing"
        raise BadFilter(f"{place} has {_listed(unknown)}: beside {known[0]} write only {allowed}")


def _both_ways(said: str) -> tuple[str, str]:
    return cut(said), cut(f"not {said}")


def _listed(names: Iterable[str]) -> str:
    return cut(", ".join(names), 100)
