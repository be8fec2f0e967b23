"""Programs that have a Spark of their own run beside the tests of the shared session, one after the other.

Most of their time they start Java and wait for it; the tests of the session leave a core for that. A test is marked
with its program, comes after the tests that have none, and finds in the fixture `ended` what the program returned.

Promises:
- Only programs of tests that are to run are run, each once, in a folder of its own.
- What a program raises, its test raises.
- Programs run from a process of their own: what tests change in the environment of theirs does not reach them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

Program = Callable[[Path], Any]
MARK = "beside"


def find_program(item: pytest.Item) -> Program | None:
    """The program of a test."""
    mark = item.get_closest_marker(MARK)
    return None if mark is None else mark.kwargs["program"]


def put_last(items: list[pytest.Item], folder: Path) -> None:
    """Have the tests of a folder that wait for a program come after its others."""
    places = [place for place, item in enumerate(items) if folder in item.path.parents]
    ours = sorted((items[place] for place in places), key=lambda item: find_program(item) is not None)
    for place, item in zip(places, ours, strict=True):
        items[place] = item


@contextmanager
def running(items: list[pytest.Item], folder_of: Callable[[str], Path]) -> Iterator[dict[Program, Future[Any]]]:
    """Begin with the programs of tests, in the order of the tests; those that did not begin are left out at the end."""
    programs = list(dict.fromkeys(program for item in items if (program := find_program(item)) is not None))
    pool = ProcessPoolExecutor(1, get_context("spawn"))
    try:
        yield {program: pool.submit(program, folder_of(program.__name__)) for program in programs}
    finally:
        pool.shutdown(cancel_futures=True)
