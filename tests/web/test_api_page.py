"""The page that describes the HTTP interface, as people see it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from scenario.hub_process import HubProcess

from .conftest import OpenPage
from .visitors import Language

GREETINGS: dict[Language, str] = {"es": "Pruébelo aquí mismo.", "en": "Try it right here."}


@pytest.mark.parametrize("language", ["es", "en"])
def test_the_page_of_the_interface_speaks_the_language_of_its_reader(
    language: Language, hub: HubProcess, open_page: OpenPage
) -> None:
    reader = open_page("reader", language)

    reader.page.goto(f"http://{hub.addresses.http}/docs")

    expect(reader.page).to_have_title("Pregón · API")
    expect(reader.page.locator("html")).to_have_attribute("lang", language)
    expect(reader.page.locator("header")).to_contain_text(GREETINGS[language])
    expect(reader.page.locator("#interface")).to_contain_text("/v1/topics/{topic}/messages")


def test_the_page_of_the_interface_tries_a_request_on_the_hub(hub: HubProcess, open_page: OpenPage) -> None:
    reader = open_page("reader", "en")
    reader.page.goto(f"http://{hub.addresses.http}/docs")

    operation = reader.page.locator(".opblock", has=reader.page.locator('[data-path="/healthz"]'))
    operation.locator(".opblock-summary-control").click()
    operation.get_by_role("button", name="Execute").click()

    expect(operation.locator(".live-responses-table tbody .response-col_status")).to_contain_text("200")
