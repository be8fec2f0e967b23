"""The catalogue over HTTP: topics, producers, subscribers, subscriptions and grants; create, read, update, delete.

What is read carries an `ETag` that stands for what people set of it (not for its counters); a change or deletion with
`If-Match` is only made if nobody changed it meanwhile. Creating what is there already with the same values is no
error, so a set-up script can run twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlencode

import msgspec

from pregon.edges.http.answers import Answer, json_answer, no_content
from pregon.edges.http.entries import (
    GrantsOut,
    ProducerIn,
    ProducerPatch,
    ProducersPage,
    SubscriberIn,
    SubscriberPatch,
    SubscribersPage,
    SubscriptionIn,
    SubscriptionOut,
    SubscriptionPatch,
    SubscriptionsPage,
    SubscriptionsQuery,
    TopicIn,
    TopicPatch,
    TopicsPage,
    read_entry,
    read_values,
    show_entry,
)
from pregon.edges.http.exchange import Exchange
from pregon.edges.http.forms import Page, decode_cursor, encode_cursor
from pregon.edges.http.routes import Desk, Handler, Route
from pregon.errors import (
    AlreadyExists,
    BadFilter,
    Changed,
    EndpointForbidden,
    LimitReached,
    NotFound,
    PregonError,
)
from pregon.hub.registry import Entry, fingerprint
from pregon.model.catalog import Producer, Subscriber, Subscription, Topic


def _tagged(entry: Entry, status: int = 200, location: str = "") -> Answer:
    headers = [(b"etag", b'"' + fingerprint(entry).encode() + b'"')]
    if location:
        headers.append((b"location", location.encode()))
    return json_answer(show_entry(entry), status, headers)


def _expected(exchange: Exchange) -> str:
    """The tags of If-Match; empty for none, and for `*`, which anything matches."""
    text = exchange.header(b"if-match").strip()
    return "" if text == "*" else text


class _Noun:
    """The four verbs for one kind of entry."""

    types: ClassVar[Mapping[str, tuple[type[Any], type[Any]]]] = {
        "topic": (TopicIn, TopicPatch),
        "producer": (ProducerIn, ProducerPatch),
        "subscriber": (SubscriberIn, SubscriberPatch),
        "subscription": (SubscriptionIn, SubscriptionPatch),
    }

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.body, self.patch = self.types[kind]

    def names(self, exchange: Exchange) -> tuple[str, ...]:
        params = exchange.params
        return (params["topic"], params["subscriber"]) if self.kind == "subscription" else (params[self.kind],)

    async def create(self, desk: Desk, exchange: Exchange) -> Answer:
        """Register one."""
        caller = desk.caller(exchange)
        entry = read_entry(self.kind, await exchange.json(self.body), exchange.params)
        made = await desk.answer(desk.gate.create(caller, entry))
        name = made.subscriber if isinstance(made, Subscription) else made.name
        return _tagged(made, 201, f"{exchange.path.rstrip('/')}/{name}")

    async def show(self, desk: Desk, exchange: Exchange) -> Answer:
        """One of them."""
        caller = desk.caller(exchange)
        return _tagged(await desk.answer(desk.gate.show(caller, self.kind, self.names(exchange))))

    async def change(self, desk: Desk, exchange: Exchange) -> Answer:
        """Change some of its fields."""
        caller = desk.caller(exchange)
        values = read_values(await exchange.json(self.patch))
        ticket = desk.gate.update(caller, self.kind, self.names(exchange), values, _expected(exchange))
        return _tagged(await desk.answer(ticket))

    async def delete(self, desk: Desk, exchange: Exchange) -> Answer:
        """Delete it."""
        caller, names = desk.caller(exchange), self.names(exchange)
        if not await desk.answer(desk.gate.delete(caller, self.kind, names, _expected(exchange))):
            raise NotFound(f"there is no {self.kind} {' '.join(names)}")
        return no_content()

    async def list(self, desk: Desk, exchange: Exchange) -> Answer:
        """A page of them, by name."""
        caller, wanted = desk.caller(exchange), exchange.query(Page)
        names: tuple[str, ...] = ()
        if self.kind == "subscription":
            names = (exchange.params["topic"], "")
            await desk.answer(desk.gate.show(caller, "topic", names[:1]))
        return await _page(desk, exchange, desk.gate, (caller, self.kind, names), wanted)


async def list_subscriptions(desk: Desk, exchange: Exchange) -> Answer:
    """Subscriptions of every topic, or of one topic or subscriber."""
    caller, wanted = desk.caller(exchange), exchange.query(SubscriptionsQuery)
    names = (wanted.topic, wanted.subscriber)
    return await _page(desk, exchange, desk.gate, (caller, "subscription", names), wanted)


async def _page(
    desk: Desk, exchange: Exchange, gate: Any, what: tuple[Any, str, tuple[str, ...]], page: Page
) -> Answer:
    caller, kind, names = what
    after = decode_cursor(page.cursor, 2 if kind == "subscription" else 1)
    entries = await desk.answer(gate.list(caller, kind, after=after, names=names, rows_max=page.max))
    following = None
    headers = []
    if len(entries) == page.max:
        last = entries[-1]
        following = encode_cursor([last.topic, last.subscriber] if kind == "subscription" else [last.name])
        asked = {name: one for name, one in msgspec.to_builtins(page).items() if one}
        url = f"{exchange.path}?{urlencode({**asked, 'cursor': following})}"
        headers.append((b"link", f'<{url}>; rel="next"'.encode()))
    return json_answer({"items": [show_entry(entry) for entry in entries], "next": following}, 200, headers)


async def show_grants(desk: Desk, exchange: Exchange) -> Answer:
    """The restricted topics of a producer."""
    caller, name = desk.caller(exchange), exchange.params["producer"]
    producer = await desk.answer(desk.gate.show(caller, "producer", (name,)))
    return json_answer(GrantsOut(producer=name, topics=list(producer.topics)))


async def grant(desk: Desk, exchange: Exchange) -> Answer:
    """Let a producer publish to a restricted topic."""
    return await _change_grants(desk, exchange, is_granted=True)


async def withdraw(desk: Desk, exchange: Exchange) -> Answer:
    """Let it no more."""
    return await _change_grants(desk, exchange, is_granted=False)


async def _change_grants(desk: Desk, exchange: Exchange, *, is_granted: bool) -> Answer:
    caller, params = desk.caller(exchange), exchange.params
    ticket = desk.gate.grant(caller, params["producer"], params["topic"], is_granted=is_granted)
    producer = await desk.answer(ticket)
    return json_answer(GrantsOut(producer=producer.name, topics=list(producer.topics)))


def _crud(noun: _Noun, collection: str, item: str, page: type[Any], examples: tuple[Any, Any]) -> list[Route]:
    kind = noun.kind
    entry = {"topic": Topic, "producer": Producer, "subscriber": Subscriber, "subscription": SubscriptionOut}[kind]
    refused: dict[str, type[PregonError]] = {"subscriber": EndpointForbidden, "subscription": BadFilter}
    more_errors = (refused[kind],) if kind in refused else ()
    tag = "subscriptions" if kind == "subscription" else "catalogue"
    if_match = {"If-Match": "The ETag of the entry as you last saw it: if it is another now, nothing is changed"}

    def route(method: str, path: str, handler: Handler, summary: str, **more: Any) -> Route:
        return Route(method=method, path=path, handler=handler, tag=tag, summary=summary, **more)

    return [
        route(
            "POST", collection, noun.create, f"Create a {kind}", body=noun.body, status=201, answer=entry,
            errors=(AlreadyExists, LimitReached, NotFound, *more_errors), example=examples[0],
        ),
        route("GET", collection, noun.list, f"List every {kind}, by name", query=Page, answer=page),
        route("GET", item, noun.show, f"Show a {kind}", answer=entry),
        route(
            "PATCH", item, noun.change, f"Change a {kind}", body=noun.patch, answer=entry, headers=if_match,
            errors=(Changed, *more_errors), example=examples[1],
        ),
        route("DELETE", item, noun.delete, f"Delete a {kind}", status=204, headers=if_match, errors=(Changed,)),
    ]  # fmt: skip


_DESCRIBED = {"description": "Dirección General del Registro Civil"}
ROUTES = [
    *_crud(
        _Noun("topic"), "/v1/topics", "/v1/topics/{topic}", TopicsPage,
        ({"name": "fallecidos", "description": "Personas fallecidas"}, {"description": "Defunciones", "enabled": True}),
    ),
    *_crud(
        _Noun("producer"), "/v1/producers", "/v1/producers/{producer}", ProducersPage,
        ({"name": "dgrec", **_DESCRIBED}, {**_DESCRIBED, "enabled": True}),
    ),
    *_crud(
        _Noun("subscriber"), "/v1/subscribers", "/v1/subscribers/{subscriber}", SubscribersPage,
        (
            {"name": "bps", "mode": "push", "endpoint": "https://bps.example/novedades", "format": "cloudevents"},
            {"description": "Banco de Previsión Social", "enabled": True},
        ),
    ),
    *_crud(
        _Noun("subscription"), "/v1/topics/{topic}/subscriptions", "/v1/topics/{topic}/subscriptions/{subscriber}",
        SubscriptionsPage,
        (
            {"subscriber": "bps", "start": "earliest", "filter": {"header": "region", "equals": "montevideo"}},
            {"pending_max": 100_000, "paused": False},
        ),
    ),
    Route(
        method="GET", path="/v1/subscriptions", handler=list_subscriptions, tag="subscriptions",
        summary="List subscriptions of every topic", query=SubscriptionsQuery, answer=SubscriptionsPage,
    ),
    Route(
        method="GET", path="/v1/producers/{producer}/grants", handler=show_grants, tag="catalogue",
        summary="The restricted topics to which a producer may publish", answer=GrantsOut,
        answer_example={"producer": "dgrec", "topics": ["fallecidos"]},
    ),
    Route(
        method="PUT", path="/v1/producers/{producer}/grants/{topic}", handler=grant, tag="catalogue",
        summary="Let a producer publish to a restricted topic", answer=GrantsOut,
    ),
    Route(
        method="DELETE", path="/v1/producers/{producer}/grants/{topic}", handler=withdraw, tag="catalogue",
        summary="Let a producer publish to a restricted topic no more", answer=GrantsOut,
    ),
]  # fmt: skip
