"""The catalogue: topics, producers, subscribers and subscriptions, as people register and see them."""

from __future__ import annotations

import msgspec

from pregon.errors import BadRequest

NUMBER_MAX = 10**15
"""The largest limit that means something: 30,000 years in milliseconds, a petabyte in bytes."""
EARLIEST = "earliest"
LATEST = "latest"


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """When a topic may forget messages that no subscription needs any more. Nothing set: never."""

    age_ms: int | None = None
    """Forget what was accepted longer ago than this."""
    bytes_max: int | None = None
    """Forget the oldest while the topic takes more than this on disk."""
    when_acknowledged: bool = False
    """Forget what every subscription has acknowledged (a topic without subscriptions forgets nothing)."""

    def check(self) -> Retention:
        """Itself, if its values make sense; raises BadRequest."""
        for name, value in (("age_ms", self.age_ms), ("bytes_max", self.bytes_max)):
            if value is not None and not 0 < value <= NUMBER_MAX:
                raise BadRequest(f"retention {name} is 1 to {NUMBER_MAX}; leave it out to keep everything")
        return self


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """A named log of messages."""

    name: str
    description: str = ""
    restricted: bool = False
    """Only producers that were granted the topic may publish to it."""
    retention: Retention = Retention()
    head_seq: int = 0
    tail_seq: int = 1
    bytes: int = 0
    schema_version: int = 0
    """The newest version of its schema; 0 when it never had one."""
    created_us: int = 0


class Producer(msgspec.Struct, frozen=True, kw_only=True):
    """Who publishes."""

    name: str
    description: str = ""
    topics: tuple[str, ...] = ()
    """Restricted topics to which it may publish."""
    created_us: int = 0


class Subscriber(msgspec.Struct, frozen=True, kw_only=True):
    """Who receives."""

    name: str
    description: str = ""
    created_us: int = 0


class SchemaVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a topic's schema: what its messages must be from then on."""

    topic: str
    kind: str
    """`xml` or `json` (well-formed, no more), `xsd`, `json-schema`; `none` when it was taken away."""
    text: str = ""
    version: int = 0
    compatible: str = ""
    """Whether it accepts all that the version before it did: `yes`, `no` or `unknown`."""
    reasons: tuple[str, ...] = ()
    """Why, when it is not `yes`."""
    created_us: int = 0


class Subscription(msgspec.Struct, frozen=True, kw_only=True):
    """A subscriber's place in a topic, with its own limits on what may wait for it."""

    topic: str
    subscriber: str
    start: str = EARLIEST
    """`earliest`, `latest` or a number: the first message that it gets."""
    pending_max: int | None = None
    """Pending messages beyond this expire, the oldest first. None: they wait for ever."""
    pending_age_ms: int | None = None
    """Messages pending for longer than this expire."""
    first_seq: int = 0
    acked_seq: int = 0
    epoch: int = 0
    created_us: int = 0

    def check(self) -> Subscription:
        """Itself, if its values make sense; raises BadRequest."""
        for name, value in (("pending_max", self.pending_max), ("pending_age_ms", self.pending_age_ms)):
            if value is not None and not 0 < value <= NUMBER_MAX:
                raise BadRequest(
                    f"{name} is 1 to {NUMBER_MAX}; leave it out to keep messages until they are acknowledged"
                )
        if self.start not in (EARLIEST, LATEST) and not (
            self.start.isascii() and self.start.isdigit() and len(self.start) < 20
        ):
            raise BadRequest(f"start is {EARLIEST!r}, {LATEST!r} or a message number, not {self.start[:40]!r}")
        return self
