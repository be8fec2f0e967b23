"""The CURVE keys of a client or a worker: a JSON file that `PREGON_CURVE` names.

    {"name": "sums-1", "public": "…", "secret": "…", "server": "…"}

Keys are written in Z85, 40 characters each; `server` is the broker's public key, and may be left to discovery.

Promises:
- The secret is in no repr and in no error.
- Who has keys never speaks without them: a broker that discovery finds without CURVE is refused by the handshake.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import zmq
from zmq.utils import z85

from pregon.errors import SettingsInvalid

CURVE_VARIABLE = "PREGON_CURVE"
"""The environment variable with the path of the file."""
_FILE_BYTES_MAX = 16 * 1024
_KEY_BYTES = 32


class CurveKeys(msgspec.Struct, frozen=True, kw_only=True):
    """A pair of keys, and the broker's public one."""

    public: str
    secret: str
    name: str = ""
    server: str = ""

    def __repr__(self) -> str:
        return f"CurveKeys(name={self.name!r}, public={self.public!r})"

    def apply(self, socket: Any) -> None:
        """Have a socket speak CURVE with these keys."""
        socket.setsockopt(zmq.CURVE_SERVERKEY, self.server.encode())
        socket.setsockopt(zmq.CURVE_PUBLICKEY, self.public.encode())
        socket.setsockopt(zmq.CURVE_SECRETKEY, self.secret.encode())


def find_curve(path: str | None, server: str = "") -> CurveKeys | None:
    """The keys in the file that was named, here or by the environment; None without one and without a broker's key.

    `server` is the broker's key as discovery has it; the one in the file goes first. Raises SettingsInvalid.
    """
    named = os.environ.get(CURVE_VARIABLE, "") if path is None else path
    if not named:
        # The broker encrypts and we have no name there: a pair of keys of the moment, and the broker decides.
        return _passing_keys(server) if server else None
    keys = _read(named)
    found = keys.server or server
    if not found:
        raise SettingsInvalid(f"{named} has no `server`: write the broker's public key there (`pregon keys server`)")
    keys = msgspec.structs.replace(keys, server=found)
    for field, key in (("public", keys.public), ("secret", keys.secret), ("server", keys.server)):
        _check(f"`{field}` of {named}", key)
    return keys


def _passing_keys(server: str) -> CurveKeys:
    _check("the broker's key that the hub tells", server)
    public, secret = zmq.curve_keypair()
    return CurveKeys(public=public.decode(), secret=secret.decode(), server=server)


def _read(named: str) -> CurveKeys:
    try:
        with Path(named).open("rb") as file:
            return msgspec.json.decode(file.read(_FILE_BYTES_MAX), type=CurveKeys)
    except OSError as error:
        raise SettingsInvalid(
            f"{named} cannot be read ({error.strerror}): name a file made by `pregon keys create`"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError):
        # Without its cause, which might quote the secret.
        raise SettingsInvalid(
            f"{named} is no file of CURVE keys: it is JSON with `public`, `secret` and `server`"
        ) from None


def _check(what: str, key: str) -> None:
    try:
        is_key = len(key) == 40 and len(z85.decode(key.encode("ascii"))) == _KEY_BYTES
    except (ValueError, KeyError):
        is_key = False
    if not is_key:
        raise SettingsInvalid(f"{what} is no key: 40 characters of Z85, as `pregon keys create` writes them")
