"""Who takes part in a soak: topics, subscribers of every kind, and what each of them wants.

Promises:
- The same seed makes the same cast.
- What a filter wants is said twice: as its text, which the hub is given, and as a rule of our own (`wants`), by which
  the audit decides; a message is looked at by the rule as it is in the log.
"""

from __future__ import annotations

import random
import re
import socket
from pathlib import Path

import msgspec

from pregon.hub.hub import Hub
from pregon.hub.options import HubOptions
from pregon.model.catalog import FORMATS, PARK, PULL, PUSH, PushOptions, Subscriber, Subscription
from pregon.model.message import Message
from pregon.security.signatures import encode_secret, new_secret
from pregon.store.database import SqliteDatabase

SPACE = "urn:pregon:soak"
REGIONS = ("norte", "sur", "este", "oeste", "centro")
PRODUCERS = ("rest-0", "rest-1", "rest-2", "soap-0", "soap-1", "zmq-0", "zmq-1", "batch-0")
POISON_OF = 41
"""One message of so many is refused by those who refuse messages."""

_XPATH = {"xpath": "number(//s:edad) > 60", "namespaces": {"s": SPACE}}
_JMESPATH = {"jmespath": "edad > `60`"}
FILTERS: dict[str, object] = {
    "": None,
    "region": {"header": "region", "in": ["sur", "este"]},
    "key": {"field": "key", "prefix": "1"},
    "old": {"or": [_XPATH, _JMESPATH]},
    "old people in XML": _XPATH,
    "old people in JSON": _JMESPATH,
    "producer": {"not": {"field": "producer", "equals": "soap-0"}},
}
_EDAD = re.compile(rb"(?:edad>|\"edad\":)([0-9]+)")
_NUMBER = re.compile(rb"token-[a-z0-9-]+-([0-9]+)")
_PORTS = range(14_000, 31_000)
"""Below those that the system gives out: nobody is given the port of one who is down for a moment."""


class Part(msgspec.Struct, kw_only=True):
    """One subscriber."""

    name: str
    topics: list[str]
    mode: str
    format: str
    filter: str = ""
    """One of FILTERS."""
    is_unreliable: bool = False
    refuses_some: bool = False
    """Some messages it never takes, so that they are parked."""
    parallel: int = 1
    secret: str = ""
    port: int = 0

    @property
    def endpoint(self) -> str:
        """Its web service."""
        return f"http://127.0.0.1:{self.port}/novedades" if self.mode == PUSH else ""


class Cast(msgspec.Struct, kw_only=True):
    """All of them."""

    seed: int
    topics: list[str]
    parts: list[Part]
    hub: str = ""
    http: str = ""
    publications_per_s: float = 40.0

    @property
    def subscriptions(self) -> list[tuple[str, Part]]:
        """Every topic that somebody is subscribed to, with who it is."""
        return [(topic, part) for part in self.parts for topic in part.topics]

    def save(self, directory: Path) -> Path:
        """In a file, for the other processes."""
        file = directory / "cast.json"
        file.write_bytes(msgspec.json.encode(self))
        return file


def load_cast(file: Path) -> Cast:
    """A cast that was saved."""
    return msgspec.json.decode(file.read_bytes(), type=Cast)


def make_cast(seed: int, subscribers: int, topics: int) -> Cast:
    """A cast of so many."""
    chance = random.Random(seed)
    names = [f"topic-{number:02}" for number in range(topics)]
    filters = [name for name in FILTERS if name]
    parts = []
    for number in range(subscribers):
        mode = PULL if number % 8 == 7 else PUSH
        parts.append(
            Part(
                name=f"{mode}-{number:03}",
                topics=chance.sample(names, 3) if number % 10 == 3 else [names[number % topics]],
                mode=mode,
                format=FORMATS[number % len(FORMATS)],
                filter=filters[number // 6 % len(filters)] if number % 6 == 5 else "",
                is_unreliable=mode == PUSH and number % 2 == 0,
                refuses_some=mode == PUSH and number % 20 == 9,
                parallel=4 if mode == PUSH and number % 10 == 6 else 1,
                secret=encode_secret(new_secret()) if mode == PUSH else "",
            )
        )
    ports = low_ports(sum(part.mode == PUSH for part in parts) + 2)
    for part in parts:
        part.port = ports.pop() if part.mode == PUSH else 0
    zmq_port, http_port = ports
    return Cast(
        seed=seed,
        topics=names,
        parts=parts,
        hub=f"tcp://127.0.0.1:{zmq_port}",
        http=f"127.0.0.1:{http_port}",
    )


def low_ports(count: int) -> list[int]:
    """Ports on which nobody listens."""
    found: list[int] = []
    for port in random.SystemRandom().sample(_PORTS, len(_PORTS)):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    raise OSError(f"{count} ports are not free")


def register(directory: Path, cast: Cast) -> None:
    """Write the cast into the catalogue of a hub that does not run yet."""
    hub = Hub(SqliteDatabase(directory), HubOptions(push_allow="127.0.0.1"))
    hub.start()
    tickets = []
    try:
        for part in cast.parts:
            options = PushOptions(
                time_limit_ms=2_000,
                parallel=part.parallel,
                attempts_max=3 if part.refuses_some else 10,
                delay_ms_first=100,
                delay_ms_max=2_000,
                on_poison=PARK if part.refuses_some else "block",
            )
            entry = Subscriber(name=part.name, mode=part.mode, endpoint=part.endpoint, format=part.format, push=options)
            tickets.append(hub.create(entry))
            if part.secret:
                hub.create_secret(part.name, part.secret)
            text = msgspec.json.encode(FILTERS[part.filter]).decode() if part.filter else ""
            tickets += [hub.create(Subscription(topic=one, subscriber=part.name, filter=text)) for one in part.topics]
        for ticket in tickets:
            ticket.result()
    finally:
        hub.stop()


def wants(name: str, message: Message) -> bool:
    """Whether the filter of this name wants a message, by our own rule."""
    if name == "region":
        return message.headers.get("region") in ("sur", "este")
    if name == "key":
        return (message.key or "").startswith("1")
    if name == "producer":
        return message.producer != "soap-0"
    if not name:
        return True
    edad = _EDAD.search(message.body)
    assert edad is not None
    is_xml = message.body.startswith(b"<")
    may_match = {"old": True, "old people in XML": is_xml, "old people in JSON": not is_xml}[name]
    return may_match and int(edad[1]) > 60


def is_poison(body: bytes) -> bool:
    """Whether those who refuse some messages refuse this one."""
    number = _NUMBER.search(body)
    return number is not None and int(number[1]) % POISON_OF == 0
