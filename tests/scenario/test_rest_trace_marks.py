"""Marks among the traces over REST: what an archive says about how far it is survives whatever the hub goes through."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import httpx
import pytest

from pregon.store.database import DATABASE_FILE

from .conftest import MakeHub
from .hub_process import HubProcess, wait_until
from .rest import publish, require_problem, rest_hub

MARKS = "/v1/traces/marks"


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with rest_hub() as (_, client):
        yield client


@contextmanager
def http_of(hub: HubProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://{hub.addresses.http}", timeout=30.0) as http:
        yield http


def put(http: httpx.Client, name: str, id: Any) -> httpx.Response:
    return http.put(f"{MARKS}/{name}", json={"id": id})


def places(http: httpx.Client) -> dict[str, int]:
    return {one["name"]: one["id"] for one in http.get(MARKS).json()["items"]}


def ids(http: httpx.Client) -> list[int]:
    """The ids of all the traces, oldest first."""
    return [one["id"] for one in http.get("/v1/traces", params={"max": 1_000}).json()["items"]][::-1]


def make_older(hub: HubProcess, days: int) -> None:
    """Let the traces of a hub that does not run have been there for so much longer."""
    with closing(sqlite3.connect(hub.data / DATABASE_FILE)) as database, database:
        database.execute("UPDATE trace SET at_us = at_us - ?", (days * 86_400_000_000,))


def test_a_mark_is_put_moved_listed_and_deleted(http: httpx.Client) -> None:
    publish(http, "births")
    publish(http, "births")

    first, back = put(http, "archive", 2), put(http, "archive", 1)
    listed = http.get(MARKS)
    gone = http.delete(f"{MARKS}/archive")
    again = http.delete(f"{MARKS}/archive")

    assert (first.status_code, back.status_code, gone.status_code) == (200, 200, 204)
    assert (first.json()["previous_id"], first.json()["is_moved_back"]) == (None, False)
    assert (back.json()["previous_id"], back.json()["is_moved_back"]) == (2, True)
    assert listed.json() == {"items": [{key: back.json()[key] for key in ("name", "id", "created_at", "put_at")}]}
    require_problem(again, 404, "not_found")
    assert places(http) == {}


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("archive", {"id": 1_000}),
        ("archive", {"id": -1}),
        ("archive", {"id": "x"}),
        ("archive", {"id": 2**63}),
        ("archive", {}),
        ("archive", {"id": 0, "more": 1}),
        ("%20", {"id": 0}),
        ("x" * 129, {"id": 0}),
    ],
)
def test_what_is_no_mark_is_refused(http: httpx.Client, name: str, body: dict[str, Any]) -> None:
    answer = http.put(f"{MARKS}/{name}", json=body)

    require_problem(answer, 400, "bad_request" if name == "archive" else "bad_name")
    assert places(http) == {}


def test_a_mark_that_was_answered_survives_the_hub_being_killed(make_hub: MakeHub) -> None:
    hub = make_hub().start()
    with http_of(hub) as http:
        for number in range(1, 11):
            publish(http, "births")
            assert put(http, "archive", number).status_code == 200
        put(http, "other", 3)
        http.delete(f"{MARKS}/other")

    hub.kill()
    hub.start()

    with http_of(hub) as http:
        assert places(http) == {"archive": 10}


def test_a_mark_holds_traces_across_a_kill_until_it_is_moved(make_hub: MakeHub) -> None:
    hub = make_hub(maintenance_every_ms="20").start()
    with http_of(hub) as http:
        for _ in range(5):
            publish(http, "births")
        put(http, "archive", 2)
    hub.kill()
    make_older(hub, 401)

    hub.start()

    with http_of(hub) as http:
        wait_until(lambda: ids(http)[0] == 3, "what was copied is forgotten")
        publish(http, "births")
        assert ids(http) == [3, 4, 5, 6]
        put(http, "archive", 5)
        wait_until(lambda: ids(http) == [6], "the rest is forgotten")


def test_a_mark_that_is_abandoned_is_dropped_and_the_log_says_so(make_hub: MakeHub) -> None:
    hub = make_hub(maintenance_every_ms="20", trace_mark_ms="1").start()
    with http_of(hub) as http:
        put(http, "dead", 0)

        wait_until(lambda: places(http) == {}, "it is dropped")

    assert [one["level"] for one in hub.events() if one.get("mark") == "dead"] == ["warning"]
