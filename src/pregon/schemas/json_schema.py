"""Bodies against a JSON Schema.

jsonschema-rs does the work, from draft 4 to 2020-12 as `$schema` says, 2020-12 if it does not.

Promises:
- Nothing is fetched: a `$ref` out of the schema is a `BadSchema`.
- A pattern takes time linear in the text: the engine is the one without backtracking, so patterns that need it
  (looking around, referring back) are a `BadSchema`.
- Definitions that refer to definitions over and over are a `BadSchema` before they take for ever.
- Any number of threads may check at once: a validator is never changed after it was made.
"""

from __future__ import annotations

from typing import Any

import jsonschema_rs

from pregon import limits
from pregon.errors import BadSchema, SchemaMismatch
from pregon.schemas.json import parse_json
from pregon.schemas.json_places import refuse_expansion
from pregon.schemas.reasons import shorten

_PATTERN_BYTES_MAX = 1 * limits.MIB
_EXPLAINED_BYTES_MAX = 64 * limits.KIB


class JsonSchemaChecker:
    """Refuses bodies that do not fit a JSON Schema."""

    def __init__(self, text: str) -> None:
        """Raises BadSchema, saying where and why."""
        schema = parse_schema(text)
        refuse_expansion(schema)
        self._validator = make_validator(schema)

    def check(self, body: bytes) -> None:
        """Raises SchemaMismatch with the place, as a JSON Pointer, and the reason."""
        try:
            value: Any = parse_json(body)
        except ValueError as error:
            raise SchemaMismatch(f"the body is not JSON: {error}") from error
        if not self._validator.is_valid(value):
            raise SchemaMismatch(self._reason(value, len(body)))

    def _reason(self, value: Any, size: int) -> str:
        if size > _EXPLAINED_BYTES_MAX:
            # The reason why no branch of an anyOf fits lists every error of each one, which for a body of
            # a megabyte takes seconds and half a gigabyte.
            return f"the body does not fit the schema; above {_EXPLAINED_BYTES_MAX} bytes it is not said where"
        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            place = shorten(pointer(error.instance_path)) or "the root"
            return f"at {place}: {shorten(error.message)}"
        return "the body does not fit the schema"


def parse_schema(text: str) -> dict[str, Any] | bool:
    """The schema as a value; raises BadSchema when it is too large or no JSON object or boolean."""
    try:
        data = text.encode()
        if len(data) > limits.SCHEMA_BYTES_MAX:
            raise BadSchema(f"the schema has {len(data)} bytes: at most {limits.SCHEMA_BYTES_MAX} are read")
        schema = parse_json(data)
    except ValueError as error:
        raise BadSchema(shorten(f"the schema is not JSON: {error}")) from error
    if not isinstance(schema, dict | bool):
        raise BadSchema("a JSON Schema is an object, true or false")
    return schema


def pointer(path: list[str | int]) -> str:
    """The place in a JSON value, as RFC 6901 writes it."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def make_validator(schema: dict[str, Any] | bool) -> jsonschema_rs.Validator:
    """What checks values against a schema; raises BadSchema, saying where and why."""
    try:
        return jsonschema_rs.validator_for(
            schema,
            offline=True,
            mask="the value",
            pattern_options=jsonschema_rs.RegexOptions(size_limit=_PATTERN_BYTES_MAX),
        )
    except jsonschema_rs.ValidationError as error:
        raise BadSchema(_schema_reason(error)) from error
    except ValueError as error:
        raise BadSchema(shorten(f"the schema cannot be used: {error}")) from error


def _schema_reason(error: jsonschema_rs.ValidationError) -> str:
    place = shorten(pointer(error.instance_path)) or "the root"
    said = shorten(error.message)
    if "is not present in a registry" in said:
        return f"{said}; nothing is fetched: write what the schema refers to under its $defs"
    if 'is not a "regex"' in said:
        return f"at {place}: {said} of at most {_PATTERN_BYTES_MAX} bytes without looking around or referring back"
    return f"at {place}: {said}"
