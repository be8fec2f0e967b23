"""What is in an archive is the sum of its commits: whoever writes, whatever is folded, whatever else lies there."""

from __future__ import annotations

import threading
from datetime import datetime
from pathlib import Path

import pytest

from pregon.errors import BadRequest, StoreCorrupt, StoreTooNew
from pregon.spark.archive.commits import COMPACT, Commit, State, commit_after, decode, encode, fold_of, state_of
from pregon.spark.archive.layout import check_archive, check_path
from pregon.spark.archive.log import FOLD_EVERY
from pregon.spark.archive.table import View

from .archive_words import DAY, append, make_file, open_log

COMMITS = "_pregon/messages/commits"
FOLDS = "_pregon/messages/folds"


def test_a_state_is_the_sum_of_its_commits(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    one, two = make_file(1, 10), make_file(11, 20)
    joined = make_file(1, 20)

    append(log, one)
    append(log, two)
    log.commit(lambda now: commit_after(now, COMPACT, 5_000, adds=[joined], removes=[one.path, two.path]))

    state = open_log(tmp_path).load()
    assert state.version == 3
    assert state.files == {joined.path: joined}
    assert state.removed == {one.path: 5_000, two.path: 5_000}
    assert state.find_next(("avisos", 7)) == 21
    assert state.find_next(("avisos", 8)) is None


def test_the_state_before_a_commit_stays_as_it_was() -> None:
    before = State()

    after = before.after([commit_after(before, COMPACT, 1, adds=[make_file(1, 2)])])

    assert (before.version, before.files) == (0, {})
    assert after.version == 1


@pytest.mark.parametrize("times", [1, 2])
def test_a_file_is_added_once_even_after_it_was_taken_out(times: int) -> None:
    file = make_file(1, 10)
    state = State().after([commit_after(State(), COMPACT, 1, adds=[file])])
    if times == 2:
        state = state.after([commit_after(state, COMPACT, 1, removes=[file.path])])

    with pytest.raises(StoreCorrupt, match="second time"):
        state.after([commit_after(state, COMPACT, 1, adds=[file])])


def test_a_file_that_is_not_there_is_not_taken_out() -> None:
    state = State()

    with pytest.raises(StoreCorrupt, match="not in it"):
        state.after([commit_after(state, COMPACT, 1, removes=[make_file(1, 2).path])])


def test_a_commit_out_of_turn_is_refused() -> None:
    late = commit_after(State().after([commit_after(State(), COMPACT, 1)]), COMPACT, 1)

    with pytest.raises(StoreCorrupt, match="stands where 1 should be"):
        State().after([late])


def test_of_two_writers_each_gets_its_own_number(tmp_path: Path) -> None:
    commits_each = 20

    def write(topic: str) -> None:
        log = open_log(tmp_path)
        for number in range(1, commits_each + 1):
            append(log, make_file(number, number, topic=topic))

    writers = [threading.Thread(target=write, args=[topic]) for topic in ("a", "b", "c")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    state = open_log(tmp_path).load()
    assert state.version == len(state.files) == 3 * commits_each
    assert {topic: position.next for (topic, _), position in state.positions.items()} == dict.fromkeys("abc", 21)


def test_a_writer_that_came_late_is_asked_again_with_the_new_state(tmp_path: Path) -> None:
    mine, others = open_log(tmp_path), open_log(tmp_path)
    seen: list[int] = []

    def make(now: State) -> Commit:
        if not seen:
            append(others, make_file(1, 10))
        seen.append(now.version)
        return commit_after(now, COMPACT, 1, adds=[make_file(11, 20)])

    state = mine.commit(make)

    assert seen == [0, 1]
    assert len(state.files) == 2


def test_a_long_history_is_few_files_to_read(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    commits = 3 * FOLD_EVERY + 5

    for number in range(1, commits + 1):
        append(log, make_file(number, number))

    state = open_log(tmp_path).load()
    assert (state.version, len(state.files)) == (commits, commits)
    assert state.find_next(("avisos", 7)) == commits + 1
    assert len(list((tmp_path / COMMITS).iterdir())) == FOLD_EVERY + 5
    assert len(list((tmp_path / FOLDS).iterdir())) == 2


def test_a_reader_that_was_left_behind_by_folds_finds_its_way(tmp_path: Path) -> None:
    reader, writer = open_log(tmp_path), open_log(tmp_path)
    append(writer, make_file(1, 1))
    assert reader.load().version == 1

    for number in range(2, 3 * FOLD_EVERY + 2):
        append(writer, make_file(number, number))

    assert len(reader.load().files) == 3 * FOLD_EVERY + 1


def test_a_missing_commit_is_an_error_and_not_a_shorter_table(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    for number in range(1, 5):
        append(log, make_file(number, number))

    (tmp_path / COMMITS / "000000000002.json").unlink()

    with pytest.raises(StoreCorrupt, match=r"000000000002\.json is missing"):
        open_log(tmp_path).load()


def test_what_a_killed_writer_left_beside_the_commits_is_not_read(tmp_path: Path) -> None:
    append(open_log(tmp_path), make_file(1, 10))
    (tmp_path / COMMITS / ".000000000002.json.5d41402a").write_bytes(b'{"version": 2, "ki')

    state = append(open_log(tmp_path), make_file(11, 20))

    assert (state.version, len(state.files)) == (2, 2)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"format": 1}', b'{"format": 1, "version": "x"}'])
def test_a_commit_that_says_nothing_is_corrupt(tmp_path: Path, text: bytes) -> None:
    append(open_log(tmp_path), make_file(1, 10))
    (tmp_path / COMMITS / "000000000002.json").write_bytes(text)

    with pytest.raises(StoreCorrupt, match="cannot be read"):
        open_log(tmp_path).load()


def test_a_commit_of_a_later_version_is_not_guessed_at() -> None:
    with pytest.raises(StoreTooNew, match="later version"):
        decode(Commit, b'{"format": 2, "anything": []}', "000000000001.json")


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        f"topic=../date={DAY}/a.parquet",
        f"topic=a/date={DAY}/../a.parquet",
        f"date={DAY}/a.parquet/b",
        "date=x/a.parquet",
    ],
)
def test_a_commit_names_no_file_outside_its_folder(path: str) -> None:
    file = make_file(1, 2)
    data = encode(commit_after(State(), COMPACT, 1, adds=[file])).replace(file.path.encode(), path.encode())

    with pytest.raises(StoreCorrupt, match="no file of an archive"):
        decode(Commit, data, "000000000001.json")
    with pytest.raises(StoreCorrupt):
        check_path(path)


def test_a_fold_forgets_what_was_taken_out_long_ago() -> None:
    old, young = make_file(1, 10), make_file(11, 20)
    state = State().after([commit_after(State(), COMPACT, 1, adds=[old, young])])
    state = state.after([commit_after(state, COMPACT, 1, removes=[old.path])])
    month_us = 30 * 86_400_000_000
    state = state.after([commit_after(state, COMPACT, month_us, removes=[young.path])])

    again = state_of(fold_of(state, month_us))

    assert again.removed == {young.path: month_us}
    assert again.version == state.version


def test_a_stream_that_runs_for_long_forgets_what_was_taken_out_long_ago() -> None:
    old, young = make_file(1, 10), make_file(11, 20)
    day_us = 86_400_000_000
    state = State().after([commit_after(State(), COMPACT, 1, adds=[old, young])])
    state = state.after([commit_after(state, COMPACT, 1, removes=[old.path])])

    state = state.after([commit_after(state, COMPACT, 7 * day_us, removes=[young.path])])
    week = dict(state.removed)
    state = state.after([commit_after(state, COMPACT, 9 * day_us)])

    assert week == {old.path: 1, young.path: 7 * day_us}
    assert state.removed == {young.path: 7 * day_us}


@pytest.mark.parametrize("archive", ["", "a" * 2_001, "/a/*", "/a/[b]", "/a/{b,c}", "/a?", "/a\\b", "/a\nb"])
def test_an_address_that_spark_would_take_for_a_pattern_is_refused(archive: str) -> None:
    with pytest.raises(BadRequest, match="no place for an archive"):
        check_archive(archive)


def test_a_period_without_a_zone_is_refused() -> None:
    with pytest.raises(BadRequest, match="zone"):
        View(after=datetime(2026, 11, 16))


def test_a_log_reads_only_what_is_new(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, make_file(1, 1))
    append(log, make_file(2, 2))
    assert log.load().version == 2

    # It was read already: nobody asks for it again.
    (tmp_path / COMMITS / "000000000001.json").unlink()
    append(log, make_file(3, 3))

    assert log.load().version == 3
