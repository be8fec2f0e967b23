"""The hub's tables as Parquet on any file system of Hadoop: written exactly once, kept in few files, read as tables.

What is in an archive is what its commits say, and nothing else that lies beside it: `commits` has the words, `log`
keeps them, `appending` and `compaction` write, `cleaning` removes what no commit names, and `table` joins the archive
with what the hub has since.
"""

from pregon.spark.archive.cleaning import clean
from pregon.spark.archive.compaction import compact
from pregon.spark.archive.stream import ArchiveSettings, archive_stream
from pregon.spark.archive.table import Archived, View, archived, system_table, table

__all__ = [
    "ArchiveSettings",
    "Archived",
    "View",
    "archive_stream",
    "archived",
    "clean",
    "compact",
    "system_table",
    "table",
]
