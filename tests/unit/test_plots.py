"""Plots: what is drawn where, and what is refused."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest

from pregon.errors import BadRequest
from pregon.plots import HEIGHT, LINES_MAX, WIDTH, Axis, Line, Mark, Plot, draw

NAMESPACE = "{http://www.w3.org/2000/svg}"


def plot(*lines: Line, x: Axis | None = None, y: Axis | None = None, marks: tuple[Mark, ...] = ()) -> Plot:
    """A plot of some lines."""
    return Plot("what is <shown> & how", x or Axis("members"), y or Axis("bytes"), lines, marks)


def texts(svg: str) -> list[str]:
    """All that can be read on it."""
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{NAMESPACE}text")]


def circles(svg: str) -> list[tuple[float, float]]:
    """Where the markers of the first line are, the legend's left out."""
    found = ElementTree.fromstring(svg).iter(f"{NAMESPACE}circle")
    places = [(float(one.attrib["cx"]), float(one.attrib["cy"])) for one in found]
    return places[:-1]


def test_a_plot_is_well_formed_and_says_its_title_its_axes_and_its_lines() -> None:
    svg = draw(plot(Line("ours & <theirs>", [(1, 1), (2, 5)]), marks=(Mark("the limit", 3),)))

    assert {"what is <shown> & how", "members", "bytes", "ours & <theirs>", "the limit"} <= set(texts(svg))


def test_points_go_right_and_up_with_their_values_and_stay_on_the_page() -> None:
    places = circles(draw(plot(Line("ours", [(1, 1), (2, 5), (4, 9)]))))

    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)
    assert all(0 < x < WIDTH and 0 < y < HEIGHT for x, y in places)


def test_equal_ratios_are_equal_distances_on_a_logarithmic_axis() -> None:
    line = Line("ours", [(1, 2), (10, 20), (100, 200)])

    (x1, y1), (x2, y2), (x3, y3) = circles(draw(plot(line, x=Axis("x", is_log=True), y=Axis("y", is_log=True))))

    assert x3 - x2 == pytest.approx(x2 - x1, abs=0.2)
    assert y2 - y3 == pytest.approx(y1 - y2, abs=0.2)


def test_an_even_axis_begins_at_zero_unless_something_is_below_it() -> None:
    above, below = draw(plot(Line("ours", [(0, 40), (1, 50)]))), draw(plot(Line("ours", [(0, -40), (1, 50)])))

    assert "0" in texts(above) and "-40" not in texts(above)
    assert "-40" in texts(below)


def test_millions_are_short_enough_for_the_room_beside_the_axis() -> None:
    drawn = draw(plot(Line("ours", [(0, 0), (1, 2_500_000)])))

    assert "2.5M" in texts(drawn)
    assert max(len(text) for text in texts(drawn) if text.endswith("M")) <= 7


def test_the_same_plot_has_the_same_bytes() -> None:
    lines = [Line("ours", [(1, 1.23456789), (3, 2.0)]), Line("theirs", [(1, 3.0), (3, 4.0)])]

    assert draw(plot(*lines)) == draw(plot(*lines))


def test_no_script_and_nothing_from_elsewhere_is_in_it() -> None:
    svg = draw(plot(Line("<script>alert(1)</script>", [(1, 1), (2, 2)])))

    assert "<script" not in svg
    assert not re.search(r"href|url\(|@import", svg)


@pytest.mark.parametrize(
    "wrong",
    [
        plot(),
        plot(Line("nothing", [])),
        plot(Line("zero", [(0, 1), (1, 1)]), x=Axis("x", is_log=True)),
        plot(Line("not a number", [(1, float("nan"))])),
        plot(*(Line(str(number), [(1, 1)]) for number in range(LINES_MAX + 1))),
    ],
    ids=["no lines", "no points", "zero on a logarithmic axis", "not a number", "too many lines"],
)
def test_what_cannot_be_drawn_is_refused(wrong: Plot) -> None:
    with pytest.raises(BadRequest):
        draw(wrong)


def test_a_line_of_one_point_is_drawn() -> None:
    assert len(circles(draw(plot(Line("ours", [(3, 3)]))))) == 1


def test_an_axis_of_time_says_hours_and_the_day_where_one_begins() -> None:
    evening = datetime(2026, 11, 15, 20, tzinfo=UTC).timestamp()
    line = Line("ours", [(evening + hour * 3_600, float(hour)) for hour in range(9)])

    svg = draw(plot(line, x=Axis("time", is_time=True)))

    assert {"20:00", "22:00", "11-16", "02:00", "04:00"} <= set(texts(svg))


@pytest.mark.parametrize("span_s", [0, 1, 59, 3_601, 86_400 * 3, 86_400 * 400, 86_400 * 36_500])
def test_an_axis_of_time_has_few_ticks_whatever_it_spans(span_s: int) -> None:
    begin = datetime(1970, 1, 1, tzinfo=UTC).timestamp()
    line = Line("ours", [(begin, 1.0), (begin + span_s, 2.0)])

    on_it = ElementTree.fromstring(draw(plot(line, x=Axis("time", is_time=True))))

    ticks = [one for one in on_it.iter(f"{NAMESPACE}text") if one.attrib.get("text-anchor") == "middle"]
    assert 3 <= len(ticks) <= 10
