"""Services over REST as a stranger uses them: ask and wait, submit and collect, and every refusal as a problem."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from pregon.edges.http.machines import join_frames
from pregon.testing import run_hub

from ..hub_process import HubProcess, wait_until
from ..rest import FRAMES, require_problem
from .asking import RawClient
from .staff import Staff

WAIT_MS = 20_000


@pytest.fixture
def http(hub: HubProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://{hub.addresses.http}/v1", timeout=30) as http:
        yield http


@pytest.fixture
def staff(hub: HubProcess, tmp_path: Path, topic: str) -> Iterator[Staff]:
    """Workers of the test's own service."""
    with Staff(hub.addresses.services_back, tmp_path, topic) as staff:
        yield staff


@pytest.fixture
def service(topic: str) -> str:
    """A service that no other test uses."""
    return topic


def ask(http: httpx.Client, service: str, body: bytes = b"x", **query: Any) -> httpx.Response:
    """A request; its query with true and false as JSON has them."""
    params = {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items()}
    return http.post(f"/services/{service}/requests", content=body, params=params)


# Ask.


def test_a_request_is_answered_while_its_client_waits(http: httpx.Client, staff: Staff, service: str) -> None:
    staff.hire("Ana")

    answer = ask(http, service, b"100", durable=False)

    assert answer.status_code == 200
    assert answer.json() == {"service": service, "state": "answered", "frames": [{"text": "100"}, {"text": "Ana"}]}


def test_a_body_of_several_frames_arrives_as_it_was_sent(http: httpx.Client, staff: Staff, service: str) -> None:
    staff.hire("Ana")
    frames = [b"first", b"", b"\xff\x00", b"last"]

    for durable in (True, False):
        answer = http.post(
            f"/services/{service}/requests",
            content=join_frames(frames),
            headers={"Content-Type": FRAMES},
            params={"durable": str(durable).lower(), "wait_ms": WAIT_MS},
        )

        shown = [{"text": "first"}, {"text": ""}, {"base64": "/wA="}, {"text": "last"}, {"text": "Ana"}]
        assert (answer.status_code, answer.json()["frames"]) == (200, shown)


def test_a_client_of_rest_and_one_of_zeromq_are_served_by_the_same_workers(
    http: httpx.Client, staff: Staff, hub: HubProcess, service: str
) -> None:
    worker = staff.hire("Ana")
    with RawClient(hub.addresses.services_front, service=service) as client:
        client.ask(1)
        by_zmq = client.require(1)
        by_rest = ask(http, service, b"2", durable=False)

    assert (by_zmq.body, by_rest.json()["frames"][0]) == ([b"1", b"Ana"], {"text": "2"})
    assert worker.told("given ") == ["1", "2"]


def test_a_version_is_served_by_its_workers_alone(http: httpx.Client, staff: Staff, service: str) -> None:
    staff.hire("old", "--types", f"{service}@1")
    staff.hire("new", "--types", f"{service}@2")

    answers = [ask(http, service, durable=False, version="2") for _ in range(4)]
    unserved = ask(http, service, durable=False, version="3")
    rows = [row for row in http.get("/services").json()["items"] if row["type"] == service]

    assert [answer.json()["frames"][1]["text"] for answer in answers] == ["new"] * 4
    assert "served now: 1, 2" in require_problem(unserved, 404, "version_unserved")
    assert [(row["version"], row["workers"]) for row in rows] == [("", 2), ("1", 1), ("2", 1)]


def test_a_client_that_hangs_up_frees_its_worker_of_what_nobody_waits_for(
    http: httpx.Client, staff: Staff, service: str
) -> None:
    worker = staff.hire("Ana", "--manner", "hold")

    with pytest.raises(httpx.ReadTimeout):
        http.post(f"/services/{service}/requests", params={"durable": "false"}, content=b"x", timeout=0.5)

    worker.wait_for_line("dropped")
    assert worker.told("given ") == ["x"]


# Submit and collect.


def test_a_durable_request_is_taken_at_once_and_its_result_waits(
    http: httpx.Client, staff: Staff, service: str
) -> None:
    taken = ask(http, service, b"100")
    worker = staff.hire("Ana", "--manner", "hold")
    worker.wait_for_line("given 100")
    where = taken.headers["location"].removeprefix("/v1")
    before = http.get(where)
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(http.get, where, params={"wait_ms": WAIT_MS}) for _ in range(2)]

        worker.tell("answer")
        awaited = [one.result() for one in waiting]
    after = http.get(where)

    id = taken.json()["id"]
    assert (taken.status_code, taken.json()["state"], where) == (202, "waiting", f"/services/{service}/requests/{id}")
    assert (before.status_code, before.json()["state"], before.json()["frames"]) == (200, "waiting", [])
    assert [answer.json() for answer in awaited] == [after.json()] * 2
    assert after.json()["frames"] == [{"text": "100"}, {"text": "Ana"}]
    assert after.json()["submitted_at"] < after.json()["ended_at"]


def test_a_submission_may_wait_for_its_result(http: httpx.Client, staff: Staff, service: str) -> None:
    too_short = ask(http, service, wait_ms=50)
    staff.hire("Ana")
    long_enough = ask(http, service, wait_ms=WAIT_MS)

    assert (too_short.status_code, too_short.json()["state"]) == (202, "waiting")
    assert (long_enough.status_code, long_enough.json()["state"]) == (200, "answered")


@pytest.mark.parametrize("key", ["plain-key", "with space", "ñandú señal", "b?c#d", "100%", "..."])
def test_a_request_is_found_where_its_location_says_whatever_its_key(
    http: httpx.Client, staff: Staff, service: str, key: str
) -> None:
    staff.hire("Ana")
    taken = ask(http, service, b"x", key=key, wait_ms=WAIT_MS)

    found = http.get(taken.headers["location"].removeprefix("/v1"))

    assert taken.json()["id"] == key
    assert (found.status_code, found.json()["id"], found.json()["state"]) == (200, key, "answered")


def test_a_result_is_found_in_its_own_service_alone(http: httpx.Client, service: str) -> None:
    taken = ask(http, service, key=f"key-{service}")

    elsewhere = http.get(f"/services/another/requests/{taken.json()['id']}")

    require_problem(elsewhere, 404, "not_found")


def test_durable_requests_are_listed_by_state_and_page(http: httpx.Client, staff: Staff, service: str) -> None:
    for number in range(5):
        ask(http, service, key=f"{service[:40]}-{number}")
    listing = f"/services/{service}/requests"
    waiting = http.get(listing, params={"state": "waiting"}).json()["items"]
    staff.hire("Ana")
    wait_until(lambda: not http.get(listing, params={"state": "waiting"}).json()["items"], "all are answered")

    first = http.get(listing, params={"max": 3}).json()["items"]
    second = http.get(listing, params={"max": 3, "after": first[-1]["id"]}).json()["items"]

    assert [row["id"] for row in waiting] == [f"{service[:40]}-{number}" for number in range(5)]
    assert [row["id"] for row in first + second] == [row["id"] for row in waiting]
    assert {(row["service"], row["state"]) for row in first + second} == {(service, "answered")}
    require_problem(http.get(listing, params={"state": "lost"}), 400, "bad_request")


# Refused.


def test_a_worker_that_fails_is_told_as_a_problem(http: httpx.Client, staff: Staff, service: str) -> None:
    staff.hire("Ana", "--manner", "fail")

    at_once = ask(http, service, durable=False)
    kept = ask(http, service, wait_ms=WAIT_MS).json()

    assert require_problem(at_once, 422, "service_failed") == "nobody divides by zero"
    assert (kept["state"], kept["code"], kept["message"]) == ("failed", "service_failed", "nobody divides by zero")


def test_a_service_that_nobody_serves_and_a_full_queue_are_told_as_problems(http: httpx.Client, service: str) -> None:
    http.patch(f"/services/{service}", json={"queue_max": 1, "wait_ms": 1_000})
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(ask, http, service, durable=False)
        wait_until(lambda: waiting_in(http, service) == 1, "one waits")

        second = ask(http, service, durable=False)
        third = ask(http, service)
        unserved = first.result()

    assert "ask again after a pause" in require_problem(second, 503, "queue_full")
    require_problem(third, 503, "queue_full")
    assert "start one" in require_problem(unserved, 503, "service_unserved")


def waiting_in(http: httpx.Client, service: str) -> int:
    """How many requests of a service wait."""
    rows = http.get("/services").json()["items"]
    return sum(int(row["waiting"]) for row in rows if row["type"] == service)


def test_a_deadline_that_passes_is_told_as_a_problem(http: httpx.Client, staff: Staff, service: str) -> None:
    worker = staff.hire("Ana", "--manner", "hold")

    passed = ask(http, service, b"slow", durable=False, deadline_ms=300)
    worker.wait_for_line("given slow")
    kept = ask(http, service, deadline_ms=300, wait_ms=WAIT_MS).json()

    require_problem(passed, 408, "deadline_passed")
    assert (kept["state"], kept["code"]) == ("failed", "deadline_passed")


@pytest.mark.parametrize(
    "query",
    [
        {"durable": "perhaps"},
        {"wait_ms": 60_001},
        {"wait_ms": -1},
        {"priority": 10},
        {"deadline_ms": -5},
        {"key": "k" * 201},
        {"key": "line\nfeed"},
        {"key": "of/two/parts"},
        {"key": ".."},
        {"unknown": 1},
    ],
    ids=lambda query: str(query)[:30],
)
def test_a_request_that_is_wrong_is_refused(http: httpx.Client, service: str, query: dict[str, Any]) -> None:
    require_problem(ask(http, service, **query), 400, "bad_request")


def test_what_has_no_name_no_body_or_too_large_a_one_is_refused(http: httpx.Client, service: str) -> None:
    of_frames = {"Content-Type": FRAMES}

    require_problem(ask(http, "no%20name"), 400, "bad_name")
    require_problem(ask(http, service, bytes(8 * 1024 * 1024 + 1)), 413, "too_large")
    for wrong in (b"\0\0\0\5abc", b"\0", join_frames([b"x"] * 65)):
        answer = http.post(f"/services/{service}/requests", content=wrong, headers=of_frames)
        require_problem(answer, 400, "bad_request")


def test_no_result_is_a_problem(http: httpx.Client, service: str) -> None:
    for query in ({}, {"wait_ms": 100}):
        require_problem(http.get(f"/services/{service}/requests/no-such-id", params=query), 404, "not_found")


# Other hubs.


def test_a_hub_without_services_says_so_in_words() -> None:
    with run_hub(services_front="") as hub, httpx.Client(base_url=hub.http) as http, hub.client() as client:
        answers = [
            http.get("/v1/broker"),
            http.get("/v1/services"),
            http.get("/v1/workers"),
            http.post("/v1/services/sqrt/requests", content=b"100"),
            http.get("/v1/services/sqrt/requests/some-id"),
            http.patch("/v1/services/sqrt", json={"policy": "round-robin"}),
        ]
        with pytest.raises(Exception, match="this hub has no services"):
            client.show("broker")

    for answer in answers:
        assert "this hub has no services" in require_problem(answer, 404, "not_found")


def test_a_hub_that_requires_keys_serves_nobody_whom_it_does_not_know() -> None:
    with run_hub(require_keys=True) as hub, httpx.Client(base_url=hub.http) as http:
        addresses = hub.server.addresses
        secret = http.post("/v1/tokens", json={"name": "admin", "scopes": ["admin"]}).json()["secret"]
        known = {"Authorization": f"Bearer {secret}"}

        refused = [http.get("/v1/broker"), http.post("/v1/services/sqrt/requests", content=b"100")]
        taken = http.post("/v1/services/sqrt/requests", content=b"100", headers=known)
        with (
            RawClient(addresses["services_front"]) as client,
            RawClient(addresses["services_back"]) as worker,
        ):
            client.ask(1)
            not_asked = client.require(1)
            worker.say("H", tail=b'{"types": ["sqrt"]}')
            not_served = worker.require(0)

    for answer in refused:
        require_problem(answer, 401, "unauthorized")
    assert taken.status_code == 202
    assert (not_asked.code, not_served.code) == ("forbidden", "forbidden")
