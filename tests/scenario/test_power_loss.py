"""The power goes, hundreds of times: what was acknowledged is there, and what is there is consistent.

A hub works under a shim that writes down all it does to its files (see `power.disk`). From that record its
directory is rebuilt as a power cut at some moment would have left it, opened again with a hub, and held against
what had been acknowledged by then. The same test must catch hubs that acknowledge too early.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from pregon.errors import PregonError
from pregon.hub.hub import Hub
from pregon.model.message import Message, Outgoing

from . import audit
from .hub_process import open_hub
from .power import hub_program
from .power.disk import Journal, Kind, Mode, environment, require_shim

CUTS_PER_MODE = 70
MODES: tuple[Mode, ...] = ("drop", "subset", "torn")


@dataclass(frozen=True)
class Recording:
    """A directory at rest, and the journal of how it came to be."""

    directory: Path
    journal: Journal


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return require_shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture(autouse=True)
def short_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hubs that only look at a rebuilt directory need not make room for a long log first."""
    monkeypatch.setattr("pregon.store.database.LOG_BYTES_SOFT_MAX", 64 * 1024)


def record(shim: Path, directory: Path, kind: str, run: str = "first") -> Recording:
    """A hub at work in a directory, written down."""
    directory.mkdir(exist_ok=True)
    journal = directory.with_suffix(".journal")
    variables = os.environ | environment(shim, directory, journal) | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, hub_program.__file__, kind, run]
    subprocess.run(command, cwd=directory, env=variables, check=True, timeout=120)
    return Recording(directory, Journal.load(journal))


def find_losses(hub: Hub, told: list[str]) -> Iterator[str]:
    """What had been acknowledged and is not there, or not as it was said."""
    logs: dict[str, list[Message]] = {}
    parked: dict[tuple[str, str], set[int]] = {}
    for line in told:
        verb, topic, *rest = line.split()
        if topic not in logs:
            logs[topic] = audit.read_topic(hub, topic)
        if verb in ("published", "batch"):
            seq, count = int(rest[0]), int(rest[1]) if verb == "batch" else 1
            stored = logs[topic][seq - 1 : seq - 1 + count]
            if len(stored) < count or [stored[0].producer, stored[0].id] != rest[-2:]:
                yield line
        elif verb == "acked":
            if hub.account(topic, rest[0]).result().acked_seq < int(rest[1]):
                yield line
        elif verb == "parked":
            if (topic, rest[0]) not in parked:
                parked[topic, rest[0]] = {row["seq"] for row in hub.list_parked(topic, rest[0]).result()}
            if int(rest[1]) not in parked[topic, rest[0]]:
                yield line


def find_problems(directory: Path, told: list[str]) -> list[str]:
    """Everything that is wrong with a directory after the power came back."""
    data = directory / "data"
    data.mkdir(exist_ok=True)
    try:
        with open_hub(data) as hub:
            problems = [*find_losses(hub, told), *audit.find_problems(hub)]
            # It goes on where it was: the next number, with nothing between.
            head = len(audit.read_topic(hub, hub_program.SINGLES)) if told else 0
            seq = hub.publish(hub_program.SINGLES, "after", Outgoing(b"after")).result().seq
            if told and seq != head + 1:
                problems.append(f"the next message got {seq}, not {head + 1}")
    except PregonError as error:
        return [f"{error.code}: {error}"]
    return problems + audit.check_integrity(data)


def cut_the_power(recording: Recording, mode: Mode, cuts: int, target: Path) -> Iterator[list[str]]:
    """Cut at random moments; the problems that each cut leaves."""
    journal, rng = recording.journal, Random(f"{mode} {cuts}")
    for cut in sorted(rng.sample(journal.cut_points, cuts)):
        directory = target / f"{mode}-{cut}"
        journal.crash(cut, directory, rng, mode)
        yield [f"{mode} at {cut}: {one}" for one in find_problems(directory, told_before(journal, cut))]


def told_before(journal: Journal, cut: int) -> list[str]:
    return journal.lines_written_before(cut, "acknowledged.log")


def check_recording(recording: Recording) -> None:
    """The recording is of a hub that worked: nothing to cut and nothing acknowledged would look well, too."""
    journal = recording.journal
    told = told_before(journal, journal.cut_points[-1])
    verbs = [line.split()[0] for line in told]
    assert journal.differences(recording.directory) == []
    assert verbs.count("batch") == hub_program.ROUNDS
    assert min(verbs.count(verb) for verb in ("published", "acked", "parked")) >= hub_program.ROUNDS // 4


@pytest.fixture(scope="module")
def honest(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """The hub as it is."""
    recording = record(shim, tmp_path_factory.mktemp("power") / "honest", "honest")
    check_recording(recording)
    return recording


def test_the_recorded_hub_synced_every_answer_and_copied_its_log_many_times(honest: Recording) -> None:
    journal = honest.journal

    syncs = {name: journal.count(Kind.FDATASYNC, f"data/pregon.db{name}") for name in ("", "-wal")}

    assert syncs["-wal"] >= hub_program.ROUNDS, "at least once a round"
    assert syncs[""] >= 5, "the checkpoints"


@pytest.mark.parametrize("mode", MODES)
def test_a_power_cut_loses_nothing_acknowledged(honest: Recording, tmp_path: Path, mode: Mode) -> None:
    cuts = CUTS_PER_MODE

    problems = [one for cut in cut_the_power(honest, mode, cuts, tmp_path) for one in cut]

    assert problems == []


def test_a_second_power_cut_after_the_first_recovery_loses_nothing_either(
    shim: Path, honest: Recording, tmp_path: Path
) -> None:
    cut = len(honest.journal.operations) * 2 // 3
    honest.journal.crash(cut, tmp_path / "again", Random(1), "torn")
    # What the world was told, it remembers.
    (tmp_path / "again" / "acknowledged.log").write_text("\n".join(told_before(honest.journal, cut)) + "\n")

    again = record(shim, tmp_path / "again", "honest", run="second")
    problems = [one for cut in cut_the_power(again, "torn", 30, tmp_path / "cuts") for one in cut]

    assert problems == []
    assert {line.split()[-1].split("-")[0] for line in told_before(again.journal, again.journal.cut_points[-1])} >= {
        *("first", "second")
    }


@pytest.mark.parametrize("kind", ["normal", "off", "early"])
def test_a_hub_that_acknowledges_before_the_sync_is_caught(shim: Path, tmp_path: Path, kind: str) -> None:
    careless = record(shim, tmp_path / kind, kind)
    check_recording(careless)

    caught = {mode: next(filter(None, cut_the_power(careless, mode, 60, tmp_path / "cuts")), []) for mode in MODES}

    assert all(caught.values()), caught
