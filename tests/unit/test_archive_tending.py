"""Which files of an archive are joined, and which are removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pregon.clock import wall_us
from pregon.errors import BadRequest, StoreCorrupt
from pregon.limits import MIB
from pregon.spark.archive import cleaning, files
from pregon.spark.archive.cleaning import GRACE_MS_MAX, check_grace, clean_files
from pregon.spark.archive.commits import COMPACT, File, State, commit_after
from pregon.spark.archive.compaction import (
    FILE_BYTES,
    SMALL_BYTES,
    TIERS_BYTES,
    check_same,
    of_lives,
    one_round,
    small_runs,
)
from pregon.spark.archive.files import LocalFiles
from pregon.spark.archive.layout import staging_name

from .archive_words import DAY, KEPT_MESSAGES, append, make_file, open_log

HOUR_MS = 3_600_000


def state_with(*files: File) -> State:
    return State().after([commit_after(State(), COMPACT, 1, adds=list(files))])


def put(archive: Path, path: str, age_ms: int = 0) -> Path:
    """A file that was written so long ago."""
    file = archive / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"rows")
    at_s = wall_us() / 1_000_000 - age_ms / 1_000
    os.utime(file, (at_s, at_s))
    return file


def clean(archive: Path, grace_ms: int) -> int:
    return clean_files(LocalFiles(str(archive)), open_log(archive), KEPT_MESSAGES, grace_ms)


# Files.


def test_of_two_that_put_a_file_one_is_told_that_it_is_late(tmp_path: Path) -> None:
    archive = LocalFiles(str(tmp_path))

    first, second = archive.put_if_absent("a/b", b"1"), archive.put_if_absent("a/b", b"2")

    assert (first, second) == (True, False)
    assert archive.read("a/b") == b"1"
    assert archive.names("a") == ["b"]


def test_the_folders_that_a_file_is_the_first_in_are_on_the_disk_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = LocalFiles(str(tmp_path / "archive"))
    synced: list[Path] = []
    monkeypatch.setattr(files, "_sync", synced.append)

    archive.put_if_absent("_pregon/messages/commits/1", b"1")
    of_first = set(synced)
    synced.clear()
    archive.put_if_absent("_pregon/messages/commits/2", b"2")

    top = tmp_path / "archive"
    pregon = top / "_pregon"
    assert of_first == {tmp_path, top, pregon, pregon / "messages", pregon / "messages" / "commits"}
    assert synced == [pregon / "messages" / "commits"]


def test_a_move_overwrites_nothing(tmp_path: Path) -> None:
    archive = LocalFiles(str(tmp_path))
    archive.put_if_absent("staging/x", b"new")
    archive.put_if_absent("data/x", b"old")

    with pytest.raises(FileExistsError):
        archive.move("staging/x", "data/x")
    archive.move("staging/x", "data/day/x")

    assert (archive.read("data/x"), archive.read("data/day/x")) == (b"old", b"new")
    assert archive.names("staging") == []


# Joining.


def test_small_files_that_follow_one_another_are_joined_in_their_order() -> None:
    state = state_with(make_file(21, 30), make_file(1, 10), make_file(11, 20))

    (run,) = small_runs(state, 2, (SMALL_BYTES,))

    assert [file.first for file in run] == [1, 11, 21]


def test_a_large_file_is_left_alone_and_ends_a_run() -> None:
    large = make_file(11, 20, size=SMALL_BYTES)
    state = state_with(make_file(1, 5), make_file(6, 10), large, make_file(21, 30), make_file(31, 40))

    runs = small_runs(state, 2, (SMALL_BYTES,))

    assert sorted([file.first for file in run] for run in runs) == [[1, 6], [21, 31]]


def test_a_run_is_no_larger_than_a_file_should_be() -> None:
    size = FILE_BYTES // 5 * 2
    state = state_with(*(make_file(number, number, size=size) for number in range(1, 7)))

    runs = small_runs(state, 2, (SMALL_BYTES,))

    assert [[file.first for file in run] for run in runs] == [[1, 2], [3, 4], [5, 6]]


def test_two_lives_of_a_topic_are_never_joined() -> None:
    state = state_with(make_file(1, 10, since=1), make_file(11, 20, since=2))

    assert small_runs(state, 2, (SMALL_BYTES,)) == []


def test_while_a_stream_runs_files_are_joined_with_files_of_their_size() -> None:
    grown = make_file(1, 1_000, size=2 * MIB)
    news = [make_file(number, number) for number in range(1_001, 1_033)]

    (run,) = small_runs(state_with(grown, *news), 32, TIERS_BYTES)

    assert run == news


def test_few_files_are_not_worth_a_round() -> None:
    state = state_with(*(make_file(number, number) for number in range(1, 32)))

    assert small_runs(state, 32, TIERS_BYTES) == []


def test_a_round_has_one_run_of_a_folder() -> None:
    runs = small_runs(
        state_with(
            make_file(1, 10, since=1), make_file(11, 20, since=1), make_file(21, 30, since=1),
            make_file(1, 10, since=2), make_file(11, 20, since=2),
            make_file(1, 10, topic="otro"), make_file(11, 20, topic="otro"),
        ),
        2,
        (SMALL_BYTES,),
    )  # fmt: skip

    chosen = one_round(runs)

    assert sorted((run[0].topic, run[0].since, len(run)) for run in chosen) == [("avisos", 1, 3), ("otro", 7, 2)]


def test_what_was_joined_is_of_the_life_that_its_rows_are_of() -> None:
    first, second, other = "2026-11-15", "2026-11-16", "2026-11-17"
    runs = [
        [make_file(1, 10, since=1, date=first), make_file(11, 20, since=1, date=first)],
        [make_file(1, 5, since=2, date=second), make_file(6, 9, since=2, date=second)],
        [make_file(10, 11, since=2, date=other), make_file(12, 13, since=2, date=other)],
    ]
    written = [
        make_file(1, 20, since=0, date=first), make_file(1, 9, since=0, date=second),
        make_file(10, 13, since=0, date=other),
    ]  # fmt: skip

    joined = of_lives(runs, written)

    assert [(file.date, file.since, file.rows) for file in joined] == [(first, 1, 20), (second, 2, 9), (other, 2, 4)]


@pytest.mark.parametrize("first, last, since", [(1, 19, 1), (2, 20, 1), (1, 20, 2)])
def test_what_is_not_the_same_as_what_was_joined_is_refused(first: int, last: int, since: int) -> None:
    run = [make_file(1, 10, since=1), make_file(11, 20, since=1)]

    with pytest.raises(StoreCorrupt, match="nothing was changed"):
        check_same([run], [make_file(first, last, since=since)])
    check_same([run], [make_file(1, 20, since=1)])


# Removing.


def test_a_file_that_no_commit_names_is_removed_after_the_period_of_grace(tmp_path: Path) -> None:
    file = make_file(1, 10)
    append(open_log(tmp_path), file)
    kept = put(tmp_path, f"messages/{file.path}", 9 * HOUR_MS)
    young = put(tmp_path, f"messages/{make_file(11, 20).path}", HOUR_MS)
    old = put(tmp_path, f"messages/{make_file(21, 30).path}", 3 * HOUR_MS)

    removed = clean(tmp_path, 2 * HOUR_MS)

    assert removed == 1
    assert (kept.exists(), young.exists(), old.exists()) == (True, True, False)


def test_a_file_that_was_taken_out_stays_for_who_reads_it(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    old, late = make_file(1, 10), make_file(11, 20)
    append(log, old, late)
    now_us = wall_us()
    for file, removed_us in ((old, now_us - 3 * HOUR_MS * 1_000), (late, now_us - HOUR_MS * 1_000)):
        put(tmp_path, f"messages/{file.path}", 9 * HOUR_MS)
        log.commit(lambda now, file=file, at=removed_us: commit_after(now, COMPACT, at, removes=[file.path]))

    removed = clean(tmp_path, 2 * HOUR_MS)

    assert removed == 1
    assert not (tmp_path / "messages" / old.path).exists()
    assert (tmp_path / "messages" / late.path).exists()


def test_the_period_of_grace_ends_on_time_and_not_at_the_next_millisecond(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, file = open_log(tmp_path), make_file(1, 10)
    append(log, file)
    put(tmp_path, f"messages/{file.path}", HOUR_MS)
    removed_us = wall_us() // 1_000 * 1_000 + 700
    log.commit(lambda now: commit_after(now, COMPACT, removed_us, removes=[file.path]))

    monkeypatch.setattr(cleaning, "wall_us", lambda: removed_us + 2_000_000 - 1)
    early = clean(tmp_path, 2_000)
    monkeypatch.setattr(cleaning, "wall_us", lambda: removed_us + 2_000_000)

    assert (early, clean(tmp_path, 2_000)) == (0, 1)


def test_what_killed_batches_left_aside_is_removed_and_what_is_being_written_is_not(tmp_path: Path) -> None:
    now_ms = wall_us() // 1_000
    staging = "_pregon/messages/staging"
    left = put(tmp_path, f"{staging}/{staging_name(now_ms - 5 * HOUR_MS, 'a' * 12)}/x.parquet", 5 * HOUR_MS)
    empty = tmp_path / staging / staging_name(now_ms - 5 * HOUR_MS, "b" * 12)
    empty.mkdir()
    slow = put(tmp_path, f"{staging}/{staging_name(now_ms - 5 * HOUR_MS, 'c' * 12)}/x.parquet", 0)
    new = put(tmp_path, f"{staging}/{staging_name(now_ms, 'd' * 12)}/x.parquet", 0)

    clean(tmp_path, 2 * HOUR_MS)

    assert (left.parent.exists(), empty.exists(), slow.exists(), new.exists()) == (False, False, True, True)


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    theirs = [
        put(tmp_path, path, 9 * HOUR_MS)
        for path in ("messages/README", f"messages/topic=a/date={DAY}/notas.txt", "_pregon/messages/staging/notas/a")
    ]

    removed = clean(tmp_path, 0)

    assert removed == 0
    assert all(file.exists() for file in theirs)


@pytest.mark.parametrize("grace_ms", [-1, GRACE_MS_MAX + 1])
def test_a_period_of_grace_that_cannot_be_kept_is_refused(grace_ms: int) -> None:
    with pytest.raises(BadRequest, match="period of grace"):
        check_grace(grace_ms)
