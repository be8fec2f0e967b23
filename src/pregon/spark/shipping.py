"""Getting the package to executors that do not have it.

A format that Spark found by itself is only there for executors that have the package installed: what is shipped does
not reach it. So `ship` sends the package and then registers the format anew. An archive for `spark-submit --py-files`
is made by `python -m pregon.spark package pregon.zip`; a program that is started with it calls `ship` too.

Promises:
- Only Python files travel. What they need besides is `NEEDED`, compiled, and must be installed on the executors.
- The same files make the same archive, byte by byte; asking again ships nothing again.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from io import BytesIO
from pathlib import Path

from pyspark.sql import SparkSession

import pregon
from pregon.errors import SettingsInvalid
from pregon.spark.source import PregonSource

NEEDED = ("pyarrow", "msgspec", "pyzmq", "httptools")
"""What must be installed where executors run, by the names that `pip` knows."""
_PACKAGES = ("pregon", "pyspark_pregon")
_SINCE = (1980, 1, 1, 0, 0, 0)


def ship(spark: SparkSession) -> None:
    """Let executors without the package read and write `format("pregon")` in this session."""
    context = spark.sparkContext
    if _is_in_archive():
        file = Path(pregon.__path__[0]).parent
    else:
        content = archive()
        name = f"pregon-{sha256(content).hexdigest()[:16]}.zip"
        if name in (context._python_includes or ()):
            return
        file = _kept(name, content)
        context.addPyFile(str(file))
    # The driver's side of a stream runs in a Python to which Spark gives none of the shipped files. On executors, where
    # this path is not, it does no harm.
    before = context.environment.get("PYTHONPATH", "")
    context.environment["PYTHONPATH"] = os.pathsep.join(filter(None, (before, str(file))))
    spark.dataSource.register(PregonSource)


def archive() -> bytes:
    """The package as a zip; raises SettingsInvalid where it was itself imported from one."""
    if _is_in_archive():
        raise SettingsInvalid("pregon was imported from an archive, which can be used as it is: make none of it")
    written = BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as target:
        for name, file in _files():
            target.writestr(zipfile.ZipInfo(name, _SINCE), file.read_bytes(), zipfile.ZIP_DEFLATED)
    return written.getvalue()


def _folders() -> Iterator[Path]:
    beside = Path(pregon.__path__[0]).parent
    for package in _PACKAGES:
        yield beside / package


def _is_in_archive() -> bool:
    return not all(folder.is_dir() for folder in _folders())


def _files() -> Iterator[tuple[str, Path]]:
    """Every Python file, by its name in the archive."""
    for folder in _folders():
        for file in sorted(folder.rglob("*.py")):
            yield (folder.name / file.relative_to(folder)).as_posix(), file


def _kept(name: str, content: bytes) -> Path:
    """A file that is there for as long as this process: executors that start later fetch it from here."""
    folder = Path(tempfile.mkdtemp(prefix="pregon-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = folder / name
    file.write_bytes(content)
    return file
