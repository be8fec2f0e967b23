"""`/v1/audit`: who changed what, over HTTP, for who may read, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from pregon.testing import RunningHub

from .rest import require_problem, rest_hub


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[RunningHub, httpx.Client]]:
    """A hub in which something was changed, and an HTTP client of it."""
    with rest_hub() as (hub, http):
        for name in ("births", "deaths", "moves"):
            assert http.post("/v1/topics", json={"name": name}).status_code == 201
        http.patch("/v1/topics/births", json={"description": "who was born"})
        http.post("/v1/subscribers", json={"name": "bank"})
        http.post("/v1/topics/births/subscriptions", json={"subscriber": "bank"})
        yield hub, http


@pytest.fixture
def http(server: tuple[RunningHub, httpx.Client]) -> httpx.Client:
    """The HTTP client."""
    return server[1]


def ask(http: httpx.Client, **query: Any) -> list[tuple[str, str, str]]:
    """Action, kind and object of what a search finds, newest first."""
    answer = http.get("/v1/audit", params=query)
    assert answer.status_code == 200, answer.text
    return [(one["action"], one["kind"], one["object"]) for one in answer.json()["items"]]


def test_what_was_changed_is_told_newest_first(http: httpx.Client) -> None:
    answer = http.get("/v1/audit").json()

    assert [(one["action"], one["object"]) for one in answer["items"]] == [
        ("create", "births bank"),
        ("create", "bank"),
        ("update", "births"),
        ("create", "moves"),
        ("create", "deaths"),
        ("create", "births"),
    ]
    assert answer["next"] is None
    update = answer["items"][2]
    assert update["detail"] == {"description": "who was born"}
    assert set(update) == {"id", "at", "who", "action", "kind", "object", "detail"}
    assert update["at"].endswith("Z")


def test_it_is_searched_by_any_field(http: httpx.Client) -> None:
    moment = http.get("/v1/audit", params={"object": "deaths"}).json()["items"][0]["at"]

    assert ask(http, kind="topic", object="births") == [("update", "topic", "births"), ("create", "topic", "births")]
    assert [one[2] for one in ask(http, object="b*")] == ["births bank", "bank", "births", "births"]
    assert ask(http, action="update") == [("update", "topic", "births")]
    assert ask(http, who="token nobody") == []
    assert [one[2] for one in ask(http, until=moment)] == ["births"]
    assert [one[2] for one in ask(http, since=moment)][-1] == "deaths"


def test_pages_go_on_to_the_end(http: httpx.Client) -> None:
    found, cursor = [], ""
    for _ in range(20):
        answer = http.get("/v1/audit", params={"max": 2, "cursor": cursor}).json()
        found += [one["id"] for one in answer["items"]]
        cursor = answer["next"]
        if cursor is None:
            break

    assert cursor is None
    assert found == sorted(set(found), reverse=True)
    assert len(found) == 6


@pytest.mark.parametrize(
    "query", [{"since": "yesterday"}, {"cursor": "!"}, {"max": 0}, {"max": 1_001}, {"whom": "x"}, {"who": "x" * 401}]
)
def test_a_question_that_makes_no_sense_is_refused(http: httpx.Client, query: dict[str, Any]) -> None:
    require_problem(http.get("/v1/audit", params=query), 400, "bad_request")


def test_the_audit_is_for_who_may_read() -> None:
    with rest_hub() as (_, http):
        admin = http.post("/v1/tokens", json={"name": "admin", "scopes": ["admin"]}).json()["secret"]
        bearer = {"Authorization": f"Bearer {admin}"}
        read = http.post("/v1/tokens", json={"name": "grafana", "scopes": ["read"]}, headers=bearer).json()["secret"]
        http.post("/v1/producers", json={"name": "registry"}, headers=bearer)

        nobody = http.get("/v1/audit")
        reader = http.get("/v1/audit", headers={"Authorization": f"Bearer {read}"})

    require_problem(nobody, 401, "unauthorized")
    assert [one["who"] for one in reader.json()["items"]] == ["token admin", "token admin", ""]
    assert admin.split("_", 2)[2] not in reader.text and read.split("_", 2)[2] not in reader.text
