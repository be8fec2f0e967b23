"""Charts of the administration pages: what is drawn, where, and that no text of them is markup."""

import re
from zoneinfo import ZoneInfo

from pregon.edges.admin.charts import DURATION_TICKS, Chart, Series
from pregon.edges.admin.formats import duration, find_zone, number, parse_local, short_number, size

ZONE = ZoneInfo("America/Montevideo")
MINUTE_US = 60_000_000


def make_chart(values: list[float | None], **more: object) -> Chart:
    times = [1_795_000_000_000_000 + MINUTE_US * index for index in range(len(values))]
    return Chart("a <label>", [Series("in & out", "first", values)], times, ZONE, **more)  # type: ignore[arg-type]


def heights(drawn: str) -> list[float]:
    path = re.findall(r'class="line first" d="M([^"]+)"', drawn)
    return [float(point.split(" ")[1].removesuffix("h0.1")) for one in path for point in one.split("L")]


def test_what_is_more_stands_higher_and_nothing_at_the_bottom() -> None:
    drawn = str(make_chart([0.0, 5.0, 10.0]).draw())

    found = heights(drawn)

    assert found[0] > found[1] > found[2]
    assert found[0] - found[1] == found[1] - found[2]


def test_a_line_is_broken_where_there_is_no_value() -> None:
    drawn = str(make_chart([1.0, None, 3.0, 4.0]).draw())

    assert drawn.count('class="line first"') == drawn.count('class="line first lone"') == 1


def test_durations_are_drawn_by_factors_so_that_a_long_one_hides_none() -> None:
    drawn = str(make_chart([10.0, 100.0, 1_000.0, 200_000.0], write=duration, ticks=DURATION_TICKS).draw())

    found = heights(drawn)

    assert abs((found[0] - found[1]) - (found[1] - found[2])) < 0.2
    assert [
        text for text in ("10 ms", "100 ms", "1 s", "10 s", "1 min", "10 min") if f">{text}</text>" not in drawn
    ] == []


def test_texts_are_escaped_and_an_empty_chart_is_drawn() -> None:
    drawn = str(make_chart([]).draw()) + str(make_chart([None, None]).draw())

    assert "<label>" not in drawn
    assert "in &amp; out" in drawn
    assert "nan" not in drawn


def test_every_moment_says_its_values_in_the_zone_of_the_viewer() -> None:
    drawn = str(make_chart([1.0, 2.0]).draw())

    titles = re.findall(r"<title>([^<]+)</title>", drawn)

    assert titles == ["2026-11-18 08:06 · in &amp; out: 1", "2026-11-18 08:07 · in &amp; out: 2"]


def test_numbers_sizes_and_durations_are_short_and_the_same_in_both_languages() -> None:
    said = [number(1234567), number(0.5), short_number(12_345), short_number(999_960), size(1536), size(None)]

    lengths = [duration(ms) for ms in (0, 999, 1_500, 61_000, 3_600_000, 90_000_000)]

    assert said == ["1\u202f234\u202f567", "0.5", "12.3k", "1M", "1.5 KiB", "–"]
    assert lengths == ["0 ms", "999 ms", "1.5 s", "1 min 1 s", "1 h", "1 d 1 h"]


def test_a_date_of_a_form_is_in_the_zone_of_the_viewer() -> None:
    here = parse_local("2026-11-15T10:00", ZONE)

    assert here == parse_local("2026-11-15T13:00:00+00:00", ZONE)
    assert find_zone("../../etc/passwd") is None
    assert find_zone("Nowhere/Land") is None
