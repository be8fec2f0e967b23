"""The tutorial of push works word for word: every file in it is saved, every command typed, every output compared."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .hub_process import Addresses, clean_environment, find_port
from .tutorial import Reader, commands_of, looks_like, steps_of

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial" / "push.md"


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """A reader in a copy of the repository, on whose machine the usual ports may be taken.

    Without curl and jq the test is skipped on a laptop and fails in CI.
    """
    missing = [tool for tool in ("curl", "jq") if shutil.which(tool) is None]
    if missing:
        reason = f"this needs {' and '.join(missing)}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    addresses, port = Addresses(), find_port()
    environment = clean_environment(
        PREGON_ZMQ=addresses.zmq,
        PREGON_FEED=addresses.feed,
        PREGON_INGEST=addresses.ingest,
        PREGON_HTTP=addresses.http,
        PREGON_HUB=addresses.zmq,
        PYTHONUNBUFFERED="1",
        no_proxy="*",
    )
    reader = Reader(tmp_path, environment, {"127.0.0.1:5580": addresses.http, "9001": str(port)})
    yield reader
    reader.close()


def test_the_tutorial_of_push_works_as_it_is_written(reader: Reader) -> None:
    document = TUTORIAL.read_text(encoding="utf-8")

    commands = reader.follow(document)

    assert commands >= 25
    assert {path.name for path in reader.directory.iterdir()} >= {"bps.py", "dgrec.py", "cgn.py", "noticia.xml"}


def test_every_block_of_the_tutorial_is_run_or_saved() -> None:
    document = TUTORIAL.read_text(encoding="utf-8")

    steps = list(steps_of(document))

    assert len(steps) == document.count("\n```") // 2
    assert all(step.file or step.terminal or commands_of(step.block) for step in steps)


def test_the_receiver_that_a_reader_writes_is_short() -> None:
    document = TUTORIAL.read_text(encoding="utf-8")

    (receiver,) = [step.block for step in steps_of(document) if step.file == "bps.py"]

    assert len([line for line in receiver.splitlines() if line.strip()]) <= 20


# The reader notices what is not as the document says.


@pytest.mark.parametrize(
    ("shown", "wanted"),
    [
        ('{"seq":1}\n', '{"seq":2}\n'),
        ("one\ntwo\n", "one\n"),
        ("one\n", "one\ntwo\n"),
        ("BPS  failed  attempt 1, 2 ms\n", "BPS  delivered  attempt 1, 2 ms\n"),
        ("one\nthree\n", "one\n…\ntwo\n"),
    ],
)
def test_an_output_that_the_document_does_not_show_is_noticed(shown: str, wanted: str) -> None:
    same = wanted

    assert not looks_like(shown, wanted)
    assert looks_like(same, wanted)


def test_instants_and_durations_are_not_compared() -> None:
    shown = "  04:12:31.120011  BPS  delivered  attempt 7, 15 ms\nsince 2026-11-16T04:12:31.120011Z\n"

    wanted = "  05:00:00.000001  BPS  delivered  attempt 5, 3 ms\nsince 2026-12-24T05:00:00.000001Z\n"

    assert looks_like(shown, wanted)


def test_a_command_that_shows_something_else_fails_the_reader(reader: Reader) -> None:
    document = "```\n$ echo one\ntwo\n```\n"

    with pytest.raises(AssertionError, match="instead of:\ntwo"):
        reader.follow(document)
