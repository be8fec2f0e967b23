"""Files and commits of an archive, for tests that need no Spark."""

from __future__ import annotations

from pathlib import Path

from pregon.spark.archive.commits import APPEND, File, Position, State, commit_after
from pregon.spark.archive.files import LocalFiles
from pregon.spark.archive.layout import KEPT, Kept, file_name, partition_of
from pregon.spark.archive.log import CommitLog
from pregon.spark.schemas import MESSAGES

KEPT_MESSAGES: Kept = KEPT[MESSAGES]
DAY = "2026-11-16"


def make_file(
    first: int, last: int, *, topic: str = "avisos", since: int = 7, size: int = 1_000, date: str = DAY
) -> File:
    """A file with the numbers first..last; `size` in bytes."""
    return File(
        path=f"{partition_of(topic, date)}/{file_name(first, f'{since:012x}', last)}",
        rows=last - first + 1, bytes=size, first=first, last=last, first_us=first, last_us=last,
        date=date, topic=topic, since=since,
    )  # fmt: skip


def open_log(folder: Path) -> CommitLog:
    """The commits of the messages of an archive, read for the first time."""
    return CommitLog(LocalFiles(str(folder)), KEPT_MESSAGES)


def append(log: CommitLog, *files: File, at_us: int = 1_000) -> State:
    """Commit some files of one topic, up to their last number."""
    end = max(file.last for file in files) + 1
    position = Position(first=1, next=end, rows=end - 1, topic=files[0].topic, since=files[0].since)
    return log.commit(lambda now: commit_after(now, APPEND, at_us, adds=list(files), positions=[position]))
