"""The files of a directory as a power cut at any moment would have left them.

A process runs with `shim.c` preloaded, which writes down in one order all that it does to the files of
one directory. `Journal` reads that and rebuilds the directory as it may be found after the power went at
any point. What the outside world had been told by then is read from the same record: the process appends
its acknowledgements with `os.write` to a file there, which stands for the network. What must hold in the
rebuilt directory is for the test to say.

    added = environment(require_shim(tmp_path), watched, journal_path)
    subprocess.run(command, env=os.environ | added, check=True)
    journal = Journal.load(journal_path)
    assert journal.differences(watched) == []
    journal.crash(cut, target, rng, "torn")
    told = journal.lines_written_before(cut, "acknowledged.log")

Promises:
- What was written to a file before its last fsync or fdatasync that ended before the cut is kept exactly.
- Of what came later: "drop" keeps nothing; "subset" keeps or loses each change on its own; "torn" may also
  keep only some 512-byte sectors of a write; "keep" keeps all, as when only the process dies.
- Same journal, cut, mode and seed of `rng`: same bytes, whichever cuts were asked for before.

Where it is kinder than a disk: a name (created, renamed, unlinked) is durable at once, without an fsync of
its directory, so a forgotten directory sync is not caught. SQLite does sync the directory, and ext4 commits
names in order. Lost bytes are the old ones or zeros, never a stranger's.
Where it is harsher: two unsynced writes to one sector are kept or lost apart, O_SYNC is worth nothing, and
"drop" never writes anything back by itself.

SQLite's `-shm` file is rebuilt on opening and lives in a mapping that the shim cannot see: it is left out.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from random import Random
from typing import Literal

import pytest

Mode = Literal["drop", "subset", "torn", "keep"]

SECTOR_BYTES = 512
_MAGIC = 0x31525750
_HEADER = struct.Struct("<IHHIIQqQ")


class Kind(IntEnum):
    """What was done, with the numbers of `enum operation` in `shim.c`."""

    CREATE = 1
    WRITE = 2
    TRUNCATE = 3
    EXTEND = 4
    FSYNC = 5
    FDATASYNC = 6
    UNLINK = 7
    RENAME = 8
    LINK = 9
    MKDIR = 10
    RMDIR = 11
    MAP = 12


class NoCompilerError(RuntimeError):
    """This machine cannot build the shim: it needs Linux and a C compiler called cc."""


class IncompleteRecordingError(RuntimeError):
    """The journal does not hold all that was done to the directory, so no cut of it can be trusted."""


def compile_shim(directory: Path) -> Path:
    """Build the shim in `directory` and return its path; raises `NoCompilerError` where it cannot."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        raise NoCompilerError(NoCompilerError.__doc__)
    shim = directory / "power_shim.so"
    source = Path(__file__).with_name("shim.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", shim, source, "-ldl"], check=True)
    return shim


def require_shim(directory: Path) -> Path:
    """`compile_shim`, where a missing compiler skips the test on a laptop and fails it in CI."""
    try:
        return compile_shim(directory)
    except NoCompilerError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))


def environment(shim: Path, watched_directory: Path, journal: Path) -> dict[str, str]:
    """The variables to add to those of a process so that it is recorded.

    Several processes may share one journal, at once or one after another: all their operations get one order.
    When the journal does not exist yet it is begun with the files now in the directory, taken as synced.
    Raises `ValueError` if the journal would record itself.
    """
    watched = watched_directory.resolve(strict=True)
    if journal.resolve().is_relative_to(watched):
        raise ValueError(f"the journal {journal} must be outside {watched}, or it would record itself")
    if not journal.exists():
        journal.write_bytes(b"".join(_existing(watched)))
    preload = ":".join(filter(None, [str(shim), os.environ.get("LD_PRELOAD")]))
    return {"LD_PRELOAD": preload, "POWER_DIR": str(watched), "POWER_JOURNAL": str(journal.resolve())}


def _existing(watched: Path) -> Iterator[bytes]:
    """The records that would have made what the directory already holds."""
    for path in sorted(watched.rglob("*")):
        name, inode = os.fsencode(path.relative_to(watched)), path.stat().st_ino
        if path.is_dir():
            yield _HEADER.pack(_MAGIC, Kind.MKDIR, 0, len(name), 0, inode, 0, 0) + name
            continue
        data = path.read_bytes()
        for kind, body in ((Kind.CREATE, b""), (Kind.WRITE, data), (Kind.FSYNC, b"")):
            yield _HEADER.pack(_MAGIC, kind, 0, len(name), 0, inode, 0, len(body)) + name + body


@dataclass(frozen=True, slots=True)
class Operation:
    """One call that succeeded. `offset` is the new size for TRUNCATE and EXTEND; `other` is a new name."""

    kind: Kind
    path: str
    other: str
    inode: int
    offset: int
    data: memoryview

    @property
    def end(self) -> int:
        """The size that the file has at least, once this write or extension is done."""
        return self.offset + len(self.data)

    def change(self, content: bytearray) -> None:
        """Do to `content` what the call did to the file."""
        if self.kind is Kind.TRUNCATE:
            del content[self.offset :]
        grow(content, self.end if self.kind is not Kind.WRITE else self.offset)
        if self.kind is Kind.WRITE:
            content[self.offset : self.end] = self.data

    def change_some_sectors(self, content: bytearray, rng: Random) -> None:
        """Do only the sectors of this write that happened to reach the disk."""
        start = self.offset
        while start < self.end:
            stop = min(self.end, (start // SECTOR_BYTES + 1) * SECTOR_BYTES)
            if rng.random() < 0.5:
                grow(content, start)
                content[start:stop] = self.data[start - self.offset : stop - self.offset]
            start = stop


def grow(content: bytearray, size: int) -> None:
    """Fill `content` with zeros up to `size`, as a file does; never shorten it."""
    if len(content) < size:
        content.extend(bytes(size - len(content)))


@dataclass(slots=True, eq=False)
class _File:
    """One file: what is safe on the disk, and what was done to it since its last sync."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[Operation] = field(default_factory=list)

    def sync(self) -> None:
        for operation in self.pending:
            operation.change(self.durable)
        self.pending.clear()

    def survive(self, mode: Mode, rng: Random, odds: float) -> bytearray:
        """The content that is found afterwards, when each pending change had `odds` of being kept."""
        content = bytearray(self.durable)
        for operation in self.pending if mode != "drop" else ():
            if mode == "keep":
                operation.change(content)
            elif rng.random() < odds:
                if mode == "torn" and operation.kind is Kind.WRITE and rng.random() < 0.5:
                    operation.change_some_sectors(content, rng)
                else:
                    operation.change(content)
            elif operation.kind is not Kind.TRUNCATE and rng.random() < 0.5:
                # The new size is metadata: it may be on the disk without the bytes.
                grow(content, operation.end)
        return content


class _Disk:
    """The names and files of the directory after some number of operations."""

    def __init__(self) -> None:
        self.position = 0
        self.files: dict[str, _File] = {}
        self.folders: set[str] = set()
        self._by_inode: dict[int, _File] = {}

    def apply(self, operation: Operation) -> None:
        path, other = operation.path, operation.other
        match operation.kind:
            case Kind.CREATE:
                self.files[path] = self._by_inode[operation.inode] = _File()
            case Kind.WRITE | Kind.TRUNCATE | Kind.EXTEND:
                self._require_file(operation).pending.append(operation)
            case Kind.FSYNC | Kind.FDATASYNC:
                self._require_file(operation).sync()
            case Kind.UNLINK:
                self.files.pop(path, None)
            case Kind.RENAME | Kind.LINK:
                self._move(path, other, keep=operation.kind is Kind.LINK)
            case Kind.MKDIR:
                self.folders.add(path)
            case Kind.RMDIR:
                self.folders.discard(path)
            case Kind.MAP:
                if not path.endswith("-shm"):
                    raise IncompleteRecordingError(f"{path} is written through a shared mapping, which is not seen")

    def _require_file(self, operation: Operation) -> _File:
        try:
            return self._by_inode[operation.inode]
        except KeyError as error:
            raise IncompleteRecordingError(f"nothing says how {operation.path} came to be") from error

    def _move(self, path: str, other: str, *, keep: bool) -> None:
        """Give `other` to what is at `path`; a name that is "" is outside the directory."""
        if path in self.folders:
            self._move_folder(path, other)
            return
        file = self.files.get(path)
        if file is None:
            raise IncompleteRecordingError(f"nothing says what was renamed or linked to {other}")
        if self.files.get(other) is file:
            return  # Two names of one file: POSIX says that nothing happens.
        if other:
            self.files[other] = file
        if not keep:
            del self.files[path]

    def _move_folder(self, path: str, other: str) -> None:
        def moved(name: str) -> str:
            return other + name.removeprefix(path) if f"{name}/".startswith(f"{path}/") else name

        self.folders = {moved(name) for name in self.folders}
        self.files = {moved(name): file for name, file in self.files.items()}


class Journal:
    """All that was done to a directory, in order. Cut `n` is the moment after the first `n` operations."""

    def __init__(self, operations: list[Operation]) -> None:
        self.operations = operations
        self._disk = _Disk()

    @classmethod
    def load(cls, path: Path) -> Journal:
        """Read a journal; a last record cut short, by a kill, is taken as not having happened."""
        raw, operations, at = memoryview(path.read_bytes()), list[Operation](), 0
        while at + _HEADER.size <= len(raw):
            magic, kind, _, path_n, other_n, inode, offset, data_n = _HEADER.unpack_from(raw, at)
            if magic != _MAGIC:
                raise IncompleteRecordingError(f"byte {at} of {path} does not begin a record")
            name_at = at + _HEADER.size
            data_at = name_at + path_n + other_n
            at = data_at + data_n
            if at > len(raw):
                break
            name, other = raw[name_at : name_at + path_n], raw[name_at + path_n : data_at]
            names = os.fsdecode(bytes(name)), os.fsdecode(bytes(other))
            operations.append(Operation(Kind(kind), *names, inode, offset, raw[data_at:at]))
        return cls(operations)

    @property
    def cut_points(self) -> range:
        return range(len(self.operations) + 1)

    def count(self, kind: Kind, path: str) -> int:
        """How many operations of a kind `path` had: for asserting that the shim saw what it should."""
        return sum(operation.kind is kind and operation.path == path for operation in self.operations)

    def survivors(self, cut: int, rng: Random, mode: Mode) -> dict[str, bytes]:
        """The files found after a power cut, by their path below the directory."""
        odds = rng.choice((0.1, 0.5, 0.9))
        files = self._at(cut).files.items()
        return {path: bytes(file.survive(mode, rng, odds)) for path, file in files if not path.endswith("-shm")}

    def crash(self, cut: int, target_directory: Path, rng: Random, mode: Mode) -> None:
        """Write into `target_directory`, which is made and must be empty, what a power cut leaves."""
        target_directory.mkdir(parents=True, exist_ok=True)
        if any(target_directory.iterdir()):
            raise FileExistsError(f"{target_directory} holds files of another crash: give an empty one")
        for folder in self._at(cut).folders:
            (target_directory / folder).mkdir(parents=True, exist_ok=True)
        for path, content in self.survivors(cut, rng, mode).items():
            (target_directory / path).parent.mkdir(parents=True, exist_ok=True)
            (target_directory / path).write_bytes(content)

    def lines_written_before(self, cut: int, name: str) -> list[str]:
        """The whole lines that `name` showed at the cut, synced or not: what had been said to the world."""
        file = self._at(cut).files.get(name)
        content = b"" if file is None else bytes(file.survive("keep", Random(0), 1))
        return content[: content.rfind(b"\n") + 1].decode().splitlines()

    def differences(self, directory: Path) -> list[str]:
        """The files that are not, in the recorded directory at rest, as the whole journal makes them.

        Any at all means that something was changed in a way that the shim does not see.
        """
        replayed = self.survivors(len(self.operations), Random(0), "keep")
        found = {str(path.relative_to(directory)): path for path in directory.rglob("*") if path.is_file()}
        names = {name for name in (*replayed, *found) if not name.endswith("-shm")}
        return sorted(name for name in names if name not in found or found[name].read_bytes() != replayed.get(name))

    def _at(self, cut: int) -> _Disk:
        """The disk at a cut: rolled forward from the last one asked for, so ascending cuts are cheapest."""
        if cut not in self.cut_points:
            raise IndexError(f"cut {cut} is not among the {len(self.cut_points)} of this journal")
        if cut < self._disk.position:
            self._disk = _Disk()
        for operation in self.operations[self._disk.position : cut]:
            self._disk.apply(operation)
            self._disk.position += 1
        return self._disk
