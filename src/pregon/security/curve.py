"""CURVE keys: how they look, where the broker keeps its own, and which job types a key opens.

A key pair is two texts of 40 characters (Z85). The broker has one pair; who connects knows its public part, and the
broker knows the public part of who connects. Secrets are shown once, when a pair is made, and kept by their owners.

    {"name": "tarifas", "public": "…", "secret": "…", "server": "…"}      a key file, for its owner only
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
import zmq

from pregon.errors import BadRequest, SettingsInvalid
from pregon.limits import SERVICE_TYPES_MAX
from pregon.model.names import check_name
from pregon.model.service import CurveKey

_Z85 = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#")
_PATTERN = frozenset("*?abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
SERVER_FILE = "services-curve.json"


class KeyFile(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A pair and whose it is, as it is kept in a file."""

    name: str = ""
    public: str
    secret: str
    server: str = ""
    """The broker's public key; empty in the broker's own file."""


def make_pair(name: str = "", server: str = "") -> KeyFile:
    """A pair that nobody has."""
    public, secret = zmq.curve_keypair()
    return KeyFile(name=name, public=public.decode(), secret=secret.decode(), server=server)


def is_z85_key(text: str) -> bool:
    """Whether a text looks like a key."""
    return len(text) == 40 and set(text) <= _Z85


def check_curve_key(key: CurveKey) -> CurveKey:
    """Itself, if its values make sense; raises BadName or BadRequest."""
    check_name("key", key.name)
    if not is_z85_key(key.public):
        raise BadRequest("a public CURVE key is 40 characters of Z85: make a pair with `pregon keys create`")
    for patterns in (key.asks, key.serves):
        if len(patterns) > SERVICE_TYPES_MAX or any(
            not one or len(one) > 128 or not set(one) <= _PATTERN for one in patterns
        ):
            raise BadRequest(f"job types are up to {SERVICE_TYPES_MAX} names, or patterns such as tarifas.*")
    return key


def opens(patterns: tuple[str, ...], job_type: str) -> bool:
    """Whether one of the patterns is of this type."""
    return any(fnmatchcase(job_type, one) for one in patterns)


def load_key_file(path: Path) -> KeyFile:
    """The pair in a file; raises SettingsInvalid."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=KeyFile)
    except OSError as error:
        raise SettingsInvalid(f"{path} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SettingsInvalid(f"{path} is no key file: {error}") from error
    if not is_z85_key(found.public) or not is_z85_key(found.secret):
        raise SettingsInvalid(f"{path} has no CURVE keys: make it with `pregon keys`")
    return found


def write_key_file(path: Path, pair: KeyFile) -> None:
    """Keep a pair in a file that only its owner reads; raises SettingsInvalid if there is one already."""
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise SettingsInvalid(f"{path} is there already: choose another name, or remove it") from error
    except OSError as error:
        raise SettingsInvalid(f"{path} cannot be written: {error.strerror}") from error
    with os.fdopen(number, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(pair), indent=2) + b"\n")
        file.flush()
        os.fsync(file.fileno())


def require_server_pair(data: Path) -> KeyFile:
    """The broker's own pair, made on first use in the data directory."""
    path = data / SERVER_FILE
    if not path.exists():
        write_key_file(path, make_pair())
    return load_key_file(path)
