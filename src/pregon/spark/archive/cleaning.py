"""What lies in an archive and is in no commit: files of killed batches, and files that others took the place of.

Promises:
- A file that is in the table is never removed, nor one that was taken out, or written, within the period of grace.
- Files that an archive does not make are left alone.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from pregon.clock import wall_us
from pregon.errors import BadRequest
from pregon.spark.archive.commits import REMOVED_KEEP_MS
from pregon.spark.archive.files import Files, files_of
from pregon.spark.archive.layout import Kept, data_folder, find_staged_ms, is_path, require_kept, staging_folder
from pregon.spark.archive.log import CommitLog

GRACE_MS = 86_400_000
"""How long a query may go on with the files that it began with, unless said otherwise."""
GRACE_MS_MAX = REMOVED_KEEP_MS - 86_400_000


def clean(spark: SparkSession, archive: str, table: str, *, grace_ms: int = GRACE_MS) -> int:
    """Remove what is of no use any more; how many files that were."""
    kept = require_kept(table)
    files = files_of(spark, archive)
    return clean_files(files, CommitLog(files, kept), kept, check_grace(grace_ms))


def check_grace(grace_ms: int) -> int:
    """The period of grace; raises BadRequest for one that cannot be kept."""
    if not 0 <= grace_ms <= GRACE_MS_MAX:
        raise BadRequest(f"the period of grace is {grace_ms} ms: use 0 to {GRACE_MS_MAX}")
    return grace_ms


def clean_files(files: Files, log: CommitLog, kept: Kept, grace_ms: int) -> int:
    """The same, for a table that is open."""
    before_us = wall_us() - grace_ms * 1_000
    before_ms = before_us // 1_000
    folder = data_folder(kept)
    # Listed before the commits are read: what is moved into its place afterwards is not in the list.
    old = [found.path for found in files.walk(folder) if found.modified_ms <= before_ms and is_path(found.path)]
    state = log.load()
    gone = [path for path in old if path not in state.files and state.removed.get(path, 0) <= before_us]
    for path in gone:
        files.delete(f"{folder}/{path}")
    return len(gone) + _clean_staging(files, kept, before_ms)


def _clean_staging(files: Files, kept: Kept, before_ms: int) -> int:
    """Remove what attempts to write left behind that were killed."""
    removed = 0
    for name in files.names(staging_folder(kept)):
        began_ms = find_staged_ms(name)
        folder = f"{staging_folder(kept)}/{name}"
        if began_ms is None or began_ms > before_ms:
            continue
        left = list(files.walk(folder))
        if all(found.modified_ms <= before_ms for found in left):
            files.delete(folder)
            removed += len(left)
    return removed
