"""Hubs for the scenarios: one of a test's own, or one that the tests of a module share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pregon.client import Client

from .hub_process import HubProcess, end

MakeHub = Callable[..., HubProcess]


@pytest.fixture
def make_hub(tmp_path: Path) -> Iterator[MakeHub]:
    """Makes hubs, not yet started, on free ports; their data is below the test's own directory."""
    made: list[HubProcess] = []

    def make(name: str = "data", **settings: str) -> HubProcess:
        made.append(HubProcess(tmp_path / name, **settings))
        return made[-1]

    yield make
    for hub in made:
        end(hub)


@pytest.fixture(scope="module")
def module_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    """A hub for a whole module, which must outlive it."""
    shared = HubProcess(tmp_path_factory.mktemp("hub") / "data").start()
    try:
        yield shared
        assert shared.is_alive, "a test of this module ended the hub"
        assert shared.stop() == 0
    finally:
        end(shared)


@pytest.fixture
def hub(module_hub: HubProcess) -> Iterator[HubProcess]:
    """The module's hub, in which the test must not meet with a bug."""
    before = len(module_hub.bugs())
    yield module_hub
    assert module_hub.bugs()[before:] == []


@pytest.fixture
def client(hub: HubProcess) -> Iterator[Client]:
    """A client of the module's hub."""
    with hub.client() as client:
        yield client


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic that no other test uses."""
    return "".join(one if one.isalnum() else "-" for one in request.node.name)[:100].strip("-")
