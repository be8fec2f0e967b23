"""The address of a folder of OUTPUT, as Spark takes it.

A path without a scheme is of the file system that a cluster has by default, which on many is HDFS; results and the
state of streams are of this machine's, where `results` and `alerting` look for them.

Promises:
- The same folder for Python and for Spark, whatever `fs.defaultFS` says and whatever characters are in its name.
"""

from __future__ import annotations

from pathlib import Path


def address_of(path: Path) -> str:
    """Where a folder of this machine is; one that is not absolute is below the folder of this process."""
    # Not as_uri: Hadoop takes %20 in an address for the three characters that they are.
    return f"file://{path.absolute().as_posix()}"
