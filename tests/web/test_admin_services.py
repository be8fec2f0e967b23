"""Services on the administration pages: who serves, what waits, what was set aside, and how a service is run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import expect
from scenario.conftest import MakeHub
from scenario.hub_process import HubProcess, clean_environment, wait_until

from pregon.client import Client

from .admin_people import Administrator, make_people, start_with_people
from .conftest import OpenPage

REFUSED = r"status of (400|403|404)"
"""Browsers write a line to the console for an answer like these, though the page shows it as it should."""
PHONE = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}
WORKER = """
import os, sys
from pregon import serve, service

@service("sqrt", slots=4)
def sqrt(x: float) -> float:
    return x ** 0.5

@service(sys.argv[1])
def lethal(x: str) -> str:
    os._exit(3)

serve(sqrt, lethal)
"""


@pytest.fixture(scope="module", autouse=True)
def people(module_hub: HubProcess) -> None:
    """The people of the tests, in the hub that they share."""
    module_hub.stop()
    make_people(module_hub.data)
    module_hub.start()


@contextmanager
def worker(hub: HubProcess, folder: Path, lethal: str = "lethal") -> Iterator[subprocess.Popen[bytes]]:
    """A real worker, in a process of its own, which one of its services ends."""
    file = folder / "worker.py"
    file.write_text(WORKER)
    environment = clean_environment(PREGON_HUB=hub.url)
    with subprocess.Popen([sys.executable, str(file), lethal], env=environment, stderr=subprocess.DEVNULL) as running:
        try:
            yield running
        finally:
            running.kill()


def is_aside(client: Client, key: str) -> bool:
    """Whether a request was set aside."""
    return any(one["durable_id"] == key for one in client.list("poison"))


def set_aside(hub: HubProcess, folder: Path, lethal: str, *keys: str) -> None:
    """Leave durable requests that are lethal, and have workers die with them."""
    with hub.client() as client:
        client.update("service", lethal, attempts_max=1)
        for key in keys:
            client.submit(lethal, "<b>expediente</b>", key=key)
            with worker(hub, folder, lethal) as running:
                running.wait(20)
            wait_until(partial(is_aside, client, key), "it is set aside")


def test_a_hub_without_workers_says_how_to_start_one_and_shows_it_when_it_comes(
    hub: HubProcess, open_page: OpenPage, tmp_path: Path
) -> None:
    ana = Administrator(open_page("ana", "en"), hub).enter()
    ana.go("services")
    ana.sees("No worker has come yet")
    ana.sees(f"PREGON_HUB={hub.url} pregon request sqrt 2")

    with worker(hub, tmp_path), hub.client() as client:
        # The page is not loaded again: it is live.
        row = ana.page.locator("tr", has=ana.page.get_by_role("link", name="sqrt", exact=True)).first
        expect(row).to_contain_text("4 / 4")
        assert client.request("sqrt", 16.0) == 4.0
        expect(row.locator("[data-name=Answered]")).to_have_text("1")
        ana.sees("ready")

    ana.go("services/sqrt")
    ana.sees("The last requests that ended")


def test_what_was_set_aside_is_worked_on_again_or_forgotten(
    hub: HubProcess, open_page: OpenPage, tmp_path: Path, topic: str
) -> None:
    set_aside(hub, tmp_path, topic, "k1", "k2", "k3")
    omar = Administrator(open_page("omar", "es"), hub, "omar").enter()
    omar.go("services")
    rows = omar.page.locator("#poison tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("<b>expediente</b>")

    rows.filter(has_text="k1").get_by_role("button", name="Volver a procesarla").click()
    omar.sees("Se volverán a procesar: 1.")
    omar.page.get_by_label("Elegir todo").check()
    omar.press("Olvidar las elegidas")

    omar.sees("Olvidadas: 2.")
    expect(rows).to_have_count(0)
    with hub.client() as client:
        left = client.list("durable", names=[topic])
        assert [(one["id"], one["state"]) for one in left] == [("k1", "waiting")]


def test_who_only_reads_sees_what_was_set_aside_and_moves_nothing(
    hub: HubProcess, open_page: OpenPage, tmp_path: Path, topic: str
) -> None:
    set_aside(hub, tmp_path, topic, "r1")
    visitor = open_page("rita", "en", **PHONE)
    visitor.allow(REFUSED)
    rita = Administrator(visitor, hub, "rita").enter()
    rita.go("services")

    expect(rita.page.locator("#poison")).to_contain_text("r1")
    assert rita.page.locator("#poison button, #poison input[type=checkbox]").count() == 0
    wide = rita.page.evaluate("document.documentElement.scrollWidth")
    rita.go(f"services/{topic}")
    assert rita.page.locator("main form").count() == 0
    token = rita.page.locator("input[name=csrf]").first.get_attribute("value")
    answer = rita.page.request.post(f"{rita.base}/poison/drop", form={"csrf": token or "", "number": "1"})

    assert wide == 390
    assert answer.status == 403


def test_how_a_service_is_run_is_changed_and_what_makes_no_sense_is_refused(
    hub: HubProcess, open_page: OpenPage, tmp_path: Path
) -> None:
    visitor = open_page("ana", "en")
    visitor.allow(REFUSED)
    ana = Administrator(visitor, hub).enter()
    with worker(hub, tmp_path), hub.client() as client:
        wait_until(lambda: any(one["type"] == "sqrt" and one["workers"] for one in client.list("service")), "a worker")
        ana.go("services/sqrt")
        ana.fill(policy="least-loaded", answer_ms="5m", durable=False)
        ana.press("Save")
        ana.sees("Saved.")
        ana.fill(answer_ms="soon")
        ana.press("Save")
        ana.sees("'soon' is not a duration")
        expect(ana.page.locator("[name=answer_ms]")).to_have_value("soon")

        options = next(one["options"] for one in client.list("service") if one["type"] == "sqrt")
        assert (options["policy"], options["answer_ms"], options["durable"]) == ("least-loaded", 300_000, False)


def test_durable_requests_are_found_by_service_and_state(hub: HubProcess, open_page: OpenPage) -> None:
    with hub.client() as client:
        for number in range(60):
            client.submit("padrones", str(number), key=f"p{number:03}")
    ana = Administrator(open_page("ana", "en"), hub).enter()

    ana.go("durable")
    ana.fill(service="padrones", state="waiting")
    ana.press("Search")
    expect(ana.page.locator("tbody tr")).to_have_count(50)
    ana.press("Next")

    expect(ana.page.locator("tbody tr")).to_have_count(10)
    ana.sees("p059")


def test_a_hub_without_services_says_how_to_turn_them_on(make_hub: MakeHub, open_page: OpenPage) -> None:
    hub = make_hub()
    hub.options[hub.options.index("--services-front") + 1] = ""
    start_with_people(hub)
    ana = Administrator(open_page("ana", "es"), hub).enter()

    ana.go("services")

    ana.sees("Este pregón no tiene servicios")
    ana.sees("pregon serve --services-front")
