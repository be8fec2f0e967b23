"""Who one was on a hub, kept between two chats: the name, the token, what was not sent, and what was seen.

    DATA/pregon/chat/HUB/ID.json     one person; only its owner may read it, because the token is a secret
    DATA/pregon/chat/HUB/ID.lock     held by the chat that is that person now

DATA is XDG_DATA_HOME, or ~/.local/share. HUB is a digest of the hub's address.

Promises:
- A file is replaced as a whole, so that a crash leaves the old one or the new one.
- Two chats of one machine are never the same person at once.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

from pregon.clock import wall_us
from pregon.errors import SettingsInvalid
from pregon.limits import GROUPS_OF_PARTICIPANT_MAX
from pregon.model.group import fold_nick

PEOPLE_MAX = 1_000
"""People of one hub that are looked through."""
UNSENT_MAX = 1_000
"""Lines of one person that are kept to be sent later."""
_FILE_BYTES_MAX = 16 * 1024 * 1024
_ID_BYTES = 8


class Unsent(msgspec.Struct, frozen=True):
    """A line that the hub had not acknowledged: of which room, as which member, and which of that one's messages."""

    room: str
    member: int
    number: int
    text: str
    answers: str = ""


class _Kept(msgspec.Struct):
    """What is in the file."""

    hub: str
    name: str
    token: str
    used_us: int = 0
    unsent: list[Unsent] = []
    seen: dict[str, int] = {}
    version: int = 1


class Person:
    """One of them, whom this process is."""

    def __init__(self, path: Path, kept: _Kept, lock: int) -> None:
        self._path = path
        self._kept = kept
        self._lock = lock

    @property
    def name(self) -> str:
        """As the others call it."""
        return self._kept.name

    @property
    def token(self) -> str:
        """What it shows the hub."""
        return self._kept.token

    @property
    def unsent(self) -> list[Unsent]:
        """What was not sent the last time."""
        return list(self._kept.unsent)

    @property
    def seen(self) -> Mapping[str, int]:
        """Of each room, up to which number of the hub's log it was seen."""
        return self._kept.seen

    def keep(self, name: str, unsent: list[Unsent], seen: Mapping[str, int] = MappingProxyType({})) -> None:
        """Write how it stands now; of rooms that are not in `seen`, what is known stays."""
        self._kept.name, self._kept.unsent = name, unsent[:UNSENT_MAX]
        together = {**self._kept.seen, **seen}
        self._kept.seen = dict(list(together.items())[-GROUPS_OF_PARTICIPANT_MAX:])
        self._kept.used_us = wall_us()
        _write(self._path, self._kept)

    def forget(self) -> None:
        """Nobody is this person here any more."""
        self._path.unlink(missing_ok=True)
        self._path.with_suffix(".lock").unlink(missing_ok=True)
        self.release()

    def release(self) -> None:
        """Let another process be it."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


class People:
    """Those of one hub."""

    def __init__(self, hub: str, purpose: str = "chat", data: Path | None = None) -> None:
        self.hub = hub
        digest = hashlib.sha256(hub.encode()).hexdigest()[:16]
        self._folder = (data or data_folder()) / "pregon" / purpose / digest

    def find(self, nick: str = "") -> Person | None:
        """The person of that name, or the one that was used last; None if there is none, or another chat is it."""
        wanted = fold_nick(nick)
        found = [(path, kept) for path, kept in self._all() if not nick or fold_nick(kept.name) == wanted]
        for path, kept in sorted(found, key=lambda one: -one[1].used_us):
            lock = _take_lock(path)
            if lock >= 0:
                return Person(path, kept, lock)
        return None

    def is_busy(self, nick: str) -> bool:
        """Whether another process is the person of that name."""
        free = self.find(nick)
        if free is not None:
            free.release()
            return False
        return any(fold_nick(kept.name) == fold_nick(nick) for _, kept in self._all())

    def add(self, name: str, token: str) -> Person:
        """Somebody new; raises SettingsInvalid where nothing can be written."""
        path = self._folder / f"{secrets.token_hex(_ID_BYTES)}.json"
        kept = _Kept(self.hub, name, token, wall_us())
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = _take_lock(path)
            _write(path, kept)
        except OSError as error:
            raise SettingsInvalid(
                f"{self._folder} cannot be written, so that nobody would know you tomorrow: {error.strerror}; set "
                "XDG_DATA_HOME to a directory of yours"
            ) from error
        return Person(path, kept, lock)

    def _all(self) -> list[tuple[Path, _Kept]]:
        found: list[tuple[Path, _Kept]] = []
        for path in sorted(self._folder.glob("*.json"))[:PEOPLE_MAX]:
            kept = _read(path)
            if kept is not None and kept.hub == self.hub:
                found.append((path, kept))
        return found


def data_folder() -> Path:
    """Where programs keep what is a user's."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")


def _read(path: Path) -> _Kept | None:
    """What a file says; None for one that is none of ours."""
    try:
        if path.stat().st_size > _FILE_BYTES_MAX:
            return None
        return msgspec.json.decode(path.read_bytes(), type=_Kept)
    except (OSError, msgspec.DecodeError):
        return None


def _write(path: Path, kept: _Kept) -> None:
    beside = path.with_suffix(".new")
    with contextlib.suppress(FileNotFoundError):
        beside.unlink()
    # Made with its mode, so that nobody else can ever read it, not even for a moment.
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(kept))
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def _take_lock(path: Path) -> int:
    """The lock of a person, as a descriptor; -1 if another process has it, or nothing can be written there."""
    try:
        lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return -1
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return -1
    return lock
