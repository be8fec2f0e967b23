"""Entering the administration pages, what protects them, and how they look to each person."""

from __future__ import annotations

import re
import sqlite3

import httpx
import pytest
from playwright.sync_api import expect
from scenario.conftest import MakeHub
from scenario.hub_process import HubProcess, wait_until

from .admin_people import PASSWORD, Administrator, make_people, start_with_people
from .conftest import OpenPage
from .visitors import Language

REFUSED = r"status of (401|403|404|429)"
"""Browsers write a line to the console for an answer like these, though the page shows it as it should."""
PLACES = (
    "",
    "topics",
    "producers",
    "subscribers",
    "subscriptions",
    "parked",
    "traces",
    "services",
    "groups",
    "pipeline",
)
HOUSE = ("audit", "people", "account")


@pytest.fixture(scope="module", autouse=True)
def people(module_hub: HubProcess) -> None:
    """The people of the tests, in the hub that they share."""
    module_hub.stop()
    make_people(module_hub.data)
    module_hub.start()


@pytest.mark.parametrize("language, word", [("es", "Entrar"), ("en", "Enter")])
def test_whoever_has_not_entered_sees_only_where_one_enters(
    hub: HubProcess, open_page: OpenPage, language: Language, word: str
) -> None:
    ana = Administrator(open_page("ana", language), hub)

    ana.page.goto(f"{ana.base}/topics?q=x")
    expect(ana.page.locator("h1")).to_have_text(word)
    ana.fill_entry()

    expect(ana.page).to_have_url(f"{ana.base}/topics?q=x")
    expect(ana.page.locator("html")).to_have_attribute("lang", language)


def test_a_wrong_password_and_an_unknown_name_are_told_the_same(hub: HubProcess, open_page: OpenPage) -> None:
    visitor = open_page("somebody", "en")
    visitor.allow(REFUSED)
    said = []

    for name in ("ana", "nobody"):
        somebody = Administrator(visitor, hub, name)
        somebody.page.goto(f"{somebody.base}/enter")
        somebody.fill_entry("not the password")
        said.append(somebody.page.get_by_role("alert").inner_text())

    assert said[0] == said[1]
    assert "The name or the password is not right." in said[0]


def test_a_reader_sees_every_page_and_changes_nothing(hub: HubProcess, open_page: OpenPage) -> None:
    with hub.client(producer="registry") as client:
        client.publish("read-only", "something")
    visitor = open_page("rita", "en")
    rita = Administrator(visitor, hub, "rita").enter()
    buttons: dict[str, list[str]] = {}

    for place in (*PLACES, *HOUSE, "topics/read-only"):
        rita.go(place)
        forms = rita.page.locator("main form[method=post]:visible")
        buttons[place] = [one.get_attribute("action") or "" for one in forms.all()]
    visitor.allow(REFUSED)
    mark = rita.page.locator("input[name=csrf]").first.get_attribute("value")
    cookies = {one["name"]: one["value"] for one in visitor.context.cookies()}
    refused = {
        path: httpx.post(
            f"{rita.base}/{path}", data={"csrf": mark, "confirm": "read-only"}, cookies=cookies
        ).status_code
        for path in ("topics/read-only/delete", "topics/read-only/disable", "topics/-/new", "parked/settle")
    }

    # One's own password and sessions are the only things that a reader has.
    assert {place: forms for place, forms in buttons.items() if forms and place != "account"} == {}
    assert set(refused.values()) <= {403, 404, 405}
    assert refused["topics/read-only/delete"] == 403
    with hub.client() as client:
        assert client.show("topic", "read-only")["head_seq"] == 1


def test_a_form_of_another_page_changes_nothing(hub: HubProcess, open_page: OpenPage) -> None:
    visitor = open_page("ana", "en")
    ana = Administrator(visitor, hub).enter()
    cookies = {one["name"]: one["value"] for one in visitor.context.cookies()}
    wanted = {"name": "made-by-another-site"}

    without = httpx.post(f"{ana.base}/topics/-/new", data=wanted, cookies=cookies)
    wrong = httpx.post(f"{ana.base}/topics/-/new", data={**wanted, "csrf": "0" * 64}, cookies=cookies)
    elsewhere = httpx.post(
        f"{ana.base}/topics/-/new", data=wanted, cookies=cookies, headers={"origin": "https://evil.example"}
    )
    with hub.client() as client:
        topics = [one["name"] for one in client.list("topic")]

    assert [one.status_code for one in (without, wrong, elsewhere)] == [403, 403, 403]
    assert "made-by-another-site" not in topics


def test_a_session_that_ended_says_so_and_goes_on_where_it_was(hub: HubProcess, open_page: OpenPage) -> None:
    visitor = open_page("ana", "en")
    ana = Administrator(visitor, hub).enter()
    ana.go("subscriptions?sort=pending&down=1")
    other = Administrator(open_page("ana again", "en"), hub).enter()

    other.go("account")
    other.press(re.compile("other sessions"))
    ana.page.reload()
    ana.sees("Your session has ended, and nothing was changed.")
    ana.fill_entry()

    expect(ana.page).to_have_url(f"{ana.base}/subscriptions?sort=pending&down=1")


def test_a_session_of_which_nothing_is_heard_expires(make_hub: MakeHub, open_page: OpenPage) -> None:
    hub = start_with_people(make_hub(admin_idle_minutes="1"))
    visitor = open_page("ana", "en")
    visitor.allow(REFUSED)
    # The page goes on asking while the hub is down.
    visitor.allow(r"htmx:|ERR_CONNECTION_REFUSED")
    ana = Administrator(visitor, hub).enter()
    ana.go()
    hub.stop()
    with sqlite3.connect(hub.data / "pregon.db") as database:
        database.execute("UPDATE admin_session SET seen_us = seen_us - 61000000")
    database.close()
    hub.start()

    # The page looks at itself again and again: that alone keeps no session.
    ana.page.wait_for_url(re.compile(r"/admin/enter\?.*ended=1"))

    ana.sees("Your session has ended, and nothing was changed.")


def test_whoever_is_in_stays_in_where_there_is_no_page(hub: HubProcess, open_page: OpenPage) -> None:
    visitor = open_page("ana", "en")
    visitor.allow(REFUSED)
    ana = Administrator(visitor, hub).enter()

    answer = ana.page.goto(f"{ana.base}/nowhere/at/all")

    assert answer is not None and answer.status == 404
    expect(ana.page.locator("h1")).to_have_text("Not here")
    expect(ana.page.get_by_role("button", name="Leave").first).to_be_visible()


def test_leaving_ends_the_session_for_the_browser_and_for_the_hub(hub: HubProcess, open_page: OpenPage) -> None:
    visitor = open_page("ana", "en")
    ana = Administrator(visitor, hub).enter()
    cookies = {one["name"]: one["value"] for one in visitor.context.cookies()}

    ana.page.get_by_role("button", name="Leave").first.click()
    ana.sees("You have left.")
    again = httpx.get(f"{ana.base}/topics", cookies=cookies)

    assert again.status_code == 303
    assert "/admin/enter" in again.headers["location"]


def test_the_first_administrator_enters_by_a_link_that_works_once(make_hub: MakeHub, open_page: OpenPage) -> None:
    hub = make_hub()
    link = start_and_read_link(hub)
    ana = Administrator(open_page("ana", "en"), hub)

    ana.page.goto(link)
    ana.fill(name="ana", password=PASSWORD, again=PASSWORD)
    ana.press("Begin")
    expect(ana.page.locator("h1")).to_have_text("Overview")
    second = httpx.get(link)

    assert second.status_code == 303
    assert second.headers["location"] == "/admin/enter"


def start_and_read_link(hub: HubProcess) -> str:
    """Start a hub that has no administrator, and read the link that it prints."""
    import subprocess

    from scenario.hub_process import COMMAND, clean_environment

    printed = hub.log.with_suffix(".out")
    with printed.open("wb") as out, hub.log.open("ab") as log:
        hub._process = subprocess.Popen(
            [*COMMAND, "serve", *hub.options], stdin=subprocess.DEVNULL, stdout=out, stderr=log, env=clean_environment()
        )
    wait_until(lambda: re.search(r"http\S+/admin/setup\?link=\S+", printed.read_text()), "the link is printed")
    found = re.search(r"http\S+/admin/setup\?link=\S+", printed.read_text())
    assert found is not None
    return found.group()


def test_a_hub_that_is_set_up_draws_its_first_form_no_more_and_knows_where_it_was_sent_from(make_hub: MakeHub) -> None:
    hub = make_hub()
    link = start_and_read_link(hub).rpartition("=")[2]
    base = f"http://{hub.addresses.http}/admin"
    with httpx.Client() as browser:
        mark = re.findall(r'name="csrf" value="(\w+)"', browser.get(f"{base}/setup?link={link}").text)[0]
        form = {"csrf": mark, "link": link, "name": "ana", "password": PASSWORD, "again": PASSWORD}
        differing = {**form, "again": "another sentence"}

        before = browser.post(f"{base}/setup", data=differing)
        made = httpx.post(f"{base}/setup", data=form, cookies=browser.cookies)
        after = browser.post(f"{base}/setup", data=differing)

    assert [one.status_code for one in (before, made, after)] == [400, 303, 303]
    assert after.headers["location"] == "/admin/enter"
    [newest, *_] = httpx.get(f"http://{hub.addresses.http}/v1/audit").json()["items"]
    assert (newest["action"], newest["detail"]["address"]) == ("enter", "127.0.0.1")


def test_too_many_wrong_passwords_are_refused_for_a_while(make_hub: MakeHub) -> None:
    hub = start_with_people(make_hub())
    base = f"http://{hub.addresses.http}/admin"
    with httpx.Client() as browser:
        page = browser.get(f"{base}/enter").text
        mark = re.findall(r'name="csrf" value="(\w+)"', page)[0]

        statuses = [
            browser.post(f"{base}/enter", data={"csrf": mark, "name": "ana", "password": f"wrong {number}"}).status_code
            for number in range(14)
        ]

    assert statuses[0] == 401
    assert statuses[-1] == 429


@pytest.mark.parametrize("language", ["es", "en"])
def test_every_page_is_there_in_both_languages_and_nothing_is_wider_than_a_phone(
    hub: HubProcess, open_page: OpenPage, language: Language
) -> None:
    phone = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}
    ana = Administrator(open_page("ana", language, **phone), hub).enter()
    wide = []

    for place in (*PLACES, *HOUSE, "topics/-/new", "producers/-/new", "subscribers/-/new", "subscriptions/new"):
        ana.go(place)
        assert ana.page.locator("html").get_attribute("lang") == language
        if ana.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth + 1"):
            wide.append(place)

    assert wide == []


def test_what_may_run_in_a_page_is_only_ours(hub: HubProcess) -> None:
    answer = httpx.get(f"http://{hub.addresses.http}/admin/enter")

    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))

    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|style=", answer.text)
    assert "no-store" in answer.headers["cache-control"]


def test_the_cookie_of_a_session_is_not_for_scripts_nor_for_other_sites(hub: HubProcess, open_page: OpenPage) -> None:
    visitor = open_page("ana", "en")
    ana = Administrator(visitor, hub).enter()

    (session,) = [one for one in visitor.context.cookies() if one["name"] == "pregon_admin"]
    seen = ana.page.evaluate("document.cookie")

    assert (session["httpOnly"], session["sameSite"], session["path"]) == (True, "Lax", "/admin")
    assert "pregon_admin" not in seen
