"""The folder of the results: the newest is pointed to, the one before it stays, and nothing leads out of it."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from pregon.errors import BadRequest
from pregon.model.pipeline_figures import RECONCILIATION
from pregon.model.pipeline_results import LATEST_FILE, Made
from pregon.spark.pipelines.results import Results, read_all

from .pipeline_figures import made_of, reconciled


def publish(results: Results, *, is_right: bool = True) -> Made:
    """A result of the reconciliation, in a folder of its own."""
    folder = results.begin(RECONCILIATION)
    (folder / "subscriptions").mkdir()
    made = msgspec.structs.replace(made_of(RECONCILIATION), folder=folder.name)
    results.publish(folder, made, reconciled(is_right=is_right))
    return made


def test_what_was_published_last_is_found(tmp_path: Path) -> None:
    results = Results(tmp_path)
    publish(results)

    made = publish(results, is_right=False)

    assert results.find_figures(RECONCILIATION) == (made, reconciled(is_right=False))
    assert list(read_all(results)) == [RECONCILIATION]


def test_a_step_that_never_ran_has_no_result(tmp_path: Path) -> None:
    assert Results(tmp_path / "nowhere").find_latest(RECONCILIATION) is None
    assert read_all(Results(tmp_path)) == {}


def test_a_run_that_was_not_published_leaves_the_result_that_there_was(tmp_path: Path) -> None:
    results = Results(tmp_path)
    made = publish(results)

    half = results.begin(RECONCILIATION)
    (half / "part-0.parquet").write_bytes(b"half")

    assert results.find_latest(RECONCILIATION) == made


def test_the_result_before_the_newest_stays_and_older_ones_go(tmp_path: Path) -> None:
    results = Results(tmp_path)
    for day in range(10, 14):
        folder = tmp_path / RECONCILIATION / f"202611{day}T000000Z-0123abcd"
        folder.mkdir(parents=True)
        made = msgspec.structs.replace(made_of(RECONCILIATION), folder=folder.name)
        results.publish(folder, made, reconciled())

    left = sorted(one.name for one in (tmp_path / RECONCILIATION).iterdir() if one.is_dir())

    assert left == ["20261112T000000Z-0123abcd", "20261113T000000Z-0123abcd"]


@pytest.mark.parametrize(
    "change",
    [{"folder": "../../etc"}, {"folder": "/etc"}, {"step": "deliveries"}, {"took_ms": -1}, {"sources": [{}] * 2_000}],
    ids=["a folder above", "a folder elsewhere", "of another step", "a time below zero", "too many sources"],
)
def test_a_pointer_that_was_tampered_with_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    results = Results(tmp_path)
    publish(results)
    pointer = tmp_path / RECONCILIATION / LATEST_FILE
    pointer.write_text(json.dumps({**json.loads(pointer.read_text()), **change}))

    with pytest.raises(BadRequest, match="pregon pipeline run reconciliation"):
        results.find_figures(RECONCILIATION)


def test_a_result_without_its_figures_is_refused(tmp_path: Path) -> None:
    results = Results(tmp_path)
    made = publish(results)
    (results.folder_of(made) / "figures.json").unlink()

    with pytest.raises(BadRequest, match="incomplete"):
        results.find_figures(RECONCILIATION)


def test_a_folder_that_cannot_be_written_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(BadRequest, match="--output"):
        Results(tmp_path / "file").begin(RECONCILIATION)
