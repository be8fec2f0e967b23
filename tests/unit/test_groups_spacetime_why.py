"""Why a message waited, in words."""

from __future__ import annotations

import pytest

from pregon.errors import BadRequest, NotFound
from pregon.groups.spacetime_why import explain, explain_all, explain_held, find_member
from pregon.groups.trace import GroupTrace

from .group_history import history, overtaken, said, shown

ANA, LUIS, EVA = 2, 3, 4


def test_a_message_that_waited_for_what_it_answers() -> None:
    trace = overtaken()

    assert explain(trace, EVA, "3:1") == (
        "eva got 3:1 of luis at 10:00:00.020 and was shown it 40 ms later: "
        "it answers 2:1 of ana, which came at 10:00:00.060"
    )
    assert explain(trace, EVA, "3:1", "es") == (
        "eva recibió 3:1 de luis a las 10:00:00.020 y se le mostró 40 ms después: "
        "responde a 2:1 de ana, que llegó a las 10:00:00.060"
    )


def test_a_message_that_did_not_wait() -> None:
    trace = overtaken()

    assert explain(trace, ANA, "3:1") == (
        "ana was shown 3:1 of luis at 10:00:00.014, as soon as it came: all that it depends on had been shown"
    )


def test_a_message_of_ones_own() -> None:
    assert explain(overtaken(), LUIS, "3:1") == "luis sent 3:1, at 10:00:00.010"


def test_a_message_of_which_nothing_is_known() -> None:
    trace = history([said(1, "2:1", 0)], [shown(LUIS, "2:1", 900)])
    trace = GroupTrace(group="design", members=[*trace.members, (4, "eva")], messages=trace.messages)

    assert explain(trace, EVA, "2:1").startswith("it is not known when eva was shown 2:1")


def test_a_message_that_waited_for_its_senders_last() -> None:
    messages = [said(1, "2:1", 0), said(2, "2:2", 1_000)]
    trace = history(messages, [shown(EVA, "2:2", 5_000, 9_000, "2:1"), shown(EVA, "2:1", 9_000)])

    assert explain(trace, EVA, "2:2").endswith(
        "4.0 ms later: it comes after 2:1, of the same sender, which came at 10:00:00.009"
    )


def test_a_cause_that_had_to_wait_itself_is_explained_too() -> None:
    messages = [said(1, "2:1", 0), said(2, "3:1", 1_000, "2:1"), said(3, "2:2", 2_000, "3:1")]
    deliveries = [
        shown(EVA, "2:2", 10_000, 30_000, "3:1"),
        shown(EVA, "3:1", 20_000, 30_000, "2:1"),
        shown(EVA, "2:1", 30_000),
    ]

    assert explain(history(messages, deliveries), EVA, "2:2") == (
        "eva got 2:2 of ana at 10:00:00.010 and was shown it 20 ms later: it depends on 3:1 of luis, "
        "which came at 10:00:00.020 and had to wait itself, until 10:00:00.030, because it depends on 2:1 of ana, "
        "which came at 10:00:00.030"
    )


def test_a_cause_that_the_trace_has_not_is_said_to_be_unknown() -> None:
    trace = history([said(9, "2:4", 0, "5:8")], [shown(EVA, "2:4", 900, 5_000, "5:8")])

    assert explain(trace, EVA, "2:4").endswith(
        "it depends on 5:8, of whose arrival nothing is known here: it is older than this part, or of another hub"
    )


def test_reports_that_wait_for_each_other_are_told_so_many_times_and_no_more() -> None:
    messages = [said(1, "2:1", 0), said(2, "3:1", 1_000, "2:1")]
    trace = history(messages, [shown(EVA, "2:1", 900, 5_000, "3:1"), shown(EVA, "3:1", 900, 5_000, "2:1")])

    sentence = explain(trace, EVA, "2:1")

    assert 1 < sentence.count("had to wait itself") < 10


def test_all_that_waited_is_told_as_it_was_shown() -> None:
    messages = [said(1, "2:1", 0), said(2, "3:1", 1_000, "2:1"), said(3, "3:2", 2_000)]
    deliveries = [
        shown(EVA, "3:2", 3_000, 9_000, "3:1"),
        shown(EVA, "3:1", 2_000, 8_000, "2:1"),
        shown(EVA, "2:1", 8_000),
    ]
    trace = history(messages, deliveries)

    assert [sentence.split()[2] for sentence in explain_held(trace, 10)] == ["3:1", "3:2"]
    assert len(explain_held(trace, 1)) == 1


def test_without_a_name_it_is_told_for_its_sender_and_all_that_say_when() -> None:
    sentences = explain_all(overtaken(), "3:1")

    assert [sentence.split()[0] for sentence in sentences] == ["luis", "ana", "eva"]


def test_members_are_found_by_name_or_number() -> None:
    trace = GroupTrace(group="design", members=[(2, "ana"), (3, "luis"), (7, "luis")])

    assert (find_member(trace, "ana"), find_member(trace, "7")) == (2, 7)
    with pytest.raises(BadRequest, match="3 or 7"):
        find_member(trace, "luis")
    with pytest.raises(NotFound, match="there are ana, luis, luis"):
        find_member(trace, "eva")


def test_what_the_trace_has_not_is_not_found() -> None:
    with pytest.raises(NotFound, match="--from and --to"):
        explain(overtaken(), EVA, "9:9")
    with pytest.raises(NotFound, match="--from and --to"):
        explain_all(overtaken(), "9:9")
    with pytest.raises(NotFound, match="no member 9"):
        explain(overtaken(), 9, "3:1")
    with pytest.raises(BadRequest, match="language"):
        explain(overtaken(), EVA, "3:1", "fr")
