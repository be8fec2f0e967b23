"""The page on services from Node works word for word: its commands are typed, its outputs compared."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..hub_process import clean_environment, find_port
from ..tutorial import Reader
from .conftest import EXAMPLES, PROJECT, ROOT

PAGE = ROOT / "docs" / "how-to" / "use-services-from-node.md"
CODE = re.compile(r"^```js\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""Parts of programs, which the reader has already."""


@pytest.fixture
def reader(node_project: Path, tmp_path: Path) -> Iterator[Reader]:
    """A reader in a copy of the repository who has Node, and on whose machine the usual ports may be taken."""
    (tmp_path / ".venv").symlink_to(sys.prefix)
    shutil.copytree(EXAMPLES, tmp_path / "examples" / "node", ignore=shutil.ignore_patterns("node_modules"))
    addresses = {f"127.0.0.1:{port}": f"127.0.0.1:{find_port()}" for port in (5573, 5574, 5583, 5584)}
    reader = Reader(tmp_path, clean_environment(), addresses)
    yield reader
    reader.close()


def test_the_page_works_as_it_is_written(reader: Reader) -> None:
    page = PAGE.read_text(encoding="utf-8")

    commands = reader.follow(CODE.sub("", page))

    assert commands >= 10


def test_the_page_shows_only_code_of_programs_that_are_run() -> None:
    page = PAGE.read_text(encoding="utf-8")
    programs = [*EXAMPLES.glob("*.?js"), *PROJECT.glob("*.?js")]

    shown = CODE.findall(page)

    assert len(shown) >= 4
    assert [block for block in shown if not any(block in one.read_text() for one in programs)] == []
