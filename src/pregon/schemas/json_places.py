"""Finding one's way inside a JSON Schema: what it refers to, and what it comes to when that is written out.

Promises: references are only followed inside the schema, by JSON Pointer (`#/$defs/x`); what is referred to in another
way is not found, and who asks must do without. Nothing here recurses with the schema's own references.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from pregon.errors import BadSchema

EVALUATIONS_MAX = 100_000
"""Subschemas that are tried on one value of a body, counting each as often as it is reached."""

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
"""Keywords that stand for a schema elsewhere."""

_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLES = (
    *("not", "if", "then", "else", "contains", "propertyNames", "items", "additionalItems"),
    *("additionalProperties", "unevaluatedItems", "unevaluatedProperties"),
)
_MAPS = ("patternProperties", "dependentSchemas", "dependencies")


def find_reference(root: Any, reference: Any) -> Any | None:
    """The subschema that a reference inside the schema points to, None if it is of another kind or points nowhere."""
    if reference == "#":
        return root
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    found = root
    for step in unquote(reference[2:]).split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and name in found:
            found = found[name]
        elif isinstance(found, list) and name.isascii() and name.isdigit() and int(name) < len(found):
            found = found[int(name)]
        else:
            return None
    return found if isinstance(found, dict | bool) else None


def refuse_expansion(root: Any) -> None:
    """Raise BadSchema for definitions of definitions that double at each step: checking takes as long as they come to.

    Of the properties of an object only the heaviest counts, since each is for another value.
    """
    found: dict[int, int] = {}
    open_: set[int] = set()
    waiting = [root]
    while waiting:
        last = waiting[-1]
        if id(last) in open_ or id(last) in found:
            waiting.pop()
            found.setdefault(id(last), _weight(root, last, found))
            if found[id(last)] > EVALUATIONS_MAX:
                raise BadSchema(
                    f"checking one value may try more than {EVALUATIONS_MAX} subschemas: refer less often "
                    "to definitions that refer to others"
                )
            continue
        open_.add(id(last))
        waiting += [each for each in _all_parts(root, last) if id(each) not in open_]


def _weight(root: Any, schema: Any, found: dict[int, int]) -> int:
    # One that is not found yet leads back here: jsonschema-rs tries a schema only once on the same value.
    tried = sum(found.get(id(each), 0) for each in _tried_together(root, schema))
    return 1 + tried + max((found.get(id(each), 0) for each in _properties(schema)), default=0)


def _all_parts(root: Any, schema: Any) -> Iterator[Any]:
    yield from _tried_together(root, schema)
    yield from _properties(schema)


def _properties(schema: Any) -> Iterator[Any]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    yield from properties.values() if isinstance(properties, dict) else ()


def _tried_together(root: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(schema, dict):
        return
    for name in REFERENCES:
        target = find_reference(root, schema.get(name))
        if target is not None:
            yield target
    for name in _SINGLES:
        if isinstance(schema.get(name), dict):
            yield schema[name]
    for name in (*_LISTS, "items"):
        if isinstance(schema.get(name), list):
            yield from schema[name]
    for name in _MAPS:
        if isinstance(schema.get(name), dict):
            yield from (each for each in schema[name].values() if isinstance(each, dict))
