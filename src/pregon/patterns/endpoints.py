"""Where a socket may be: `tcp://HOST:PORT`, `ipc://PATH` or `inproc://NAME`; binding and connecting to it.

What libzmq takes without a word is refused here: a port beyond 65,535 (it would listen on another one), a path where a
file is (it would be deleted), a path where another program listens (it would be cut off from whoever comes next).

Promises:
- What is wrong with an address is said as `SettingsInvalid`; that it is taken, as `AddressInUse`.
- A path is only ever replaced if it is a socket on which nobody listens: what a program that was killed leaves behind.
"""

from __future__ import annotations

import socket as stdlib_socket
import stat
from pathlib import Path
from typing import TypeAlias

import zmq

from pregon.errors import AddressInUse, SettingsInvalid

Socket: TypeAlias = zmq.Socket[bytes]

PORT_MAX = 65_535
NAME_CHARACTERS_MAX = 255
_FORMS = "tcp://HOST:PORT, ipc://PATH or inproc://NAME"


def bind(socket: Socket, address: str) -> None:
    """Let others connect here; raises SettingsInvalid or AddressInUse."""
    _check(address, may_choose_port=True)
    _check_path(address)
    try:
        socket.bind(address)
    except zmq.ZMQError as error:
        if error.errno == zmq.EADDRINUSE:
            raise _taken(address) from error
        raise _wrong(address, f"cannot be bound ({error.strerror})") from error


def connect(socket: Socket, address: str) -> None:
    """Connect there, now or whenever somebody listens; raises SettingsInvalid."""
    _check(address, may_choose_port=False)
    try:
        socket.connect(address)
    except zmq.ZMQError as error:
        raise _wrong(address, f"cannot be connected to ({error.strerror})") from error


def bound_address(socket: Socket) -> str:
    """Where a socket was last bound, with the port that was chosen for `*`: what others connect to."""
    address = socket.getsockopt(zmq.LAST_ENDPOINT)
    assert isinstance(address, bytes)
    return address.decode()


def _check(address: str, *, may_choose_port: bool) -> None:
    scheme, separator, place = address.partition("://")
    if not separator or not place or scheme not in {"tcp", "ipc", "inproc"} or "\0" in place:
        raise _wrong(address, "is not an address")
    if scheme == "tcp":
        host, _, port = place.rpartition(":")
        is_number = port.isascii() and port.isdigit() and 0 < int(port[:6]) <= PORT_MAX
        if not host or not (is_number or (may_choose_port and port in {"*", "0"})):
            raise _wrong(address, f"has no port from 1 to {PORT_MAX}")
    elif scheme == "ipc":
        if place == "*" or len(place.encode()) > zmq.IPC_PATH_MAX_LEN:
            raise _wrong(address, f"has no path of at most {zmq.IPC_PATH_MAX_LEN} bytes")
    elif len(place) > NAME_CHARACTERS_MAX:
        raise _wrong(address, f"has a name of more than {NAME_CHARACTERS_MAX} characters")


def _check_path(address: str) -> None:
    """Refuse a path that libzmq would take away from somebody."""
    scheme, _, place = address.partition("://")
    # With a leading @ the name is Linux's abstract one, which is no file and cannot be taken away.
    if scheme != "ipc" or place.startswith("@"):
        return
    try:
        mode = Path(place).lstat().st_mode
    except OSError:
        return
    if not stat.S_ISSOCK(mode):
        raise _wrong(address, "names a file that is there already, and is no socket")
    with stdlib_socket.socket(stdlib_socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(place)
        except ConnectionRefusedError:
            return
        except OSError as error:
            raise _taken(address) from error
    raise _taken(address)


def _taken(address: str) -> AddressInUse:
    return AddressInUse(f"another program listens on {address}: stop it, or choose another address")


def _wrong(address: str, why: str) -> SettingsInvalid:
    return SettingsInvalid(f"{address[:200]!r} {why}: use {_FORMS}")
