"""The tutorial of the chat works word for word: its files are saved, its commands typed, its outputs compared."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..hub_process import Addresses, clean_environment, find_port
from ..tutorial import Reader, commands_of, steps_of

ROOT = Path(__file__).parents[3]
TUTORIAL = ROOT / "docs" / "tutorial" / "chat.md"


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """A reader in a copy of the repository, on whose machine the usual ports may be taken."""
    (tmp_path / ".venv").symlink_to(sys.prefix)
    addresses = Addresses()
    ports = {"9999": str(find_port()), "9998": str(find_port())}
    shutil.copytree(ROOT / "examples" / "chat", tmp_path / "examples" / "chat")
    example = tmp_path / "examples" / "chat" / "client.py"
    door = f"--pull tcp://127.0.0.1:{ports['9999']} --pub tcp://127.0.0.1:{ports['9998']}"
    for old, new in ports.items():
        example.write_text(example.read_text().replace(f":{old}", f":{new}"))
    environment = clean_environment(
        PREGON_ZMQ=addresses.zmq,
        PREGON_FEED=addresses.feed,
        PREGON_INGEST=addresses.ingest,
        PREGON_HTTP=addresses.http,
        PREGON_SERVICES_FRONT=addresses.services_front,
        PREGON_SERVICES_BACK=addresses.services_back,
        PREGON_HUB=addresses.zmq,
        PYTHONUNBUFFERED="1",
        XDG_DATA_HOME=str(tmp_path / "data-home"),
    )
    replaced = {f":{old}": f":{new}" for old, new in ports.items()}
    reader = Reader(tmp_path, environment, {**replaced, "door --room plaza": f"door --room plaza {door}"})
    yield reader
    reader.close()


def test_the_tutorial_of_the_chat_works_as_it_is_written(reader: Reader) -> None:
    document = TUTORIAL.read_text(encoding="utf-8")

    commands = reader.follow(document)

    assert commands >= 15
    assert (reader.directory / "both.py").exists()


def test_every_block_of_the_tutorial_is_run_or_saved() -> None:
    document = TUTORIAL.read_text(encoding="utf-8")

    steps = list(steps_of(document))

    assert len(steps) == document.count("\n```") // 2
    assert all(step.file or step.terminal or commands_of(step.block) for step in steps)
