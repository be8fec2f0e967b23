"""The pipeline on the administration pages: what it last found, how to have it run, and its whole report."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from playwright.sync_api import expect
from scenario.hub_process import HubProcess
from unit.pipeline_figures import HOSTILE, all_figures

from pregon.model.pipeline_figures import RECONCILIATION, STEPS, TRAFFIC
from pregon.model.pipeline_results import REPORT_FILE
from pregon.spark.pipelines.results import Results
from pregon.spark.report.writing import write_report

from .admin_people import Administrator, make_people
from .conftest import OpenPage

REFUSED = r"status of (403|404)"
"""Browsers write a line to the console for an answer like these, though the page shows it as it should."""
PHONE = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def module_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    """A hub with people, which looks for results beside its data."""
    folder = tmp_path_factory.mktemp("hub")
    shared = HubProcess(folder / "data", pipeline_results=str(folder / "results"))
    make_people(shared.data)
    shared.start()
    try:
        yield shared
        assert shared.is_alive, "a test of this module ended the hub"
    finally:
        shared.stop()


def results_of(hub: HubProcess) -> Results:
    """Where the hub looks for results."""
    return Results(hub.data.with_name("results"))


def write(results: Results, *steps: str) -> None:
    """Results that are wrong in every way, with names that strangers could choose, as the pipeline writes them."""
    for step in steps:
        made, figures = all_figures(is_right=False)[step]
        folder = results.begin(step)
        results.publish(folder, msgspec.structs.replace(made, folder=folder.name), figures)


def test_where_it_has_not_run_the_page_says_how_and_where(hub: HubProcess, open_page: OpenPage) -> None:
    ana = Administrator(open_page("ana", "es"), hub).enter()

    ana.go("pipeline")

    ana.sees("Los informes todavía no se ejecutaron")
    folder = results_of(hub).root
    ana.sees(f"pregon pipeline run --hub http://{hub.addresses.http} --output {folder}")
    ana.sees(f"pregon pipeline report --results {folder}")


def test_a_step_that_has_not_run_is_named_with_the_command_that_runs_it(hub: HubProcess, open_page: OpenPage) -> None:
    write(results_of(hub), RECONCILIATION)
    ana = Administrator(open_page("ana", "en"), hub).enter()

    ana.go("pipeline")

    expect(ana.page.locator("#reconciliation .notice").first).to_contain_text("1 of 12 subscriptions does not add up")
    expect(ana.page.locator(f"#{TRAFFIC}")).to_contain_text("pregon pipeline run traffic --hub")


@pytest.mark.parametrize("width", [1280, 390])
def test_every_step_says_what_it_found_worst_first_with_a_plot(
    hub: HubProcess, open_page: OpenPage, width: int
) -> None:
    write(results_of(hub), *STEPS)
    rita = Administrator(open_page("rita", "en", viewport={"width": width, "height": 900}), hub, "rita").enter()

    rita.go("pipeline")

    page = rita.page
    expect(page.locator("#service-levels .notice").first).to_contain_text(
        "1 of 10 subscriptions was served unacceptably late"
    )
    expect(page.locator("#service-levels tbody tr").first).to_contain_text("CGN")
    expect(page.locator("#service-levels tbody tr").first).to_contain_text("unacceptable")
    assert page.locator("#service-levels svg.chart .line").count() == 3
    assert page.locator("#traffic svg.chart .line").count() >= 2
    assert page.locator("#reconciliation svg.chart rect").count() >= 4
    expect(page.locator("#reconciliation tbody tr").first).to_contain_text("the events say 17, the hub 16")
    expect(page.get_by_role("link", name=HOSTILE).first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_the_whole_report_is_shut_in_whatever_is_in_it(hub: HubProcess, open_page: OpenPage) -> None:
    results = results_of(hub)
    write(results, *STEPS)
    write_report(results, results.root / REPORT_FILE, "en")
    ana = Administrator(open_page("ana", "en"), hub).enter()
    ana.go("pipeline")
    ana.press("The whole report")
    expect(ana.page.locator("#reconciliation .answer")).to_be_visible()
    ana.page.get_by_label("Español").check()
    expect(ana.page).to_have_title("Pregón: lo que hizo el hub")
    # What another has put in its place: it may run, and gets at nothing.
    (results.root / REPORT_FILE).write_text(
        "<title>waiting</title><script>fetch('/admin/people').then(() => document.title = 'got in')"
        ".catch(() => document.title = 'shut in, ' + self.origin)</script>"
    )
    ana.visitor.allow("violates|CORS|Failed to|blocked")

    ana.page.reload()

    expect(ana.page).to_have_title("shut in, null")
    assert ana.page.request.get(f"{ana.base}/people").ok


def test_the_report_is_for_who_administers(hub: HubProcess, open_page: OpenPage) -> None:
    results = results_of(hub)
    write(results, *STEPS)
    write_report(results, results.root / REPORT_FILE, "en")
    visitor = open_page("rita", "en", **PHONE)
    visitor.allow(REFUSED)
    rita = Administrator(visitor, hub, "rita").enter()

    rita.go("pipeline")
    answer = rita.page.request.get(f"{rita.base}/pipeline/report")

    assert rita.page.get_by_role("link", name="The whole report").count() == 0
    assert answer.status == 403
