"""The catalogue over REST: create, read, update, delete, list; tags that stand for what people set, pages that end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from pregon.limits import DESCRIPTION_CHARACTERS_MAX

from .rest import publish, require_problem, rest_hub

KINDS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "topics": (
        {"description": "a", "restricted": True, "retention": {"age_ms": 5_000_000}},
        {"description": "b", "enabled": False},
        {"retention": {"bytes_max": 10_000_000, "age_ms": None, "when_acknowledged": False}},
    ),
    "producers": ({"description": "a"}, {"description": "b", "enabled": False}, {"topics": ["granted"]}),
    "subscribers": (
        {"description": "a", "mode": "push", "endpoint": "https://bps.example/a", "format": "raw"},
        {"endpoint": "https://bps.example/b", "enabled": False},
        {"mode": "pull", "endpoint": "", "format": "soap", "enabled": True},
    ),
    "subscriptions": (
        {"start": "latest", "pending_max": 5, "filter": {"header": "region", "equals": "sur"}},
        {"pending_max": 6, "filter": {"not": {"field": "key", "prefix": "1."}}},
        {"pending_max": None, "filter": None, "paused": True},
    ),
}
EACH_KIND = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with rest_hub() as (_, http):
        http.post("/v1/topics", json={"name": "granted", "restricted": True})
        yield http


def place(kind: str, name: str) -> tuple[str, str, dict[str, Any]]:
    """Where entries of a kind are made, where this one is, and how it is named."""
    if kind == "subscriptions":
        return f"/v1/topics/{name}/subscriptions", f"/v1/topics/{name}/subscriptions/bps", {"subscriber": "bps"}
    return f"/v1/{kind}", f"/v1/{kind}/{name}", {"name": name}


def made(http: httpx.Client, kind: str, name: str) -> tuple[str, httpx.Response]:
    """An entry that was just made."""
    collection, item, named = place(kind, name)
    return item, http.post(collection, json={**named, **KINDS[kind][0]})


@EACH_KIND
def test_an_entry_is_made_read_changed_and_deleted(http: httpx.Client, topic: str, kind: str) -> None:
    values, change, other = KINDS[kind]
    at, created = made(http, kind, topic)

    shown = http.get(at)
    changed = http.patch(at, json=change)
    changed_again = http.patch(at, json=other)
    deleted, gone = http.delete(at), http.get(at)

    expected = {name: value for name, value in values.items() if name not in ("start", "retention")}
    assert (created.status_code, created.headers["location"]) == (201, at)
    assert shown.json() == created.json()
    assert created.json().items() >= expected.items()
    assert changed.json() == {**created.json(), **change}
    assert changed_again.json() == {**changed.json(), **other}
    assert (deleted.status_code, deleted.content) == (204, b"")
    require_problem(gone, 404, "not_found")
    require_problem(http.delete(at), 404, "not_found")
    require_problem(http.patch(at, json=change), 404, "not_found")


@EACH_KIND
def test_making_the_same_again_is_no_error_and_another_is(http: httpx.Client, topic: str, kind: str) -> None:
    collection, _, named = place(kind, topic)
    _, first = made(http, kind, topic)

    _, same = made(http, kind, topic)
    other = http.post(collection, json={**named, **KINDS[kind][0], **KINDS[kind][1]})

    assert same.json() == first.json()
    require_problem(other, 409, "already_exists")


@EACH_KIND
def test_a_tag_changes_exactly_when_what_people_set_changes(http: httpx.Client, topic: str, kind: str) -> None:
    at, created = made(http, kind, topic)
    tags = [created.headers["etag"]]

    http.put("/v1/producers/another/grants/granted")
    if kind == "topics":
        http.patch(at, json={"restricted": False})
        tags = [http.get(at).headers["etag"]]
        publish(http, topic)
        http.put(f"{at}/schema", json={"kind": "json"})
    if kind == "subscriptions":
        publish(http, topic)
        http.post(f"{at}/ack", json={"seq": 1})
    tags.append(http.get(at).headers["etag"])
    tags.append(http.patch(at, json={}).headers["etag"])
    tags += [http.patch(at, json=KINDS[kind][1]).headers["etag"] for _ in range(2)]
    tags.append(http.patch(at, json=KINDS[kind][2]).headers["etag"])

    assert tags[0] == tags[1] == tags[2]
    assert tags[3] == tags[4]
    assert len({tags[0], tags[3], tags[5]}) == 3


@EACH_KIND
def test_a_change_is_only_made_to_what_was_seen(http: httpx.Client, topic: str, kind: str) -> None:
    at, created = made(http, kind, topic)
    tag, change = created.headers["etag"], KINDS[kind][1]

    for wrong in ('"0123"', '"another", "more"', 'W/"x"', '""', tag.strip('"')[:-1]):
        require_problem(http.patch(at, json=change, headers={"If-Match": wrong}), 412, "changed")
        require_problem(http.delete(at, headers={"If-Match": wrong}), 412, "changed")
    unchanged = http.get(at)
    several = http.patch(at, json=change, headers={"If-Match": f'"another", {tag}'})
    stale = http.patch(at, json=KINDS[kind][2], headers={"If-Match": tag})
    whatever = http.patch(at, json=KINDS[kind][2], headers={"If-Match": "*"})
    deleted = http.delete(at, headers={"If-Match": whatever.headers["etag"]})

    assert unchanged.json() == created.json()
    assert (several.status_code, whatever.status_code, deleted.status_code) == (200, 200, 204)
    require_problem(stale, 412, "changed")


def test_grants_are_given_shown_and_withdrawn(http: httpx.Client, topic: str) -> None:
    http.post("/v1/producers", json={"name": topic})
    at = f"/v1/producers/{topic}/grants"
    refused = publish(http, "granted", Pregon_Producer=topic)

    given = [http.put(f"{at}/granted").json() for _ in range(2)]
    shown, allowed = http.get(at).json(), publish(http, "granted", Pregon_Producer=topic)
    withdrawn = [http.delete(f"{at}/granted").json() for _ in range(2)]
    refused_again = publish(http, "granted", Pregon_Producer=topic)

    require_problem(refused, 403, "forbidden")
    assert given == [shown, shown] == [{"producer": topic, "topics": ["granted"]}] * 2
    assert allowed.status_code == 201
    assert withdrawn == [{"producer": topic, "topics": []}] * 2
    require_problem(refused_again, 403, "forbidden")
    require_problem(http.put(f"{at}/nothing"), 404, "not_found")
    require_problem(http.put("/v1/producers/nobody/grants/granted"), 404, "not_found")


# Pages.


def walk(http: httpx.Client, address: str) -> Iterator[list[dict[str, Any]]]:
    """The pages of a list, found by the Link header, which says the same as `next`."""
    while address:
        answer = http.get(address)
        assert answer.status_code == 200, answer.text
        yield answer.json()["items"]
        link = answer.headers.get("link", "")
        assert (answer.json()["next"] is None) == (not link)
        address = link.partition(">")[0].removeprefix("<")
        if link:
            assert link.endswith('>; rel="next"')
            assert httpx.URL(address).params["cursor"] == answer.json()["next"]


@pytest.mark.parametrize("page", [1, 7, 1000])
def test_a_walk_sees_each_that_stays_exactly_once_while_others_come_and_go(http: httpx.Client, page: int) -> None:
    stay = {f"walk-{n:02d}-stays" for n in range(20)}
    for name in stay:
        http.post("/v1/subscribers", json={"name": name})
    seen: list[str] = []

    for turn, items in enumerate(walk(http, f"/v1/subscribers?max={page}")):
        seen += [item["name"] for item in items]
        http.post("/v1/subscribers", json={"name": f"walk-{turn % 20:02d}-comes"})
        http.delete(f"/v1/subscribers/walk-{(turn + 3) % 20:02d}-comes")
        assert turn < 200, "a walk ends"

    assert [name for name in seen if name in stay] == sorted(stay)
    assert seen == sorted(set(seen))


def test_a_walk_keeps_to_what_was_asked_for(http: httpx.Client, topic: str) -> None:
    for number in range(4):
        for who in ("walker", "another"):
            http.post(f"/v1/topics/{topic[:90]}-{number}/subscriptions", json={"subscriber": who})

    by_subscriber = [one for items in walk(http, "/v1/subscriptions?subscriber=walker&max=1") for one in items]
    by_topic = [one for items in walk(http, f"/v1/subscriptions?topic={topic[:90]}-1&max=1") for one in items]
    of_topic = [one for items in walk(http, f"/v1/topics/{topic[:90]}-1/subscriptions?max=1") for one in items]

    assert [one["topic"] for one in by_subscriber] == [f"{topic[:90]}-{number}" for number in range(4)]
    assert {one["subscriber"] for one in by_subscriber} == {"walker"}
    assert [one["subscriber"] for one in by_topic] == ["another", "walker"]
    assert of_topic == by_topic


@pytest.mark.parametrize("cursor", ["x", "ñ", "AAAA", "kqF0oXM", "k" * 10_000, "wQ", "gqFh", "%00"])
def test_a_cursor_that_is_none_of_ours_is_refused(http: httpx.Client, cursor: str) -> None:
    require_problem(http.get(f"/v1/topics?cursor={cursor}"), 400, "bad_request")
    require_problem(http.get(f"/v1/traces?cursor={cursor}"), 400, "bad_request")


# What is refused.


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        *((kind, {"unknown": 1}) for kind in KINDS),
        *((kind, {"description": 5}) for kind in ("topics", "producers", "subscribers")),
        *((kind, {"description": "x" * (DESCRIPTION_CHARACTERS_MAX + 1)}) for kind in ("topics", "producers")),
        ("topics", {"restricted": "yes"}),
        ("topics", {"retention": {"age_ms": 0}}),
        ("topics", {"retention": {"age_ms": 10**15 + 1}}),
        ("topics", {"retention": {"bytes_max": -1}}),
        ("topics", {"retention": {"unknown": 1}}),
        ("topics", {"head_seq": 5}),
        ("topics", {"schema_version": 5}),
        ("producers", {"topics": ["not a name"]}),
        ("producers", {"topics": "granted"}),
        ("subscriptions", {"pending_max": 0}),
        ("subscriptions", {"pending_age_ms": 1.5}),
        ("subscriptions", {"acked_seq": 3}),
    ],
    ids=str,
)
def test_values_that_make_no_sense_are_refused(
    http: httpx.Client, topic: str, kind: str, values: dict[str, Any]
) -> None:
    collection, item, named = place(kind, topic)
    refused = http.post(collection, json={**named, **values})
    absent = http.get(item)
    _, created = made(http, kind, topic)

    changed = http.patch(item, json=values)

    require_problem(refused, 400, "bad_request")
    assert absent.status_code == 404
    require_problem(changed, 400, "bad_request")
    assert http.get(item).json() == created.json()


@pytest.mark.parametrize("start", ["soon", "-1", "1.5", "", "9" * 19, "latest\n", 5])
def test_a_subscription_begins_somewhere(http: httpx.Client, topic: str, start: Any) -> None:
    answer = http.post(f"/v1/topics/{topic}/subscriptions", json={"subscriber": "bps", "start": start})

    require_problem(answer, 400, "bad_request")


@pytest.mark.parametrize("name", ["", "a b", "-a", "ñ", "x" * 129, "a/b", "a\n"])
def test_a_name_is_one_that_names_may_be(http: httpx.Client, name: str) -> None:
    for kind in ("topics", "producers", "subscribers"):
        answer = http.post(f"/v1/{kind}", json={"name": name})
        require_problem(answer, 400, answer.json()["code"])
        assert answer.json()["code"] in ("bad_request", "bad_name")


@pytest.mark.parametrize("query", ["max=0", "max=1001", "max=x", "page=2", "max=1&sort=name"])
def test_a_query_that_is_wrong_is_refused(http: httpx.Client, query: str) -> None:
    for path in ("topics", "producers", "subscribers", "subscriptions", "topics/granted/subscriptions", "traces"):
        require_problem(http.get(f"/v1/{path}?{query}"), 400, "bad_request")


def test_a_producer_is_not_granted_what_is_not_there(http: httpx.Client, topic: str) -> None:
    answer = http.post("/v1/producers", json={"name": topic, "topics": ["nothing"]})

    require_problem(answer, 404, "not_found")
    assert http.get(f"/v1/producers/{topic}").status_code == 404
