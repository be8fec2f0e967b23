"""Topics, producers and subscribers on the administration pages: made, changed, granted, given keys, deleted."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect
from scenario.hub_process import HubProcess

from pregon.errors import Forbidden, Unauthorized

from .admin_people import Administrator, make_people
from .conftest import OpenPage

REFUSED = r"status of (400|403|404|409|412|422)"
"""Browsers write a line to the console for an answer like these, though the page shows it as it should."""
PHONE = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}
SCHEMA = '{"type": "object", "required": ["ci"], "properties": {"ci": {"type": "string"}}}'


@pytest.fixture(scope="module", autouse=True)
def people(module_hub: HubProcess) -> None:
    """The people of the tests, in the hub that they share."""
    module_hub.stop()
    make_people(module_hub.data)
    module_hub.start()


@pytest.fixture
def ana(hub: HubProcess, open_page: OpenPage) -> Administrator:
    """Who administers."""
    return Administrator(open_page("ana", "en"), hub).enter()


def test_a_topic_is_made_changed_disabled_and_deleted(ana: Administrator, topic: str) -> None:
    ana.go("topics")
    ana.press("New topic")
    ana.fill(name=topic, description="People who died", retention_age="30d", retention_bytes="64MiB")
    ana.press("Create the topic")
    ana.sees("Created.")
    ana.sees("what is older than 30 d")
    ana.press("Edit")
    ana.fill(retention_age="", restricted=True)
    ana.press("Save")
    ana.sees("only producers that were granted it")
    ana.press("Disable")
    ana.sees("nothing more is accepted in it")

    ana.press("Delete")
    expect(ana.page.get_by_role("button", name="Delete the topic")).to_be_disabled()
    ana.fill(name=topic)
    ana.press("Delete the topic")

    ana.sees("Deleted.")
    with ana.hub.client() as client:
        assert topic not in [one["name"] for one in client.list("topic")]


def test_deleting_says_what_it_costs_and_wants_the_name(ana: Administrator, topic: str) -> None:
    with ana.hub.client() as client:
        client.create("subscription", topic=topic, subscriber="cost-bps")
        for number in range(3):
            client.publish(topic, f"news {number}".encode())
    ana.visitor.allow(REFUSED)

    ana.go(f"topics/{topic}/delete")
    ana.sees("3 messages are lost for ever")
    ana.sees("1 subscription ends, and in it 3 deliveries that wait")
    csrf = ana.page.locator("main form input[name=csrf]").get_attribute("value")
    refused = ana.page.request.post(f"{ana.base}/topics/{topic}/delete", form={"csrf": csrf or "", "name": "another"})

    assert refused.status == 400
    assert "That is not its name" in refused.text()
    ana.go("subscribers/cost-bps/delete")
    ana.sees("1 subscription ends, and in it 3 deliveries that wait")


def test_two_administrators_do_not_write_over_each_other(
    hub: HubProcess, ana: Administrator, open_page: OpenPage, topic: str
) -> None:
    with hub.client() as client:
        client.create("topic", name=topic, description="as it was")
    ana.visitor.allow(REFUSED)
    other = Administrator(open_page("other", "en"), hub).enter()
    ana.go(f"topics/{topic}/edit")
    other.go(f"topics/{topic}/edit")

    other.fill(description="theirs")
    other.press("Save")
    other.sees("Saved.")
    ana.fill(description="mine", retention_age="1h")
    ana.press("Save")
    ana.sees("Somebody else changed this meanwhile")
    ana.sees("theirs")
    expect(ana.page.locator("[name=description]")).to_have_value("mine")
    expect(ana.page.locator("[name=retention_age]")).to_have_value("1h")
    with hub.client() as client:
        assert client.show("topic", topic)["description"] == "theirs"
    ana.press("Save")

    ana.sees("Saved.")
    with hub.client() as client:
        assert client.show("topic", topic)["description"] == "mine"


def test_what_is_refused_comes_back_as_it_was_entered_with_why(ana: Administrator, topic: str) -> None:
    ana.visitor.allow(REFUSED)
    ana.go("subscribers/-/new")

    ana.fill(name=topic, mode="push", description="without an address")
    ana.press("Create the subscriber")

    ana.sees("Something in the request is not right.")
    ana.sees("needs an endpoint")
    expect(ana.page.locator("[name=name]")).to_have_value(topic)
    expect(ana.page.locator("[name=mode]")).to_have_value("push")
    expect(ana.page.locator("[name=description]")).to_have_value("without an address")


def test_a_schema_is_compared_before_it_is_set(ana: Administrator, topic: str) -> None:
    with ana.hub.client() as client:
        client.create("topic", name=topic)
    ana.go(f"topics/{topic}")
    ana.press("Set a schema")
    ana.fill(kind="json-schema", text="{}")
    ana.press("Compare with the schema of now")
    ana.sees("Not compatible: something that is accepted now would be refused.")

    # Another text than the one that was compared is compared first.
    ana.fill(text=SCHEMA)
    ana.press("Set it as version 1")
    ana.sees("Not compatible: something that is accepted now would be refused.")
    with ana.hub.client() as client:
        assert client.show("topic", topic)["schema_version"] == 0
    ana.press("Set it as version 1")
    ana.sees("Kind: JSON Schema, version 1.")
    ana.press("Another schema")
    ana.fill(text=SCHEMA.replace('"ci"]', '"ci", "name"]'))
    ana.press("Compare with the schema of now")
    ana.sees("Not compatible")
    ana.fill(text=SCHEMA.replace('"required": ["ci"], ', ""))
    ana.press("Set it as version 2")

    ana.sees("Compatible: it accepts all that the schema of now accepts.")


def test_a_test_message_says_that_it_is_one_and_cannot_be_in_the_name_of_who_has_a_key(
    ana: Administrator, topic: str
) -> None:
    with ana.hub.client() as client:
        client.create("subscription", topic=topic, subscriber="trial-bps")
        client.create("producer", name="trial-dgrec")
        client.create("key", kind="producer", owner="trial-dgrec")
    ana.visitor.allow(REFUSED)
    ana.go(f"topics/{topic}")
    ana.press("Send a test message")
    ana.sees("1 subscriber gets it.")

    ana.fill(producer="trial-dgrec", body="¿anda?", content_type="text/plain; charset=utf-8")
    ana.press("Publish the test message")
    ana.sees("You may not do that.")
    expect(ana.page.locator("[name=body]")).to_have_value("¿anda?")
    ana.fill(producer="trial-nobody")
    ana.press("Publish the test message")

    expect(ana.page).to_have_url(re.compile(f"/admin/messages/{re.escape(topic)}/1"))
    ana.sees("Published as message 1.")
    with ana.hub.client() as client:
        (message,) = client.pull(topic, "trial-bps").messages
    assert (message.text, message.producer, message.headers) == ("¿anda?", "trial-nobody", {"test": "true"})
    ana.go(f"topics/{topic}")
    ana.sees("¿anda?")


def test_a_key_is_shown_once_rotated_and_revoked(ana: Administrator, topic: str) -> None:
    ana.go("producers/-/new")
    ana.fill(name=topic, description="Registro Civil")
    ana.press("Create the producer")
    ana.sees("No keys: whoever reaches the hub may use this name")
    ana.press("New key")
    ana.sees("This is its first key")
    ana.fill(label="portal", lifetime="90d", requests_per_s="50")
    ana.press("Make the key")
    first = ana.page.locator("#secret-value").input_value()
    assert publishes(ana, topic, first)
    assert not publishes(ana, topic, "")

    ana.press("I have kept it")
    ana.sees("portal")
    ana.sees("50 requests a second")
    assert first not in ana.page.content()
    ana.press("New key")
    ana.page.get_by_label("end after this time").check()
    ana.fill(overlap="0s")
    ana.press("Make the key")
    second = ana.page.locator("#secret-value").input_value()
    assert publishes(ana, topic, second)
    assert not publishes(ana, topic, first)
    ana.press("I have kept it")
    ana.page.locator("details.ask summary").first.click()
    ana.press("Revoke now")

    ana.sees("Revoked.")
    assert not publishes(ana, topic, second)


def publishes(person: Administrator, name: str, key: str) -> bool:
    """Whether a key lets one publish in a name."""
    with person.hub.client(producer=name, key=key) as client:
        try:
            client.publish(name, b"x")
        except (Forbidden, Unauthorized):
            return False
        return True


def test_a_restricted_topic_is_granted_and_withdrawn(ana: Administrator, topic: str) -> None:
    with ana.hub.client() as client:
        client.create("topic", name=topic, restricted=True)
        client.create("producer", name="granted-dgrec")
    ana.visitor.allow(REFUSED)
    ana.go(f"topics/{topic}")
    ana.fill(producer="nobody-knows-it")
    ana.press("Grant the topic")
    ana.sees("What you are looking for is not there")

    ana.fill(producer="granted-dgrec")
    ana.press("Grant the topic")
    ana.sees("Granted.")
    assert publishes_to(ana, topic)
    ana.go("producers/granted-dgrec")
    ana.sees(topic)
    ana.press(re.compile("^Withdraw$"))

    ana.sees("Withdrawn.")
    assert not publishes_to(ana, topic)


def publishes_to(person: Administrator, topic: str) -> bool:
    """Whether the producer of the test may publish to a topic."""
    with person.hub.client(producer="granted-dgrec") as client:
        try:
            client.publish(topic, b"x")
        except Forbidden:
            return False
        return True


def test_who_only_reads_gets_no_buttons_and_no_answer_to_a_form(
    hub: HubProcess, open_page: OpenPage, topic: str
) -> None:
    with hub.client() as client:
        client.create("subscription", topic=topic, subscriber="read-bps")
        client.create("producer", name="read-dgrec")
    rita = Administrator(open_page("rita", "en"), hub, "rita").enter()
    pages = [f"topics/{topic}", "topics", "producers", "producers/read-dgrec", "subscribers", "subscribers/read-bps"]

    offered = [rita.go(path).locator("main form[method=post], main .head .actions a").count() for path in pages]
    csrf = rita.page.locator("form[action='/admin/leave'] input[name=csrf]").first.get_attribute("value") or ""
    changes = [
        f"topics/{topic}/disable",
        f"topics/{topic}/delete",
        f"topics/{topic}/test",
        "producers/read-dgrec/keys/new",
        "subscribers/read-bps/secrets/new",
        "subscribers/read-bps/test",
    ]
    refused = [
        rita.page.request.post(f"{rita.base}/{path}", form={"csrf": csrf, "name": topic}).status for path in changes
    ]

    assert offered == [0] * len(pages)
    assert refused == [403] * len(changes)
    with hub.client() as client:
        assert client.show("topic", topic)["enabled"]


def test_a_list_is_searched_while_one_types_and_sorted(ana: Administrator, topic: str) -> None:
    with ana.hub.client() as client:
        for name, mode in ((f"{topic}-b", "pull"), (f"{topic}-a", "push")):
            client.create("subscriber", name=name, mode=mode, endpoint="https://bps.example/news")
    names = ana.page.locator("#list tbody th a")
    ana.go("subscribers")

    ana.page.locator("#q").press_sequentially(f"{topic}-")
    expect(names).to_have_text([f"{topic}-a", f"{topic}-b"])
    ana.page.get_by_role("columnheader", name="How").get_by_role("link").click()

    expect(names).to_have_text([f"{topic}-b", f"{topic}-a"])
    expect(ana.page).to_have_url(re.compile("sort=mode"))


def test_nothing_is_wider_than_a_phone(hub: HubProcess, open_page: OpenPage, topic: str) -> None:
    long = f"{topic}-" + "x" * (127 - len(topic))
    with hub.client(producer=long) as client:
        client.create("topic", name=long, restricted=True, description="una descripción bastante larga " * 8)
        client.create("producer", name=long, topics=[long])
        client.create("subscriber", name=long, endpoint="https://bps.example/" + "y" * 300)
        client.create("subscription", topic=long, subscriber=long)
        client.publish(long, b"z" * 500)
        client.create("key", kind="subscriber", owner=long)
    ana = Administrator(open_page("ana", "es", **PHONE), hub).enter()
    at_topic, at_subscriber, at_producer = f"topics/{long}", f"subscribers/{long}", f"producers/{long}"
    pages = [
        *("topics", "topics/-/new", at_topic, f"{at_topic}/edit", f"{at_topic}/delete", f"{at_topic}/schema"),
        *(f"{at_topic}/test", "producers", at_producer, f"{at_producer}/keys/new", "subscribers", at_subscriber),
        *(f"{at_subscriber}/edit", f"{at_subscriber}/delete", f"{at_subscriber}/test", f"{at_subscriber}/secrets/new"),
    ]

    wide = [path for path in pages if is_wide(ana.go(path))]

    assert wide == []


def is_wide(page: Page) -> bool:
    """Whether one would have to move the page sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))
