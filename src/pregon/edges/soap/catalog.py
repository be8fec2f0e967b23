"""The catalogue by SOAP: create, read, change, delete and list what is registered, and make keys and signing secrets.

Who may is the gate's to say. In an update a field that is left out stays as it was, and one that is nil is taken away.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pregon.edges.soap.operations import CarryOut, Operation, OperationsService, Values
from pregon.edges.soap.push import PUSH_OPTIONS, push_operations
from pregon.edges.soap.records import FLAG, INSTANT, NAME, NUMBER, TEXT, Field, Record
from pregon.edges.soap.services import Desk
from pregon.errors import BadRequest
from pregon.hub.access import NewKey
from pregon.hub.registry import KINDS, Entry
from pregon.limits import LIST_ROWS_MAX
from pregon.model.catalog import Producer, PushOptions, Retention, Topic
from pregon.security.keys import PRODUCER, SUBSCRIBER
from pregon.soap.vocabulary import CATALOGO

_LIST_ROWS_DEFAULT = 100

_RETENTION = Record(
    "Retention",
    (
        Field("ageMs", "age_ms", NUMBER),
        Field("bytesMax", "bytes_max", NUMBER),
        Field("whenAcknowledged", "when_acknowledged", FLAG),
    ),
)
_TOPICS = Record("TopicNames", (Field("topic", "topic", NAME, is_list=True),))
_DESCRIPTION = Field("description", "description", TEXT)
_ENABLED = Field("enabled", "enabled", FLAG)
_CREATED = Field("createdAt", "created_us", INSTANT)

_NAMES: dict[str, tuple[Field, ...]] = {
    "topic": (Field("name", "name", NAME, is_required=True),),
    "producer": (Field("name", "name", NAME, is_required=True),),
    "subscriber": (Field("name", "name", NAME, is_required=True),),
    "subscription": (
        Field("topic", "topic", NAME, is_required=True),
        Field("subscriber", "subscriber", NAME, is_required=True),
    ),
}
_SETTABLE: dict[str, tuple[Field, ...]] = {
    "topic": (
        _DESCRIPTION,
        Field("restricted", "restricted", FLAG),
        Field("retention", "retention", _RETENTION),
        _ENABLED,
    ),
    "producer": (_DESCRIPTION, Field("topics", "topics", _TOPICS), _ENABLED),
    "subscriber": (
        _DESCRIPTION,
        Field("mode", "mode", NAME),
        Field("endpoint", "endpoint", NAME),
        Field("format", "format", NAME),
        Field("push", "push", PUSH_OPTIONS),
        _ENABLED,
    ),
    "subscription": (
        Field("pendingMax", "pending_max", NUMBER, may_be_nil=True),
        Field("pendingAgeMs", "pending_age_ms", NUMBER, may_be_nil=True),
        Field("filter", "filter", TEXT, may_be_nil=True),
        Field("paused", "paused", FLAG),
    ),
}
_AT_FIRST: dict[str, tuple[Field, ...]] = {"subscription": (Field("start", "start", NAME),)}
_SHOWN: dict[str, tuple[Field, ...]] = {
    "topic": (
        Field("firstNotificationId", "tail_seq", NUMBER),
        Field("lastNotificationId", "head_seq", NUMBER),
        Field("bytes", "bytes", NUMBER),
        Field("schemaVersion", "schema_version", NUMBER),
    ),
    "subscriber": (Field("disabledReason", "disabled_reason", TEXT),),
    "subscription": (
        Field("firstNotificationId", "first_seq", NUMBER),
        Field("acknowledgedNotificationId", "acked_seq", NUMBER),
    ),
}
_RECORDS = {
    kind: Record(kind.capitalize(), (*_NAMES[kind], *_SETTABLE[kind], *_SHOWN.get(kind, ()), _CREATED))
    for kind in KINDS
}
_KEY = Record(
    "Key",
    (Field("keyId", "id", NAME), Field("label", "label", TEXT), _CREATED, Field("expiresAt", "expires_us", INSTANT)),
)
_EXISTED = Field("existed", "existed", FLAG)


def _names_of(kind: str, values: Values) -> tuple[str, ...]:
    """Take the names out of the values."""
    return tuple(values.pop(field.attribute) for field in _NAMES[kind])


def _as_model(values: Values) -> Values:
    """The values as the model has them."""
    if "topics" in values:
        values["topics"] = tuple(values["topics"].get("topic", ()))
    if "retention" in values:
        values["retention"] = msgspec.to_builtins(Retention(**values["retention"]))
    if "push" in values:
        values["push"] = msgspec.to_builtins(PushOptions(**values["push"]))
    if "filter" in values:
        values["filter"] = values["filter"] or ""
    return values


def _as_record(entry: Entry) -> Mapping[str, Any]:
    """An entry as its record has it."""
    values = msgspec.structs.asdict(entry)
    if isinstance(entry, Producer):
        values["topics"] = {"topic": entry.topics}
    for name in ("retention", "push"):
        if name in values:
            values[name] = msgspec.structs.asdict(values[name])
    for name in ("endpoint", "disabled_reason", "filter", "paused"):
        values[name] = values.get(name) or None
    if isinstance(entry, Topic | Producer) and entry.enabled:
        # As it was before either could be disabled: clients that were made from an older WSDL know of no such element.
        values["enabled"] = None
    return values


def _entry_operations(kind: str) -> tuple[Operation, ...]:
    """Create, get, update, delete and list one kind of entry."""
    title, names = kind.capitalize(), _NAMES[kind]
    shown = (Field(kind, "entry", _RECORDS[kind], is_required=True),)
    many = (Field(kind, "entries", _RECORDS[kind], is_list=True),)

    async def create(desk: Desk, values: Values) -> Mapping[str, Any]:
        entry = msgspec.convert(_as_model(values), KINDS[kind])
        return {"entry": _as_record(await desk.answer(desk.gate.create(desk.caller, entry)))}

    async def get(desk: Desk, values: Values) -> Mapping[str, Any]:
        ticket = desk.gate.show(desk.caller, kind, _names_of(kind, values))
        return {"entry": _as_record(await desk.answer(ticket))}

    async def update(desk: Desk, values: Values) -> Mapping[str, Any]:
        ticket = desk.gate.update(desk.caller, kind, _names_of(kind, values), _as_model(values))
        return {"entry": _as_record(await desk.answer(ticket))}

    async def delete(desk: Desk, values: Values) -> Mapping[str, Any]:
        return {"existed": await desk.answer(desk.gate.delete(desk.caller, kind, _names_of(kind, values)))}

    settable = (*names, *_SETTABLE[kind])
    return (
        Operation(
            f"Create{title}",
            f"Register a {kind}. One that is there already with the same values is no error.",
            (*settable, *_AT_FIRST.get(kind, ())),
            shown,
            create,
        ),
        Operation(f"Get{title}", f"Show one {kind}.", names, shown, get),
        Operation(f"Update{title}", "Change what is given; what is left out stays as it was.", settable, shown, update),
        Operation(f"Delete{title}", f"Delete a {kind} and what hangs on it.", names, (_EXISTED,), delete),
        Operation(f"List{title}s", "A page, in the order of names.", _page_fields(kind), many, _lister(kind)),
    )


def _page_fields(kind: str) -> tuple[Field, ...]:
    rows = Field("max", "rows_max", NUMBER)
    if kind != "subscription":
        return (Field("after", "after", NAME), rows)
    optional = tuple(Field(field.name, field.attribute, NAME) for field in _NAMES[kind])
    return (*optional, Field("afterTopic", "after", NAME), Field("afterSubscriber", "after_subscriber", NAME), rows)


def _lister(kind: str) -> CarryOut:
    async def list_(desk: Desk, values: Values) -> Mapping[str, Any]:
        rows_max = values.get("rows_max", _LIST_ROWS_DEFAULT)
        if not 1 <= rows_max <= LIST_ROWS_MAX:
            raise BadRequest(f"max is 1 to {LIST_ROWS_MAX}")
        after: tuple[str, ...] = (values.get("after", ""),)
        names: tuple[str, ...] = ()
        if kind == "subscription":
            after = (*after, values.get("after_subscriber", ""))
            names = (values.get("topic", ""), values.get("subscriber", ""))
        ticket = desk.gate.list(desk.caller, kind, after=after, names=names, rows_max=rows_max)
        return {"entries": [_as_record(entry) for entry in await desk.answer(ticket)]}

    return list_


def _key_operations(kind: str) -> tuple[Operation, ...]:
    """Make, list and revoke the keys of producers or of subscribers."""
    title, (name,) = kind.capitalize(), _NAMES[kind]

    async def create(desk: Desk, values: Values) -> Mapping[str, Any]:
        wanted = NewKey(kind=kind, owner=values.pop("name"), **values)
        made = await desk.answer(desk.gate.create_key(desk.caller, wanted))
        return {"secret": made.secret, "id": made.id}

    async def list_(desk: Desk, values: Values) -> Mapping[str, Any]:
        found = await desk.answer(desk.gate.list_keys(desk.caller, kind, values["name"]))
        return {"keys": [msgspec.structs.asdict(key) for key in found]}

    async def revoke(desk: Desk, values: Values) -> Mapping[str, Any]:
        ticket = desk.gate.revoke_key(desk.caller, kind, values["name"], values["id"])
        return {"existed": await desk.answer(ticket)}

    asks = (
        name,
        Field("label", "label", TEXT),
        Field("lifetimeMs", "lifetime_ms", NUMBER),
        Field("overlapMs", "overlap_ms", NUMBER),
    )
    key_id = Field("keyId", "id", NAME, is_required=True)
    return (
        Operation(
            f"Create{title}Key",
            f"Make a key for a {kind}. The answer is the only one that ever shows it.",
            asks,
            (Field("accessKey", "secret", NAME, is_required=True), key_id),
            create,
        ),
        Operation(
            f"List{title}Keys",
            "Its keys, without the secrets.",
            (name,),
            (Field("key", "keys", _KEY, is_list=True),),
            list_,
        ),
        Operation(f"Revoke{title}Key", "Revoke a key at once.", (name, key_id), (_EXISTED,), revoke),
    )


def _grant_operations() -> tuple[Operation, ...]:
    """Let a producer publish to a restricted topic, or no longer."""

    def changer(is_granted: bool) -> CarryOut:
        async def change(desk: Desk, values: Values) -> Mapping[str, Any]:
            ticket = desk.gate.grant(desk.caller, values["producer"], values["topic"], is_granted=is_granted)
            return {"entry": _as_record(await desk.answer(ticket))}

        return change

    asks = (Field("producer", "producer", NAME, is_required=True), Field("topic", "topic", NAME, is_required=True))
    shown = (Field("producer", "entry", _RECORDS["producer"], is_required=True),)
    return (
        Operation("GrantTopic", "Let a producer publish to a restricted topic.", asks, shown, changer(True)),
        Operation("RevokeTopic", "Let it no longer.", asks, shown, changer(False)),
    )


def catalog_service() -> OperationsService:
    """`/soap/catalogo`."""
    operations = (
        *(operation for kind in KINDS for operation in _entry_operations(kind)),
        *_grant_operations(),
        *_key_operations(PRODUCER),
        *_key_operations(SUBSCRIBER),
        *push_operations(),
    )
    return OperationsService("Catalogo", CATALOGO, operations)
