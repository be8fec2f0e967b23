"""The simulator is itself to be trusted: it sees every change, and it catches a database that lies.

SQLite in WAL mode promises that a committed transaction survives a power cut with synchronous=FULL, and
says that with NORMAL and OFF it may not. So the same program is run with the three: the simulator must find
nothing wrong with the first, and must catch the other two. If the shim recorded nothing there would be
nothing to cut and nothing acknowledged, and all would look well: hence the counts of syncs and of
acknowledged rows, and the comparison of the replayed journal with the real directory.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from .disk import (
    SECTOR_BYTES,
    IncompleteRecordingError,
    Journal,
    Kind,
    Mode,
    environment,
    require_shim,
)

TRANSACTIONS = 120
ROWS_PER_TRANSACTION = 3
CUTS = 200

COMMIT_AND_ACKNOWLEDGE = f"""
import os, sqlite3, sys
db = sqlite3.connect("hub.db", isolation_level=None)
db.execute("PRAGMA journal_mode=WAL")
db.execute("PRAGMA synchronous=" + sys.argv[1])
db.execute("PRAGMA wal_autocheckpoint=20")
db.execute("CREATE TABLE IF NOT EXISTS message (number INTEGER PRIMARY KEY, body BLOB)")
log = os.open("acknowledged.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
first, = db.execute("SELECT coalesce(max(number), 0) FROM message").fetchone()
for _ in range({TRANSACTIONS}):
    numbers = range(first + 1, first + 1 + {ROWS_PER_TRANSACTION})
    db.execute("BEGIN IMMEDIATE")
    db.executemany("INSERT INTO message VALUES (?, randomblob(700))", [(n,) for n in numbers])
    db.execute("COMMIT")
    os.write(log, "".join(f"{{n}}\\n" for n in numbers).encode())
    first = numbers[-1]
db.close()
"""


@dataclass(frozen=True)
class Recording:
    """A directory at rest, and the journal of how it came to be."""

    directory: Path
    journal: Journal


Record = Callable[..., Recording]


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return require_shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture
def record(shim: Path, tmp_path: Path) -> Record:
    """Runs a Python program under the shim, in the directory that is watched."""

    def run(program: str, *arguments: str, directory: Path = tmp_path / "watched") -> Recording:
        directory.mkdir(exist_ok=True)
        journal = tmp_path / f"{directory.name}.journal"
        added = environment(shim, directory, journal)
        command = [sys.executable, "-c", program, *arguments]
        subprocess.run(command, cwd=directory, env=os.environ | added, check=True, timeout=120)
        return Recording(directory, Journal.load(journal))

    return run


def read_numbers(directory: Path) -> set[int]:
    """The rows that are found on opening the database again, which must be sound."""
    with closing(sqlite3.connect(directory / "hub.db")) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'message'").fetchone():
            return set()
        return {number for (number,) in db.execute("SELECT number FROM message")}


def acknowledged(journal: Journal, cut: int) -> set[int]:
    return {int(line) for line in journal.lines_written_before(cut, "acknowledged.log")}


def rows_lost(journal: Journal, target: Path, mode: Mode) -> int:
    """Cut the power at many moments; how many acknowledged rows were lost in all of them together."""
    rng, lost = Random(20), 0
    for cut in sorted(rng.sample(journal.cut_points, CUTS)):
        journal.crash(cut, target / f"{mode}-{cut}", rng, mode)
        found, told = read_numbers(target / f"{mode}-{cut}"), acknowledged(journal, cut)
        lost += len(told - found)
        # A transaction is there whole or not at all, and after all of those before it.
        assert found == set(range(1, len(found) + 1))
        assert len(found) % ROWS_PER_TRANSACTION == 0
    return lost


def test_synchronous_full_keeps_every_acknowledged_row(record: Record, tmp_path: Path) -> None:
    full = record(COMMIT_AND_ACKNOWLEDGE, "FULL")
    journal, rows = full.journal, TRANSACTIONS * ROWS_PER_TRANSACTION

    lost = {mode: rows_lost(journal, tmp_path / "after", mode) for mode in ("drop", "subset", "torn")}

    assert lost == {"drop": 0, "subset": 0, "torn": 0}
    assert acknowledged(journal, journal.cut_points[-1]) == set(range(1, rows + 1))
    assert journal.count(Kind.FDATASYNC, "hub.db-wal") >= TRANSACTIONS
    assert journal.count(Kind.FDATASYNC, "hub.db") >= 10, "the checkpoints"
    assert journal.count(Kind.WRITE, "hub.db-wal") > rows
    assert journal.count(Kind.WRITE, "acknowledged.log") == TRANSACTIONS
    assert journal.differences(full.directory) == []


@pytest.mark.parametrize("mode", ["drop", "subset", "torn"])
def test_synchronous_normal_is_caught_losing_acknowledged_rows(record: Record, tmp_path: Path, mode: Mode) -> None:
    normal = record(COMMIT_AND_ACKNOWLEDGE, "NORMAL")

    lost = rows_lost(normal.journal, tmp_path / "after", mode)

    assert lost > 0
    assert 0 < normal.journal.count(Kind.FDATASYNC, "hub.db-wal") < TRANSACTIONS, "only at checkpoints"
    assert normal.journal.differences(normal.directory) == []


def test_synchronous_off_is_caught_losing_acknowledged_rows(record: Record, tmp_path: Path) -> None:
    off = record(COMMIT_AND_ACKNOWLEDGE, "OFF")

    lost = rows_lost(off.journal, tmp_path / "after", "drop")

    assert lost > 0
    assert off.journal.count(Kind.FDATASYNC, "hub.db-wal") == 0
    assert off.journal.differences(off.directory) == []


def test_nothing_is_lost_when_only_the_process_dies(record: Record, tmp_path: Path) -> None:
    off = record(COMMIT_AND_ACKNOWLEDGE, "OFF")

    assert rows_lost(off.journal, tmp_path / "after", "keep") == 0


def test_a_second_power_cut_after_the_first_recovery_loses_nothing_either(record: Record, tmp_path: Path) -> None:
    first = record(COMMIT_AND_ACKNOWLEDGE, "FULL").journal
    cut = len(first.operations) // 2
    first.crash(cut, tmp_path / "second", Random(1), "torn")
    (tmp_path / "second" / "acknowledged.log").unlink()

    second = record(COMMIT_AND_ACKNOWLEDGE, "FULL", directory=tmp_path / "second").journal

    assert rows_lost(second, tmp_path / "after", "torn") == 0
    found = second.survivors(second.cut_points[-1], Random(1), "drop")
    assert set(found) == {"hub.db", "acknowledged.log"}
    assert min(acknowledged(second, second.cut_points[-1])) > max(acknowledged(first, cut))


SYNC_THEN_NOT = """
import os
fd = os.open("file", os.O_RDWR | os.O_CREAT)
os.write(fd, b"a" * 2048)
os.fsync(fd)
os.pwrite(fd, b"b" * 2048, 1024)
os.ftruncate(fd, 100)
os.rename("file", "renamed")
os.fdatasync(fd)
"""


def test_what_was_synced_is_kept_exactly_and_drop_keeps_nothing_else(record: Record) -> None:
    journal = record(SYNC_THEN_NOT).journal

    found = [journal.survivors(cut, Random(0), "drop") for cut in reversed(journal.cut_points)][::-1]

    synced = b"a" * 2048
    assert [operation.kind.name for operation in journal.operations] == [
        *("CREATE", "WRITE", "FSYNC", "WRITE", "TRUNCATE", "RENAME", "FDATASYNC")
    ]
    assert found == [
        {},
        {"file": b""},
        {"file": b""},
        *[{"file": synced}] * 3,
        {"renamed": synced},
        {"renamed": b"a" * 100},
    ]


def test_subset_keeps_or_loses_each_change_whole(record: Record) -> None:
    journal = record(SYNC_THEN_NOT).journal

    after_write = {journal.survivors(4, Random(seed), "subset")["file"] for seed in range(200)}
    after_truncate = {journal.survivors(5, Random(seed), "subset")["file"] for seed in range(200)}

    lost, kept = b"a" * 2048, b"a" * 1024 + b"b" * 2048
    assert after_write == {lost, lost + bytes(1024), kept}, "the size may grow without the bytes"
    assert after_truncate == after_write | {b"a" * 100}


def test_torn_keeps_some_sectors_of_a_write(record: Record) -> None:
    journal = record(SYNC_THEN_NOT).journal

    found = {journal.survivors(4, Random(seed), "torn")["file"] for seed in range(300)}

    sectors = {content[at : at + SECTOR_BYTES] for content in found for at in range(0, len(content), SECTOR_BYTES)}
    assert sectors == {letter * SECTOR_BYTES for letter in (b"a", b"b", b"\0")}
    assert all(content.startswith(b"a" * 1024) for content in found)
    assert any(b"b" in content and b"b" * 2048 not in content for content in found)


MANY_WAYS = """
import os, pathlib, shutil, subprocess, sys, tempfile
fd = os.open("ways", os.O_RDWR | os.O_CREAT)
os.write(fd, b"0123456789" * 100); os.lseek(fd, 5, os.SEEK_SET); os.write(fd, b"here")
os.pwrite(fd, b"there", 700); os.writev(fd, [b"one", b"", b"two"]); os.pwritev(fd, [b"x", b"yz"], 2000)
os.ftruncate(fd, 1990); os.posix_fallocate(os.open("roomy", os.O_RDWR | os.O_CREAT), 0, 3000); twin = os.dup(fd); os.write(twin, b"dup")
append = os.open("ways", os.O_WRONLY | os.O_APPEND); os.write(append, b"end"); os.pwrite(append, b"END", 1)
pathlib.Path("text").write_text("long, and then"); pathlib.Path("text").write_text("short")
shutil.copyfile("ways", "copied"); os.link("copied", "linked"); os.unlink("copied")
os.makedirs("folder/inner"); pathlib.Path("folder/inner/deep").write_text("deep")
os.rename("folder", "moved"); pathlib.Path("moved/inner/deep").write_text("deeper")
os.rename("text", os.path.abspath("moved/text")); os.rename("linked", "linked")
for name in "abc":
    pathlib.Path("reuses-an-inode").write_text(name * 50); os.unlink("reuses-an-inode")
here = os.open(".", os.O_RDONLY); relative = os.open("moved/by-folder", os.O_WRONLY | os.O_CREAT, dir_fd=here)
os.write(relative, b"relative"); os.unlink("moved/inner/deep", dir_fd=here)
with open("by-child", "w") as out: subprocess.run([sys.executable, "-c", "print('child')"], stdout=out, check=True)
with tempfile.TemporaryDirectory() as other: pathlib.Path(other, "elsewhere").write_text("not ours")
gone = os.open("gone", os.O_RDWR | os.O_CREAT); os.unlink("gone"); os.write(gone, b"nameless")
"""  # noqa: E501


def test_every_way_in_which_python_changes_a_file_is_seen(record: Record) -> None:
    many = record(MANY_WAYS)

    assert many.journal.differences(many.directory) == []
    assert set(many.journal.survivors(many.journal.cut_points[-1], Random(0), "drop")) == {
        *("ways", "roomy", "linked", "by-child", "moved/text", "moved/by-folder")
    }
    assert not any("elsewhere" in operation.path for operation in many.journal.operations)


RACE = """
import os, threading
shared = os.open("shared", os.O_RDWR | os.O_CREAT)
def write_over_the_others(writer):
    own = os.open("shared", os.O_RDWR)
    for turn in range(150):
        os.pwrite((shared, own)[turn % 2], bytes([writer]) * 300, turn % 7 * 100)
        os.write(log, b"%d %d\\n" % (writer, turn))
        if turn % 10 == 0: os.fdatasync(own)
log = os.open("acknowledged.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
children = []
for child in range(3):
    if not (pid := os.fork()):
        threads = [threading.Thread(target=write_over_the_others, args=(3 * child + n,)) for n in range(3)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        os._exit(0)
    children.append(pid)
assert all(os.waitpid(pid, 0)[1] == 0 for pid in children)
"""


def test_threads_and_processes_that_race_are_recorded_in_the_order_of_their_effects(record: Record) -> None:
    race = record(RACE)

    lines = race.journal.lines_written_before(race.journal.cut_points[-1], "acknowledged.log")
    assert race.journal.differences(race.directory) == []
    assert len(lines) == len(set(lines)) == 3 * 3 * 150


def test_a_change_that_the_shim_cannot_see_is_reported(record: Record) -> None:
    hidden = record(
        "import ctypes, os\n"
        "libc = ctypes.CDLL(None)\n"
        "libc.fdopen.restype = ctypes.c_void_p\n"
        "descriptor = os.open('hidden', os.O_WRONLY | os.O_CREAT)\n"
        "stream = ctypes.c_void_p(libc.fdopen(descriptor, b'w'))\n"
        "libc.fputs(b'by C stdio', stream)\n"
        "libc.fclose(stream)\n"
    )

    assert (hidden.directory / "hidden").read_text() == "by C stdio"
    assert hidden.journal.differences(hidden.directory) == ["hidden"]
    assert Journal([]).differences(hidden.directory) == ["hidden"]


def test_a_database_written_through_a_mapping_is_refused(record: Record) -> None:
    mapped = record("import mmap; f = open('mapped', 'wb+'); f.truncate(9); mmap.mmap(f.fileno(), 9)[0] = 1")

    for _asked_again in range(2):
        with pytest.raises(IncompleteRecordingError, match="mapped"):
            mapped.journal.survivors(mapped.journal.cut_points[-1], Random(0), "drop")


def test_a_missing_compiler_skips_on_a_laptop_and_fails_in_ci(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception):
        require_shim(tmp_path)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception):
        require_shim(tmp_path)
