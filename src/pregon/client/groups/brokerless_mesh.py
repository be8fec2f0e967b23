"""The sockets of a member of a group without a hub: everybody connected to everybody.

    PUB      bound       what this member says to all
    ROUTER   bound       what others say to this member alone
             (and back, to one who asks to join and is refused: there may be another at the address of its number)
    SUB      one for each other member, connected to its PUB: so it is known on whose connection a frame came
    DEALER   one for each other member, connected to its ROUTER; its identity begins with this member's number

Every message has two frames: the name of the group, and a frame of `pregon.causal.peer_bytes`. A member's address is
those of its ROUTER and of its PUB, with a space between.

Promises:
- Sending never blocks: what does not fit in a queue is lost, which the members find out and repair.
- Nothing is connected to but addresses of the kind that this member itself listens on.
- For one thread.
"""

from __future__ import annotations

import contextlib
import os
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import zmq

from pregon.causal.peer_bytes import JOIN, REFUSED
from pregon.errors import AddressInUse, SettingsInvalid
from pregon.limits import FRAME_BYTES_MAX
from pregon.wire.bell import Bell
from pregon.wire.keepalive import keep_alive

_ROUND_MAX = 1_000
_OF_ONE_MAX = 100
_EVERYWHERE = ("0.0.0.0", "*", "[::]")
_IDENTITY_BYTES = 13
_CALLERS_MAX = 256


class Link:
    """The two connections to one other member."""

    __slots__ = ("address", "dealer", "sub")

    def __init__(self, address: str, dealer: Any, sub: Any) -> None:
        self.address = address
        self.dealer = dealer
        self.sub = sub

    def close(self) -> None:
        """Give both back."""
        self.dealer.close(0)
        self.sub.close(0)


class Mesh:
    """All of them."""

    def __init__(self, group: str, listen: str, *, publish: str = "", advertise: str = "", queue_max: int) -> None:
        """Bind; raises AddressInUse or SettingsInvalid."""
        self._group = group.encode()
        self._queue_max = queue_max
        self._me = 0
        self._scheme, host = _scheme_and_host(listen)
        if host in _EVERYWHERE and not advertise:
            raise SettingsInvalid(f"{listen} is everywhere: say by advertise= under which name others reach it")
        self._context: zmq.Context[Any] = zmq.Context()
        self._context.set(zmq.MAX_SOCKETS, 65_535)
        self._links: dict[int, Link] = {}
        self._contacts: list[Any] = []
        self._poller = zmq.Poller()
        self._sources: dict[Any, int] = {}
        self._callers: OrderedDict[int, bytes] = OrderedDict()
        """By which connection each one asked to join who did so lately."""
        try:
            self._router = self._socket(zmq.ROUTER)
            self._pub = self._socket(zmq.PUB)
            here = _bind(self._router, listen)
            beside = f"tcp://{host}:*" if self._scheme == "tcp" else f"{listen}.pub"
            there = _bind(self._pub, publish or beside)
        except BaseException:  # Whatever it was, it goes on to the caller, who has no mesh to close.
            self._context.destroy(0)
            raise
        self._poller.register(self._router, zmq.POLLIN)
        self.address = " ".join(_reached(one, advertise) for one in (here, there))
        """Where others find this member."""

    def begin(self, me: int, contacts: Sequence[str], bell: Bell) -> None:
        """Take part as a member, with somebody to ask; raises SettingsInvalid."""
        self._me = me
        self._poller.register(bell.fileno(), zmq.POLLIN)
        for contact in contacts:
            dealer = self._socket(zmq.DEALER)
            self._contacts.append(dealer)
            self._poller.register(dealer, zmq.POLLIN)
            try:
                dealer.connect(contact.split(" ")[0])
            except zmq.ZMQError as error:
                raise SettingsInvalid(f"{contact!r} is no address: give such as tcp://10.0.0.7:5600") from error

    def connect(self, addresses: Mapping[int, str]) -> None:
        """Have connections to exactly these members."""
        for member in [one for one, link in self._links.items() if addresses.get(one) != link.address]:
            link = self._links.pop(member)
            self._poller.unregister(link.sub)
            del self._sources[link.sub]
            link.close()
        for member in addresses.keys() - self._links.keys():
            self._connect(member, addresses[member])

    def _connect(self, member: int, address: str) -> None:
        places = address.split(" ")
        if len(places) != 2 or not all(place.startswith(f"{self._scheme}://") for place in places):
            return
        link = Link(address, self._socket(zmq.DEALER), self._socket(zmq.SUB))
        try:
            link.sub.setsockopt(zmq.SUBSCRIBE, self._group)
            link.dealer.connect(places[0])
            link.sub.connect(places[1])
        except zmq.ZMQError:
            # Whoever told of such an address is not reached; the others are.
            link.close()
            return
        self._links[member] = link
        self._sources[link.sub] = member
        self._poller.register(link.sub, zmq.POLLIN)

    def reaches(self, member: int | None) -> bool:
        """Whether there is a connection to a member; to everybody there always is."""
        return member is None or member in self._links

    def send(self, to: int | None, frame: bytes) -> None:
        """To one member, or to all; a request to join, to whoever may be there."""
        if to is not None:
            if frame[0] == REFUSED and to in self._callers:
                with contextlib.suppress(zmq.ZMQError):
                    self._router.send_multipart((self._callers[to], self._group, frame), zmq.NOBLOCK)
            link = self._links.get(to)
            if link is not None:
                self._put(link.dealer, frame)
        elif frame[0] == JOIN:
            for dealer in (*self._contacts, *(link.dealer for link in self._links.values())):
                self._put(dealer, frame)
        else:
            self._put(self._pub, frame)

    def wait(self, ms: float) -> list[tuple[bytes, int | None]]:
        """What has come, with the member on whose connection it did if that is known; nothing if nothing comes."""
        ready = self._poller.poll(max(0, int(ms) + 1))
        found: list[tuple[bytes, int | None]] = []
        for socket, _ in ready:
            if isinstance(socket, int):
                continue
            found.extend(self._read(socket))
            if len(found) >= _ROUND_MAX:
                break
        return found

    def _read(self, socket: Any) -> Iterator[tuple[bytes, int | None]]:
        source = self._sources.get(socket)
        for _ in range(_OF_ONE_MAX):
            try:
                parts = socket.recv_multipart(zmq.NOBLOCK)
            except zmq.ZMQError:
                return
            if socket is self._router:
                identity = parts.pop(0)
                if len(identity) != _IDENTITY_BYTES or identity[0] != 1:
                    continue
                source = int.from_bytes(identity[1:9], "big")
                self._note_caller(source, identity, parts[-1])
            if len(parts) == 2 and parts[0] == self._group:
                yield parts[1], source

    def _note_caller(self, member: int, identity: bytes, frame: bytes) -> None:
        if frame[:1] == bytes((JOIN,)):
            self._callers[member] = identity
            self._callers.move_to_end(member)
            if len(self._callers) > _CALLERS_MAX:
                self._callers.popitem(last=False)

    def close(self) -> None:
        """Give everything back; what was said a moment ago may still leave."""
        for socket in (self._pub, self._router, *self._contacts):
            socket.close(200)
        for link in self._links.values():
            link.dealer.close(200)
            link.sub.close(0)
        self._context.destroy(200)

    def _put(self, socket: Any, frame: bytes) -> None:
        # A full queue is a loss like any other.
        with contextlib.suppress(zmq.Again):
            socket.send_multipart((self._group, frame), zmq.NOBLOCK, copy=len(frame) < 64_000)

    def _socket(self, kind: int) -> Any:
        socket = self._context.socket(kind)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.SNDHWM, self._queue_max)
        socket.setsockopt(zmq.RCVHWM, self._queue_max)
        socket.setsockopt(zmq.MAXMSGSIZE, FRAME_BYTES_MAX)
        socket.setsockopt(zmq.RECONNECT_IVL, 50)
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, 1_000)
        if kind == zmq.DEALER:
            # At random besides: a ROUTER does not take a second connection of the same identity.
            socket.setsockopt(zmq.IDENTITY, b"\1" + self._me.to_bytes(8, "big") + os.urandom(4))
        # A member whose machine vanished without a word is noticed.
        keep_alive(socket, 5)
        return socket


def _scheme_and_host(listen: str) -> tuple[str, str]:
    scheme, separator, rest = listen.partition("://")
    if separator and scheme == "tcp" and ":" in rest:
        return scheme, rest.rpartition(":")[0]
    if separator and scheme == "ipc" and rest:
        return scheme, ""
    raise SettingsInvalid(f"{listen!r} is no place to listen: give such as tcp://127.0.0.1:* or ipc:///run/design.1")


def _bind(socket: Any, place: str) -> str:
    try:
        socket.bind(place)
    except zmq.ZMQError as error:
        if error.errno == zmq.EADDRINUSE:
            raise AddressInUse(f"{place} is in use: listen somewhere else") from error
        raise SettingsInvalid(f"cannot listen at {place!r}: {error}") from error
    bound: bytes = socket.getsockopt(zmq.LAST_ENDPOINT)
    return bound.rstrip(b"\0").decode()


def _reached(bound: str, advertise: str) -> str:
    """A bound address as others reach it."""
    return f"tcp://{advertise}:{bound.rpartition(':')[2]}" if advertise else bound
