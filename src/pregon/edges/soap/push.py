"""What is particular to push in the catalogue by SOAP: its options, the secrets that sign it, and how it goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pregon.edges.soap.operations import Operation, Values
from pregon.edges.soap.records import FLAG, INSTANT, NAME, NUMBER, TEXT, Field, Record
from pregon.edges.soap.services import Desk
from pregon.hub.signing import OVERLAP_MS_DEFAULT

PUSH_OPTIONS = Record(
    "PushOptions",
    (
        Field("timeLimitMs", "time_limit_ms", NUMBER),
        Field("ratePerS", "rate_per_s", NUMBER),
        Field("parallel", "parallel", NUMBER),
        Field("attemptsMax", "attempts_max", NUMBER),
        Field("delayMsFirst", "delay_ms_first", NUMBER),
        Field("delayMsMax", "delay_ms_max", NUMBER),
        Field("onPoison", "on_poison", NAME),
    ),
)
_SECRET = Record(
    "SigningSecret",
    (
        Field("secretId", "id", NAME),
        Field("createdAt", "created_us", INSTANT),
        Field("expiresAt", "expires_us", INSTANT),
    ),
)
_NAME = Field("name", "name", NAME, is_required=True)
_SECRET_ID = Field("secretId", "id", NAME, is_required=True)
_SUBSCRIPTION = (
    Field("topic", "topic", NAME, is_required=True),
    Field("subscriber", "subscriber", NAME, is_required=True),
)
_STATE = (
    Field("mode", "mode", NAME, is_required=True),
    Field("enabled", "enabled", FLAG, is_required=True),
    Field("attempts", "attempts", NUMBER, is_required=True),
    Field("nextTry", "next_try_us", INSTANT),
    Field("failingSince", "failing_since_us", INSTANT),
    Field("lastFailure", "last_failure", TEXT),
    Field("paused", "paused", FLAG),
)


async def _create(desk: Desk, values: Values) -> Mapping[str, Any]:
    overlap_ms = values.get("overlap_ms", OVERLAP_MS_DEFAULT)
    made = await desk.answer(desk.gate.create_secret(desk.caller, values["name"], values.get("secret", ""), overlap_ms))
    return {"secret": made.secret, "id": made.id}


async def _list(desk: Desk, values: Values) -> Mapping[str, Any]:
    found = await desk.answer(desk.gate.list_secrets(desk.caller, values["name"]))
    return {"secrets": [msgspec.structs.asdict(one) for one in found]}


async def _revoke(desk: Desk, values: Values) -> Mapping[str, Any]:
    return {"existed": await desk.answer(desk.gate.revoke_secret(desk.caller, values["name"], values["id"]))}


async def _show(desk: Desk, values: Values) -> Mapping[str, Any]:
    state = await desk.answer(desk.gate.push_state(desk.caller, values["topic"], values["subscriber"]))
    shown = msgspec.structs.asdict(state)
    for name in ("next_try_us", "failing_since_us", "last_failure", "paused"):
        shown[name] = shown[name] or None
    return shown


def push_operations() -> tuple[Operation, ...]:
    """Make, list and revoke the signing secrets of a subscriber; show how pushing a subscription goes."""
    return (
        Operation(
            "CreateSubscriberSecret",
            "Give a subscriber a new secret with which pushes to it are signed: its own if it brings one. The others "
            "end after overlapMs, a day unless said. The answer is the only one that ever shows it.",
            (_NAME, Field("secret", "secret", NAME), Field("overlapMs", "overlap_ms", NUMBER)),
            (Field("secret", "secret", NAME, is_required=True), _SECRET_ID),
            _create,
        ),
        Operation(
            "ListSubscriberSecrets",
            "Its signing secrets, newest first, without what is secret of them.",
            (_NAME,),
            (Field("secret", "secrets", _SECRET, is_list=True),),
            _list,
        ),
        Operation(
            "RevokeSubscriberSecret",
            "Revoke a signing secret at once.",
            (_NAME, _SECRET_ID),
            (Field("existed", "existed", FLAG),),
            _revoke,
        ),
        Operation(
            "GetPushState",
            "How pushing a subscription goes: whether it fails, since when and why, and when it is tried again.",
            _SUBSCRIPTION,
            _STATE,
            _show,
        ),
    )
