"""XPath in filters: what may be said, checked before libxml2 meets a message.

libxml2 only finds out while it evaluates that a function or a prefix is unknown, and then only if it comes that
far. This module reads the expression's words (not its grammar, which libxml2 checks when it compiles), so that who
registers a filter hears of it.

Promises:
- Only the functions of XPath 1.0 itself, with as many arguments as they take: no EXSLT, no regular expressions, no
  variables, nothing that other code may have added to lxml. None of them opens a file or a socket.
- Brackets are at most `NESTED_MAX` inside one another, so that compiling needs little stack, in whatever thread.
- Nothing is evaluated here: evaluating may take as long as it likes, and is for a child process.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from lxml import etree

from pregon.errors import BadFilter
from pregon.filters.conditions import cut

NESTED_MAX = 50
"""Parentheses and brackets inside one another."""

_ANY_NUMBER = 1_000_000
_FUNCTIONS: dict[str, tuple[int, int]] = {
    "boolean": (1, 1),
    "ceiling": (1, 1),
    "concat": (2, _ANY_NUMBER),
    "contains": (2, 2),
    "count": (1, 1),
    "false": (0, 0),
    "floor": (1, 1),
    "id": (1, 1),
    "lang": (1, 1),
    "last": (0, 0),
    "local-name": (0, 1),
    "name": (0, 1),
    "namespace-uri": (0, 1),
    "normalize-space": (0, 1),
    "not": (1, 1),
    "number": (0, 1),
    "position": (0, 0),
    "round": (1, 1),
    "starts-with": (2, 2),
    "string": (0, 1),
    "string-length": (0, 1),
    "substring": (2, 3),
    "substring-after": (2, 2),
    "substring-before": (2, 2),
    "sum": (1, 1),
    "translate": (3, 3),
    "true": (0, 0),
}
"""The functions of XPath 1.0, and how many arguments each takes: at least, at most."""

_NODE_TESTS = frozenset({"comment", "node", "processing-instruction", "text"})
_PREDEFINED = frozenset({"xml"})

_START = (
    r"A-Z_a-z\xC0-\xD6\xD8-\xF6\xF8-\u02FF\u0370-\u037D\u037F-\u1FFF\u200C\u200D\u2070-\u218F"
    r"\u2C00-\u2FEF\u3001-\uD7FF\uF900-\uFDCF\uFDF0-\uFFFD\U00010000-\U000EFFFF"
)
_NAME = rf"[{_START}][{_START}\-.0-9\xB7\u0300-\u036F\u203F\u2040]*+"
_PREFIX = re.compile(_NAME)
_TOKEN = re.compile(
    rf"""
    (?P<space>[ \t\r\n]++)
    | (?P<literal>"[^"]*+"|'[^']*+')
    | (?P<number>[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)
    | (?P<name>{_NAME}(?::(?!:)(?:{_NAME}|\*))?)
    | (?P<mark>::|//|\.\.|!=|<=|>=|[()\[\]@,./|+\-=<>*$])
    """,
    re.VERBOSE,
)


def compile_xpath(expression: str, namespaces: Mapping[str, str]) -> Callable[[etree._Element], bool]:
    """What tells whether the expression is true of a document, by XPath's boolean(); raises BadFilter."""
    _check_namespaces(namespaces)
    _check_words(expression, frozenset(namespaces) | _PREDEFINED)
    try:
        # Alone first: what only makes sense between the parentheses of boolean() is no expression.
        etree.XPath(expression, namespaces=dict(namespaces), regexp=False, smart_strings=False)
        is_true = etree.XPath(f"boolean({expression})", namespaces=dict(namespaces), regexp=False, smart_strings=False)
    except (etree.XPathError, ValueError, TypeError) as error:
        said = cut(str(error), 80)
        raise BadFilter(f"the XPath {cut(expression, 80)} is not one ({said}): write XPath 1.0") from error

    def test(root: etree._Element) -> bool:
        return bool(is_true(root))

    return test


def _check_namespaces(namespaces: Mapping[str, str]) -> None:
    for prefix, uri in namespaces.items():
        if not _PREFIX.fullmatch(prefix):
            raise BadFilter(
                f"the prefix {cut(repr(prefix), 80)} in namespaces is no XML name: write one such as not, and use it "
                "in the XPath (XPath 1.0 has no default namespace)"
            )
        if not uri:
            raise BadFilter(f"the prefix {cut(prefix, 80)} in namespaces is empty: write the namespace's whole URI")


@dataclass(slots=True)
class _Open:
    """A bracket that has not been closed yet."""

    function: str
    """The function whose arguments are inside, or ""."""
    commas: int = 0
    is_empty: bool = True

    def check(self) -> None:
        """Raises BadFilter if the function does not take so many arguments."""
        if self.function:
            given = 0 if self.is_empty else self.commas + 1
            least, most = _FUNCTIONS[self.function]
            if not least <= given <= most:
                more = "" if least == most else " or more" if most == _ANY_NUMBER else f" to {most}"
                raise BadFilter(f"XPath's {self.function}() takes {least}{more} arguments, not {given}")


def _check_words(expression: str, prefixes: frozenset[str]) -> None:
    """Raises BadFilter for functions, prefixes and variables that there are not, and for brackets too deep."""
    opened: list[_Open] = []
    function = ""
    is_after_operand = False
    for (kind, token), (_, following) in pairwise([*_tokens(expression), ("end", "")]):
        if opened and token not in {")", "]"}:
            opened[-1].is_empty = False
        if kind == "name" and not is_after_operand:
            _check_prefix(token, prefixes)
            function = _function(token) if following == "(" else ""
        elif token in {"(", "["}:
            opened.append(_Open(function if token == "(" else ""))
            function = ""
            if len(opened) > NESTED_MAX:
                raise BadFilter(f"the XPath has over {NESTED_MAX} brackets inside one another: write a flatter one")
        elif token in {")", "]"} and opened:
            opened.pop().check()
        elif token == "," and opened:
            opened[-1].commas += 1
        elif token == "$":
            raise BadFilter("the XPath has a variable ($): there are none, write the value itself")
        is_after_operand = _ends_operand(kind, token, is_after_operand)


def _ends_operand(kind: str, token: str, was_after_operand: bool) -> bool:
    """Whether an operator must follow: only then are `and`, `or`, `div`, `mod` and `*` operators."""
    if kind == "name" or token == "*":
        return not was_after_operand
    return kind in {"literal", "number"} or token in {")", "]", ".", ".."}


def _tokens(expression: str) -> Iterator[tuple[str, str]]:
    """Kind and text of each word of the expression; raises BadFilter where none begins."""
    position = 0
    while position < len(expression):
        found = _TOKEN.match(expression, position)
        if found is None:
            raise BadFilter(f"the XPath has no meaning from {cut(expression[position:], 40)} on: write XPath 1.0")
        position = found.end()
        if found.lastgroup != "space":
            yield str(found.lastgroup), found.group()


def _check_prefix(name: str, prefixes: frozenset[str]) -> None:
    prefix, colon, _ = name.partition(":")
    if colon and prefix not in prefixes:
        raise BadFilter(
            f"the XPath has the prefix {cut(prefix, 80)}, which namespaces does not explain: write "
            f'"namespaces": {{"{cut(prefix, 80)}": "http://…"}} beside "xpath"'
        )


def _function(name: str) -> str:
    """The function of that name, "" for a node test; raises BadFilter if there is neither."""
    if name in _NODE_TESTS:
        return ""
    if name not in _FUNCTIONS:
        raise BadFilter(f"XPath 1.0 has no function {cut(name, 80)}(): use one of {', '.join(_FUNCTIONS)}")
    return name
