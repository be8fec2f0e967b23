"""Brokers for the scenarios of services, and Node programs with npm's `zeromq`, none of which outlives its test."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .broker_process import BrokerProcess
from .program import Program

MakeBroker = Callable[..., BrokerProcess]
StartProgram = Callable[..., Program]

ROOT = Path(__file__).parents[3]
PROJECT = Path(__file__).parent / "node"
EXAMPLES = ROOT / "examples" / "node"


@pytest.fixture
def make_broker(tmp_path: Path) -> Iterator[MakeBroker]:
    """Makes brokers, not yet started, on free ports, with options of `pregon services`."""
    made: list[BrokerProcess] = []

    def make(*options: str) -> BrokerProcess:
        made.append(BrokerProcess(tmp_path, *options, name=f"broker-{len(made)}"))
        return made[-1]

    yield make
    for broker in made:
        broker.end()


@pytest.fixture
def start_broker(make_broker: MakeBroker) -> Iterator[MakeBroker]:
    """Starts brokers, in which the test must not meet with a bug."""
    started: list[BrokerProcess] = []

    def start(*options: str) -> BrokerProcess:
        broker = make_broker(*options)
        started.append(broker)
        broker.start()
        return broker

    yield start
    for broker in started:
        assert broker.is_alive, f"the broker ended:\n{broker.said()}"
        assert broker.bugs() == []


@pytest.fixture(scope="session")
def node_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The npm project of the tests with its packages, and the examples beside its programs.

    Without Node the test is skipped on a laptop and fails in CI. No script of a package is run: the library of ZeroMQ
    comes inside the package, compiled.
    """
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        reason = "this needs node and npm"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    copy = tmp_path_factory.mktemp("npm") / "project"
    shutil.copytree(PROJECT, copy, ignore=shutil.ignore_patterns("node_modules"))
    shutil.copytree(EXAMPLES, copy / "examples", ignore=shutil.ignore_patterns("node_modules"))
    command = [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return copy


@pytest.fixture
def node(node_project: Path, tmp_path: Path) -> Iterator[StartProgram]:
    """Starts Node programs of the project: `node("client.cjs", broker.front, "Ana")`."""
    started: list[Program] = []

    def start(script: str, *arguments: str) -> Program:
        name = f"{len(started)}-{Path(script).stem}"
        started.append(Program(name, ["node", str(node_project / script), *arguments], tmp_path))
        started[-1].start()
        return started[-1]

    yield start
    for program in started:
        program.end()
