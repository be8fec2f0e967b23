"""The page of the chat itself: languages, appearance, narrow screens, the keyboard, what it may load."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Page, expect
from scenario.conftest import MakeHub
from scenario.hub_process import HubProcess

from .chat_people import REFUSED_BY_HUB, Person, checked
from .conftest import OpenPage
from .visitors import Language

PHONE = {"viewport": {"width": 360, "height": 640}, "has_touch": True, "is_mobile": True}


JOINED: dict[Language, str] = {"es": "entró", "en": "came in"}


@pytest.mark.parametrize("language, other", [("es", "en"), ("en", "es")])
def test_it_speaks_the_language_of_the_browser_until_another_is_chosen(
    hub: HubProcess, open_page: OpenPage, topic: str, language: Language, other: Language
) -> None:
    ana = Person(open_page("Ana", language), hub.addresses.http).come_in(topic)
    expect(ana.page.locator("html")).to_have_attribute("lang", language)
    before = ana.events()[-1]

    ana.set_setting("language", other)
    expect(ana.page.locator("html")).to_have_attribute("lang", other)
    changed = ana.events()[-1]
    ana.page.reload()
    expect(ana.page.locator("#title")).to_have_text(topic)
    expect(ana.page.locator("#log .event")).to_have_count(1)

    assert before == f"{ana.name} {JOINED[language]}"
    assert changed == ana.events()[-1] == f"{ana.name} {JOINED[other]}"


def test_both_languages_say_the_same_things(hub: HubProcess, open_page: OpenPage) -> None:
    page = open_page("reader").page
    page.goto(f"http://{hub.addresses.http}/chat")

    found = page.evaluate("""async () => {
      const { wordsOf } = await import("/chat/words.js");
      const places = (text) => Object.values(typeof text === "object" ? text : { text })
        .flatMap((one) => one.match(/[{]\\w+[}]/g) ?? []);
      const shape = (words) => Object.entries(words).map(([key, text]) => [key, [...new Set(places(text))].sort()]);
      return [Object.fromEntries(shape(wordsOf("es"))), Object.fromEntries(shape(wordsOf("en")))];
    }""")

    assert found[0] == found[1]
    assert len(found[0]) > 50


def test_on_a_phone_nothing_is_wider_than_the_screen(hub: HubProcess, open_page: OpenPage, topic: str) -> None:
    ana = Person(open_page("Ana", **PHONE), hub.addresses.http)
    ana.page.goto(f"{ana.address}/chat")
    check_width(ana.page)
    ana.come_in()
    check_width(ana.page)

    ana.go_to_on_phone(topic)
    ana.write("una palabra muy larga: " + "a" * 500, "x", "y")
    ana.wait_for("y")
    for number in range(5):
        ana.answer_on_phone("y" if number == 0 else f"respuesta {number}", f"respuesta {number + 1}")
        ana.wait_for(f"respuesta {number + 1}")
    check_width(ana.page)
    ana.page.locator("#show-members").tap()
    expect(ana.page.locator("#member-list li")).to_be_in_viewport()
    check_width(ana.page)
    ana.page.locator("#curtain").tap(position={"x": 10, "y": 300})
    expect(ana.page.locator("#member-list li")).not_to_be_in_viewport()
    ana.page.locator("#show-places").tap()
    expect(ana.page.locator("#room-list li")).to_be_in_viewport()
    check_width(ana.page)


def check_width(page: Page) -> None:
    """Nothing is cut at the right, and nothing scrolls sideways."""
    wide, narrow = page.evaluate("""() => [
      [document.documentElement, ...document.querySelectorAll(".scroll")]
        .map((one) => one.scrollWidth - one.clientWidth),
      innerWidth,
    ]""")
    assert max(wide) <= 0
    assert narrow == PHONE["viewport"]["width"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_light_or_dark_as_the_system_until_one_is_chosen(
    hub: HubProcess, open_page: OpenPage, topic: str, scheme: str
) -> None:
    other = "dark" if scheme == "light" else "light"
    ana = Person(open_page("Ana", color_scheme=scheme), hub.addresses.http).come_in(topic)
    as_system = brightness(ana.page)

    ana.set_setting("theme", other)

    assert (as_system > 0.5) == (scheme == "light")
    assert (brightness(ana.page) > 0.5) == (other == "light")


def brightness(page: Page) -> float:
    """How light the paper is, from 0 to 1."""
    colour: str = page.locator("#conversation").evaluate("one => getComputedStyle(one).backgroundColor")
    parts = [float(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    return sum(parts) / len(parts) / 255


def test_a_conversation_needs_no_mouse(hub: HubProcess, open_page: OpenPage, topic: str) -> None:
    ana = Person(open_page("Ana"), hub.addresses.http).come_in(topic)
    keys = ana.page.keyboard
    keys.type("¿hola?")
    keys.press("Enter")
    ana.wait_for("¿hola?")

    keys.press("ArrowUp")
    expect(ana.row("¿hola?")).to_be_focused()
    keys.press("Tab")
    keys.press("Enter")
    expect(ana.page.locator("#answering-what")).to_have_text("¿hola?")
    keys.type("hola")
    keys.press("Enter")
    ana.wait_for("hola")

    assert [row.answers is not None for row in ana.rows() if row.kind == "message"] == [False, True]
    expect(ana.page.get_by_role("log")).to_contain_text("¿hola?")
    unnamed = ana.page.evaluate("""() => [...document.querySelectorAll("button, a, input, select, textarea")].filter(
      (one) => one.checkVisibility() && !(one.ariaLabel || one.textContent.trim() || one.labels?.length))
      .map((one) => one.outerHTML)""")
    assert unnamed == []


def test_a_link_to_a_room_leads_into_it_and_one_with_a_slip_makes_none(
    hub: HubProcess, open_page: OpenPage, topic: str
) -> None:
    ana = Person(open_page("Ana"), hub.addresses.http).come_in(topic)
    luis = Person(open_page("Luis"), hub.addresses.http)

    luis.page.goto(f"{luis.address}/chat#{topic}-slip")
    luis.choose_name(luis.name)
    expect(luis.page.locator("#room-error")).to_have_text(f"No hay ninguna sala «{topic}-slip».")
    luis.page.goto(f"{luis.address}/chat#{topic}")
    expect(luis.page.locator("#title")).to_have_text(topic)
    luis.page.evaluate("location.hash = '%E0%A4%A'")

    expect(ana.page.locator("#member-list li")).to_have_count(2)
    with httpx.Client(base_url=luis.address) as client:
        assert client.get(f"/v1/groups/{topic}-slip").status_code == 404


def test_a_hub_that_asks_for_keys_is_told_one(make_hub: MakeHub, open_page: OpenPage) -> None:
    hub = make_hub(require_keys="true", auto_create="false").start()
    admin_key = make_token(hub, "boss", "admin", "")
    reader_key = make_token(hub, "reader", "read", admin_key)
    ana, luis = (Person(open_page(name), hub.addresses.http) for name in ("Ana", "Luis"))

    for person, key in ((ana, admin_key), (luis, reader_key)):
        person.visitor.allow(f"{REFUSED_BY_HUB}|WebSocket connection to .* failed")
        person.page.goto(f"{person.address}/chat")
        expect(person.page.locator("#entry-key")).to_be_hidden()
        person.choose_name(person.name)
        for tried in ("nonsense", key):
            expect(person.page.locator("#entry-error")).to_contain_text("Esta central pide una clave")
            person.page.locator("#entry-key").fill(tried)
            person.choose_name(person.name)
        expect(person.page.locator("#self-name")).to_have_text(person.name)
    ana.go_to("plaza")
    luis.page.locator("#room-name").fill("otra")
    luis.page.locator("#room-name").press("Enter")
    expect(luis.page.locator("#room-error")).to_contain_text("solo las crea quien administra la central")
    luis.go_to("plaza")
    luis.write("hola")

    ana.wait_for("hola")


def make_token(hub: HubProcess, name: str, scope: str, admin_key: str) -> str:
    """A key of the hub, made with an administrator's; the first one by anybody."""
    headers = {"Authorization": f"Bearer {admin_key}"} if admin_key else {}
    with httpx.Client(base_url=f"http://{hub.addresses.http}", headers=headers) as client:
        made = checked(client.post("/v1/tokens", json={"name": name, "scopes": [scope]}))
        return str(made["secret"])


def test_nothing_but_its_own_files_may_run(hub: HubProcess) -> None:
    with httpx.Client(base_url=f"http://{hub.addresses.http}") as client:
        page = client.get("/chat")
        script = client.get("/chat/app.js")
        again = client.get("/chat/app.js", headers={"If-None-Match": script.headers["etag"]})
        missing = [
            client.get(path).status_code for path in ("/chat/nothing.js", "/chat/..%2fdocs.js", "/chat/README.md")
        ]

    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "<script>" not in page.text
    assert " style=" not in page.text
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert (again.status_code, again.content) == (304, b"")
    assert missing == [404, 404, 404]
