"""Keys, tokens and schemas over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from pregon.edges.http.answers import Answer, json_answer, no_content
from pregon.edges.http.entries import Name
from pregon.edges.http.exchange import Exchange
from pregon.edges.http.forms import Page, decode_cursor, decode_number_cursor, encode_cursor, view
from pregon.edges.http.routes import Desk, Handler, Route
from pregon.errors import BadSchema, LimitReached, NotFound
from pregon.hub.access import NewKey, ShownKey
from pregon.limits import BODY_BYTES_MAX, DESCRIPTION_CHARACTERS_MAX, REQUEST_BYTES_MAX, SCHEMA_BYTES_MAX
from pregon.model.catalog import NUMBER_MAX, SchemaVersion
from pregon.security.keys import PRODUCER, SCOPES, SUBSCRIBER, TOKEN, Key

_Ms = Annotated[int, Meta(ge=0, le=NUMBER_MAX)]


class KeyIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A key to make. `overlap_ms`: how long the owner's other keys stay valid; left out: as long as they were."""

    label: Annotated[str, Meta(max_length=DESCRIPTION_CHARACTERS_MAX)] = ""
    requests_per_s: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    body_bytes_max: Annotated[int, Meta(ge=1, le=BODY_BYTES_MAX)] | None = None
    lifetime_ms: _Ms | None = None
    overlap_ms: _Ms | None = None


class TokenIn(KeyIn, kw_only=True, forbid_unknown_fields=True):
    """A token to make: what it may do is in its scopes."""

    name: Name
    scopes: Annotated[list[Annotated[str, Meta(pattern="^(admin|operate|read)$")]], Meta(min_length=1, max_length=3)]


class KeysOut(msgspec.Struct, kw_only=True):
    """Keys by owner, without their secrets; `next` is `cursor` of the next page."""

    items: list[Key]
    next: str | None


class SchemaIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A schema for a topic: `xml` and `json` ask for well-formed bodies only, and need no text."""

    kind: Annotated[str, Meta(pattern="^(xml|json|xsd|json-schema)$")]
    text: Annotated[str, Meta(max_length=SCHEMA_BYTES_MAX)] = ""


class SchemasPage(msgspec.Struct, kw_only=True):
    """Versions of a topic's schema, newest first; `next` is `cursor` of the next page."""

    items: list[SchemaVersion]
    next: str | None


class _Keys:
    """Keys of one kind of owner."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    async def create(self, desk: Desk, exchange: Exchange) -> Answer:
        """Make one; the only answer with its secret."""
        caller = desk.caller(exchange)
        if self.kind == TOKEN:
            wanted: Any = await exchange.json(TokenIn)
            owner, scopes = wanted.name, tuple(wanted.scopes)
        else:
            wanted = await exchange.json(KeyIn)
            owner, scopes = exchange.params[self.kind], ()
        key = NewKey(
            kind=self.kind,
            owner=owner,
            scopes=scopes,
            label=wanted.label,
            requests_per_s=wanted.requests_per_s,
            body_bytes_max=wanted.body_bytes_max,
            lifetime_ms=wanted.lifetime_ms,
            overlap_ms=wanted.overlap_ms,
        )
        made = await desk.answer(desk.gate.create_key(caller, key))
        return json_answer(view(made), 201, [(b"cache-control", b"no-store")])

    async def list(self, desk: Desk, exchange: Exchange) -> Answer:
        """All of an owner's."""
        caller, wanted = desk.caller(exchange), exchange.query(Page)
        owner, id_ = decode_cursor(wanted.cursor, 2) or ("", "")
        whose = exchange.params.get(self.kind, "")
        keys = await desk.answer(desk.gate.list_keys(caller, self.kind, whose, (owner, id_), wanted.max))
        if whose and not keys:
            await desk.answer(desk.gate.show(caller, self.kind, (whose,)))
        following = encode_cursor([keys[-1].owner, keys[-1].id]) if len(keys) == wanted.max else None
        return json_answer({"items": [view(key) for key in keys], "next": following})

    async def revoke(self, desk: Desk, exchange: Exchange) -> Answer:
        """End one at once."""
        caller, params = desk.caller(exchange), exchange.params
        owner = params["token"] if self.kind == TOKEN else params[self.kind]
        if not await desk.answer(desk.gate.revoke_key(caller, self.kind, owner, params["key"])):
            raise NotFound(f"the {self.kind} {owner} has no such key")
        return no_content()


async def set_schema(desk: Desk, exchange: Exchange) -> Answer:
    """Give a topic another schema."""
    caller, wanted = desk.caller(exchange), await _schema_in(exchange)
    return json_answer(view(await desk.answer(desk.gate.set_schema(caller, wanted))))


async def compare_schema(desk: Desk, exchange: Exchange) -> Answer:
    """What giving it that schema would mean."""
    caller, wanted = desk.caller(exchange), await _schema_in(exchange)
    compared = view(await desk.answer(desk.gate.compare_schema(caller, wanted)))
    # It is no version of the topic's schema yet.
    return json_answer({name: one for name, one in compared.items() if name not in ("version", "created_at")})


async def _schema_in(exchange: Exchange) -> SchemaVersion:
    wanted = await exchange.json(SchemaIn, REQUEST_BYTES_MAX)
    return SchemaVersion(topic=exchange.params["topic"], kind=wanted.kind, text=wanted.text)


async def remove_schema(desk: Desk, exchange: Exchange) -> Answer:
    """Take a topic's schema away."""
    caller = desk.caller(exchange)
    await desk.answer(desk.gate.set_schema(caller, SchemaVersion(topic=exchange.params["topic"], kind="none")))
    return no_content()


async def show_schema(desk: Desk, exchange: Exchange) -> Answer:
    """A topic's schema of now."""
    caller, topic = desk.caller(exchange), exchange.params["topic"]
    found = await desk.answer(desk.gate.list_schemas(caller, topic, 0, 1))
    if not found or found[0].kind == "none":
        raise NotFound(f"{topic} has no schema: it takes any body")
    return json_answer(view(found[0]))


async def list_schemas(desk: Desk, exchange: Exchange) -> Answer:
    """All the versions that a topic's schema had."""
    caller, wanted = desk.caller(exchange), exchange.query(Page)
    before = decode_number_cursor(wanted.cursor, 9)
    found = await desk.answer(desk.gate.list_schemas(caller, exchange.params["topic"], before, wanted.max))
    following = encode_cursor([found[-1].version]) if len(found) == wanted.max else None
    return json_answer({"items": [view(one) for one in found], "next": following})


_KEY_EXAMPLE = {"label": "the batch job in the cellar", "requests_per_s": 100, "overlap_ms": 86_400_000}


def _key_routes(kind: str, collection: str, item: str) -> list[Route]:
    keys = _Keys(kind)
    whose = "token" if kind == TOKEN else f"key of a {kind}"

    def route(method: str, path: str, handler: Handler, summary: str, **more: Any) -> Route:
        return Route(method=method, path=path, handler=handler, tag="keys", summary=summary, **more)

    example = {"name": "grafana", "scopes": ["read"]} if kind == TOKEN else _KEY_EXAMPLE
    return [
        route(
            "POST", collection, keys.create, f"Make a {whose}: the answer has its secret, once",
            description="Scopes: " + "; ".join(f"`{name}`, {text}" for name, text in SCOPES.items())
            if kind == TOKEN else "From the first key on, only who presents one may act in this name.",
            body=TokenIn if kind == TOKEN else KeyIn, status=201, answer=ShownKey, errors=(LimitReached,),
            example=example,
        ),
        route("GET", collection, keys.list, f"List every {whose}, without secrets", query=Page, answer=KeysOut),
        route("DELETE", item, keys.revoke, f"Revoke a {whose}, at once", status=204),
    ]  # fmt: skip


_SCHEMA_EXAMPLE = {"kind": "json-schema", "text": '{"type": "object", "required": ["nombre"]}'}
_SCHEMA = "/v1/topics/{topic}/schema"
ROUTES = [
    *_key_routes(PRODUCER, "/v1/producers/{producer}/keys", "/v1/producers/{producer}/keys/{key}"),
    *_key_routes(SUBSCRIBER, "/v1/subscribers/{subscriber}/keys", "/v1/subscribers/{subscriber}/keys/{key}"),
    *_key_routes(TOKEN, "/v1/tokens", "/v1/tokens/{token}/keys/{key}"),
    Route(
        method="GET", path=_SCHEMA, handler=show_schema, tag="schemas", summary="A topic's schema",
        answer=SchemaVersion,
    ),
    Route(
        method="PUT", path=_SCHEMA, handler=set_schema, tag="schemas",
        summary="Give a topic a schema: from then on only what fits is stored",
        description="The answer says whether it accepts all that the one before it did: yes, no or unknown, and why.",
        body=SchemaIn, answer=SchemaVersion, errors=(BadSchema, LimitReached), example=_SCHEMA_EXAMPLE,
    ),
    Route(
        method="DELETE", path=_SCHEMA, handler=remove_schema, tag="schemas", summary="Take a topic's schema away",
        status=204,
    ),
    Route(
        method="GET", path=f"{_SCHEMA}/versions", handler=list_schemas, tag="schemas",
        summary="The versions of a topic's schema, newest first", query=Page, answer=SchemasPage,
    ),
    Route(
        method="POST", path=f"{_SCHEMA}/compare", handler=compare_schema, tag="schemas",
        summary="Whether a schema accepts all that the topic's schema of now does, changing nothing",
        body=SchemaIn, answer=SchemaVersion, errors=(BadSchema,), example=_SCHEMA_EXAMPLE,
    ),
]  # fmt: skip
