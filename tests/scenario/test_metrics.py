"""The page for Prometheus: what it says of each topic and subscription, to whom, and at what price."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import Connection

from pregon.edges.http import metrics
from pregon.hub.hub import Hub
from pregon.model.catalog import PushOptions, Subscriber, Subscription
from pregon.store.backlogs import Backlog, read_backlogs
from pregon.testing import Receiver, Reply

from .hub_process import wait_until
from .rest import publish, require_problem, rest_hub

Series = dict[tuple[str, tuple[str, ...]], float]


def scrape(http: httpx.Client, **headers: str) -> Series:
    """Every line of the page, by its name and the values of its labels."""
    answer = http.get("/metrics", headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = [one for family in text_string_to_metric_families(answer.text) for one in family.samples]
    found = {(one.name, tuple(one.labels.values())): one.value for one in samples}
    assert len(found) == len(samples), "a line is there twice"
    return found


def scrape_later(http: httpx.Client) -> Series:
    """The page when what was kept of it is too old."""
    time.sleep(metrics.SERIES_KEPT_MS / 1_000 + 0.1)
    return scrape(http)


def push_to(hub: Hub, url: str) -> None:
    """Make bank a subscriber of deaths to whom messages are pushed, and tried again at once."""
    push = PushOptions(delay_ms_first=10, delay_ms_max=10)
    hub.create(Subscriber(name="bank", mode="push", endpoint=url, push=push)).result()
    hub.create(Subscription(topic="deaths", subscriber="bank")).result()


@contextmanager
def busy_readers(hub: Hub) -> Iterator[None]:
    """A hub whose readers have no time for anybody."""
    may_go = threading.Event()
    tickets = [hub.read(lambda _connection: may_go.wait(30)) for _ in range(hub.options.reader_threads)]
    try:
        yield
    finally:
        may_go.set()
        for ticket in tickets:
            ticket.result()


def test_topics_and_backlogs_are_on_the_page_as_the_accounting_has_them() -> None:
    with rest_hub() as (hub, http), hub.client() as client:
        client.pull("deaths", "bank")
        client.pull("deaths", "city")
        for body in ("one", "two", "three"):
            publish(http, "deaths", body)
        publish(http, "births", "x")
        client.park("deaths", "bank", [2])
        client.ack("deaths", "city", 3)

        found = scrape(http)
        exact = {name: client.account("deaths", name) for name in ("bank", "city")}

    assert found["pregon_topic_messages_total", ("deaths",)] == 3
    assert found["pregon_topic_messages_total", ("births",)] == 1
    assert found["pregon_topic_bytes_total", ("deaths",)] > 3
    assert found["pregon_messages_accepted_total", ()] == 4
    for name, accounting in exact.items():
        assert found["pregon_backlog_messages", ("deaths", name)] == accounting.pending
        assert found["pregon_parked_messages", ("deaths", name)] == accounting.parked
    assert found["pregon_backlog_messages", ("deaths", "bank")] == 2
    assert 0 < found["pregon_backlog_age_seconds", ("deaths", "bank")] < 60
    assert found["pregon_backlog_age_seconds", ("deaths", "city")] == 0
    assert found["pregon_subscriptions", ("pull",)] == 2
    assert found["pregon_store_free_bytes", ()] > 0


def test_pushes_are_on_the_page_by_how_they_ended() -> None:
    with Receiver() as bank, rest_hub(push_allow="127.0.0.1") as (hub, http):
        bank.then(Reply(503), Reply(422))
        push_to(hub.server.hub, bank.url)
        for body in ("one", "two"):
            publish(http, "deaths", body)
        wait_until(lambda: hub.server.hub.account("deaths", "bank").result().acknowledged == 2, "both are delivered")

        found = scrape_later(http)

    results = {labels[2]: value for (name, labels), value in found.items() if name == "pregon_push_total"}
    assert results == {"delivered": 2, "refused": 1, "unreachable": 1, "gone": 0}
    assert found["pregon_push_seconds_count", ("deaths", "bank")] == 4
    assert found["pregon_delivery_seconds_count", ("deaths", "bank")] == 2
    assert found["pregon_delivery_seconds_sum", ("deaths", "bank")] > 0
    assert found["pregon_subscription_failing", ("deaths", "bank")] == 0
    assert found["pregon_pushes_in_flight", ()] == 0


def test_a_subscription_that_fails_is_marked_until_it_does_not() -> None:
    with Receiver() as bank, rest_hub(push_allow="127.0.0.1") as (hub, http):
        bank.reply = Reply(503)
        push_to(hub.server.hub, bank.url)
        publish(http, "deaths", "x")

        failing = "pregon_subscription_failing", ("deaths", "bank")
        wait_until(lambda: scrape(http).get(failing) == 1, "it is marked")
        during = scrape(http)
        with hub.client() as client:
            client.ack("deaths", "bank", 1)
        after = scrape_later(http)

    assert during["pregon_subscriptions_failing", ()] == 1
    assert during["pregon_backlog_messages", ("deaths", "bank")] == 1
    assert (after[failing], after["pregon_subscriptions_failing", ()]) == (0, 0)


def test_names_are_only_for_who_may_look_around() -> None:
    with rest_hub() as (hub, http):
        publish(http, "secret-topic", "x", Pregon_Producer="registry")
        hub.server.hub.create(Subscription(topic="secret-topic", subscriber="secret-subscriber")).result()
        made = http.post("/v1/tokens", json={"name": "admin", "scopes": ["admin"]}).json()
        admin = {"Authorization": f"Bearer {made['secret']}"}
        keys = {
            "a reader": _key(http, admin, "/v1/tokens", {"name": "prometheus", "scopes": ["read"]}),
            "a producer": _key(http, admin, "/v1/producers/registry/keys", {}),
            "a subscriber": _key(http, admin, "/v1/subscribers/secret-subscriber/keys", {}),
        }

        answers = {who: http.get("/metrics", headers=key) for who, key in keys.items()}
        nobody = http.get("/metrics")

    assert answers["a reader"].status_code == 200
    assert 'pregon_backlog_messages{topic="secret-topic",subscriber="secret-subscriber"} 1' in answers["a reader"].text
    require_problem(answers["a producer"], 403, "forbidden")
    require_problem(answers["a subscriber"], 403, "forbidden")
    require_problem(nobody, 401, "unauthorized")
    assert not any("secret-topic" in one.text for one in (answers["a producer"], answers["a subscriber"], nobody))


def _key(http: httpx.Client, admin: dict[str, str], path: str, wanted: dict[str, Any]) -> dict[str, str]:
    made = http.post(path, json=wanted, headers=admin)
    assert made.status_code == 201, made.text
    return {"Authorization": f"Bearer {made.json()['secret']}"}


def test_a_scrape_that_takes_long_holds_up_nobody() -> None:
    with rest_hub() as (hub, http), ThreadPoolExecutor() as pool:
        publish(http, "deaths", "x")

        with busy_readers(hub.server.hub):
            waiting = pool.submit(scrape, http)
            time.sleep(0.1)
            others = [httpx.get(f"{hub.http}/healthz").status_code for _ in range(5)]
            was_waiting = not waiting.done()
        found = waiting.result(10)

    assert others == [200] * 5
    assert was_waiting
    assert found["pregon_topic_messages_total", ("deaths",)] == 1


def test_a_store_that_does_not_answer_leaves_the_numbers_of_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "SERIES_TIMEOUT_S", 0.2)
    with rest_hub() as (hub, http):
        publish(http, "deaths", "x")

        with busy_readers(hub.server.hub):
            without = scrape(http)
        wait_until(lambda: ("pregon_topic_messages_total", ("deaths",)) in scrape(http), "the series are back")

    assert without["pregon_messages_accepted_total", ()] == 1
    assert not any(labels for name, labels in without if not name.startswith("pregon_service_"))


def test_the_store_is_asked_once_a_second_whoever_scrapes(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []

    def counted(connection: Connection) -> list[Backlog]:
        reads.append(1)
        return read_backlogs(connection)

    monkeypatch.setattr(metrics, "read_backlogs", counted)
    monkeypatch.setattr(metrics, "SERIES_KEPT_MS", 60_000)
    with rest_hub() as (hub, http), ThreadPoolExecutor(10) as pool:
        publish(http, "deaths", "x")
        with busy_readers(hub.server.hub):
            waiting = [pool.submit(scrape, http) for _ in range(10)]
            time.sleep(0.2)
        pages = [one.result(10) for one in waiting]
        publish(http, "deaths", "y")
        later = scrape(http)

    assert len(reads) == 1
    assert {page["pregon_topic_messages_total", ("deaths",)] for page in pages} == {1}
    assert later["pregon_topic_messages_total", ("deaths",)] == 1
    assert later["pregon_messages_accepted_total", ()] == 2
