"""The report: what it says of right and of wrong figures, in both languages, and that strangers' text stays text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from pregon.errors import BadRequest
from pregon.model.pipeline_figures import (
    RECONCILIATION,
    SERVICE_LEVELS,
    STEPS,
    ReconciliationFigures,
    ServiceLevelsFigures,
)
from pregon.spark.pipelines.reconciliation import ACCEPTANCE, FORGOTTEN, NO_ACCEPTANCE, TOO_EARLY
from pregon.spark.report.charts import traffic_chart
from pregon.spark.report.page import POLICY, SCRIPT, SECTIONS, STYLE, describe, render_page
from pregon.spark.report.reasons import spoken_reason
from pregon.spark.report.words import number, plain, size_bytes, span_ms

from .pipeline_figures import HOSTILE, all_figures, made_of, published

AT = "2026-11-16T20:01:02.000000Z"


class Reader(HTMLParser):
    """What a browser makes of a page: its tags, its attributes, and what can be read in a language."""

    _VOID = frozenset({"meta", "input", "br", "circle", "path", "rect", "line"})

    def __init__(self, lang: str = "en") -> None:
        super().__init__()
        self._hidden = {"en": "es", "es": "en"}[lang]
        self._open: list[tuple[str, bool]] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A tag opens."""
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in self._VOID:
            is_hidden = tag in {"style", "script"} or (tag != "html" and ("lang", self._hidden) in attrs)
            self._open.append((tag, is_hidden))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A tag that has nothing in it."""
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        """A tag closes, which must be the one that was opened last."""
        opened, _ = self._open.pop()
        assert opened == tag

    def handle_data(self, data: str) -> None:
        """Text."""
        if not any(is_hidden for _, is_hidden in self._open):
            self.text += data


def read(page: str, lang: str = "en") -> Reader:
    """A page as a browser reads it."""
    reader = Reader(lang)
    reader.feed(page)
    reader.close()
    return reader


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        ("en", ["All 12 subscriptions add up", "None of 9 subscriptions was served unacceptably late",
                "deliveries in groups came in causal order", "Everything is archived"]),
        ("es", ["Las 12 suscripciones cierran", "Ninguna de 9 suscripciones recibió inaceptablemente tarde",
                "entregas en grupos llegaron en orden causal", "Todo está archivado"]),
    ],
)  # fmt: skip
def test_what_is_right_is_said_in_one_plain_sentence_each(lang: str, said: list[str]) -> None:
    reader = read(render_page(all_figures(), "en", AT), lang)

    assert [sentence for sentence in said if sentence not in reader.text] == []


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        ("en", ["1 of 12 subscriptions does not add up", "acknowledged: the events say 17, the hub 16",
                "1 of 10 subscriptions was served unacceptably late", "and 500 more", "3:17", "2:9"]),
        ("es", ["1 de 12 suscripciones no cierra", "confirmados: los sucesos dicen 17, el hub 16",
                "1 de 10 suscripciones recibió inaceptablemente tarde", "y 500 más", "inaceptable"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(lang: str, said: list[str]) -> None:
    reader = read(render_page(all_figures(is_right=False), "es", AT), lang)

    assert [sentence for sentence in said if sentence not in reader.text] == []


def test_names_and_texts_of_strangers_stay_text() -> None:
    reader = read(render_page(all_figures(is_right=False), "en", AT))

    assert reader.tags.count("script") == reader.tags.count("style") == 1
    assert HOSTILE in reader.text
    assert not [name for name, _ in reader.attributes if name.startswith("on") or name in {"style", "src", "srcdoc"}]


def test_the_page_needs_nothing_from_elsewhere_and_its_policy_lets_nothing_in() -> None:
    page = render_page(all_figures(is_right=False), "en", AT)

    links = [value for name, value in read(page).attributes if name in {"href", "action", "data"}]
    assert links
    assert all(link.startswith("#") for link in links)
    assert POLICY.startswith("default-src 'none';")
    assert "unsafe" not in POLICY
    assert f"<style>{STYLE}</style>" in page
    assert f"<script>{SCRIPT}</script>" in page
    assert not re.search(r"url\(|@import", STYLE)


def test_every_heading_of_a_section_and_of_a_table_is_there_in_both_languages() -> None:
    page = render_page(all_figures(is_right=False), "en", AT)

    spoken = {lang: page.count(f'<span lang="{lang}">') for lang in ("en", "es")}

    assert spoken["en"] == spoken["es"] > 50


def test_steps_that_did_not_run_are_named_with_the_command_to_run() -> None:
    reader = read(render_page({}, "en", AT))

    assert [step for step in STEPS if f"pregon pipeline run {step}" not in reader.text] == []


def test_subscriptions_that_cannot_be_checked_are_not_said_to_add_up() -> None:
    figures = ReconciliationFigures(
        subscriptions=3,
        verified=2,
        discrepancies_count=0,
        discrepancies=[],
        unverifiable_count=1,
        unverifiable=[],
        totals={},
    )

    reader = read(render_page({RECONCILIATION: (made_of(RECONCILIATION), figures)}, "en", AT))

    assert "2 of 3 subscriptions add up; 1 cannot be checked" in reader.text
    assert "All 3" not in reader.text


@pytest.mark.parametrize(
    ("said", "in_spanish"),
    [
        (TOO_EARLY % (41, 57), "las trazas terminan en 41 y las cifras del hub son de 57: lea las trazas después"),
        (FORGOTTEN % (f"{ACCEPTANCE}9", 1), "aceptación del mensaje 9, la suscripción con el mensaje 1: agregue"),
        (FORGOTTEN % (NO_ACCEPTANCE, 3), "no tienen ninguna aceptación de este tema, la suscripción empieza con el"),
        ("something else", "something else"),
    ],
)
def test_why_a_subscription_cannot_be_checked_is_said_in_spanish_too(said: str, in_spanish: str) -> None:
    english, spanish = spoken_reason(said)

    assert english == said
    assert in_spanish in spanish


def test_a_hub_without_subscriptions_is_not_praised() -> None:
    figures = ServiceLevelsFigures(
        subscriptions_count=0, unacceptable_count=0, subscriptions=[], hours_count=0, hours=[], classes={}
    )

    page = render_page({SERVICE_LEVELS: (made_of(SERVICE_LEVELS), figures)}, "en", AT)

    assert "Nothing was accepted for anybody" in read(page).text
    assert 'class="tile plain"' in page


def test_the_answers_of_the_steps_can_be_shown_on_any_terminal() -> None:
    sections = [SECTIONS[step](figures) for step, (_, figures) in all_figures().items()]

    answers = [plain(text) for section in sections for text in section.answer]

    assert "576,000 deliveries of 2 topics to 3 subscribers" in answers
    assert [answer for answer in answers if not answer.isprintable()] == []


def test_a_language_that_the_report_does_not_speak_is_refused() -> None:
    with pytest.raises(BadRequest, match="en or es"):
        render_page({}, "fr", AT)


def test_programs_get_the_same_figures_with_when_and_of_what_they_were_made() -> None:
    described = describe(all_figures(), AT)

    step = described["steps"][RECONCILIATION]
    assert step["figures"]["subscriptions"] == 12
    assert step["made"]["sources"] == [{"table": "traces", "topic": "", "first": 1, "last": 1_000, "rows": 1_000}]


def test_a_window_in_which_a_topic_was_silent_is_drawn_as_zero() -> None:
    drawn = traffic_chart(published())

    # Two topics in two languages: the second has a message every third minute, and sixty points like the first.
    lines = re.findall(r'<path d="(M[^"]+L[^"]+)" fill="none" stroke-width="2"', drawn)
    assert [line.count("L") for line in lines] == [59] * 4


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (number(None), "–"),
        (number(1234567), "1 234 567"),
        (span_ms(0.4213), "0.421 ms"),
        (span_ms(2_350), "2.4 s"),
        (span_ms(7_200_000), "2 h"),
        (size_bytes(1_536), "1.5 KiB"),
    ],
)
def test_figures_are_written_so_that_both_languages_read_them_the_same(written: str, expected: str) -> None:
    assert written.replace("\N{NARROW NO-BREAK SPACE}", " ") == expected
