"""People, tokens, the audit and one's own account on the administration pages."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import expect
from scenario.conftest import MakeHub
from scenario.hub_process import HubProcess

from .admin_people import PASSWORD, Administrator, make_people, start_with_people
from .conftest import OpenPage

REFUSED = r"status of (400|401|403|404|409|429)"
"""Browsers write a line to the console for an answer like these, though the page shows it as it should."""
PHONE = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}
OTHER = "another long sentence"


@pytest.fixture(scope="module", autouse=True)
def people(module_hub: HubProcess) -> None:
    """The people of the tests, in the hub that they share."""
    module_hub.stop()
    make_people(module_hub.data)
    module_hub.start()


def test_somebody_is_let_in_changed_shut_out_and_removed(hub: HubProcess, open_page: OpenPage) -> None:
    visitor = open_page("ana", "en")
    visitor.allow(REFUSED)
    ana = Administrator(visitor, hub).enter()
    ana.go("people")
    ana.press("New person")
    ana.fill(name="luis", password=PASSWORD, again=OTHER)
    ana.page.get_by_label("operator", exact=True).check()
    ana.press("Let them in")
    ana.sees("the two passwords are not the same")
    ana.fill(password=PASSWORD, again=PASSWORD)
    ana.press("Let them in")
    ana.sees("Created.")
    other = open_page("luis", "es")
    # A live page of who is out asks once more, is refused, and goes to where one enters.
    other.allow(REFUSED)
    luis = Administrator(other, hub, "luis").enter()
    expect(luis.page.locator(".side .me")).to_contain_text("operador")

    ana.press("luis")
    ana.press("Disable")
    ana.sees("This person is disabled and cannot enter.")
    luis.page.goto(f"{luis.base}/topics")
    expect(luis.page.locator("h1")).to_have_text("Entrar")
    ana.fill(name="luis")
    ana.page.get_by_role("button", name="Remove").click()

    ana.sees("Deleted.")
    assert ana.page.get_by_role("link", name="luis").count() == 0


def test_the_last_who_administers_stays(hub: HubProcess, open_page: OpenPage) -> None:
    visitor = open_page("ana", "es")
    visitor.allow(REFUSED)
    ana = Administrator(visitor, hub).enter()

    ana.go("people/ana")
    ana.page.get_by_label("lector", exact=True).check()
    ana.press("Guardar")

    ana.sees("Es el último que administra")


def test_the_first_token_closes_the_hub_is_shown_once_and_stays(make_hub: MakeHub, open_page: OpenPage) -> None:
    hub = start_with_people(make_hub())
    rest = f"http://{hub.addresses.http}/v1/topics"
    assert httpx.get(rest).status_code == 200
    visitor = open_page("ana", "en")
    visitor.allow(REFUSED)
    ana = Administrator(visitor, hub).enter()
    ana.go("people")
    ana.sees("This hub is open")
    ana.press("Make an administrator's token")
    ana.fill(owner="root", label="for the night", lifetime="90d")
    ana.press("Make the token")

    ana.sees("The hub is closed now")
    token = ana.page.locator("#secret-value").input_value()
    assert token not in ana.page.url
    assert httpx.get(rest).status_code == 401
    assert httpx.get(rest, headers={"Authorization": f"Bearer {token}"}).status_code == 200
    ana.press("I have kept it")
    ana.sees("for the night")
    assert token.rpartition("_")[2] not in ana.page.content()
    ana.page.locator("details.ask summary", has_text="Revoke").click()
    ana.press("Revoke now")
    ana.sees("It is the last one that administers")
    assert httpx.get(rest, headers={"Authorization": f"Bearer {token}"}).status_code == 200


def test_who_reads_sees_names_and_roles_and_no_tokens_nor_buttons(hub: HubProcess, open_page: OpenPage) -> None:
    visitor = open_page("rita", "en", **PHONE)
    visitor.allow(REFUSED)
    rita = Administrator(visitor, hub, "rita").enter()

    rita.go("people")

    expect(rita.page.locator("tr", has_text="ana")).to_contain_text("administrator")
    assert rita.page.get_by_role("heading", name="Tokens", exact=True).count() == 0
    assert rita.page.locator("main").get_by_role("button").count() == 0
    assert rita.page.locator("main a[href*=new]").count() == 0
    forbidden = ("people/ana", "people/-/new", "tokens/new")
    assert [rita.page.request.get(f"{rita.base}/{path}").status for path in forbidden] == [403, 403, 403]
    assert rita.page.evaluate("document.documentElement.scrollWidth") == 390


def test_one_changes_ones_own_password_and_is_out_everywhere_else(make_hub: MakeHub, open_page: OpenPage) -> None:
    hub = start_with_people(make_hub())
    visitor, elsewhere = open_page("omar", "en"), open_page("omar elsewhere", "en")
    visitor.allow(REFUSED)
    # A live page of who is out asks once more, is refused, and goes to where one enters.
    elsewhere.allow(REFUSED)
    here = Administrator(visitor, hub, "omar").enter()
    there = Administrator(elsewhere, hub, "omar").enter()
    here.go("account")
    here.fill(old="not this one at all", password=OTHER, again=OTHER)
    here.press("Change the password")
    here.sees("the password that you have now is another one")

    here.fill(old=PASSWORD, password=OTHER, again=OTHER)
    here.press("Change the password")
    here.sees("The password was changed.")
    there.page.goto(f"{there.base}/topics")
    expect(there.page.locator("h1")).to_have_text("Enter")
    there.fill_entry(OTHER)
    expect(there.page.locator("h1")).to_have_text("Topics")
    here.go("account")
    here.press("End the other sessions")

    here.sees("The other sessions were ended.")
    there.page.goto(f"{there.base}/topics")
    expect(there.page.locator("h1")).to_have_text("Enter")
    here.go("topics")


def test_the_audit_tells_who_did_what_and_is_searched(hub: HubProcess, open_page: OpenPage, topic: str) -> None:
    ana = Administrator(open_page("ana", "es"), hub).enter()
    with hub.client() as client:
        for number in range(60):
            client.create("topic", name=f"{topic[:80]}-{number}")
    ana.go("topics/-/new")
    ana.fill(name=topic)
    ana.page.locator("main form button.strong").click()
    ana.sees("Se creó.")

    ana.go("audit")
    expect(ana.page.locator("tbody tr").first).to_contain_text(f"ana creó el tópico {topic}")
    ana.fill(who="ana", kind="topic")
    ana.press("Buscar")
    expect(ana.page.locator("tbody tr")).to_have_count(1)
    ana.go("audit?kind=topic")
    expect(ana.page.locator("tbody tr")).to_have_count(50)
    ana.press("Anteriores")
    ana.sees("Cualquiera (el pregón estaba abierto)")
    expect(ana.page.locator("tbody tr")).to_have_count(11)
    ana.go("audit?until=2001-01-01T00:00")

    ana.sees("No hay nada así.")
