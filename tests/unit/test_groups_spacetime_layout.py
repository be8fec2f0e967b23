"""Where things are in a space-time diagram: known histories, and whatever members may say."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregon.groups import spacetime_layout
from pregon.groups.spacetime_axis import BREAK_WIDTH, TimeAxis
from pregon.groups.spacetime_instants import find_instants
from pregon.groups.spacetime_layout import Arrow, Layout, Mark, lay_out
from pregon.groups.trace import GroupTrace

from .group_history import TEN, history, overtaken, said, shown

SECOND = 1_000_000


def mark_of(layout: Layout, stamp: str) -> Mark:
    """The mark of a message."""
    return next(mark for mark in layout.marks if mark.message.stamp == stamp)


def arrow_of(layout: Layout, stamp: str, member: int) -> Arrow:
    """The arrow of a message to a member."""
    return next(arrow for arrow in mark_of(layout, stamp).arrows if arrow.delivery.member == member)


def test_distances_are_times() -> None:
    layout = lay_out(overtaken(), 1_000)

    question, answer = mark_of(layout, "2:1"), mark_of(layout, "3:1")
    late = arrow_of(layout, "2:1", 4)
    scale = (answer.x - question.x) / 10_000
    assert scale > 0
    assert late.shown_x - question.x == pytest.approx(60_000 * scale, abs=0.2)
    assert arrow_of(layout, "2:1", 3).shown_x - question.x == pytest.approx(5_000 * scale, abs=0.2)
    assert late.shown_x == pytest.approx(1_000 - spacetime_layout.RIGHT, abs=0.2)


def test_each_member_has_its_line_and_arrows_go_from_line_to_line() -> None:
    layout = lay_out(overtaken(), 1_000)

    rows = {line.member: line.y for line in layout.lines}
    assert list(rows) == [2, 3, 4]
    assert len(set(rows.values())) == 3
    for mark in layout.marks:
        assert mark.y == rows[mark.message.member]
        assert {arrow.delivery.member: arrow.end_y for arrow in mark.arrows} == {
            member: y for member, y in rows.items() if member != mark.message.member
        }


def test_members_of_the_same_name_are_told_apart() -> None:
    trace = history([said(1, "2:1", 0), said(2, "3:1", 9), said(3, "4:1", 9)])
    trace = GroupTrace(group="design", members=[(2, "ana"), (3, "eva"), (4, "ana")], messages=trace.messages)

    layout = lay_out(trace, 1_000)

    assert [line.name for line in layout.lines] == ["ana (2)", "eva", "ana (4)"]


def test_only_what_was_held_back_is_marked_so() -> None:
    layout = lay_out(overtaken(), 1_000)

    held = [arrow for mark in layout.marks for arrow in mark.arrows if arrow.is_held]

    (only,) = held
    assert (only.delivery.stamp, only.delivery.member) == ("3:1", 4)
    assert only.came_x < only.shown_x == arrow_of(layout, "2:1", 4).shown_x
    assert all(arrow.came_x == arrow.shown_x for mark in layout.marks for arrow in mark.arrows if arrow is not only)


def test_what_the_application_read_late_was_not_held_back() -> None:
    trace = history([said(1, "2:1", 0)], [shown(3, "2:1", 5_000, 90_000), shown(4, "2:1", 7_000, 7_000, "2:9")])

    layout = lay_out(trace, 1_000)

    late = arrow_of(layout, "2:1", 3)
    assert not late.is_held
    assert late.came_x == late.shown_x > arrow_of(layout, "2:1", 4).shown_x
    assert not arrow_of(layout, "2:1", 4).is_held


def test_a_long_silence_is_left_out_and_said() -> None:
    messages = [said(1, "2:1", 0), said(2, "3:1", 2_000, "2:1"), said(3, "2:2", 3_600 * SECOND, "3:1")]
    layout = lay_out(history(messages, [shown(3, "2:1", 1_000), shown(2, "3:1", 4_000)]), 1_000)

    (silence,) = layout.silences
    assert silence.span_us == 3_600 * SECOND - 4_000
    assert arrow_of(layout, "3:1", 2).shown_x < silence.x < mark_of(layout, "2:2").x
    assert mark_of(layout, "2:2").x - arrow_of(layout, "3:1", 2).shown_x == pytest.approx(BREAK_WIDTH, abs=0.2)


def test_a_wait_is_not_left_out_though_nothing_else_happens() -> None:
    messages = [said(1, "2:1", 0), said(2, "3:1", 2_000, "2:1")]
    deliveries = [shown(3, "2:1", 1_000), shown(4, "3:1", 4_000, 900_000, "2:1"), shown(4, "2:1", 900_000)]

    layout = lay_out(history(messages, deliveries), 1_000)

    assert layout.silences == ()
    held = arrow_of(layout, "3:1", 4)
    assert held.shown_x - held.came_x > 0.9 * (layout.width - layout.left - spacetime_layout.RIGHT)


def test_instants_are_written_where_they_are_and_can_be_read() -> None:
    layout = lay_out(overtaken(), 1_000)

    question, late = mark_of(layout, "2:1"), arrow_of(layout, "2:1", 4)
    scale = (late.shown_x - question.x) / 60_000
    assert len(layout.ticks) > 3
    for tick in layout.ticks:
        assert tick.x - question.x == pytest.approx((tick.at_us - TEN) * scale, abs=0.2)
    places = [tick.x for tick in layout.ticks]
    assert all(later - earlier > 80 for earlier, later in pairwise(places))


def test_a_line_begins_and_ends_where_its_member_came_and_went() -> None:
    layout = lay_out(
        history(
            [
                said(1, "1:1", 0, kind="joining", about=3, text="luis"),
                said(2, "3:1", 5_000, "1:1", kind="joined"),
                said(3, "2:1", 9_000, "3:1"),
                said(4, "3:2", 12_000, "2:1", kind="left"),
                said(5, "1:2", 20_000, kind="gone", about=2, text="ana"),
                said(6, "4:1", 30_000),
            ]
        ),
        1_000,
    )

    hub, ana, luis, eva = layout.lines
    assert (luis.came, luis.went) == (True, True)
    assert (luis.begin, luis.end) == (mark_of(layout, "3:1").x, mark_of(layout, "3:2").x)
    assert (ana.came, ana.went, ana.end) == (False, True, mark_of(layout, "1:2").x)
    assert (eva.came, eva.went) == (False, False)
    assert [line.is_hub for line in layout.lines] == [True, False, False, False]
    assert not hub.went


def test_in_logical_order_everything_is_right_of_its_causes() -> None:
    layout = lay_out(overtaken(), 1_000, is_logical=True)

    question, answer = mark_of(layout, "2:1"), mark_of(layout, "3:1")
    steps = sorted(
        {mark.x for mark in layout.marks} | {arrow.shown_x for mark in layout.marks for arrow in mark.arrows}
    )
    assert question.x < arrow_of(layout, "2:1", 3).shown_x < answer.x < arrow_of(layout, "3:1", 4).came_x
    assert arrow_of(layout, "2:1", 4).shown_x < arrow_of(layout, "3:1", 4).shown_x
    assert layout.ticks == layout.silences == ()
    assert steps[0] == question.x


def test_concurrent_messages_are_at_the_same_step_of_the_order() -> None:
    trace = history([said(1, "2:1", 0), said(2, "3:1", 3_000)], [shown(3, "2:1", 9_000), shown(2, "3:1", 9_000)])

    layout = lay_out(trace, 1_000, is_logical=True)

    assert mark_of(layout, "2:1").x == mark_of(layout, "3:1").x


def test_causes_are_what_a_message_depends_on_and_its_senders_last() -> None:
    trace = history([said(1, "2:1", 0), said(2, "3:1", 1_000), said(3, "2:2", 2_000, "3:1 4:7")])

    layout = lay_out(trace, 1_000)

    assert mark_of(layout, "2:2").causes == ("3:1", "2:1")
    assert mark_of(layout, "2:1").causes == ()


def test_right_clocks_are_left_as_they_are() -> None:
    trace = overtaken()

    instants = find_instants(trace)

    assert instants.moved_us == {}
    assert instants.sent_us == {"2:1": TEN, "3:1": TEN + 10_000}
    assert {(one.delivery.member, one.delivery.stamp): one.shown_us - TEN for one in instants.shown} == {
        (3, "2:1"): 5_000,
        (4, "3:1"): 60_000,
        (2, "3:1"): 14_000,
        (4, "2:1"): 60_000,
    }


def test_a_clock_that_is_behind_is_moved_by_what_is_certain() -> None:
    messages = [said(1, "2:1", 0), said(2, "3:1", 10_000 - SECOND, "2:1", accepted=10_500)]
    trace = history(messages, [shown(3, "2:1", 5_000 - SECOND)])

    instants = find_instants(trace)

    (move,) = instants.moved_us.items()
    assert move == (3, SECOND - 4_500)
    assert instants.sent_us["3:1"] - instants.shown[0].shown_us == 5_000


def test_a_clock_that_is_behind_is_seen_from_what_its_member_depends_on() -> None:
    messages = [said(1, "2:1", 0), said(2, "3:1", 10_000 - SECOND, "2:1", accepted=10_500)]

    instants = find_instants(history(messages))

    assert TEN + 500 <= instants.sent_us["3:1"] <= TEN + 10_500
    assert instants.moved_us == {3: SECOND - 9_500}


def test_a_clock_that_is_ahead_is_moved_back() -> None:
    messages = [said(1, "2:1", SECOND, accepted=500), said(2, "3:1", 10_000, "2:1")]
    trace = history(messages, [shown(2, "3:1", 14_000 + SECOND), shown(3, "2:1", 2_000)])

    instants = find_instants(trace)

    assert instants.moved_us == {2: 500 - SECOND}
    assert instants.sent_us["2:1"] == TEN + 500
    assert instants.shown[0].shown_us == TEN + 14_500


def test_too_many_arrows_end_the_drawing_at_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spacetime_layout, "ARROWS_MAX", 3)

    layout = lay_out(overtaken(), 1_000)

    assert [mark.message.stamp for mark in layout.marks] == ["2:1"]
    assert len(layout.marks[0].arrows) == 2
    assert not layout.is_whole


def test_nothing_said_is_an_empty_drawing() -> None:
    empty = GroupTrace(group="design")

    layouts = [lay_out(empty, 1_000), lay_out(empty, 1_000, is_logical=True)]

    assert [(one.marks, one.lines, one.width) for one in layouts] == [((), (), 1_000)] * 2


def test_a_crowded_drawing_is_wider_than_asked_for() -> None:
    messages = [said(seq, f"2:{seq}", seq * 300) for seq in range(1, 101)]
    few = lay_out(history(messages[:3], [shown(3, "2:1", 2_000)]), 1_000)

    crowded = lay_out(history(messages, [shown(3, f"2:{seq}", seq * 300 + 600) for seq in range(1, 101)]), 1_000)

    assert few.width == 1_000
    assert 1_000 < crowded.width <= 100 * 48 + 1_000


@st.composite
def histories(draw: st.DrawFn) -> GroupTrace:
    """A group in which clocks are wrong, reports lie, and messages depend on what there is."""
    messages, accepted = [], 0
    sent = dict.fromkeys((2, 3, 4), 0)
    for seq in range(1, draw(st.integers(1, 8)) + 1):
        member = draw(st.sampled_from([2, 3, 4]))
        sent[member] += 1
        accepted += draw(st.integers(0, 5_000_000))
        there = [one.stamp for one in messages if one.member != member]
        after = draw(st.lists(st.sampled_from(there), unique=True, max_size=3)) if there else []
        at = accepted + draw(st.integers(-10_000_000, 10_000_000))
        messages.append(said(seq, f"{member}:{sent[member]}", at, " ".join(after), accepted=accepted))
    deliveries = []
    for message in messages:
        for member in draw(st.sets(st.sampled_from([2, 3, 4]))):
            came = message.accepted_us - TEN + draw(st.integers(-10_000_000, 10_000_000))
            wait = draw(st.integers(0, 5_000_000))
            waited_for = draw(st.sampled_from(["", messages[0].stamp, "9:9"]))
            deliveries.append(shown(member, message.stamp, came, came + wait, waited_for))
    return history(messages, deliveries)


@given(histories(), st.booleans())
def test_whatever_members_say_no_arrow_goes_back(trace: GroupTrace, is_logical: bool) -> None:
    layout = lay_out(trace, 800, is_logical=is_logical)

    places = {mark.message.stamp: mark for mark in layout.marks}
    assert len(places) == len(trace.messages)
    expected = sum(one.member != int(one.stamp.partition(":")[0]) for one in trace.deliveries)
    assert sum(len(mark.arrows) for mark in layout.marks) == expected
    for mark in layout.marks:
        assert layout.left <= mark.x <= layout.width
        assert all(places[cause].x <= mark.x and places[cause].sent_us <= mark.sent_us for cause in mark.causes)
        assert not is_logical or all(places[cause].x < mark.x for cause in mark.causes)
        for arrow in mark.arrows:
            assert mark.x <= arrow.came_x <= arrow.shown_x <= layout.width
            assert mark.sent_us <= arrow.came_us <= arrow.shown_us
            said_held = arrow.delivery.received_us < arrow.delivery.delivered_us and arrow.delivery.waited_for != ""
            assert arrow.is_held == said_held


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)).map(sorted), min_size=1, max_size=30))
def test_the_time_axis_never_goes_back_and_has_one_scale(pairs: list[list[int]]) -> None:
    journeys = [(TEN + begin, TEN + end) for begin, end in pairs]

    axis = TimeAxis(journeys, 10, 900.0)

    instants = sorted({instant for journey in journeys for instant in journey})
    places = [axis.place(instant) for instant in instants]
    silences = {silence.x for silence in axis.silences()}
    scales = []
    for row in range(len(instants) - 1):
        width = places[row + 1] - places[row]
        assert width >= 0
        if not any(places[row] < x < places[row + 1] for x in silences):
            scales.append(width / (instants[row + 1] - instants[row]))
    assert all(scale == pytest.approx(scales[0], rel=1e-3, abs=1e-9) for scale in scales)
    assert axis.width == places[-1]
