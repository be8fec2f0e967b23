"""The OpenAPI 3.1 document, written from the table of routes.

Structs become schemas by msgspec; what the table says of each route (headers, media types, what it refuses) becomes
the rest. Nothing is described by hand twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from pregon.edges.http.answers import JSON, PROBLEM, Problem, status_of
from pregon.edges.http.forms import MessageIn, MessageOut, time_name
from pregon.edges.http.groups_forms import GroupMessageOut
from pregon.edges.http.routes import Route
from pregon.errors import (
    BadRequest,
    Forbidden,
    HubBusy,
    InternalError,
    MediaTypeUnknown,
    NotFound,
    PregonError,
    RateLimited,
    TooLarge,
    Unauthorized,
)
from pregon.store.session_rows import SESSION_BYTES_MAX
from pregon.version import __version__

_TEMPLATE = "#/components/schemas/{name}"
_BODY_FIELDS = ("json", "text", "base64")
_ALWAYS: tuple[type[PregonError], ...] = (BadRequest, Unauthorized, Forbidden, RateLimited, InternalError, HubBusy)
_NO_KEY = {"/healthz", "/readyz", "/v1/openapi.json", "/docs"}
_NAME_SCHEMA = {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$"}
_TAGS = {
    "messages": "Publish, and read by number",
    "subscriptions": "Receive, acknowledge, set aside, replay",
    "catalogue": "Topics, producers, subscribers and grants",
    "schemas": "What a topic's messages must be",
    "keys": "Keys of producers and subscribers, tokens, and secrets that sign pushes",
    "traces": "What happened to which messages",
    "audit": "Who changed what",
    "groups": "Conversations in causal order, and who takes part in them",
    "machines": "Health, metrics, and our own clients",
}


def describe(routes: Sequence[Route]) -> dict[str, Any]:
    """The document for these routes."""
    kinds = {one for route in routes for one in (route.body, route.answer, route.other_answer, route.query)}
    structs = {one for one in kinds if one is not None and _is_struct(one)}
    _, components = msgspec.json.schema_components(
        sorted({*structs, Problem}, key=lambda one: one.__name__), ref_template=_TEMPLATE
    )
    schemas = {name: _with_times(schema) for name, schema in components.items()}
    for struct in (MessageIn, MessageOut, GroupMessageOut):
        if struct.__name__ in schemas:
            _give_body(schemas[struct.__name__])
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Pregón",
            "version": __version__,
            "summary": "A message hub for organisations that must tell each other things and be able to prove it.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "security": [{"key": []}, {}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A producer's or subscriber's key, a token, or a token of the identity provider",
                }
            },
        },
    }


def _is_struct(kind: type[Any] | None) -> bool:
    return kind is not None and issubclass(kind, msgspec.Struct)


def _with_times(schema: dict[str, Any]) -> dict[str, Any]:
    """Times in microseconds are shown as RFC 3339 (see `forms.view`)."""
    if "properties" not in schema:
        return schema
    properties: dict[str, Any] = {}
    for name, value in schema["properties"].items():
        if not name.endswith("_us"):
            properties[name] = value
            continue
        moment = {"type": "string", "format": "date-time"}
        properties[time_name(name)] = {"anyOf": [moment, {"type": "null"}]} if "anyOf" in value else moment
    required = [time_name(one) if one.endswith("_us") else one for one in schema.get("required", [])]
    return {**schema, "properties": properties, "required": required}


def _give_body(schema: dict[str, Any]) -> None:
    """A message has its body as one of three."""
    schema["properties"]["json"] = {"description": "The body, if it is JSON"}
    schema["properties"]["text"] = {"type": "string", "description": "The body, if it is text"}
    schema["properties"]["base64"] = {
        "type": "string",
        "contentEncoding": "base64",
        "description": "The body, if it is neither",
    }
    schema["oneOf"] = [{"required": [name]} for name in _BODY_FIELDS]


def _operation(route: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": _operation_id(route),
        "tags": [route.tag],
        "summary": route.summary,
        "parameters": _parameters(route, schemas),
        "responses": _responses(route),
    }
    if route.description:
        operation["description"] = route.description
    if route.path in _NO_KEY:
        operation["security"] = []
    content = _request_content(route)
    if content:
        operation["requestBody"] = {
            "required": bool(route.body and _has_required(route.body, schemas)),
            "content": content,
        }
    return operation


def _has_required(kind: type[Any], schemas: dict[str, Any]) -> bool:
    return bool(schemas[kind.__name__].get("required"))


def _operation_id(route: Route) -> str:
    words = re.sub(r"[^A-Za-z0-9]+", "_", route.path.removeprefix("/v1")).strip("_")
    return f"{route.method.lower()}_{words}"


def _parameters(route: Route, schemas: dict[str, Any]) -> list[dict[str, Any]]:
    found = [
        {"name": name, "in": "path", "required": True, "schema": _path_schema(name)}
        for name in re.findall(r"\{(\w+)\}", route.path)
    ]
    if route.query is not None:
        schema = schemas[route.query.__name__]
        for name, value in schema["properties"].items():
            # A parameter that is left out is how a query says none.
            shown = next((one for one in value.get("anyOf", ()) if one.get("type") != "null"), value)
            plain = {key: one for key, one in shown.items() if key != "default" or one is not None}
            found.append({"name": name, "in": "query", "required": name in schema["required"], "schema": plain})
    for name, text in route.headers.items():
        if name != "Pregon-Header-NAME":
            found.append({"name": name, "in": "header", "description": text, "schema": _header_schema(name)})
    return found


def _path_schema(name: str) -> dict[str, Any]:
    if name in ("seq", "member"):
        return {"type": "integer", "minimum": 1, "maximum": 10**17}
    if name == "stamp":
        return {"type": "string", "pattern": "^[1-9][0-9]{0,17}:[1-9][0-9]{0,17}$"}
    if name == "session":
        return {"type": "string", "minLength": 1, "maxLength": SESSION_BYTES_MAX}
    return _NAME_SCHEMA


def _header_schema(name: str) -> dict[str, Any]:
    if name == "Pregon-Producer":
        return _NAME_SCHEMA
    if name == "Last-Event-ID":
        return {"type": "string", "pattern": "^[0-9]{1,18}$"}
    if name == "traceparent":
        # One that is malformed is passed over, as Trace Context asks: nobody is refused for it.
        return {"type": "string"}
    return {"type": "string", "maxLength": 200, "pattern": "^[ -~]*$"}


def _request_content(route: Route) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if route.body is not None:
        content[JSON] = {"schema": {"$ref": _TEMPLATE.format(name=route.body.__name__)}}
        if route.example is not None:
            content[JSON]["example"] = route.example
    for media_type, example in route.bodies.items():
        is_json = media_type.endswith("json")
        content[media_type] = {"schema": {} if is_json else {"type": "string", "format": "binary"}}
        if example is not None:
            content[media_type]["example"] = example
    return content


def _responses(route: Route) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if route.answer is not None:
        schema = _schema_of(route.answer)
        if route.other_answer is not None:
            schema = {"anyOf": [schema, _schema_of(route.other_answer)]}
        content[JSON] = {"schema": schema}
        if route.answer_example is not None:
            content[JSON]["example"] = route.answer_example
    for media_type in route.answers:
        content[media_type] = {"schema": {}}
    responses: dict[str, Any] = {}
    for status in (route.status, *route.also):
        responses[str(status)] = {"description": "Done" if status != 200 or not route.also else "It was there already"}
        if status != 204 and content:
            responses[str(status)]["content"] = content
    for status, codes in sorted(_refusals(route).items()):
        responses[str(status)] = {
            "description": ", ".join(sorted(codes)),
            "content": {PROBLEM: {"schema": {"$ref": _TEMPLATE.format(name="Problem")}}},
        }
    return responses


def _schema_of(kind: type[Any]) -> dict[str, Any]:
    return {"$ref": _TEMPLATE.format(name=kind.__name__)} if _is_struct(kind) else {"type": "object"}


def _refusals(route: Route) -> dict[int, set[str]]:
    kinds = {*_ALWAYS, *route.errors}
    if route.body is not None or route.bodies:
        kinds |= {TooLarge, MediaTypeUnknown}
    if "{" in route.path:
        kinds.add(NotFound)
    found: dict[int, set[str]] = {}
    for kind in kinds:
        found.setdefault(status_of(kind("")), set()).add(kind.code)
    return found
