"""Every verb at every door, by everybody: who may is served, and who may not is told so, and nothing else.

The tables in `permissions` name every command of PREGON/1, every route of HTTP and every operation of SOAP, each with
who may; one that is in no table fails the first test. What is refused is refused in the same words, byte for byte but
for the names in it, whether what was named is somebody else's or does not exist.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import httpx
import msgspec
import pytest

from pregon.edges.dispatch_groups import KINDS as GROUP_KINDS
from pregon.edges.dispatch_services import KINDS as BROKER_KINDS
from pregon.edges.http.api import make_router
from pregon.edges.http.machines import join_frames, split_frames
from pregon.edges.soap.catalog import catalog_service
from pregon.edges.soap.traces import traces_service
from pregon.hub.access import NewKey
from pregon.hub.hub import Hub
from pregon.model.batch import encode, pack
from pregon.model.catalog import Producer, Subscriber, Subscription, Topic
from pregon.model.group import Group
from pregon.model.message import Outgoing
from pregon.testing import RunningHub, run_hub
from pregon.wire.commands import Command
from pregon.wire.groups import Join

from .permissions import (
    COMMANDS,
    EVERYBODY,
    KINDS,
    KNOWN,
    LEAVER,
    NOBODYS,
    OF_KINDS,
    OPERATIONS,
    PARTICIPANT,
    READERS,
    ROUTES,
    WRONG,
    Asked,
    Names,
)
from .raw_peer import ERROR, RawPeer, connected, header, prelude
from .soap_clients.plain import CATALOGO, TRAZAS, PlainClient, operation

Said = Command | tuple[Command, str]
"""A command, or one with the kind that it names."""
IN_PATHS = {
    "seq": 1, "key": "0" * 12, "secret": "0" * 12, "file": "docs.css", "type": "sqrt", "id": "no-such-request",
    "number": 1, "name": "tarifas", "stamp": "2:1", "member": 99,
    "session": "a session",
}  # fmt: skip
LEAVERS = 200
"""Participants that take part until somebody tries whether they may leave."""
REQUEST_FIELDS: dict[Command, tuple[str, ...]] = {
    Command.CREATE: ("entry",),
    Command.UPDATE: ("names", "values"),
    Command.DELETE: ("names",),
    Command.SHOW: ("names",),
    Command.LIST: ("names",),
}


def fill_in(value: Any, names: Names) -> Any:
    """The value with the names in it."""
    text = json.dumps(value)
    for field in Names._fields:
        text = text.replace(f"{{{field}}}", getattr(names, field))
    return json.loads(text)


def make_people(hub: Hub) -> dict[str, str]:
    """Everybody who has a key, and every key that is wrong, by name."""
    hub.create(Topic(name="births")).result()
    for name in ("registry", "hospital", "gone", "clinic"):
        hub.create(Producer(name=name)).result()
    for name in ("bank", "archive"):
        hub.create(Subscriber(name=name)).result()
        hub.create(Subscription(topic="births", subscriber=name)).result()
    hub.publish("births", "clinic", Outgoing(b"first")).result()

    def make(kind: str, owner: str, **options: Any) -> str:
        return hub.create_key(NewKey(kind=kind, owner=owner, **options)).result().secret

    keys = {name: make("producer", name) for name in ("registry", "hospital")}
    keys |= {name: make("subscriber", name) for name in ("bank", "archive")}
    keys |= {name: make("token", name, scopes=(name,)) for name in ("read", "operate", "admin")}
    revoked, gone = make("token", "revoked", scopes=("admin",)), make("producer", "gone")
    hub.revoke_key("token", "revoked", revoked.split("_")[1]).result()
    hub.delete("producer", ("gone",)).result()
    hub.create(Producer(name="gone")).result()
    return {
        **keys,
        "nobody": "",
        "malformed": "pgn_x",
        "unknown id": f"pgn_000000000000_{keys['admin'].split('_', 2)[2]}",
        "wrong secret": f"{keys['admin'][:-4]}AAAA",
        "revoked": revoked,
        "expired": make("token", "expired", scopes=("admin",), lifetime_ms=0),
        "deleted owner": gone,
        "two keys": f"{keys['registry']},{keys['admin']}",
        "no token": "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJzdWIiOiJhZG1pbiIsInNjb3BlIjoicHJlZ29uOmFkbWluIn0.",
    }


def make_participants(running: RunningHub) -> list[str]:
    """Tokens: of a member of the group, and of those who may leave. Of nobody's key, because the hub is open still."""
    groups, nobody = running.server.groups, running.server.gate.identify("")
    names = ["ana", "luis", *(f"leaver {number}" for number in range(LEAVERS))]
    tokens = [groups.enroll(nobody, name).result().token for name in names]
    groups.create_group(nobody, Group(name="plaza"), tokens[0]).result()
    groups.join(nobody, Join(group="plaza", token=tokens[0])).result()
    return [tokens[0], *tokens[2:]]


class Told(NamedTuple):
    """The answer: its code, empty for a success, and all of it, without the names."""

    code: str
    words: bytes


class Doors:
    """A hub, its people, and how to ask at each of its doors."""

    def __init__(
        self, running: RunningHub, keys: dict[str, str], tokens: list[str], peer: RawPeer, *, is_locked: bool
    ) -> None:
        self.keys = keys
        self._participant, *self._leavers = tokens
        self._is_locked = is_locked
        self._peer = peer
        self._http = httpx.Client(base_url=running.http, timeout=10)
        self._soap = PlainClient(running.http)

    def close(self) -> None:
        """Leave."""
        self._http.close()
        self._soap.close()

    def who_may(self, asked: Asked) -> set[str]:
        """Who is served by this hub."""
        return asked.may - {"nobody"} if asked.asks_for_key and self._is_locked else asked.may

    def fast_lane(self, what: Said, asked: Asked, who: str, names: Names) -> Told:
        """A command over ZeroMQ."""
        command, fields = self._command(what, asked, names)
        answer = self._peer.ask(
            command, {**fields, **({"auth": self.keys[who]} if who != "nobody" else {})}, _payload(command)
        )
        return Told(answer.code, _blank(repr(answer.header).encode() if answer.code else b"", names))

    def frames(self, what: Said, asked: Asked, who: str, names: Names) -> Told:
        """The same over HTTP, with the key in its header."""
        command, fields = self._command(what, asked, names)
        body = join_frames([prelude(command), header(**fields), *_payload(command)])
        reply = self._http.post("/v1/frames", content=body, headers=self._bearer(who, "application/vnd.pregon.frames"))
        if reply.status_code != 200:
            return _told(reply, names)
        if reply.content[4 + 4] != ERROR:
            return Told("", b"")
        fields = msgspec.msgpack.decode(split_frames(reply.content)[1])
        return Told(fields["code"], _blank(repr(fields).encode(), names))

    def rest(self, what: str, asked: Asked, who: str, names: Names) -> Told:
        """A route."""
        method, _, path = what.partition(" ")
        path = path.format(**names._asdict(), **IN_PATHS)
        says = fill_in(asked.says, names)
        sent = self._bearer(who, "text/plain" if isinstance(says, str) else "application/json")
        sent["Pregon-Producer"] = names.producer
        sent["Pregon-Participant"] = self._leavers.pop() if what.endswith("/me") and asked.spoils else self._participant
        more: dict[str, Any] = {"params": says} if method == "GET" else {}
        if method != "GET" and says is not None:
            more = {"content": says if isinstance(says, str) else json.dumps(says)}
        with self._http.stream(method, path, headers=sent, **more) as reply:
            if reply.status_code < 400:
                return Told("", b"")  # A live stream has no end to wait for.
            reply.read()
            return _told(reply, names)

    def soap(self, what: str, asked: Asked, who: str, names: Names) -> Told:
        """An operation."""
        key = f"<ps:accessKey>{self.keys[who]}</ps:accessKey>" if who != "nobody" else ""
        if callable(asked.says):
            service, content = what, asked.says(names, key)
        else:
            service, space = ("trazas", TRAZAS) if what in ("SearchTraces", "GetStory") else ("catalogo", CATALOGO)
            content = operation(what, fill_in(asked.says, names), space, key)
        reply = self._soap.post(service, content)
        if reply.status == 200:
            return Told("", b"")
        return Told(reply.fault.error_code, _blank(reply.content, names))

    def _command(self, what: Said, asked: Asked, names: Names) -> tuple[Command, dict[str, Any]]:
        """A command and the fields of its header, with the kind if it has one."""
        text = json.dumps(fill_in(asked.says, names)).replace(PARTICIPANT, self._participant)
        fields = json.loads(text.replace(LEAVER, self._leavers.pop()) if LEAVER in text else text)
        return (what[0], {"kind": what[1], **fields}) if isinstance(what, tuple) else (what, fields)

    def _bearer(self, who: str, content_type: str) -> dict[str, str]:
        said = {"Content-Type": content_type}
        return {**said, "Authorization": f"Bearer {self.keys[who]}"} if who != "nobody" else said


def _payload(command: Command) -> list[bytes]:
    packed = bytes(encode(pack([Outgoing(b"x", "in a batch")], [1])))
    payloads = {Command.PUBLISH: [b"x"], Command.PUBLISH_BATCH: [packed], Command.GROUP_SEND: [b"x"]}
    return payloads.get(command, [])


def _told(reply: httpx.Response, names: Names) -> Told:
    headers = {name: value for name, value in reply.headers.items() if name not in ("date", "content-length")}
    return Told(reply.json()["code"], _blank(repr(headers).encode() + reply.content, names))


def _blank(words: bytes, names: Names) -> bytes:
    for field, name in names._asdict().items():
        words = words.replace(name.encode(), f"<{field}>".encode()) if field != "token" else words
    return words


@pytest.fixture(scope="module", params=["administered", "locked"])
def doors(request: pytest.FixtureRequest) -> Iterator[Doors]:
    with run_hub(require_keys=request.param == "locked") as running, connected(running.url) as peer:
        is_locked = request.param == "locked"
        tokens = make_participants(running)
        found = Doors(running, make_people(running.server.hub), tokens, peer, is_locked=is_locked)
        yield found
        found.close()


Ask = Callable[[Any, Asked, str, Names], Told]
SAID: dict[Any, Asked] = {**COMMANDS, **KINDS}
TABLES: dict[str, dict[Any, Asked]] = {"fast_lane": SAID, "frames": SAID, "rest": ROUTES, "soap": OPERATIONS}


def test_everything_that_can_be_asked_is_in_a_table() -> None:
    routes = {f"{route.method} {route.path}" for route in make_router(None).routes}  # type: ignore[arg-type]
    operations = {one.name for service in (catalog_service(), traces_service()) for one in service.operations}

    tabled = set(COMMANDS), set(ROUTES), set(OPERATIONS) - {"novedades", "recepcion"}

    assert tabled == (set(Command), routes, operations)


def test_every_kind_of_the_broker_and_of_groups_is_in_the_table_and_nothing_else_can_be_asked(doors: Doors) -> None:
    kinds = {*BROKER_KINDS, *GROUP_KINDS}
    unclassified = [(command, kind) for command in OF_KINDS for kind in sorted(kinds) if (command, kind) not in KINDS]
    says = {"names": ["x"], "values": {}, "entry": {}}

    told = {}
    for command, kind in unclassified:
        wanted = {name: says[name] for name in REQUEST_FIELDS[command]}
        told[command, kind] = doors.fast_lane((command, kind), Asked(set(), wanted), "admin", Names()).code

    assert {kind for _, kind in KINDS} == kinds
    assert told == dict.fromkeys(unclassified, "bad_request")


@pytest.mark.parametrize("door", list(TABLES))
def test_who_may_is_served_and_who_may_not_is_refused(doors: Doors, door: str) -> None:
    ask: Ask = getattr(doors, door)
    wrong = {}

    for what, asked in TABLES[door].items():
        may = doors.who_may(asked)
        for who in sorted(EVERYBODY, key=lambda one: one in may):
            names = NOBODYS if asked.spoils and who in may else Names()
            told = ask(what, asked, who, names).code
            served = told not in ("unauthorized", "forbidden")
            expected = "served" if who in may else "forbidden" if who in KNOWN else "unauthorized"
            if ("served" if served else told) != expected:
                wrong[what, who] = (told, expected)

    assert wrong == {}


@pytest.mark.parametrize("door", list(TABLES))
def test_a_refusal_is_the_same_byte_for_byte_whether_the_thing_exists_or_not(doors: Doors, door: str) -> None:
    ask: Ask = getattr(doors, door)
    others = [NOBODYS, Names(topic="no-such-topic"), Names(producer="gone-too"), Names(subscriber="gone-too")]
    different = {}

    for what, asked in TABLES[door].items():
        for who in sorted(EVERYBODY - doors.who_may(asked) - READERS):
            told = {ask(what, asked, who, names) for names in (Names(), *(others[:1] if who in WRONG else others))}
            if len(told) != 1:
                different[what, who] = told

    assert different == {}


@pytest.mark.parametrize("door", list(TABLES))
def test_no_refusal_repeats_what_was_presented(doors: Doors, door: str) -> None:
    ask: Ask = getattr(doors, door)
    what, asked = next(iter(TABLES[door].items()))

    words = b"".join(ask(what, asked, who, Names()).words for who in sorted(EVERYBODY))

    assert all(key[-16:].encode() not in words for key in doors.keys.values() if key)
