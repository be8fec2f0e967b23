"""What the hub does when its disk, its directory, its ports or its settings are not as they should be.

It says so in one line that tells what to do, with the exit status of the kind of mistake, and never with a
traceback. What is on disk stays as it was.
"""

from __future__ import annotations

import os
import random
import shutil
import socket
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from pregon.client.outbox import ProducerOptions
from pregon.errors import StoreFull
from pregon.hub.way import Published
from pregon.model.batch import pack
from pregon.model.message import Outgoing
from pregon.store.ticket import Ticket

from . import audit
from .command_line import Said, run
from .conftest import MakeHub
from .hub_process import Addresses, HubProcess, end, open_hub

TOPIC = "novedades"
MIB = 1024 * 1024


def serve(data: Path | str, addresses: Addresses | None = None) -> Said:
    """Run a hub that is expected to end by itself."""
    return run("serve", "--data", str(data), *(addresses or Addresses()).options())


# A full disk.


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 MiB: a skip where nobody may mount one, a failure in CI if root cannot."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root may mount the small disk that this test fills")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(disk)], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"no small disk: {mounted.stderr.strip()}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.fixture
def small_hub(small_disk: Path) -> Iterator[HubProcess]:
    """A hub on the small disk; its log is there too, so it must be quiet."""
    hub = HubProcess(small_disk / "data", log_level="info")
    yield hub
    end(hub)


def fill(disk: Path) -> Path:
    """Take all the space that is left; the file to delete to give it back."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(64 * 1024)):
                pass
        except OSError:
            pass
    return ballast


def publish_until_full(hub: HubProcess) -> tuple[list[int], StoreFull]:
    """Publish large messages until the hub refuses one; the numbers of the others, and the refusal."""
    numbers: list[int] = []
    with hub.client() as client:
        while True:
            try:
                numbers.append(client.publish(TOPIC, bytes(MIB)).seq)
            except StoreFull as refusal:
                return numbers, refusal
            assert len(numbers) < 100, "the small disk is not that large"


def test_a_full_disk_refuses_messages_and_nothing_else(small_hub: HubProcess, small_disk: Path) -> None:
    small_hub.start()
    with small_hub.client() as client:
        client.pull(TOPIC, "bps")
        fill(small_disk)

        numbers, refusal = publish_until_full(small_hub)
        pulled = client.pull(TOPIC, "bps", max=1000)
        read = client.read(TOPIC, numbers[-1])
        again = publish_until_full(small_hub)

    assert numbers == list(range(1, len(numbers) + 1))
    assert refusal.is_retryable
    assert "full" in str(refusal)
    assert "free space" in str(refusal)
    assert pulled.head_seq == numbers[-1]
    assert [message.seq for message in read] == numbers[-1:]
    assert again[0] == []
    assert small_hub.bugs() == []


def test_publishing_works_again_when_space_is_freed_and_nothing_was_lost(
    small_hub: HubProcess, small_disk: Path
) -> None:
    small_hub.start()
    ballast = fill(small_disk)
    numbers, _ = publish_until_full(small_hub)

    ballast.unlink()
    with small_hub.client() as client:
        last = client.publish(TOPIC, "there is room again").seq
        account = client.account(TOPIC, "bps") if client.pull(TOPIC, "bps", max=1) else None
    status = small_hub.stop()

    assert status == 0
    assert last == numbers[-1] + 1
    assert account is not None
    assert account.accepted == last
    with open_hub(small_hub.data) as opened:
        assert audit.find_problems(opened) == []
    assert audit.check_integrity(small_hub.data) == []


def test_a_hub_that_starts_on_a_full_disk_says_so(small_disk: Path) -> None:
    fill(small_disk)

    said = serve(small_disk / "data")

    assert said.status == 5
    assert "store_full" in said.err


def test_a_hub_whose_log_does_not_fit_on_the_disk_starts_all_the_same(small_hub: HubProcess, small_disk: Path) -> None:
    small_hub.start()
    small_hub.stop()
    # Room for some messages, but not for the space that the log is given in advance.
    ballast = fill(small_disk)
    os.truncate(ballast, ballast.stat().st_size - 4 * MIB)

    small_hub.start()
    with small_hub.client() as client:
        published = client.publish(TOPIC, "small")

    assert published.seq == 1


# A directory that is not ours.


@pytest.mark.parametrize("data", ["/proc/pregon-x", "/sys/pregon-x", "/dev/null", "/dev/null/below"])
def test_a_directory_that_cannot_be_written_is_refused(data: str) -> None:
    said = serve(data)

    assert said.status == 4
    assert "data_directory_read_only" in said.err
    assert data in said.err
    assert "--data" in said.err


def test_a_second_hub_on_the_same_directory_is_refused_and_the_first_unharmed(make_hub: MakeHub) -> None:
    first = make_hub().start()
    with first.client() as client:
        client.publish(TOPIC, "one")

        said = serve(first.data)
        published = client.publish(TOPIC, "two")

    assert said.status == 4
    assert "data_directory_in_use" in said.err
    assert str(first.pid) in said.err
    assert published.seq == 2
    assert first.is_alive


@pytest.mark.parametrize("door", ["zmq", "feed", "ingest", "http"])
def test_a_port_in_use_is_refused(door: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        addresses = replace(Addresses(), **{door: taken if door == "http" else f"tcp://{taken}"})

        said = serve(tmp_path / "data", addresses)

    assert said.status == 4
    assert "address_in_use" in said.err
    assert taken in said.err


# A database that is not ours, or not whole.


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a hub that worked and was stopped."""
    hub = HubProcess(tmp_path_factory.mktemp("stopped") / "data").start()
    with hub.client() as client, client.producer(TOPIC, ProducerOptions(batch_messages=10)) as out:
        for number in range(1_000):
            out.send(f"message {number}")
    assert hub.stop() == 0
    return hub.data


@pytest.fixture
def database(stopped: Path, tmp_path: Path) -> Path:
    """A copy of its database, alone."""
    (tmp_path / "data").mkdir()
    return Path(shutil.copy(stopped / "pregon.db", tmp_path / "data"))


def overwrite(database: Path, first: int, last: int) -> None:
    """Random bytes over a part of the file."""
    with database.open("r+b") as file:
        file.seek(first)
        file.write(random.Random(first).randbytes(last - first))


@pytest.mark.parametrize(
    ("first", "last"),
    [(0, 100), (100, 4096), (4096, 40_960), (16, 24)],
    ids=["header", "schema", "pages", "page-size"],
)
def test_a_damaged_database_is_refused_and_left_as_it_is(database: Path, first: int, last: int) -> None:
    overwrite(database, first, last)
    before = database.read_bytes()

    said = serve(database.parent)

    assert said.status == 6
    assert "store_corrupt" in said.err
    assert "backup" in said.err
    assert database.read_bytes() == before


@pytest.mark.parametrize("table", ["topic", "trace"])
def test_a_damaged_table_is_refused_at_start_with_what_to_do(database: Path, table: str) -> None:
    with closing(sqlite3.connect(database)) as intact:
        (page_bytes,) = intact.execute("PRAGMA page_size").fetchone()
        (page,) = intact.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
    overwrite(database, (page - 1) * page_bytes, page * page_bytes)

    said = serve(database.parent)

    assert said.status == 6
    assert "store_corrupt" in said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize("content", [b"Dear sir or madam,\n" * 1_000, bytes(8191) + b"\x01"], ids=["letter", "zeros"])
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    database = tmp_path / "pregon.db"
    database.write_bytes(content)

    said = serve(tmp_path)

    assert said.status == 6
    assert "store_corrupt" in said.err
    assert database.read_bytes() == content


def test_the_database_of_another_program_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "pregon.db")) as other:
        other.execute("CREATE TABLE invoice (number INTEGER)")
        other.commit()

    said = serve(tmp_path)

    assert said.status == 6
    assert "store_corrupt" in said.err
    assert "invoice" in said.err


def test_the_database_of_a_newer_hub_is_refused(database: Path) -> None:
    with closing(sqlite3.connect(database)) as newer:
        newer.execute("UPDATE alembic_version SET version_num = '9999'")
        newer.commit()

    said = serve(database.parent)

    assert said.status == 6
    assert "store_too_new" in said.err
    assert "9999" in said.err


# A door that fails.


def test_a_door_that_fails_to_take_its_answer_does_not_make_the_hub_write_twice(tmp_path: Path) -> None:
    batch = pack([Outgoing(b"once", "once")], [1])

    def fail(_ticket: Ticket[Published]) -> None:
        raise RuntimeError("a bug in a door")

    with open_hub(tmp_path) as hub:
        hub.committer.hold()
        tickets = [hub.publish_batch(TOPIC, name, batch) for name in ("first", "second", "third")]
        tickets[1].when_done(fail)
        hub.committer.let_go()
        last = tickets[2].result()
        after = hub.publish(TOPIC, "after", Outgoing(b"after")).result()
        stored = [message.producer for message in audit.read_topic(hub, TOPIC)]

    assert stored == ["first", "second", "third", "after"]
    assert (last.seq, after.seq) == (3, 4)
