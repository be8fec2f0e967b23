"""JMESPath in filters: what may be said, checked before it meets a message.

The library only finds out while it evaluates that a function does not exist; this module walks through the
expression first, so that who registers a filter hears of it.

Promises:
- Only functions that exist, with as many arguments as they take; literals that are JSON; not over `NESTED_MAX` deep.
- What is true is what JMESPath says: everything but null, false, "", [] and {}. The number 0 is true.
- Nothing is evaluated here, and the library keeps no expression in its own cache, which counts no bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions
from jmespath.parser import ParsedResult, Parser

from pregon.errors import BadFilter
from pregon.filters.conditions import cut

NESTED_MAX = 100
"""Parts of an expression inside one another: evaluating takes a few Python frames for each."""

# A literal is what stands between backticks, unless they stand in a text or a quoted name.
_QUOTED = re.compile(r"""'(?:\\.|[^'\\])*+'|"(?:\\.|[^"\\])*+"|`((?:\\.|[^`\\])*+)`""", re.DOTALL)


def compile_jmespath(expression: str) -> Callable[[object], bool]:
    """What tells whether the expression is true of a value; raises BadFilter."""
    _check_literals(expression)
    parsed = _parse(expression)
    _check_tree(parsed.parsed)

    def test(value: object) -> bool:
        return is_true(parsed.search(value))

    return test


def is_true(value: object) -> bool:
    """What JMESPath calls true."""
    return value is not None and value is not False and value != "" and value != [] and value != {}


def _parse(expression: str) -> ParsedResult:
    try:
        return Parser().parse(expression)
    except RecursionError as error:
        raise BadFilter(f"the JMESPath is over {NESTED_MAX} deep: write a flatter one") from error
    except (JMESPathError, ValueError) as error:
        said = cut(str(error).split("\n")[0], 120)
        raise BadFilter(f"the JMESPath {cut(expression, 80)} is not one ({said}): see jmespath.org") from error
    finally:
        Parser.purge()


def _check_literals(expression: str) -> None:
    """The library takes `montevideo` for "montevideo", with a warning; here it is JSON or it is refused."""
    for quoted in _QUOTED.finditer(expression):
        literal = quoted.group(1)
        if literal is not None:
            try:
                json.loads(literal.replace("\\`", "`"))
            except (ValueError, RecursionError) as error:
                shown = cut(literal, 80)
                raise BadFilter(f"`{shown}` in the JMESPath is not JSON: write a text as '{shown}'") from error


def _check_tree(tree: Any) -> None:
    """Raises BadFilter for functions that there are not, for steps of 0 and for what is too deep."""
    level = [tree]
    for _ in range(NESTED_MAX):
        for node in level:
            if node["type"] == "function_expression":
                _check_call(node["value"], len(node["children"]))
            elif node["type"] == "slice" and node["children"][2] == 0:
                raise BadFilter("a slice in the JMESPath has a step of 0: write another, or none")
        # The children of a slice are numbers.
        level = [child for node in level for child in node["children"] if isinstance(child, dict)]
        if not level:
            return
    raise BadFilter(f"the JMESPath is over {NESTED_MAX} deep: write a flatter one")


def _check_call(name: str, given: int) -> None:
    found = Functions.FUNCTION_TABLE.get(name)
    if found is None:
        raise BadFilter(f"JMESPath has no function {cut(name, 80)}(): use one of {', '.join(Functions.FUNCTION_TABLE)}")
    signature = found["signature"]
    takes = len(signature)
    is_variadic = bool(signature and signature[-1].get("variadic"))
    if given < takes or (given > takes and not is_variadic):
        raise BadFilter(f"JMESPath's {name}() takes {takes}{' or more' if is_variadic else ''} arguments, not {given}")
