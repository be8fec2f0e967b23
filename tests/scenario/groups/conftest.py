"""A hub for the tests of a module, and people who talk in it: over REST, and each on a socket of its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import httpx
import pytest

from pregon.testing import RunningHub

from ..rest import rest_hub
from .rest_people import Person
from .talker import Talker

Naming = Callable[[str], str]
_NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def running_hub() -> Iterator[tuple[RunningHub, httpx.Client]]:
    """A hub in this process, and an HTTP client of it."""
    with rest_hub() as both:
        yield both


@pytest.fixture
def door(running_hub: tuple[RunningHub, httpx.Client]) -> RunningHub:
    """The hub."""
    return running_hub[0]


@pytest.fixture
def http(running_hub: tuple[RunningHub, httpx.Client]) -> httpx.Client:
    """The client."""
    return running_hub[1]


@pytest.fixture
def called() -> Naming:
    """Names that no other test has."""
    number = next(_NUMBERS)
    return lambda name: f"{name} {number}"


@pytest.fixture
def group() -> str:
    """A group that no other test has."""
    return f"group-{next(_NUMBERS)}"


@pytest.fixture
def people(http: httpx.Client, group: str, called: Naming) -> tuple[Person, Person, Person]:
    """Ana, Luis and Eva, members 2, 3 and 4 of the group, over REST."""
    ana, luis, eva = (Person(http, called(name)) for name in ("ana", "luis", "eva"))
    ana.create(group)
    for person in (ana, luis, eva):
        person.join(group)
    return ana, luis, eva


@pytest.fixture
def talkers(door: RunningHub, group: str, called: Naming) -> Iterator[tuple[Talker, Talker, Talker]]:
    """The same three on sockets."""
    ana, luis, eva = (Talker(door.http).hello(called(name)) for name in ("ana", "luis", "eva"))
    with ana, luis, eva:
        for talker in (ana, luis, eva):
            talker.join(group, after=0, create=True)
        yield ana, luis, eva
