"""What several hubs have of one group, put together."""

from __future__ import annotations

import msgspec
import pytest

from pregon.errors import BadRequest
from pregon.groups.spacetime import DiagramOptions, render_page
from pregon.groups.spacetime_layout import lay_out
from pregon.groups.spacetime_words import say
from pregon.groups.trace import GroupTrace
from pregon.groups.trace_merging import between, merge_traces

from .group_history import TEN, history, overtaken, said, shown


def in_two_hubs(late_us: int = 0) -> list[GroupTrace]:
    """What `overtaken` tells, the question in one hub and the answer in another, whose clock may be late."""
    whole = overtaken()
    question, answer = whole.messages
    late = msgspec.structs.replace(answer, seq=1, accepted_us=answer.accepted_us - late_us)
    reports = whole.deliveries
    return [
        msgspec.structs.replace(
            whole, members=[(2, "ana"), (3, "3")], messages=[question], deliveries=reports[:2], hubs=2
        ),
        msgspec.structs.replace(
            whole, members=[(3, "luis"), (4, "eva")], messages=[late], deliveries=reports[1:], hubs=2
        ),
    ]


def test_together_the_hubs_tell_the_whole() -> None:
    merged = merge_traces(in_two_hubs())

    assert merged.members == overtaken().members
    assert [one.stamp for one in merged.messages] == ["2:1", "3:1"]
    assert [(one.member, one.stamp) for one in merged.deliveries] == [(3, "2:1"), (4, "3:1"), (2, "3:1"), (4, "2:1")]
    assert (merged.hubs, merged.hubs_here, merged.is_whole) == (2, 2, True)


def test_it_does_not_matter_in_which_order_hubs_are_named() -> None:
    one, other = in_two_hubs()

    assert merge_traces([other, one]).messages == merge_traces([one, other]).messages
    assert merge_traces([other, one]).members == merge_traces([one, other]).members


def test_an_answer_stands_after_its_question_though_its_hub_has_a_late_clock() -> None:
    merged = merge_traces(in_two_hubs(late_us=3_000_000))

    question, answer = lay_out(merged, 1_000).marks
    assert (question.message.stamp, answer.message.stamp) == ("2:1", "3:1")
    assert question.sent_us < answer.sent_us
    assert all(answer.x <= arrow.came_x for arrow in answer.arrows)


def test_one_hub_alone_says_that_it_is_not_all() -> None:
    one, _ = in_two_hubs()

    alone, together = render_page(one), render_page(merge_traces(in_two_hubs()), DiagramOptions())

    assert say("en", "elsewhere", hubs=2, here=1) in alone
    assert "lives in 2 hubs" not in together


def test_messages_of_one_sender_stay_in_their_order() -> None:
    trace = history([said(1, "2:1", 9_000), said(2, "2:2", 1_000), said(3, "3:1", 0, "2:2")])

    assert [one.stamp for one in merge_traces([trace]).messages] == ["2:1", "2:2", "3:1"]


def test_a_circle_is_told_last_and_not_for_ever() -> None:
    trace = history([said(1, "2:1", 0, "3:1"), said(2, "3:1", 0, "2:1"), said(3, "4:1", 5_000)])

    assert [one.stamp for one in merge_traces([trace]).messages] == ["4:1", "2:1", "3:1"]


def test_a_part_is_what_was_accepted_in_a_time() -> None:
    trace = history([said(number, f"2:{number}", number * 1_000) for number in (1, 2, 3, 4)], [shown(3, "2:1", 9_000)])

    part = between(trace, TEN + 2_500, TEN + 3_500)

    assert [one.seq for one in part.messages] == [2, 3]
    assert merge_traces([part]).deliveries == []
    assert (part.members, merge_traces([part]).members) == ([(2, "ana"), (3, "luis")], [(2, "ana")])


def test_different_groups_are_not_put_together() -> None:
    one, other = in_two_hubs()

    with pytest.raises(BadRequest, match="do not have the same group design"):
        merge_traces([one, msgspec.structs.replace(other, hubs=3)])
