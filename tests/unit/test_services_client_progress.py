"""The progress of a map: shown on a terminal, and nowhere else."""

from __future__ import annotations

import io
import sys

import pytest

from pregon.client.services.progress import MapProgress


class Terminal(io.StringIO):
    """What standard error is when somebody looks at it."""

    def isatty(self) -> bool:
        return True


def run_to_the_end(progress: MapProgress, count: int) -> None:
    with progress:
        for _ in range(count):
            progress.step()


def test_on_a_terminal_it_says_what_and_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())

    run_to_the_end(MapProgress("sqrt", range(20), is_wanted=True), 20)

    shown = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert "sqrt" in shown
    assert "20/20" in shown


@pytest.mark.parametrize(("stream", "is_wanted"), [(io.StringIO(), True), (Terminal(), False)])
def test_elsewhere_and_unasked_it_says_nothing(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, is_wanted: bool
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)

    run_to_the_end(MapProgress("sqrt", range(20), is_wanted=is_wanted), 20)

    assert stream.getvalue() == ""


def test_how_many_there_will_be_need_not_be_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())

    run_to_the_end(MapProgress("sqrt", iter([1, 2]), is_wanted=True), 2)

    assert "2/?" in sys.stderr.getvalue()  # type: ignore[attr-defined]
