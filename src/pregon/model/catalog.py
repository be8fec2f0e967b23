"""The catalogue: topics, producers, subscribers and subscriptions, as people register and see them."""

from __future__ import annotations

from urllib.parse import urlsplit

import msgspec

from pregon import limits
from pregon.errors import BadRequest

NUMBER_MAX = 10**15
"""The largest limit that means something: 30,000 years in milliseconds, a petabyte in bytes."""
PULL, PUSH = "pull", "push"
MODES = (PULL, PUSH)
SOAP, CLOUDEVENTS, RAW = "soap", "cloudevents", "raw"
FORMATS = (SOAP, CLOUDEVENTS, RAW)
BLOCK, PARK = "block", "park"
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
    enabled: bool = True
    """False: nothing more is accepted in it; what is there is still delivered, pulled and read."""
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
    enabled: bool = True
    """False: what it publishes is refused, in every topic."""
    created_us: int = 0


class PushOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How messages are pushed to a subscriber."""

    time_limit_ms: int = 10_000
    """How long it may take to answer."""
    rate_per_s: int | None = None
    """Pushes a second, all its topics together. None: as fast as it answers."""
    parallel: int = 1
    """Pushes at once in one subscription: messages of the same key stay in order. 1: all of them do."""
    attempts_max: int = 10
    """Attempts of a message that the subscriber refuses; then `on_poison` says what becomes of it."""
    delay_ms_first: int = 1_000
    """About how long to wait after the first failure; each one after that twice as long."""
    delay_ms_max: int = 300_000
    """The longest wait between two attempts."""
    on_poison: str = BLOCK
    """`block`: a message that is refused is tried for ever, and those after it wait. `park`: it is set aside."""

    def check(self) -> PushOptions:
        """Itself, if its values make sense; raises BadRequest."""
        for name, value, least, most in (
            ("time_limit_ms", self.time_limit_ms, 100, limits.PUSH_TIME_LIMIT_MS_MAX),
            ("rate_per_s", 1 if self.rate_per_s is None else self.rate_per_s, 1, 100_000),
            ("parallel", self.parallel, 1, limits.PUSH_PARALLEL_MAX),
            ("attempts_max", self.attempts_max, 1, 1_000),
            ("delay_ms_first", self.delay_ms_first, 10, limits.PUSH_DELAY_MS_MAX),
            ("delay_ms_max", self.delay_ms_max, self.delay_ms_first, limits.PUSH_DELAY_MS_MAX),
        ):
            if not least <= value <= most:
                raise BadRequest(f"{name} of a push is {least} to {most}, not {value}")
        if self.on_poison not in (BLOCK, PARK):
            raise BadRequest(f"on_poison of a push is {BLOCK!r} or {PARK!r}, not {self.on_poison[:40]!r}")
        return self


class Subscriber(msgspec.Struct, frozen=True, kw_only=True):
    """Who receives."""

    name: str
    description: str = ""
    mode: str = PULL
    """`pull`: messages wait until it asks for them. `push`: they are sent to its endpoint, and can still be pulled."""
    endpoint: str = ""
    """The http or https URL of its web service."""
    format: str = CLOUDEVENTS
    """`soap`: an envelope with producer, topic and notificationId. `cloudevents`: an event in binary mode. `raw`: the
    body as it is, with headers of ours. The last two are signed."""
    push: PushOptions = PushOptions()
    enabled: bool = True
    """False: nothing is pushed to it; everything waits to be pulled."""
    disabled_reason: str = ""
    """Why the hub stopped pushing; empty when it did not, or an operator did."""
    created_us: int = 0

    def check(self) -> Subscriber:
        """Itself, if its values make sense; raises BadRequest."""
        if self.mode not in MODES:
            raise BadRequest(f"mode of a subscriber is one of {', '.join(MODES)}, not {self.mode[:40]!r}")
        if self.format not in FORMATS:
            raise BadRequest(f"format of a subscriber is one of {', '.join(FORMATS)}, not {self.format[:40]!r}")
        if self.endpoint:
            check_endpoint(self.endpoint)
        elif self.mode == PUSH:
            raise BadRequest("a subscriber in mode push needs an endpoint: the URL of its web service")
        self.push.check()
        return self


def is_http_url(url: str) -> bool:
    """Whether a text is an http or https URL with a host."""
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return is_url and url.isascii() and url.isprintable() and " " not in url


def check_endpoint(url: str) -> str:
    """The URL, if a push can go there; raises BadRequest. Where it may go is decided when it goes."""
    if not is_http_url(url):
        raise BadRequest("an endpoint is an http or https URL with a host, such as https://bps.example/novedades")
    if len(url) > limits.ENDPOINT_CHARACTERS_MAX:
        raise BadRequest(f"an endpoint has at most {limits.ENDPOINT_CHARACTERS_MAX} characters")
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise BadRequest("an endpoint has no user, password or fragment in it: sign what is pushed with a secret")
    return url


class SigningSecret(msgspec.Struct, frozen=True, kw_only=True):
    """A secret with which what is pushed to a subscriber is signed, without the secret itself."""

    id: str
    subscriber: str
    created_us: int
    expires_us: int | None = None
    """None: until another one takes its place."""


class PushState(msgspec.Struct, frozen=True, kw_only=True):
    """How pushing a subscription goes."""

    topic: str
    subscriber: str
    mode: str
    enabled: bool
    paused: bool = False
    """Whether somebody paused the subscription: nothing is pushed in it until it is resumed."""
    attempts: int = 0
    """How often the next message failed."""
    next_try_us: int = 0
    failing_since_us: int = 0
    """0: it does not fail."""
    last_failure: str = ""


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
    filter: str = ""
    """Which messages it wants, as JSON (see `filters`); empty: all of them."""
    paused: bool = False
    """True: nothing is pushed in it; everything waits, and can be pulled."""
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
