"""The processes in which filters run: started, killed, stopped, interrupted, orphaned."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pregon.filters import child
from pregon.filters.examiner import Examiner
from pregon.filters.expression import Verdict, compile_filter
from pregon.filters.lanes import QUICK, SLOW

from .filter_processes import (
    AGE,
    BUSY_TICKS,
    CUBIC,
    DIED,
    WIDE,
    ages,
    ends_soon,
    eventually,
    examine_in,
    messages,
    processor_ticks,
)


@pytest.fixture
def examiner(monkeypatch: pytest.MonkeyPatch) -> Iterator[Examiner]:
    # The machine of a test may be busy with other tests: what counts here is processor time.
    monkeypatch.setattr(child, "PATIENCE", 100)
    examiner = Examiner()
    examiner.start()
    yield examiner
    examiner.stop()
    assert examiner.pids == []


def test_a_child_says_what_the_filter_says(examiner: Examiner) -> None:
    condition = {"and": [{"header": "region", "exists": True}, {"xpath": "//ci[starts-with(., '1.')]"}]}
    wanted = messages(b"<a><ci>1.2</ci></a>", b"<a><ci>2.1</ci></a>", b"Pepe", headers={"region": "salto"})
    compiled = compile_filter(json.dumps(condition))

    found = examine_in(examiner, QUICK, json.dumps(condition), wanted)

    assert found == [compiled.examine(one) for one in wanted]
    assert [verdict.matched for verdict in found] == [True, False, False]


def test_children_are_started_when_they_are_needed_and_not_before(examiner: Examiner) -> None:
    wanted = messages(b"{}", headers={"a": "b"})

    found = examiner.examine('{"header": "a", "equals": "b"}', wanted, lane=QUICK)
    before = examiner.pids
    examiner.examine(AGE, wanted, lane=QUICK)

    assert found == [Verdict(True, "header a = b")]
    assert before == []
    assert len(examiner.pids) == 2


def test_a_filter_that_cannot_be_read_lets_everything_pass(examiner: Examiner) -> None:
    found = examiner.examine('{"header": "a"}', ages(1, 2), lane=QUICK)

    assert [verdict.matched for verdict in found] == [True, True]
    assert found[0].reason.startswith("the filter failed: the filter has no test")


def in_the_middle(examiner: Examiner, act: Callable[[int], None]) -> list[Verdict]:
    """The verdicts on three messages, when something is done to the child while it is busy with the second."""
    found: list[Verdict] = []
    examiner.examine(AGE, ages(1), lane=SLOW)
    (pid, _) = examiner.pids
    before = processor_ticks(pid)
    wanted = messages(b"<a/>", WIDE, b"<a/>")
    thread = threading.Thread(target=lambda: found.extend(examine_in(examiner, SLOW, json.dumps(CUBIC), wanted)))

    thread.start()
    assert eventually(lambda: processor_ticks(pid) > before + BUSY_TICKS)
    act(pid)
    thread.join(20)

    assert not thread.is_alive()
    return found


def test_a_child_killed_in_the_middle_costs_no_message(examiner: Examiner) -> None:
    found = in_the_middle(examiner, lambda pid: os.kill(pid, signal.SIGKILL))

    small = Verdict(False, f"not xpath {CUBIC['xpath']}")
    assert found == [small, DIED, small]
    assert [verdict.matched for verdict in examine_in(examiner, SLOW, AGE, ages(70, 50))] == [True, False]


def test_children_killed_while_they_have_nothing_to_do_are_replaced_and_no_filter_is_blamed(examiner: Examiner) -> None:
    examiner.examine(AGE, ages(1), lane=QUICK)
    killed = examiner.pids
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
        assert ends_soon(pid)

    found = examine_in(examiner, QUICK, AGE, ages(70, 50))

    assert [verdict.matched for verdict in found] == [True, False]
    assert examiner.lane_of(AGE) == QUICK
    assert not set(killed) & set(examiner.pids)


def test_a_child_that_gets_no_processor_is_given_up(examiner: Examiner, monkeypatch: pytest.MonkeyPatch) -> None:
    examiner.examine(AGE, ages(1), lane=QUICK)
    stopped = examiner.pids[0]
    os.kill(stopped, signal.SIGSTOP)
    monkeypatch.setattr(child, "PATIENCE", 5)

    found = examiner.examine(AGE, ages(1), lane=QUICK)
    monkeypatch.setattr(child, "PATIENCE", 100)

    assert found == [Verdict(True, "the filter failed: it got no processor for 1000 ms")]
    assert ends_soon(stopped)
    assert [verdict.matched for verdict in examiner.examine(AGE, ages(1), lane=SLOW)] == [False]


def test_a_child_does_not_mind_being_interrupted(examiner: Examiner) -> None:
    examiner.examine(AGE, ages(1), lane=QUICK)
    (pid, _) = before = examiner.pids

    os.kill(pid, signal.SIGINT)
    found = examiner.examine(AGE, ages(70), lane=QUICK)

    assert found[0].matched
    assert examiner.pids == before


def test_stopping_leaves_the_message_in_the_middle_for_another_time(examiner: Examiner) -> None:
    found = in_the_middle(examiner, lambda _: examiner.stop())

    assert found == [Verdict(False, f"not xpath {CUBIC['xpath']}")]
    assert examiner.pids == []
    assert examiner.examine(AGE, ages(1), lane=QUICK) == []


def test_after_a_stop_it_may_start_again(examiner: Examiner) -> None:
    examiner.examine(AGE, ages(1), lane=QUICK)
    examiner.stop()

    examiner.start()
    found = examiner.examine(AGE, ages(70), lane=QUICK)

    assert found[0].matched


HUB = """
import os, sys, threading, time
sys.path.insert(0, sys.argv[1])
from tests.scenario.filter_processes import AGE, CUBIC, WIDE, ages, messages
from pregon.filters.examiner import Examiner
import json
examiner = Examiner()
examiner.start()
examiner.examine(AGE, ages(1), lane="slow")
threading.Thread(target=examiner.examine, args=(json.dumps(CUBIC), messages(WIDE)), kwargs={"lane": "slow"}).start()
time.sleep(0.1)
print(*examiner.pids, flush=True)
time.sleep(60)
"""


def test_children_die_with_the_hub_even_in_the_middle_of_a_message() -> None:
    root = Path(__file__).parents[2]
    hub = subprocess.Popen([sys.executable, "-c", HUB, str(root)], stdout=subprocess.PIPE, text=True)
    assert hub.stdout is not None
    with hub.stdout:
        pids = [int(pid) for pid in hub.stdout.readline().split()]

        hub.kill()
        hub.wait()

    assert len(pids) == 2
    assert [ends_soon(pid) for pid in pids] == [True, True]


def test_a_child_that_does_not_start_is_not_ready() -> None:
    killed = child.Child()
    killed.kill()

    is_ready = killed.wait_until_ready()

    assert not is_ready
    assert not killed.is_usable
    killed.close()


def test_a_filter_for_which_no_process_starts_lets_the_message_pass(
    examiner: Examiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/does/not/exist")

    found = examiner.examine(AGE, ages(1), lane=QUICK)

    assert found == [Verdict(True, "the filter failed: no process could be started for it")]


def test_what_lies_in_the_working_directory_is_not_imported(
    examiner: Examiner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "msgspec.py").write_text("raise SystemExit('imported from the working directory')")
    monkeypatch.chdir(tmp_path)

    found = examiner.examine(AGE, ages(70), lane=QUICK)

    assert found == [Verdict(True, "jmespath edad > `60`")]
