"""The report in a browser: from a file, in two languages, on a large and on a small screen, light and dark."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect
from unit.pipeline_figures import HOSTILE, all_figures

from pregon.spark.report.page import render_page

from .conftest import OpenPage

AT = "2026-11-16T20:01:02.000000Z"
PHONE = {"width": 360, "height": 740}


@pytest.fixture
def report(tmp_path: Path) -> str:
    """The address of a report of figures that are wrong in every way, with names that strangers could choose."""
    file = tmp_path / "report.html"
    file.write_text(render_page(all_figures(is_right=False), "en", AT), encoding="utf-8")
    return file.as_uri()


def test_the_switch_changes_every_word_the_title_and_the_language_of_the_page(report: str, open_page: OpenPage) -> None:
    reader = open_page("reader", "en")
    reader.page.goto(report)
    expect(reader.page.locator("#reconciliation .answer")).to_have_text(
        "1 of 12 subscriptions does not add up", use_inner_text=True
    )

    reader.page.get_by_label("Español").check()

    expect(reader.page.locator("#reconciliation .answer")).to_have_text(
        "1 de 12 suscripciones no cierra", use_inner_text=True
    )
    expect(reader.page).to_have_title("Pregón: lo que hizo el hub")
    expect(reader.page.locator("html")).to_have_attribute("lang", "es")
    assert reader.page.locator('main [lang="en"]:visible').count() == 0


def test_the_switch_works_where_scripts_do_not(report: str, open_page: OpenPage) -> None:
    reader = open_page("reader", "en", java_script_enabled=False)
    reader.page.goto(report)

    reader.page.get_by_label("Español").check()

    expect(reader.page.locator("#archive .answer")).to_have_text(
        "Faltan archivar 3\N{NARROW NO-BREAK SPACE}000 filas", use_inner_text=True
    )


def test_names_of_strangers_are_shown_and_nothing_of_theirs_runs(report: str, open_page: OpenPage) -> None:
    reader = open_page("reader", "en")
    said: list[str] = []
    reader.page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    asked: list[str] = []
    reader.page.on("request", lambda request: asked.append(request.url))

    reader.page.goto(report)

    expect(reader.page.get_by_role("rowheader", name=HOSTILE).first).to_be_visible()
    assert said == []
    assert asked == [report]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_without_scrolling_sideways(report: str, open_page: OpenPage, scheme: str) -> None:
    reader = open_page("reader", "es", viewport=PHONE, color_scheme=scheme)

    reader.page.goto(report)

    wide, paper = reader.page.evaluate(
        "[document.documentElement.scrollWidth, getComputedStyle(document.body).backgroundColor]"
    )
    assert wide == PHONE["width"]
    assert (paper == "rgb(16, 20, 28)") == (scheme == "dark")


def test_tables_that_scroll_are_reached_by_the_keyboard_and_have_names(report: str, open_page: OpenPage) -> None:
    reader = open_page("reader", "en", viewport=PHONE)
    reader.page.goto(report)

    sheets = reader.page.locator(".sheet:visible")

    assert sheets.count() > 5
    for sheet in sheets.all():
        expect(sheet).to_have_attribute("tabindex", "0")
        expect(sheet).to_have_role("region")
        expect(sheet.locator("caption")).not_to_be_empty()
