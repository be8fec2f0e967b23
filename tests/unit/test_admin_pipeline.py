"""What the page of the pipeline reads from files of others, and what it makes of it."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from pregon.edges.admin.bars import Bar, Bars
from pregon.edges.admin.pipeline_files import has_report, parse_instant, read_report, read_results
from pregon.edges.admin.pipeline_sections import fill_times, without_private
from pregon.errors import BadRequest
from pregon.model import pipeline_figures as f
from pregon.model.pipeline_results import LATEST_BYTES_MAX, REPORT_BYTES_MAX, REPORT_FILE, RESULTS_FOLDER
from pregon.settings import Settings
from pregon.spark.pipelines.results import Results

from .pipeline_figures import HOSTILE, all_figures


def write(root: Path, *steps: str) -> None:
    """Results of these steps, written as the pipeline does."""
    results = Results(root)
    for step in steps:
        made, figures = all_figures()[step]
        folder = results.begin(step)
        results.publish(folder, msgspec.structs.replace(made, folder=folder.name), figures)


def test_results_are_looked_for_where_the_pipeline_leaves_them() -> None:
    assert Settings().pipeline_results == RESULTS_FOLDER


def test_what_was_written_is_read(tmp_path: Path) -> None:
    write(tmp_path, *f.STEPS)

    found = read_results(tmp_path)

    assert [step for step, one in found.items() if one.figures is None] == []
    assert found[f.RECONCILIATION].figures == all_figures()[f.RECONCILIATION][1]
    assert found[f.RECONCILIATION].made_us == parse_instant("2026-11-16T20:00:00Z")


def test_where_nothing_is_nothing_is_told(tmp_path: Path) -> None:
    found = read_results(tmp_path / "nowhere")

    assert {(one.figures, one.problem) for one in found.values()} == {(None, "")}
    assert not has_report(tmp_path / "nowhere")
    assert read_report(tmp_path / "nowhere") is None


@pytest.mark.parametrize(
    "latest",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b'{"step":"traffic","folder":"../../etc","made_at":"","took_ms":0,"rows":{},"hub":""}',
        b'{"step":"causality","folder":"20261116T200102Z-5f3a9c21","made_at":"","took_ms":0,"rows":{},"hub":""}',
        b'{"step":"traffic","folder":"20261116T200102Z-5f3a9c21","made_at":"","took_ms":0,"rows":{},"hub":""}',
        b" " * (LATEST_BYTES_MAX + 1),
    ],
    ids=["empty", "cut", "no text", "elsewhere", "of another", "incomplete", "large"],
)
def test_a_result_that_cannot_be_read_is_told_and_hides_no_other(tmp_path: Path, latest: bytes) -> None:
    write(tmp_path, f.TRAFFIC, f.RECONCILIATION)
    (tmp_path / f.TRAFFIC / "latest.json").write_bytes(latest)

    found = read_results(tmp_path)

    assert found[f.TRAFFIC].figures is None
    assert "pregon pipeline run traffic" in found[f.TRAFFIC].problem
    assert found[f.RECONCILIATION].figures is not None


def test_nobody_waits_for_the_writer_of_a_pipe(tmp_path: Path) -> None:
    (tmp_path / f.TRAFFIC).mkdir()
    os.mkfifo(tmp_path / f.TRAFFIC / "latest.json")
    os.mkfifo(tmp_path / REPORT_FILE)

    found = read_results(tmp_path)

    assert found[f.TRAFFIC].problem.endswith("is no file")
    assert not has_report(tmp_path)


def test_a_report_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with (tmp_path / REPORT_FILE).open("wb") as file:
        file.truncate(REPORT_BYTES_MAX + 1)

    with pytest.raises(BadRequest):
        read_report(tmp_path)


def test_private_conversations_are_shown_to_who_administers_and_to_nobody_else() -> None:
    figures = f.TrafficFigures(
        window_s=60,
        messages=3,
        topics_count=2,
        topics=[
            f.TopicTraffic(topic=topic, messages=1, bytes=1, windows=1, peak_messages=1, last_at="")
            for topic in ("groups.private.7", "groups.cocina")
        ],
        windows=[f.Window(topic="groups.private.7", start="", messages=1, bytes=1)],
        alerts_count=0,
        alerts=[],
    )

    shown = without_private(figures, may_administer=False)

    assert isinstance(shown, f.TrafficFigures)
    assert [one.topic for one in shown.topics] == ["groups.cocina"]
    assert shown.windows == []
    assert without_private(figures, may_administer=True) is figures


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-11-16T20:00:00", "9999-99-99T00:00:00Z", "0001-01-01T00:00:00Z"]
)
def test_what_is_no_instant_is_none(text: str) -> None:
    assert parse_instant(text) == 0


@pytest.mark.parametrize(
    "times, step, filled",
    [
        ([], 60, []),
        ([60], 60, [60]),
        ([60, 240], 60, [60, 120, 180, 240]),
        ([60, 100], 60, [60, 100]),
        ([60, 60_000_000], 60, [60, 60_000_000]),
        ([60, 240], 0, [60, 240]),
    ],
)
def test_windows_without_a_message_are_filled_in_while_they_are_few(
    times: list[int], step: int, filled: list[int]
) -> None:
    assert fill_times(times, step) == filled


def test_bars_show_names_as_they_are_and_nothing_of_them_becomes_markup() -> None:
    bars = Bars(HOSTILE, [Bar(HOSTILE, [("first", 3.0), ("second", 0.0)])])

    drawn = str(bars.draw())

    assert "<script" not in drawn
    assert "&lt;script&gt;" in drawn
    assert drawn.count("<rect") == 2
