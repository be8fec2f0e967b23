"""What is particular to push over HTTP: the secrets with which it is signed, and how it goes.

Where and how messages are pushed is set with the subscriber, in `catalog`.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from pregon.edges.http.answers import Answer, json_answer, no_content
from pregon.edges.http.exchange import Exchange
from pregon.edges.http.forms import view
from pregon.edges.http.routes import Desk, Route
from pregon.errors import LimitReached, NotFound
from pregon.hub.signing import OVERLAP_MS_DEFAULT, ShownSecret
from pregon.model.catalog import NUMBER_MAX, PushState, SigningSecret

_SECRETS = "/v1/subscribers/{subscriber}/secrets"


class SecretIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A signing secret to make. `secret`: your own, if you bring one; `overlap_ms`: how long the others stay valid."""

    secret: Annotated[str, Meta(max_length=200)] = ""
    overlap_ms: Annotated[int, Meta(ge=0, le=NUMBER_MAX)] = OVERLAP_MS_DEFAULT


class SecretsOut(msgspec.Struct, kw_only=True):
    """The signing secrets of a subscriber, newest first, without what is secret of them."""

    items: list[SigningSecret]


class PushOut(msgspec.Struct, kw_only=True):
    """How pushing a subscription goes: what is null is not so."""

    topic: str
    subscriber: str
    mode: str
    enabled: bool
    paused: bool
    attempts: int
    next_try_us: int | None
    failing_since_us: int | None
    last_failure: str


async def create_secret(desk: Desk, exchange: Exchange) -> Answer:
    """Make one; the only answer that has it."""
    caller, wanted = desk.caller(exchange), await exchange.json(SecretIn)
    ticket = desk.gate.create_secret(caller, exchange.params["subscriber"], wanted.secret, wanted.overlap_ms)
    return json_answer(view(await desk.answer(ticket)), 201, [(b"cache-control", b"no-store")])


async def list_secrets(desk: Desk, exchange: Exchange) -> Answer:
    """All of a subscriber's."""
    caller = desk.caller(exchange)
    found = await desk.answer(desk.gate.list_secrets(caller, exchange.params["subscriber"]))
    return json_answer({"items": [view(one) for one in found]})


async def revoke_secret(desk: Desk, exchange: Exchange) -> Answer:
    """End one at once."""
    caller, params = desk.caller(exchange), exchange.params
    if not await desk.answer(desk.gate.revoke_secret(caller, params["subscriber"], params["secret"])):
        raise NotFound(f"the subscriber {params['subscriber']} has no such secret")
    return no_content()


async def show_push(desk: Desk, exchange: Exchange) -> Answer:
    """How pushing the subscription goes."""
    caller, params = desk.caller(exchange), exchange.params
    state: PushState = await desk.answer(desk.gate.push_state(caller, params["topic"], params["subscriber"]))
    shown = PushOut(
        topic=state.topic,
        subscriber=state.subscriber,
        mode=state.mode,
        enabled=state.enabled,
        paused=state.paused,
        attempts=state.attempts,
        next_try_us=state.next_try_us or None,
        failing_since_us=state.failing_since_us or None,
        last_failure=state.last_failure,
    )
    return json_answer(view(shown))


ROUTES = [
    Route(
        method="POST",
        path=_SECRETS,
        handler=create_secret,
        tag="keys",
        summary="Give a subscriber a new signing secret: the answer has it, once",
        description="What is pushed to it is signed with every secret that is valid, as Standard Webhooks has it. The "
        "others end after `overlap_ms`, a day unless you say another time, so that the subscriber can learn the new "
        "one meanwhile.",
        body=SecretIn,
        status=201,
        answer=ShownSecret,
        errors=(LimitReached,),
        example={"overlap_ms": 86_400_000},
    ),
    Route(
        method="GET",
        path=_SECRETS,
        handler=list_secrets,
        tag="keys",
        summary="List the signing secrets of a subscriber, without what is secret of them",
        answer=SecretsOut,
    ),
    Route(
        method="DELETE",
        path=f"{_SECRETS}/{{secret}}",
        handler=revoke_secret,
        tag="keys",
        summary="Revoke a signing secret, at once",
        status=204,
    ),
    Route(
        method="GET",
        path="/v1/topics/{topic}/subscriptions/{subscriber}/push",
        handler=show_push,
        tag="subscriptions",
        summary="How pushing a subscription goes: whether it fails, since when and why, and when it is tried again",
        answer=PushOut,
        answer_example={
            "topic": "fallecidos",
            "subscriber": "bps",
            "mode": "push",
            "enabled": True,
            "paused": False,
            "attempts": 3,
            "next_try_at": "2026-11-15T10:00:08.000000Z",
            "failing_since_at": "2026-11-15T10:00:00.000000Z",
            "last_failure": "HTTP 503 Service Unavailable",
        },
    ),
]
