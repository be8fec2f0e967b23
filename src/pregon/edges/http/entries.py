"""What people send and get when they use the catalogue over HTTP: the fields of each kind of entry, and of its pages.

Only forms: what they are asked to do is in `catalog`. What a form cannot say (an endpoint that is no URL, a filter that
is none) the model refuses.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from pregon import limits
from pregon.edges.http.forms import Page, view
from pregon.hub.registry import Entry
from pregon.model.catalog import (
    BLOCK,
    CLOUDEVENTS,
    EARLIEST,
    FORMATS,
    MODES,
    NUMBER_MAX,
    PARK,
    PULL,
    Producer,
    PushOptions,
    Retention,
    Subscriber,
    Subscription,
    Topic,
)

Name = Annotated[str, Meta(min_length=1, max_length=128, pattern="^[A-Za-z0-9][A-Za-z0-9._-]*$")]
_Description = Annotated[str, Meta(max_length=limits.DESCRIPTION_CHARACTERS_MAX)]
_Limit = Annotated[int, Meta(ge=1, le=NUMBER_MAX)]
_Names = Annotated[list[Name], Meta(max_length=400)]
_Mode = Annotated[str, Meta(pattern=f"^({'|'.join(MODES)})$")]
_Format = Annotated[str, Meta(pattern=f"^({'|'.join(FORMATS)})$")]
_Endpoint = Annotated[str, Meta(max_length=limits.ENDPOINT_CHARACTERS_MAX)]
_PUSH = PushOptions()


class RetentionIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """When the topic may forget messages that no subscription needs any more; nothing set: never."""

    age_ms: _Limit | None = None
    bytes_max: _Limit | None = None
    when_acknowledged: bool = False


class TopicIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A topic to create; one that is not enabled accepts nothing."""

    name: Name
    description: _Description = ""
    restricted: bool = False
    enabled: bool = True
    retention: RetentionIn = msgspec.field(default_factory=RetentionIn)


class TopicPatch(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What to change of a topic; `retention` is replaced as a whole."""

    description: _Description | UnsetType = UNSET
    restricted: bool | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    retention: RetentionIn | UnsetType = UNSET


class ProducerIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A producer to create, with the restricted topics that it is granted; what one publishes that is not enabled is
    refused."""

    name: Name
    description: _Description = ""
    topics: _Names = []
    enabled: bool = True


class ProducerPatch(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What to change of a producer; `topics` is replaced as a whole."""

    description: _Description | UnsetType = UNSET
    topics: _Names | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET


class PushIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How messages are pushed to a subscriber."""

    time_limit_ms: Annotated[int, Meta(ge=100, le=limits.PUSH_TIME_LIMIT_MS_MAX)] = _PUSH.time_limit_ms
    rate_per_s: Annotated[int, Meta(ge=1, le=100_000)] | None = _PUSH.rate_per_s
    parallel: Annotated[int, Meta(ge=1, le=limits.PUSH_PARALLEL_MAX)] = _PUSH.parallel
    attempts_max: Annotated[int, Meta(ge=1, le=1_000)] = _PUSH.attempts_max
    delay_ms_first: Annotated[int, Meta(ge=10, le=limits.PUSH_DELAY_MS_MAX)] = _PUSH.delay_ms_first
    delay_ms_max: Annotated[int, Meta(ge=10, le=limits.PUSH_DELAY_MS_MAX)] = _PUSH.delay_ms_max
    on_poison: Annotated[str, Meta(pattern=f"^({BLOCK}|{PARK})$")] = _PUSH.on_poison


class SubscriberIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A subscriber to create: in mode `push` messages are sent to its endpoint, in mode `pull` they wait."""

    name: Name
    description: _Description = ""
    mode: _Mode = PULL
    endpoint: _Endpoint = ""
    format: _Format = CLOUDEVENTS
    push: PushIn = msgspec.field(default_factory=PushIn)
    enabled: bool = True


class SubscriberPatch(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What to change of a subscriber; `push` is replaced as a whole: what is left out of it gets its default."""

    description: _Description | UnsetType = UNSET
    mode: _Mode | UnsetType = UNSET
    endpoint: _Endpoint | UnsetType = UNSET
    format: _Format | UnsetType = UNSET
    push: PushIn | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET


class SubscriptionIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A subscription to create: `start` is earliest, latest or a message number; without a filter it gets all."""

    subscriber: Name
    start: Annotated[str, Meta(pattern="^(earliest|latest|[0-9]{1,18})$")] = EARLIEST
    pending_max: _Limit | None = None
    pending_age_ms: _Limit | None = None
    filter: dict[str, Any] | None = None
    paused: bool = False


class SubscriptionPatch(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What to change of a subscription; null takes a limit, or the filter, away. Nothing is pushed in a paused one."""

    pending_max: _Limit | UnsetType | None = UNSET
    pending_age_ms: _Limit | UnsetType | None = UNSET
    filter: dict[str, Any] | UnsetType | None = UNSET
    paused: bool | UnsetType = UNSET


class SubscriptionOut(msgspec.Struct, kw_only=True):
    """A subscription, with its filter as the JSON that it is; null: it gets all."""

    topic: str
    subscriber: str
    start: str
    pending_max: int | None
    pending_age_ms: int | None
    filter: dict[str, Any] | None
    paused: bool
    first_seq: int
    acked_seq: int
    epoch: int
    created_us: int


class SubscriptionsQuery(Page, kw_only=True, forbid_unknown_fields=True):
    """Which subscriptions, all topics together; what is left out does not restrict."""

    topic: str = ""
    subscriber: str = ""


class TopicsPage(msgspec.Struct, kw_only=True):
    """Topics by name; `next` is `cursor` of the next page."""

    items: list[Topic]
    next: str | None


class ProducersPage(msgspec.Struct, kw_only=True):
    """Producers by name; `next` is `cursor` of the next page."""

    items: list[Producer]
    next: str | None


class SubscribersPage(msgspec.Struct, kw_only=True):
    """Subscribers by name; `next` is `cursor` of the next page."""

    items: list[Subscriber]
    next: str | None


class SubscriptionsPage(msgspec.Struct, kw_only=True):
    """Subscriptions by topic and subscriber; `next` is `cursor` of the next page."""

    items: list[SubscriptionOut]
    next: str | None


class GrantsOut(msgspec.Struct, kw_only=True):
    """The restricted topics to which a producer may publish."""

    producer: str
    topics: list[str]


def read_entry(kind: str, wanted: Any, params: dict[str, str]) -> Entry:
    """The entry that somebody wants to create, as the model has it."""
    values = read_values(wanted)
    if kind == "topic":
        return Topic(**{**values, "retention": Retention(**values["retention"])})
    if kind == "producer":
        return Producer(**{**values, "topics": tuple(values["topics"])})
    if kind == "subscriber":
        return Subscriber(**{**values, "push": PushOptions(**values["push"])})
    return Subscription(topic=params["topic"], **values)


def read_values(wanted: Any) -> dict[str, Any]:
    """The values that somebody set, as the model has them: a filter is a text there."""
    values: dict[str, Any] = msgspec.to_builtins(wanted)
    if "filter" in values:
        given = values["filter"]
        values["filter"] = "" if given is None else msgspec.json.encode(given).decode()
    return values


def show_entry(entry: Entry) -> dict[str, Any]:
    """An entry as it is shown."""
    shown = view(entry)
    if isinstance(entry, Subscription):
        shown["filter"] = msgspec.json.decode(entry.filter) if entry.filter else None
    return shown
