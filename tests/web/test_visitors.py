"""People at their browsers keep to themselves, and what their pages complain about is not missed."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, expect
from scenario.hub_process import HubProcess

from . import visitors as visitors_module
from .conftest import OpenPage
from .visitors import Visitors


def test_three_people_share_nothing(hub: HubProcess, open_page: OpenPage) -> None:
    people = [open_page(name) for name in ("Ana", "Beto", "Caro")]
    for person in people:
        person.page.goto(f"http://{hub.addresses.http}/docs")

    for person in people:
        person.page.evaluate("name => localStorage.setItem(name, 1)", person.name)
        person.page.evaluate("name => { document.cookie = name + '=1' }", person.name)

    for person in people:
        assert person.page.evaluate("Object.keys(localStorage)") == [person.name]
        assert person.page.evaluate("document.cookie") == f"{person.name}=1"


def test_each_complaint_of_a_page_is_told_with_the_name_of_its_visitor(browser: Browser, tmp_path: Path) -> None:
    visitors = Visitors(browser, tmp_path)
    ana, beto = visitors.open("Ana"), visitors.open("Beto")

    ana.page.evaluate("console.error('this is wrong')")
    ana.page.evaluate("console.warn('this is only odd')")
    beto.page.evaluate("setTimeout(() => { throw new Error('nobody caught me') })")
    beto.context.new_page().evaluate("Promise.reject(new Error('nor me')), 0")
    found = visitors.leave(has_failed=False)

    assert len(found) == 3
    assert found[0].startswith("Ana: console: this is wrong")
    assert found[1].startswith("Beto: uncaught: nobody caught me")
    assert found[2].startswith("Beto: uncaught: nor me")


def test_a_complaint_that_was_allowed_is_no_failure(browser: Browser, tmp_path: Path) -> None:
    visitors = Visitors(browser, tmp_path)
    ana = visitors.open("Ana")
    ana.allow("wr.ng")

    ana.page.evaluate("console.error('this is wrong'), console.error('and this')")
    found = visitors.leave(has_failed=False)

    assert [one.partition(" (")[0] for one in found] == ["Ana: console: and this"]


def test_a_page_that_crashes_is_a_complaint(browser: Browser, tmp_path: Path) -> None:
    visitors = Visitors(browser, tmp_path)
    ana = visitors.open("Ana")

    with ana.page.expect_event("crash"), pytest.raises(Error):
        ana.page.goto("chrome://crash")
    found = visitors.leave(has_failed=False)

    assert [one.partition(": crashed")[0] for one in found] == ["Ana"]


def test_a_page_that_answers_no_more_is_a_complaint(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visitors_module, "_ANSWER_MS", 500)
    visitors = Visitors(browser, tmp_path)
    ana = visitors.open("Ana")

    ana.page.evaluate("setTimeout(() => { for (;;); }), 0")
    found = visitors.leave(has_failed=False)

    assert found == ["Ana: silent: about:blank did not answer in 500 ms"]


def test_only_a_failure_leaves_screenshots(browser: Browser, tmp_path: Path) -> None:
    quiet, failed, complaining = (tmp_path / name for name in ("quiet", "failed", "complaining"))

    for folder in (quiet, failed, complaining):
        visitors = Visitors(browser, folder)
        visitor = visitors.open("Ana María")
        visitor.context.new_page()
        if folder == complaining:
            visitor.page.evaluate("console.error('this is wrong')")
        visitors.leave(has_failed=folder == failed)

    assert not quiet.exists()
    assert sorted(file.name for file in failed.iterdir()) == ["1-Ana-María-1.png", "1-Ana-María-2.png"]
    assert sorted(file.name for file in complaining.iterdir()) == ["1-Ana-María-1.png", "1-Ana-María-2.png"]


def test_a_visitor_offline_is_told_so(hub: HubProcess, open_page: OpenPage) -> None:
    ana = open_page("Ana")
    ana.page.goto(f"http://{hub.addresses.http}/docs")
    expect(ana.page).to_have_title("Pregón · API")
    ana.allow("ERR_INTERNET_DISCONNECTED")

    ana.context.set_offline(True)

    assert ana.page.evaluate("navigator.onLine") is False
    assert ana.page.evaluate("fetch('/healthz').then(() => 'arrived', () => 'refused')") == "refused"
