"""What is in a table of an archive: files and how far they go, as the sum of numbered commits.

A commit adds files, takes others out, and says how far each topic has come. Folding commits gives the state; a fold is
a state that was written down, so that nobody has to read every commit since the beginning. Pure: `log` reads and
writes.

A topic that was deleted and made again has two lives, told apart by when it was made (`since`): their files lie in the
same folders, their numbers both begin at 1, and no reader mixes them.

Promises:
- A commit that does not fit the state (adds a file that is there, takes out one that is not) is refused as corrupt.
- What was taken out is remembered with its time for `REMOVED_KEEP_MS`, so that cleaning waits for who still reads it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from pregon.errors import LimitReached, StoreCorrupt, StoreTooNew
from pregon.spark.archive.layout import check_path

FORMAT = 1
FILES_MAX = 1_000_000
"""Files that a table may have."""
LIVES_MAX = 100_000
"""Topics, each of their lives counted, that a table may have."""
TEXT_BYTES_MAX = 512 * 1024 * 1024
"""A commit or a fold that is longer is not read."""
REMOVED_KEEP_MS = 8 * 86_400_000
"""How long it is remembered when a file was taken out; no period of grace may be longer."""
APPEND, COMPACT = "append", "compact"


class File(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file with rows of one life of one topic, of one day."""

    path: str
    """From the folder of the table."""
    rows: int
    bytes: int
    first: int
    last: int
    """The lowest and the highest number in it."""
    first_us: int
    last_us: int
    """The earliest and the latest time in it."""
    date: str
    topic: str = ""
    since: int = 0


class Position(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far a life of a topic is archived: `rows` rows from number `first` up to, and without, `next`."""

    first: int
    next: int
    rows: int
    topic: str = ""
    since: int = 0

    @property
    def life(self) -> Life:
        """Which topic, and which of its lives."""
        return self.topic, self.since


Life = tuple[str, int]


class Removed(msgspec.Struct, frozen=True):
    """A file that was taken out, and when."""

    path: str
    at_us: int


class Commit(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One step: all of it or none."""

    format: int
    version: int
    kind: str
    at_us: int
    batch: int = -1
    """Of an append: the batch of the stream."""
    adds: list[File] = []
    removes: list[str] = []
    positions: list[Position] = []


class Fold(msgspec.Struct, frozen=True, kw_only=True):
    """A state, written down."""

    format: int
    version: int
    at_us: int
    files: list[File]
    positions: list[Position]
    removed: list[Removed]


class State:
    """What is in the table after so many commits."""

    __slots__ = ("at_us", "files", "positions", "removed", "version")

    def __init__(self) -> None:
        self.version = 0
        self.at_us = 0
        self.files: dict[str, File] = {}
        self.positions: dict[Life, Position] = {}
        self.removed: dict[str, int] = {}

    def find_next(self, life: Life) -> int | None:
        """The number after the last one that is archived; None when nothing is."""
        position = self.positions.get(life)
        return position.next if position else None

    def lives_of(self, topic: str) -> list[int]:
        """When the lives of a topic began that have something here, the newest last."""
        return sorted(since for name, since in self.positions if name == topic)

    def after(self, commits: Iterable[Commit]) -> State:
        """The state after some more commits; this one stays as it is. Raises StoreCorrupt if they do not fit."""
        then = State()
        then.version, then.at_us = self.version, self.at_us
        then.files, then.positions, then.removed = dict(self.files), dict(self.positions), dict(self.removed)
        for commit in commits:
            then._take(commit)
            then._forget(commit.at_us)
        return then

    def _forget(self, now_us: int) -> None:
        """Forget what was taken out long ago: a stream that is never started again does not read a fold."""
        oldest_us = now_us - REMOVED_KEEP_MS * 1_000
        for path in [path for path, at_us in self.removed.items() if at_us < oldest_us]:
            del self.removed[path]

    def _take(self, commit: Commit) -> None:
        if commit.version != self.version + 1:
            raise StoreCorrupt(f"commit {commit.version} of the archive stands where {self.version + 1} should be")
        for path in commit.removes:
            if self.files.pop(path, None) is None:
                raise StoreCorrupt(f"commit {commit.version} of the archive takes out {path[:200]}, which is not in it")
            self.removed[path] = commit.at_us
        for file in commit.adds:
            if file.path in self.files or file.path in self.removed:
                raise StoreCorrupt(f"commit {commit.version} of the archive adds {file.path[:200]} for the second time")
            self.files[file.path] = file
        self.positions.update((position.life, position) for position in commit.positions)
        self.version, self.at_us = commit.version, max(self.at_us, commit.at_us)


def commit_after(state: State, kind: str, at_us: int, **what: Any) -> Commit:
    """The commit that follows a state."""
    return Commit(format=FORMAT, version=state.version + 1, kind=kind, at_us=at_us, **what)


def check_room(state: State, adds: int, lives: int) -> None:
    """Raises LimitReached when a table has too many files or topics for so many more."""
    if len(state.files) + adds > FILES_MAX:
        raise LimitReached(f"the archive has {len(state.files)} files, of {FILES_MAX} at most: compact it")
    if len(state.positions) + lives > LIVES_MAX:
        raise LimitReached(f"the archive has {len(state.positions)} topics, of {LIVES_MAX} at most: begin another one")


def fold_of(state: State, now_us: int) -> Fold:
    """The state as it is written down; what was taken out long ago is forgotten."""
    oldest_us = now_us - REMOVED_KEEP_MS * 1_000
    return Fold(
        format=FORMAT,
        version=state.version,
        at_us=state.at_us,
        files=list(state.files.values()),
        positions=list(state.positions.values()),
        removed=[Removed(path, at_us) for path, at_us in state.removed.items() if at_us >= oldest_us],
    )


def state_of(fold: Fold) -> State:
    """The state that was written down."""
    state = State()
    state.version, state.at_us = fold.version, fold.at_us
    state.files = {file.path: file for file in fold.files}
    state.positions = {position.life: position for position in fold.positions}
    state.removed = {removed.path: removed.at_us for removed in fold.removed}
    return state


_ENCODER = msgspec.json.Encoder()
T = TypeVar("T", Commit, Fold)


def encode(written: Commit | Fold) -> bytes:
    """As it is in its file."""
    return _ENCODER.encode(written)


def decode(kind: type[T], data: bytes, name: str) -> T:
    """What a file says; raises StoreCorrupt if it says nothing, StoreTooNew if a later version wrote it."""
    try:
        if len(data) > TEXT_BYTES_MAX:
            raise msgspec.DecodeError(f"it has {len(data)} bytes")
        if msgspec.json.decode(data, type=_Format).format > FORMAT:
            raise StoreTooNew(
                f"{name} of the archive was written by a later version of pregon: use that one to read it"
            )
        found = msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError as error:
        raise StoreCorrupt(f"{name} of the archive cannot be read ({error}): put it back from a copy") from error
    for file in found.adds if isinstance(found, Commit) else found.files:
        check_path(file.path)
    return found


class _Format(msgspec.Struct):
    """What is read first of a file, because a later version may have changed the rest."""

    format: int = FORMAT
