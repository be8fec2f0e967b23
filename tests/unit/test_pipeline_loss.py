"""`--accept-loss`: who wants to go on without what is gone says so, and nobody else does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pregon.cli import pipeline
from pregon.errors import DataLost
from pregon.spark.options import read_options
from pregon.spark.pipelines import archiving, running, streaming
from pregon.spark.pipelines.inputs import Place

HUB = "http://127.0.0.1:5580"


@contextmanager
def no_session(*_: Any) -> Iterator[Any]:
    yield None


@pytest.mark.parametrize("said, fails", [([], True), (["--accept-loss"], False)])
@pytest.mark.parametrize("command", ["run", "stream"])
def test_what_is_gone_is_an_error_unless_it_is_accepted(
    command: str, said: list[str], fails: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    places: list[Place] = []

    def start(_spark: Any, place: Place, *_: Any, **__: Any) -> list[Any]:
        places.append(place)
        return []

    monkeypatch.setattr(pipeline, "_session", no_session)
    monkeypatch.setattr(running, "run_steps", start)
    monkeypatch.setattr(streaming, "start_streams", start)
    monkeypatch.setattr(streaming, "follow_streams", lambda *_: [])

    arguments = [command, "archive", "--hub", HUB, "--archive", str(tmp_path), "--output", str(tmp_path / "out"), *said]
    ended = CliRunner().invoke(pipeline.app, arguments)

    assert (ended.exit_code, len(places)) == (0, 1), ended.output
    assert read_options({name.lower(): text for name, text in places[0].reading.items()}).fails_on_data_loss is fails


def test_who_is_told_that_something_is_gone_is_told_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise DataLost("1 to 9 of avisos were removed by its retention")

    monkeypatch.setattr(pipeline, "_session", no_session)
    monkeypatch.setattr(running, "run_steps", fail)

    ended = CliRunner().invoke(pipeline.app, ["run", "traffic", "--hub", HUB, "--output", str(tmp_path)])

    assert isinstance(ended.exception, DataLost)
    assert re.search(r"1 to 9 of avisos .*--accept-loss", str(ended.exception))


def test_the_archive_goes_on_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    sources: list[dict[str, str]] = []

    def start(_spark: Any, _archive: str, source: dict[str, str], **_: Any) -> None:
        sources.append(source)

    monkeypatch.setattr(archiving, "archive_stream", start)
    for accepts_loss in (False, True):
        place = Place(source={"hub": HUB}, archive="/srv/archive", accepts_loss=accepts_loss)
        archiving.start_archive(None, place, "traces")  # type: ignore[arg-type]

    assert [source.get("failOnDataLoss") for source in sources] == [None, "false"]
