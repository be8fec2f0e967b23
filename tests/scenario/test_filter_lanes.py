"""Hostile filters and heavy bodies, and the filters of others beside them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from pregon.filters import child
from pregon.filters import lanes as rules
from pregon.filters.examiner import Examiner
from pregon.filters.expression import Verdict
from pregon.filters.lanes import QUICK, SLOW

from .filter_processes import AGE, CUBIC, DEEP, FAR_TOO_LONG, TOO_LONG, WIDE, ages, examine_all, examine_in, messages


@pytest.fixture
def examiner(monkeypatch: pytest.MonkeyPatch) -> Iterator[Examiner]:
    # The machine of a test may be busy with other tests: what counts here is processor time.
    monkeypatch.setattr(child, "PATIENCE", 100)
    examiner = Examiner()
    examiner.start()
    yield examiner
    examiner.stop()
    assert examiner.pids == []


@pytest.mark.parametrize(
    ("condition", "body"),
    [
        (CUBIC, WIDE),
        ({"xpath": "//*[. = //*]" + "[. = //*]" * 10}, WIDE),
        ({"xpath": "//*" + "//*" * 30}, DEEP),
        ({"xpath": "//*" + "[//*" * 40 + "[false()]" + "]" * 40}, b"<a><b/><b/><b/></a>"),
        ({"xpath": "//b[count(preceding::*) + count(following::*) < 0]"}, WIDE),
        ({"jmespath": "[@,@,@,@,@,@,@,@][]" + "|[@,@,@,@,@,@,@,@][]" * 9}, json.dumps(["x"] * 1_000).encode()),
        ({"jmespath": "sort_by(@, &join('', map(&to_string(@), @)))"}, json.dumps([list(range(99))] * 9_000).encode()),
    ],
)
def test_a_hostile_filter_ends_in_time_and_loses_no_message(
    examiner: Examiner, condition: dict[str, Any], body: bytes
) -> None:
    text = json.dumps(condition)

    found = [examiner.examine(text, messages(body), lane=lane) for lane in (QUICK, SLOW)]

    assert found == [[TOO_LONG], [FAR_TOO_LONG]]
    assert [verdict.matched for verdict in examine_in(examiner, QUICK, AGE, ages(70, 50))] == [True, False]


def test_a_filter_that_wants_all_the_memory_is_refused_it(examiner: Examiner) -> None:
    # From 8 KB to 512 KB, 32 MB and then at once 2 GB: little time goes into memory that it does get.
    manifold = f"join('', [{','.join('@' * 64)}])"
    text = json.dumps({"jmespath": "|".join([manifold] * 3)})

    found = examiner.examine(text, messages(json.dumps("x" * 8_000).encode()), lane=SLOW)

    assert found == [Verdict(True, "the filter failed: it needs too much memory")]


@pytest.mark.parametrize(
    ("condition", "body", "matched"),
    [
        ({"xpath": "//b = 2"}, b"<a>" + b"<b>1</b>" * 130_000 + b"</a>", False),
        ({"xpath": "count(//b) = 2000"}, DEEP, True),
        ({"xpath": "string-length(.) > 1000000"}, b"<a>" + b"x" * 1_048_000 + b"</a>", True),
        ({"xpath": "//a"}, b"<a>" * 300_000, False),
        ({"jmespath": "length(@) == `100000`"}, json.dumps([1] * 100_000).encode(), True),
        ({"jmespath": "@"}, b"[" * 1_048_000, False),
    ],
)
def test_large_and_deep_bodies_are_examined(
    examiner: Examiner, condition: dict[str, Any], body: bytes, matched: bool
) -> None:
    (verdict,) = examiner.examine(json.dumps(condition), messages(body), lane=SLOW)

    assert verdict.matched == matched
    assert "failed" not in verdict.reason


def test_a_filter_that_takes_too_long_moves_to_the_slow_lane_and_is_then_suspended(examiner: Examiner) -> None:
    text = json.dumps(CUBIC)
    wanted = messages(*[WIDE] * 8)

    found = examine_all(examiner, text, wanted)
    again = examine_in(examiner, SLOW, text, wanted)

    suspended = Verdict(True, "the filter is suspended: it took more than 1000 ms")
    assert found == [
        (QUICK, TOO_LONG),
        *[(SLOW, FAR_TOO_LONG)] * rules.FAILURES_MAX,
        *[(found[4][0], suspended)] * 4,
    ]
    assert again == [suspended] * 8


def test_the_quick_lane_does_not_examine_a_slow_filter(examiner: Examiner) -> None:
    text = json.dumps(CUBIC)
    examiner.examine(text, messages(WIDE), lane=QUICK)

    found = examiner.examine(text, messages(b"<a/>"), lane=QUICK)

    assert found == []
    assert examiner.lane_of(text) == SLOW
    assert examiner.examine(text, messages(b"<a/>"), lane=SLOW) == [Verdict(False, f"not xpath {CUBIC['xpath']}")]


def test_the_messages_before_and_after_the_one_that_takes_too_long_are_examined(examiner: Examiner) -> None:
    text = json.dumps(CUBIC)
    wanted = messages(b"<a/>", b"<a><b/></a>", WIDE, b"<a/>", b"<a><b/></a>")

    found = examine_all(examiner, text, wanted)

    assert [lane for lane, _ in found] == [QUICK] * 3 + [SLOW] * 2
    assert found[2][1] == TOO_LONG
    assert [verdict.matched for _, verdict in found] == [False, True, True, False, True]


def test_a_call_gives_way_to_others_after_its_turn(examiner: Examiner) -> None:
    body = b"<a>" + b"<b>1</b>" * 30_000 + b"</a>"
    wanted = messages(*[body] * 200)
    text = json.dumps({"xpath": "//b[. = 2]"})
    examiner.examine(AGE, ages(1), lane=QUICK)

    found = examiner.examine(text, wanted, lane=QUICK)

    assert 0 < len(found) < len(wanted)
    assert [*dict.fromkeys(found)] == [Verdict(False, "not xpath //b[. = 2]")]


def test_one_slow_filter_beside_a_hundred_quick_ones_delays_them_once(examiner: Examiner) -> None:
    slow = json.dumps(CUBIC)
    quick = [
        json.dumps({"and": [{"xpath": "count(//b) >= 0"}, {"field": "key", "equals": f"{n}"}]}) for n in range(100)
    ]
    wanted = messages(*[b"<a>" + b"<b/>" * 2_000 + b"</a>"] * 5, key="7")
    hand_over: list[Verdict] = []
    found: dict[str, list[Verdict]] = {text: [] for text in quick}
    examiner.examine(AGE, ages(1), lane=QUICK)

    hand_over += examiner.examine(slow, wanted, lane=QUICK)
    in_slow_lane = threading.Thread(target=examine_all, args=(examiner, slow, wanted[len(hand_over) :]))
    in_slow_lane.start()
    was_slow_meanwhile = False
    for text in quick:
        while len(found[text]) < len(wanted):
            found[text] += examiner.examine(text, wanted[len(found[text]) :], lane=QUICK)
        was_slow_meanwhile = was_slow_meanwhile or in_slow_lane.is_alive()
    in_slow_lane.join(30)

    assert hand_over == [TOO_LONG]
    assert was_slow_meanwhile
    assert not in_slow_lane.is_alive()
    assert {text: {verdict.matched for verdict in verdicts} for text, verdicts in found.items()} == {
        text: {text == quick[7]} for text in quick
    }
    assert not [verdict for verdicts in found.values() for verdict in verdicts if "the filter" in verdict.reason]
