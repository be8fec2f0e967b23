"""Where the things of an archive are, and what its files are called.

    ARCHIVE/messages/topic=fallecidos/date=2026-11-16/000000000012-5d41402abc4b-0000.parquet
    ARCHIVE/traces/date=2026-11-16/…
    ARCHIVE/_pregon/messages/commits/000000000007.json     what came in or was exchanged, one after the other
    ARCHIVE/_pregon/messages/folds/000000000032.json       all commits up to this one, in one
    ARCHIVE/_pregon/messages/staging/5d41402abc4b/…        what is being written
    ARCHIVE/_pregon/messages/checkpoint/…                  where Spark's stream is

Pure: nothing is read or written here. A topic's name needs no escape in a path, nor does Spark escape it.

Promises:
- A path that `check_path` lets pass is one of a file that an archive makes: it leads nowhere else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pregon.errors import BadRequest, StoreCorrupt
from pregon.limits import NAME_CHARACTERS_MAX
from pregon.spark.schemas import GROUP_DELIVERIES, MESSAGES, REQUESTS, TRACES

TOPIC, DATE = "topic", "date"
_PATH = re.compile(
    rf"(?:topic=[A-Za-z0-9][A-Za-z0-9._-]{{0,{NAME_CHARACTERS_MAX - 1}}}/)?"
    r"date=[0-9]{4}-[0-9]{2}-[0-9]{2}/[0-9a-f-]{1,60}\.parquet",
    re.ASCII,
)
_STAGED = re.compile(r"([0-9]{13})-[0-9a-f]{12}", re.ASCII)
_NUMBERED = re.compile(r"([0-9]{12})\.json", re.ASCII)
_OF_PATTERNS = re.compile(r"[*?\[\]{}\\\x00-\x1f]")
ARCHIVE_CHARACTERS_MAX = 2_000


@dataclass(frozen=True, slots=True)
class Kept:
    """How a table is kept."""

    table: str
    number: str
    """The column that counts its rows."""
    time: str
    """The column whose day, in UTC, says in which folder a row is."""
    order: tuple[str, ...]
    """In which order the rows of a file are."""
    has_topics: bool = False
    is_whole: bool = False
    """Every number is there, once."""
    days_max: int = 0
    """Where others than the hub say the time: a row is under no day further back than so many, nor after tomorrow."""

    @property
    def partitions(self) -> tuple[str, ...]:
        """The columns that are in the path and not in the file."""
        return (TOPIC, DATE) if self.has_topics else (DATE,)


KEPT = {
    kept.table: kept
    for kept in (
        Kept(MESSAGES, "seq", "accepted_at", ("seq",), has_topics=True, is_whole=True),
        Kept(TRACES, "id", "at", ("id",)),
        Kept(REQUESTS, "seq", "ended_at", ("seq",), days_max=400),
        Kept(GROUP_DELIVERIES, "seq", "delivered_at", ("seq", "row"), days_max=400),
    )
}
"""The tables that an archive may have."""


def require_kept(table: str) -> Kept:
    """How a table is kept; raises BadRequest for one that is not."""
    if table not in KEPT:
        raise BadRequest(f"{table[:80]!r} is not kept in an archive: there are {', '.join(KEPT)}")
    return KEPT[table]


def check_archive(archive: str) -> str:
    """The address of an archive without its last slash; raises BadRequest for what Spark would take for a pattern."""
    if not archive or len(archive) > ARCHIVE_CHARACTERS_MAX or _OF_PATTERNS.search(archive):
        raise BadRequest(
            f"{archive[:80]!r} is no place for an archive: name a folder (hdfs://…, s3a://…, /…) of up to "
            f"{ARCHIVE_CHARACTERS_MAX} characters, none of them * ? [ ] {{ }} or a backslash"
        )
    return archive.rstrip("/") or "/"


def data_folder(kept: Kept) -> str:
    """Where the rows of a table are."""
    return kept.table


def commits_folder(kept: Kept) -> str:
    """Where the commits of a table are."""
    return f"_pregon/{kept.table}/commits"


def folds_folder(kept: Kept) -> str:
    """Where its commits are folded into one."""
    return f"_pregon/{kept.table}/folds"


def staging_folder(kept: Kept) -> str:
    """Where files wait to be committed."""
    return f"_pregon/{kept.table}/staging"


def checkpoint_folder(kept: Kept) -> str:
    """Where Spark writes how far the stream is."""
    return f"_pregon/{kept.table}/checkpoint"


def numbered(number: int) -> str:
    """The name of a commit or of a fold."""
    return f"{number:012}.json"


def find_number(name: str) -> int | None:
    """The number in the name of a commit or of a fold; None for any other file."""
    found = _NUMBERED.fullmatch(name)
    return int(found[1]) if found else None


def partition_of(topic: str, date: str) -> str:
    """The folder of a topic's day, or of a day."""
    return f"topic={topic}/date={date}" if topic else f"date={date}"


def staging_name(now_ms: int, writing: str) -> str:
    """The folder of one attempt to write: when it began is in its name."""
    return f"{now_ms:013}-{writing}"


def find_staged_ms(name: str) -> int | None:
    """When an attempt to write began, by the name of its folder; None for any other name."""
    found = _STAGED.fullmatch(name)
    return int(found[1]) if found else None


def file_name(batch: int, writing: str, piece: int) -> str:
    """The name of a file: of which batch, of which attempt to write it, and its place in it."""
    return f"{batch:012}-{writing}-{piece:04}.parquet"


def is_path(path: str) -> bool:
    """Whether a path from the table's folder is one of a file that an archive makes."""
    return _PATH.fullmatch(path) is not None


def check_path(path: str) -> str:
    """A path from the table's folder, as a commit has it; raises StoreCorrupt for any other."""
    if not is_path(path):
        raise StoreCorrupt(f"a commit of the archive names {path[:200]!r}, which is no file of an archive")
    return path
