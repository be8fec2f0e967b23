"""Lists of the catalogue for people, as a caller may see them: a part of `gate`, with the same promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec
from sqlalchemy import Connection

from pregon.hub import private_topics
from pregon.hub.hub import Hub
from pregon.security.callers import Caller
from pregon.security.keys import READ
from pregon.store import catalog_search
from pregon.store.catalog_search import ListQuery, ProducerRow, SubscriberRow, SubscriptionRow, TopicRow
from pregon.store.exceptions import ExpiredRow, ParkedPage, ParkedQuery, search_expired, search_parked
from pregon.store.ticket import Ticket

Row = TypeVar("Row")


class ListGate:
    """The lists, for readers."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def topics(self, caller: Caller, query: ListQuery) -> Ticket[list[TopicRow]]:
        """Topics."""
        return self._search(caller, query, catalog_search.search_topics)

    def producers(self, caller: Caller, query: ListQuery) -> Ticket[list[ProducerRow]]:
        """Producers."""
        return self._search(caller, query, catalog_search.search_producers)

    def subscribers(self, caller: Caller, query: ListQuery) -> Ticket[list[SubscriberRow]]:
        """Subscribers."""
        return self._search(caller, query, catalog_search.search_subscribers)

    def subscriptions(self, caller: Caller, query: ListQuery) -> Ticket[list[SubscriptionRow]]:
        """Subscriptions, and how they go."""
        return self._search(caller, query, catalog_search.search_subscriptions)

    def parked(self, caller: Caller, query: ParkedQuery) -> Ticket[ParkedPage]:
        """What is set aside, in all subscriptions, newest first."""
        self._hub.keyring.rules.require(caller, READ)
        wanted = msgspec.structs.replace(query, without_prefix=_hidden_from(caller))
        return self._hub.read(lambda connection: search_parked(connection, wanted))

    def expired(self, caller: Caller, query: ListQuery) -> Ticket[list[ExpiredRow]]:
        """What was given up and is still in the log, by subscription."""
        return self._search(caller, query, search_expired)

    def _search(
        self, caller: Caller, query: ListQuery, search: Callable[[Connection, ListQuery], list[Row]]
    ) -> Ticket[list[Row]]:
        self._hub.keyring.rules.require(caller, READ)
        wanted = msgspec.structs.replace(query, without_prefix=_hidden_from(caller))
        return self._hub.read(lambda connection: search(connection, wanted))


def _hidden_from(caller: Caller) -> str:
    """With what the topics begin that the caller may not see; empty for who may see all."""
    return "" if private_topics.may_see_private(caller) else private_topics.PREFIX
