"""The files of an archive: on this machine's disk, or on any file system that Hadoop knows.

What an archive needs of one is little: to read and list, to move, and to put a file where there is none.

Promises:
- `put_if_absent` writes all of a file or nothing, and of two writers one is told that it came too late. On a local disk
  and on HDFS that is exact; on an object store without conditional writes it is as good as the look before the copy, so
  an archive there should have one writer.
- On a local disk, what was put or moved has been synced when the call returns: the hub may forget it.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pyspark.sql import SparkSession

from pregon.errors import StoreFailed
from pregon.spark.archive.commits import TEXT_BYTES_MAX
from pregon.spark.archive.layout import check_archive


class Found(NamedTuple):
    """A file, by its path from the folder that was walked."""

    path: str
    modified_ms: int


class Files(Protocol):
    """The files below the root of an archive; every path is from there."""

    root: str
    """Where the archive is, as Spark takes it."""

    def read(self, path: str) -> bytes:
        """All of a small file; raises FileNotFoundError."""

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Write a file, unless there is one: then False."""

    def names(self, folder: str) -> list[str]:
        """What is directly in a folder; nothing if there is no folder."""

    def walk(self, folder: str) -> Iterator[Found]:
        """Every file below a folder, at any depth."""

    def move(self, path: str, to: str) -> None:
        """Give a file another place, where there must be none; folders are made."""

    def delete(self, path: str) -> None:
        """Remove a file or a folder with all in it, if it is there."""


def files_of(spark: SparkSession, archive: str) -> Files:
    """The files of an archive; raises BadRequest for an address that is none."""
    check_archive(archive)
    jvm: Any = spark.sparkContext._jvm
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    path = jvm.org.apache.hadoop.fs.Path(archive)
    system = path.getFileSystem(configuration)
    root = system.makeQualified(path)
    if root.toUri().getScheme() == "file":
        return LocalFiles(root.toUri().getPath())
    return HadoopFiles(jvm, system, root.toString())


class LocalFiles:
    """A folder of this machine."""

    def __init__(self, root: str) -> None:
        self.root = check_archive(str(Path(root).absolute()))
        self._root = Path(self.root)

    def read(self, path: str) -> bytes:
        """All of a small file."""
        return (self._root / path).read_bytes()

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """A link to what was written beside it: made by one, whole when it is seen."""
        final = self._root / path
        changed = _make_folder(final.parent)
        beside = final.with_name(f".{final.name}.{uuid.uuid4().hex}")
        try:
            with beside.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(beside, final)
            except FileExistsError:
                return False
        finally:
            beside.unlink(missing_ok=True)
        for folder in changed:
            _sync(folder)
        return True

    def names(self, folder: str) -> list[str]:
        """What is directly in a folder."""
        try:
            return [path.name for path in (self._root / folder).iterdir()]
        except FileNotFoundError:
            return []

    def walk(self, folder: str) -> Iterator[Found]:
        """Every file below a folder; what is removed meanwhile is left out."""
        top = self._root / folder
        for parent, _, names in os.walk(top):
            for name in names:
                path = Path(parent, name)
                try:
                    modified_ms = path.stat().st_mtime_ns // 1_000_000
                except FileNotFoundError:
                    continue
                yield Found(path.relative_to(top).as_posix(), modified_ms)

    def move(self, path: str, to: str) -> None:
        """A link and an unlink: nothing that is there is ever overwritten."""
        final = self._root / to
        changed = _make_folder(final.parent)
        _sync(self._root / path)
        os.link(self._root / path, final)
        (self._root / path).unlink()
        for folder in changed:
            _sync(folder)

    def delete(self, path: str) -> None:
        """Remove a file or a folder."""
        target = self._root / path
        if target.is_dir():
            shutil.rmtree(target, ignore_errors=True)
        else:
            target.unlink(missing_ok=True)


class HadoopFiles:
    """A folder of a file system of Hadoop, through the JVM of the driver."""

    def __init__(self, jvm: Any, system: Any, root: str) -> None:
        self.root = check_archive(root)
        self._jvm, self._system = jvm, system

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self.root}/{path}" if path else self.root)

    def read(self, path: str) -> bytes:
        """All of a small file."""
        target = self._path(path)
        if not self._system.exists(target):
            raise FileNotFoundError(path)
        if self._system.getFileStatus(target).getLen() > TEXT_BYTES_MAX:
            raise StoreFailed(f"{path[:200]} has over {TEXT_BYTES_MAX} bytes: it is no commit of an archive")
        stream = self._system.open(target)
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Written beside it and renamed, which fails where there is one."""
        final = self._path(path)
        beside = self._path(f"{path.rpartition('/')[0]}/.{uuid.uuid4().hex}")
        stream = self._system.create(beside, False)
        try:
            stream.write(bytearray(data))
        finally:
            stream.close()
        is_put = not self._system.exists(final) and bool(self._system.rename(beside, final))
        if not is_put:
            self._system.delete(beside, False)
        return is_put

    def names(self, folder: str) -> list[str]:
        """What is directly in a folder."""
        target = self._path(folder)
        if not self._system.exists(target):
            return []
        return [str(status.getPath().getName()) for status in self._system.listStatus(target)]

    def walk(self, folder: str) -> Iterator[Found]:
        """Every file below a folder."""
        target = self._path(folder)
        if not self._system.exists(target):
            return
        top = str(self._system.makeQualified(target).toUri().getPath()).rstrip("/") + "/"
        listing = self._system.listFiles(target, True)
        while listing.hasNext():
            status = listing.next()
            path = str(status.getPath().toUri().getPath())
            yield Found(path.removeprefix(top), int(status.getModificationTime()))

    def move(self, path: str, to: str) -> None:
        """A rename."""
        final = self._path(to)
        self._system.mkdirs(final.getParent())
        if self._system.exists(final) or not self._system.rename(self._path(path), final):
            raise StoreFailed(f"{path[:200]} could not be moved to {to[:200]}: look at the file system of the archive")

    def delete(self, path: str) -> None:
        """Remove a file or a folder."""
        self._system.delete(self._path(path), True)


def _make_folder(folder: Path) -> list[Path]:
    """Make a folder and those above it; which are to be synced once there is something in it."""
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    # A folder that was just made is itself an entry of the one above.
    return [folder, *(one.parent for one in made)]


def _sync(path: Path) -> None:
    """What is in a file, or which entries a folder has, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
