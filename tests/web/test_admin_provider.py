"""Entering the administration pages by an identity provider, in a browser: there, back, and every way not to get in."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
from playwright.sync_api import expect
from scenario.conftest import MakeHub
from scenario.hub_process import HubProcess, end
from scenario.identity_provider import CALLBACK, CLIENT, SECRET, IdentityProvider

from pregon.testing import run_hub

from .admin_people import PASSWORD, Administrator
from .conftest import OpenPage
from .visitors import Language

REFUSED = r"status of (401|403|503)"
"""Browsers write a line to the console for an answer like these, though the page shows it as it should."""
PEOPLE = {
    "ana": {"preferred_username": "ana", "roles": ["pregon:read", "pregon:admin"]},
    "rita": {"email": "rita@example.org", "roles": "pregon:read"},
    "nora": {"preferred_username": "nora", "roles": ["another:admin"]},
}
TITLE = "Identidad Uruguay"
BUTTON = re.compile(re.escape(TITLE))


@pytest.fixture(scope="module")
def shared_provider() -> Iterator[IdentityProvider]:
    """A provider where three people enter: one administers here, one reads, and one has no role."""
    with IdentityProvider() as made:
        made.people.update(PEOPLE)
        yield made


@pytest.fixture
def provider(shared_provider: IdentityProvider) -> Iterator[IdentityProvider]:
    """The same, as it should be again when the test ends."""
    yield shared_provider
    shared_provider.said = {}
    shared_provider.answers.clear()


@pytest.fixture(scope="module")
def module_hub(shared_provider: IdentityProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    """A hub that nobody enters with a password."""
    made = HubProcess(tmp_path_factory.mktemp("hub") / "data", **settings_for(shared_provider.issuer)).start()
    try:
        yield made
        assert made.is_alive, "a test of this module ended the hub"
    finally:
        end(made)


def settings_for(issuer: str) -> dict[str, str]:
    """The settings of a hub of this provider."""
    return {
        "admin_oidc_issuer": issuer,
        "admin_oidc_client": CLIENT,
        "admin_oidc_secret": SECRET,
        "admin_oidc_title": TITLE,
    }


def enter(who: Administrator, path: str = "") -> None:
    """From a page to the provider, where they press the button with their name."""
    who.page.goto(f"{who.base}/{path}".rstrip("/"))
    who.press(BUTTON)
    who.page.get_by_role("button", name=who.name, exact=True).click()


def audit(hub: HubProcess) -> list[dict[str, Any]]:
    """What the audit says, the newest first."""
    found: list[dict[str, Any]] = httpx.get(f"http://{hub.addresses.http}/v1/audit").json()["items"]
    return found


@pytest.mark.parametrize("language, words", [("es", "Entrar con"), ("en", "Enter with")])
def test_an_administrator_enters_and_gets_where_they_wanted(
    hub: HubProcess, provider: IdentityProvider, open_page: OpenPage, language: Language, words: str
) -> None:
    ana = Administrator(open_page("ana", language), hub)

    ana.page.goto(f"{ana.base}/topics?q=x")
    expect(ana.page.locator("main form[action='/admin/enter']")).to_have_count(0)
    expect(ana.page.get_by_role("link", name=f"{words} {TITLE}")).to_be_visible()
    enter(ana, "topics?q=x")

    expect(ana.page).to_have_url(f"{ana.base}/topics?q=x")
    expect(ana.page.locator("html")).to_have_attribute("lang", language)
    newest = audit(hub)[0]
    assert (newest["who"], newest["action"], newest["detail"]["source"]) == ("oidc ana", "enter", "oidc")
    kept = {one["name"]: one for one in ana.visitor.context.cookies() if one["domain"] == "127.0.0.1"}
    assert all(
        kept[name]["httpOnly"] and kept[name]["sameSite"] == "Lax" for name in ("pregon_admin", "pregon_provider")
    )


def test_who_reads_may_not_write_and_who_administers_may(
    hub: HubProcess, provider: IdentityProvider, open_page: OpenPage
) -> None:
    statuses = {}
    for name in ("ana", "rita"):
        person = Administrator(open_page(name, "en"), hub, name)
        enter(person)
        expect(person.page).to_have_url(person.base)
        person.visitor.allow(REFUSED)
        answer = person.page.goto(f"{person.base}/producers/-/new")
        statuses[name] = answer.status if answer else 0

    assert statuses == {"ana": 200, "rita": 403}
    assert "oidc rita@example.org" in {entry["who"] for entry in audit(hub)}


def test_leaving_ends_the_session_and_one_can_come_back(
    hub: HubProcess, provider: IdentityProvider, open_page: OpenPage
) -> None:
    ana = Administrator(open_page("ana", "en"), hub)
    enter(ana)
    expect(ana.page).to_have_url(ana.base)
    [session] = [one["value"] for one in ana.visitor.context.cookies() if one["name"] == "pregon_admin"]

    ana.page.get_by_role("button", name="Leave").locator("visible=true").first.click()
    expect(ana.page.locator("h1")).to_have_text("Enter")
    after = httpx.get(ana.base, cookies={"pregon_admin": session})
    enter(ana)

    expect(ana.page).to_have_url(ana.base)
    assert after.status_code == 303
    assert [entry["action"] for entry in audit(hub)[:3]] == ["enter", "leave", "enter"]


def test_somebody_without_a_role_is_told_so_and_the_audit_has_it(
    hub: HubProcess, provider: IdentityProvider, open_page: OpenPage
) -> None:
    nora = Administrator(open_page("nora", "es"), hub, "nora")
    nora.visitor.allow(REFUSED)

    enter(nora, "topics")

    nora.sees("no le da ningún rol en este pregón")
    assert "pregon_admin" not in {one["name"] for one in nora.visitor.context.cookies()}
    newest = audit(hub)[0]
    assert (newest["who"], newest["action"]) == ("oidc nora", "enter_failed")


def test_somebody_who_does_not_say_who_they_are_is_not_let_in(
    hub: HubProcess, provider: IdentityProvider, open_page: OpenPage
) -> None:
    somebody = Administrator(open_page("somebody", "en"), hub, "nobody")
    somebody.visitor.allow(REFUSED)

    enter(somebody)

    somebody.sees("The identity provider did not let you in.")
    assert "they did not say" not in somebody.page.content()
    # The page says it in another language too, and from there one can try again.
    somebody.page.get_by_role("link", name="Español").click()
    somebody.sees("no le permitió entrar")
    expect(somebody.page.get_by_role("link", name=BUTTON)).to_be_visible()


WRONG: dict[str, dict[str, Any]] = {
    "nonce": {"nonce": "of-another-entry"},
    "audience": {"aud": "another-client"},
    "expired": {"exp": time.time() - 3_600},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_token_that_is_not_for_this_entry_lets_nobody_in(
    hub: HubProcess, provider: IdentityProvider, open_page: OpenPage, wrong: str
) -> None:
    ana = Administrator(open_page("ana", "en"), hub)
    ana.visitor.allow(REFUSED)
    provider.said = WRONG[wrong]

    enter(ana)

    ana.sees("cannot be trusted")
    assert "pregon_admin" not in {one["name"] for one in ana.visitor.context.cookies()}
    newest = audit(hub)[0]
    assert (newest["who"], newest["action"], newest["detail"]["source"]) == ("", "enter_failed", "oidc")


def test_an_entry_goes_on_only_in_the_browser_where_it_began_and_only_once(
    hub: HubProcess, provider: IdentityProvider, open_page: OpenPage
) -> None:
    ana, other = Administrator(open_page("ana", "en"), hub), Administrator(open_page("other", "en"), hub)
    other.visitor.allow(REFUSED)
    ana.visitor.allow(REFUSED)
    ana.page.goto(f"{ana.base}/enter/provider")
    asked = dict(parse_qsl(urlsplit(ana.page.url).query))
    way_back = provider.choose({**asked, "who": "ana"}).location

    other.page.goto(way_back)
    other.sees("begun in another browser")
    ana.page.goto(way_back)
    expect(ana.page).to_have_url(ana.base)
    ana.page.goto(way_back)
    expect(ana.page).to_have_url(ana.base)
    ana.page.context.clear_cookies(name="pregon_admin")
    ana.page.goto(way_back)

    ana.sees("was used already")
    assert [one["name"] for one in other.visitor.context.cookies()].count("pregon_admin") == 0


def test_what_a_link_claims_to_come_from_the_provider_is_not_repeated(hub: HubProcess, open_page: OpenPage) -> None:
    ana = Administrator(open_page("ana", "en"), hub)
    ana.visitor.allow(REFUSED)

    for query in ("error=%3Cscript%3E&error_description=call+555&state=x", "code=stolen&state=guessed", ""):
        ana.page.goto(f"{ana.base}/enter/callback?{query}")
        ana.sees("Begin again.")

        assert not {"555", "guessed", "stolen"} & set(re.findall(r"\w+", ana.page.content() + ana.page.url))


def test_a_provider_that_is_down_is_said_to_be_and_the_other_pages_go_on(
    make_hub: MakeHub, open_page: OpenPage
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hub = make_hub(**settings_for(f"http://127.0.0.1:{silent.getsockname()[1]}")).start()
        ana, other = Administrator(open_page("ana", "es"), hub), Administrator(open_page("other", "en"), hub)
        ana.visitor.allow(REFUSED)
        ana.page.goto(ana.base)

        ana.page.get_by_role("link", name=BUTTON).click(no_wait_after=True)
        other.page.goto(f"{other.base}/enter")
        expect(other.page.get_by_role("link", name=BUTTON)).to_be_visible()
        # Ana still waits: her page has not changed.
        still_waits = not ana.page.url.startswith(f"{ana.base}/enter/refused")

        ana.sees("No se puede llegar al proveedor de identidad.")
        assert still_waits
        assert hub.stop() == 0


def test_the_link_of_a_new_hub_makes_an_administrator_beside_a_provider(
    provider: IdentityProvider, open_page: OpenPage
) -> None:
    with run_hub(**settings_for(provider.issuer)) as running:
        link = running.server.gate.people.make_link()
        page = open_page("ana", "en").page

        page.goto(f"{running.http}/admin/setup?link={link}")
        page.locator("[name=name]").fill("ana")
        for field in ("password", "again"):
            page.locator(f"[name={field}]").fill(PASSWORD)
        page.locator("main form button.strong").click()
        expect(page).to_have_url(f"{running.http}/admin")
        page.context.clear_cookies()
        page.goto(f"{running.http}/admin/enter")

        # From now on there are both ways.
        expect(page.locator("[name=password]")).to_be_visible()
        expect(page.get_by_role("link", name=BUTTON)).to_be_visible()


def test_behind_a_proxy_people_are_sent_back_to_the_address_that_they_know(
    provider: IdentityProvider,
) -> None:
    with run_hub(public_url="https://hub.example.org/", **settings_for(provider.issuer)) as running:
        sent = httpx.get(f"{running.http}/admin/enter/provider?back=//elsewhere.example")

    asked = dict(parse_qsl(urlsplit(sent.headers["location"]).query))
    assert sent.status_code == 303
    assert asked["redirect_uri"] == f"https://hub.example.org{CALLBACK}"
    assert all("Secure" in cookie and "HttpOnly" in cookie for cookie in sent.headers.get_list("set-cookie"))


def test_a_hub_without_a_provider_has_no_such_pages() -> None:
    with run_hub() as running:
        statuses = [httpx.get(f"{running.http}/admin/enter/{one}").status_code for one in ("provider", "callback")]
        new = httpx.get(f"{running.http}/admin/enter")

    assert statuses == [404, 404]
    assert (new.status_code, new.headers["location"]) == (303, "/admin/setup")


def test_who_administers_sees_who_is_in_and_ends_what_they_have_open(
    hub: HubProcess, provider: IdentityProvider, open_page: OpenPage
) -> None:
    rita = Administrator(open_page("rita", "en"), hub, "rita")
    enter(rita)
    expect(rita.page).to_have_url(rita.base)
    ana = Administrator(open_page("ana", "en"), hub)
    enter(ana, "people")

    row = ana.page.locator("tr", has_text="rita@example.org")
    expect(row).to_contain_text("by the identity provider")
    row.locator("summary").click()
    row.get_by_role("button", name="End now").click()

    ana.sees("Ended: whoever it was must enter again.")
    expect(ana.page.locator("tr", has_text="rita@example.org")).to_have_count(0)
    rita.page.goto(f"{rita.base}/topics")
    expect(rita.page.locator("h1")).to_have_text("Enter")
    newest = next(entry for entry in audit(hub) if entry["action"] == "end")
    assert (newest["who"], newest["object"]) == ("oidc ana", "rita@example.org")


def test_a_hub_that_has_no_provider_any_more_takes_none_of_its_sessions(
    make_hub: MakeHub, provider: IdentityProvider
) -> None:
    hub = make_hub(**settings_for(provider.issuer)).start()
    with httpx.Client() as browser:
        sent = browser.get(f"http://{hub.addresses.http}/admin/enter/provider")
        asked = dict(parse_qsl(urlsplit(sent.headers["location"]).query))
        back = httpx.post(f"{provider.issuer}/authorize", data={**asked, "who": "ana"}).headers["location"]
        browser.get(back)
        cookies = dict(browser.cookies)
    before = httpx.get(f"http://{hub.addresses.http}/admin", cookies=cookies)
    hub.stop()

    without = make_hub().start()
    after = httpx.get(f"http://{without.addresses.http}/admin", cookies=cookies)

    assert before.status_code == 200
    assert (after.status_code, after.headers["location"]) == (303, "/admin/setup")
