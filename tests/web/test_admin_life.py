"""The whole life of a topic at the administration pages: made, used, broken, repaired, proved."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import expect
from scenario.conftest import MakeHub
from scenario.push.receiver import Answer, Station

from .admin_people import Administrator, start_with_people
from .conftest import OpenPage
from .visitors import Language

TOPIC, PRODUCER, SUBSCRIBER = "fallecidos", "DGREC", "BPS"
WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "create topic": "Create the topic",
        "create producer": "Create the producer",
        "create subscriber": "Create the subscriber",
        "create": "Create",
        "has everything": f"{SUBSCRIBER} has everything",
        "fails": "1 subscription is failing",
        "why": "The web service failed while it dealt with the message: its own log says why.",
        "try now": "Try now",
        "flows": "Everything flows",
        "acknowledged": "delivered",
    },
    "es": {
        "create topic": "Crear el tópico",
        "create producer": "Crear el productor",
        "create subscriber": "Crear el suscriptor",
        "create": "Crear",
        "has everything": f"{SUBSCRIBER} tiene todo",
        "fails": "1 suscripción está fallando",
        "why": "El servicio web falló al tratar el mensaje: su propia bitácora dice por qué.",
        "try now": "Intentar ahora",
        "flows": "Todo fluye",
        "acknowledged": "entregado",
    },
}


@pytest.mark.parametrize("language", ["es", "en"])
def test_the_life_of_a_topic(make_hub: MakeHub, open_page: OpenPage, language: Language) -> None:
    hub = start_with_people(make_hub(push_allow="127.0.0.0/8"))
    words = WORDS[language]
    ana = Administrator(open_page("ana", language), hub).enter()
    address = f"http://{hub.addresses.http}/v1/topics/{TOPIC}/messages"

    def publish(number: int) -> None:
        headers = {"Pregon-Producer": PRODUCER}
        answer = httpx.post(address, json={"acta": number}, headers=headers)
        assert answer.status_code == 201, answer.text

    with Station() as bank:
        # Everything is made in the browser.
        ana.go("topics/-/new")
        ana.fill(name=TOPIC, description="Deaths")
        ana.press(words["create topic"])
        ana.go("producers/-/new")
        ana.fill(name=PRODUCER)
        ana.press(words["create producer"])
        ana.go("subscribers/-/new")
        ana.fill(name=SUBSCRIBER, mode="push", format="raw", endpoint=bank.url("/novedades"))
        ana.press(words["create subscriber"])
        ana.go("subscriptions/new")
        ana.fill(topic=TOPIC, subscriber=SUBSCRIBER)
        ana.press(words["create"])

        # Published by REST, it is seen to be delivered.
        publish(1)
        bank.wait_for_taken(1)
        ana.go(f"subscriptions/{TOPIC}/{SUBSCRIBER}")
        ana.sees(words["has everything"])

        # The subscriber fails, and that is seen, first of all on the overview, in words.
        bank.answer = lambda _: Answer(500)
        publish(2)
        publish(3)
        bank.wait_for(2)
        ana.go()
        ana.sees(words["fails"])
        ana.sees(words["why"])
        ana.page.get_by_role("link", name=SUBSCRIBER).first.click()
        expect(ana.page).to_have_url(re.compile(f"/admin/subscriptions/{TOPIC}/{SUBSCRIBER}$"))
        ana.sees(words["why"])

        # It is repaired, and what waited flows while one looks.
        bank.answer = lambda _: Answer(200)
        ana.press(words["try now"])
        bank.wait_for_taken(3)
        ana.sees(words["has everything"])
        ana.go()
        ana.sees(words["flows"])

    # The trace is found, and the message tells its story.
    ana.go(f"traces?topic={TOPIC}&seq=2")
    ana.page.locator("main table").get_by_role("link", name="2", exact=True).first.click()
    expect(ana.page).to_have_url(re.compile(f"/admin/messages/{TOPIC}/2$"))
    ana.sees(re.compile("HTTP 500"))
    expect(ana.page.locator("pre.body")).to_contain_text('"acta": 2')
    assert bank.taken() == [1, 2, 3]
