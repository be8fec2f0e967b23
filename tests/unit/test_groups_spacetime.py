"""The space-time diagram as a picture and as a page."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest

from pregon.errors import BadRequest
from pregon.groups.spacetime import POLICY, SCRIPT, STYLE, DiagramOptions, render_page, render_svg
from pregon.groups.spacetime_layout import lay_out
from pregon.groups.spacetime_words import LANGUAGES, say, write_span
from pregon.groups.trace import GroupTrace

from .group_history import history, overtaken, said, shown

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</title><script>alert(1)</script>\" onload='x' & ]]>"


def parse(picture: str) -> ElementTree.Element:
    """The picture, as a program that knows XML reads it."""
    return ElementTree.fromstring(picture)


def with_class(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    """The elements of a class."""
    return [one for one in root.iter() if name in one.get("class", "").split()]


class Page(HTMLParser):
    """What a browser would make of a page: elements with their attributes, and the texts of rows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self.items: list[str] = []
        self._in = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "li":
            self.items.append("")
        self._in = tag if tag in ("td", "th", "li") else self._in

    def handle_endtag(self, tag: str) -> None:
        if tag == self._in:
            self._in = ""

    def handle_data(self, data: str) -> None:
        if self._in in ("td", "th"):
            self.rows[-1][-1] += data
        elif self._in == "li":
            self.items[-1] += data


def test_the_picture_has_what_the_layout_says() -> None:
    trace = overtaken()
    layout = lay_out(trace, 1_200)

    root = parse(render_svg(trace))

    marks = with_class(root, "m")
    assert [one.get("data-stamp") for one in marks] == ["2:1", "3:1"]
    assert [one.get("data-after") for one in marks] == ["", "2:1"]
    for drawn, mark in zip(marks, layout.marks, strict=True):
        (sender,) = with_class(drawn, "s")
        assert (float(sender.attrib["cx"]), float(sender.attrib["cy"])) == (mark.x, mark.y)
        paths = [one.attrib["d"] for one in with_class(drawn, "a")]
        assert len(paths) == len(mark.arrows) == 2
        assert all(path.startswith(f"M{mark.x:g},{mark.y:g}L") for path in paths)


def test_what_was_held_back_is_hollow_where_it_came_and_full_where_it_was_shown() -> None:
    trace = overtaken()
    (held,) = [arrow for mark in lay_out(trace, 1_200).marks for arrow in mark.arrows if arrow.is_held]

    root = parse(render_svg(trace))

    ((hollow,), (full,), (wait,)) = (
        [one for one in with_class(root, name) if one.get("cx") not in ("4", "24") and one.get("d") != "M8,-4H20"]
        for name in ("came", "held", "wait")
    )
    assert (float(hollow.attrib["cx"]), float(hollow.attrib["cy"])) == (held.came_x, held.end_y)
    assert (float(full.attrib["cx"]), float(full.attrib["cy"])) == (held.shown_x, held.end_y)
    assert wait.attrib["d"] == f"M{held.came_x:g},{held.end_y:g}H{held.shown_x:g}"


def test_pointing_at_a_message_tells_all_of_it() -> None:
    root = parse(render_svg(overtaken()))

    answer = with_class(root, "m")[1]
    titles = [one.text or "" for one in answer.iter(f"{SVG}title")]
    assert titles[0].splitlines() == [
        "3:1  luis: A la izquierda",
        "sent at 10:00:00.010",
        "in the hub at 10:00:00.010",
        "depends on 2:1",
        "answers 2:1",
    ]
    assert "eva got it at 10:00:00.020 and was shown it at 10:00:00.060, 40 ms later: it waited for 2:1" in titles[2]


@pytest.mark.parametrize("render", [render_svg, render_page])
def test_what_members_write_stays_text(render: Callable[[GroupTrace], str]) -> None:
    trace = history([said(1, "2:1", 0, text=HOSTILE, name=HOSTILE)], [shown(3, "2:1", 900)])
    trace = GroupTrace(
        group=HOSTILE, members=[(2, HOSTILE), (3, HOSTILE)], messages=trace.messages, deliveries=trace.deliveries
    )

    drawn = render(trace)

    assert drawn.count("<script") == 1
    elements = Page(drawn).elements
    assert not [tag for tag, attributes in elements if any(name.startswith("on") for name in attributes)]
    assert "alert(1)" in drawn


def test_a_hostile_picture_is_still_xml() -> None:
    trace = history([said(1, "2:1", 0, text=HOSTILE, name=HOSTILE, answers="3:1")])

    root = parse(render_svg(trace))

    assert any(HOSTILE in (one.text or "") for one in root.iter(f"{SVG}title"))


def test_the_table_says_the_same_as_the_picture() -> None:
    page = Page(render_page(overtaken()))

    head, *rows = page.rows
    assert len(head) == 7
    assert [row[:6] for row in rows] == [
        ["1", "2026-11-16 10:00:00.000", "ana", "2:1", "¿Dónde va la turbina?", ""],
        ["2", "2026-11-16 10:00:00.010", "luis", "3:1", "A la izquierda (answers 2:1)", "2:1"],
    ]
    assert [row[6] for row in rows] == ["luis +5.0 ms; eva +60 ms", "eva +50 ms waited for 2:1; ana +4.0 ms"]
    assert page.items == [
        "eva got 3:1 of luis at 10:00:00.020 and was shown it 40 ms later: it answers 2:1 of ana, "
        "which came at 10:00:00.060"
    ]


def test_the_table_does_not_tell_hundreds_of_names_for_each_message() -> None:
    members = range(3, 203)
    trace = GroupTrace(
        group="design",
        members=[(2, "ana"), *((member, f"m{member}") for member in members)],
        messages=[said(1, "2:1", 0)],
        deliveries=[shown(member, "2:1", 900 + member) for member in members],
    )

    page = Page(render_page(trace))

    assert page.rows[1][6].endswith("; and 188 more")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_both_languages_say_everything(lang: str) -> None:
    trace = history(
        [
            said(1, "1:1", 0, kind="joining", about=3, text="luis"),
            said(2, "3:1", 2_000, "1:1", kind="joined"),
            said(3, "2:1", 9_000_000 - 60_000_000, "3:1", accepted=9_000_000),
        ],
        is_whole=False,
    )

    page, picture = render_page(trace, DiagramOptions(lang=lang)), render_svg(trace, DiagramOptions(lang=lang))

    assert f'<html lang="{lang}">' in page
    for word in ("hint", "waited", "nothing_waited", "table", "cut", "silent"):
        assert say(lang, word) in page
    for word in ("legend_sent", "legend_held", "legend_came", "legend_gone", "legend_hub", "legend_break"):
        assert say(lang, word) in picture
    assert say(lang, "clock_behind", name="ana", span="51.0 s") in page
    assert say(lang, "kind_joining", text="luis") in picture
    assert say("en", "lines") != say("es", "lines")


def test_nothing_is_fetched_from_anywhere() -> None:
    for drawn in (render_svg(overtaken()), render_page(overtaken())):
        addresses = re.findall(r"[a-z]+://[^\s\"'<]+", drawn)
        assert set(addresses) == {"http://www.w3.org/2000/svg"}
        assert not re.search(r"url\(|@import|\bsrc=|href=", drawn)


def test_the_policy_lets_in_just_the_style_and_the_script_that_are_there() -> None:
    def hash_of(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    for drawn in (render_svg(overtaken()), render_page(overtaken())):
        styles = re.findall(r"<style>(.*?)</style>", drawn, re.DOTALL)
        scripts = re.findall(r"<script>(.*?)</script>", drawn, re.DOTALL)
        assert [f"style-src 'sha256-{hash_of(one)}'" in POLICY for one in styles] == [True]
        assert [f"script-src 'sha256-{hash_of(one)}'" in POLICY for one in scripts] == [True]
        assert " style=" not in drawn


def test_style_and_script_are_the_same_in_xml_and_in_html() -> None:
    assert not {"<", "&"} & {*STYLE, *SCRIPT}
    assert "]]>" not in STYLE + SCRIPT


@pytest.mark.parametrize("theme", ["light", "dark", "auto"])
def test_the_theme_is_the_one_that_was_asked_for(theme: str) -> None:
    options = DiagramOptions(theme=theme)

    assert f"spacetime {theme}" in parse(render_svg(overtaken(), options)).attrib["class"]
    assert f'<body class="spacetime {theme}">' in render_page(overtaken(), options)


def test_a_part_of_the_messages_is_said_to_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pregon.groups.spacetime_layout.ARROWS_MAX", 3)

    page = render_page(overtaken())

    assert say("en", "part", shown=1, count=2) in page


def test_nothing_said_is_drawn_too() -> None:
    empty = GroupTrace(group="design")

    assert "nothing has been said yet" in render_page(empty)
    assert not with_class(parse(render_svg(empty)), "m")


@pytest.mark.parametrize(
    "wrong", [{"lang": "fr"}, {"theme": "blue"}, {"width": 10}, {"width": 10**6}], ids=lambda wrong: str(wrong)
)
def test_what_cannot_be_drawn_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadRequest, match=r"the (language|theme|width) is"):
        DiagramOptions(**wrong)


@pytest.mark.parametrize(
    ("span_us", "words"),
    [
        (0, "0.0 ms"),
        (2_100, "2.1 ms"),
        (310_000, "310 ms"),
        (1_200_000, "1.2 s"),
        (123_000_000, "2 min 3 s"),
        (3_600_000_000, "1 h"),
        (90_000_000_000, "1 d 1 h"),
    ],
)
def test_spans_are_written_as_people_say_them(span_us: int, words: str) -> None:
    assert write_span(span_us) == words
