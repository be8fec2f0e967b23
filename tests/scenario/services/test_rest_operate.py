"""Services as an operator sees and runs them over REST: lists, policies that change under way, what was set aside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from pregon.services.options import ServiceOptions

from ..conftest import MakeHub
from ..hub_process import HubProcess, wait_until
from ..rest import require_problem
from .asking import RawClient
from .program import PATIENCE_S
from .staff import Staff
from .workers import PLAIN

USUAL = ServiceOptions()


@pytest.fixture
def http(hub: HubProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://{hub.addresses.http}/v1", timeout=30) as http:
        yield http


@pytest.fixture
def service(topic: str) -> str:
    """A service that no other test uses."""
    return topic


@pytest.fixture
def staff(hub: HubProcess, tmp_path: Path, service: str) -> Iterator[Staff]:
    """Workers of the test's own service."""
    with Staff(hub.addresses.services_back, tmp_path, service) as staff:
        yield staff


@pytest.fixture
def client(hub: HubProcess, service: str) -> Iterator[RawClient]:
    """A client of the test's own service."""
    with RawClient(hub.addresses.services_front, service=service) as client:
        yield client


def row_of(http: httpx.Client, service: str) -> dict[str, Any]:
    """What is shown of a service."""
    rows = http.get("/services").json()["items"]
    row: dict[str, Any] = next(row for row in rows if (row["type"], row["version"]) == (service, ""))
    return row


def workers_of(http: httpx.Client, service: str) -> dict[str, dict[str, Any]]:
    """What is shown of the workers of a service, by name."""
    return {row["name"]: row for row in http.get("/workers").json()["items"] if service in row["types"]}


def served_by(client: RawClient, count: int) -> Counter[str]:
    """Who answers when requests are sent one by one."""
    names: Counter[str] = Counter()
    for number in range(count):
        client.ask(number)
        names[client.require(number).body[1].decode()] += 1
    return names


# What there is.


def test_the_broker_says_where_it_is(hub: HubProcess, http: httpx.Client) -> None:
    over_rest = http.get("/broker").json()
    with hub.client() as talk:
        over_fast_lane = talk.show("broker")

    assert over_rest == over_fast_lane
    expected = {"front": hub.addresses.services_front, "back": hub.addresses.services_back, "curve_key": ""}
    assert over_rest == expected


def test_services_workers_and_requests_are_listed_as_they_are(
    http: httpx.Client, staff: Staff, client: RawClient, service: str
) -> None:
    worker = staff.hire("Ana", "--manner", "hold", "--slots", "2", "--load", "0.25")
    staff.hire("plain", "--types", "another-service", form=PLAIN)
    for number in range(3):
        client.ask(number, b"four", priority=7)
    wait_until(lambda: row_of(http, service)["waiting"] == 1, "one waits")

    row, (ana,) = row_of(http, service), workers_of(http, service).values()
    requests = [one for one in http.get("/requests").json()["items"] if one["service"] == service]
    wait_until(lambda: workers_of(http, "another-service"), "the plain one is there too")
    (plain,) = workers_of(http, "another-service").values()
    worker.tell("answer")
    client.hear_until(2)

    figures = {name: row[name] for name in ("workers", "slots", "free", "waiting", "in_hand", "answered")}
    assert figures == {"workers": 1, "slots": 2, "free": 0, "waiting": 1, "in_hand": 2, "answered": 0}
    assert (row["waiting_ms"] >= 0, row["options"]["policy"]) == (True, USUAL.policy)
    assert {name: ana[name] for name in ("form", "state", "load", "slots", "free", "in_hand")} == {
        "form": "PGS/1", "state": "ready", "load": 0.25, "slots": 2, "free": 0, "in_hand": 2,
    }  # fmt: skip
    assert (plain["form"], plain["slots"]) == ("plain", 1)
    assert [(one["state"], one["worker"]) for one in requests] == [("in hand", "Ana")] * 2 + [("waiting", "")]
    assert {(one["priority"], one["bytes"], one["attempts"]) for one in requests} == {(7, 4, 0)}


def test_how_the_last_requests_ended_is_listed_newest_first(
    http: httpx.Client, staff: Staff, client: RawClient, service: str
) -> None:
    staff.hire("fails", "--manner", "fail", "--times", "1", "--load", "0.5")
    for number in range(3):
        client.ask(number)
        client.require(number)

    rows = [row for row in http.get("/requests/recent").json()["items"] if row["service"] == service]
    newest = http.get("/requests/recent", params={"max": 1}).json()["items"]

    assert [row["outcome"] for row in rows] == ["answered", "answered", "service_failed"]
    assert {(row["worker"], row["policy"], row["load"], row["attempts"]) for row in rows} == {
        ("fails", USUAL.policy, 0.5, 0)
    }
    assert all(row["waited_ms"] >= 0 and row["worked_ms"] > 0 and row["ended_ms_ago"] >= 0 for row in rows)
    assert [row["service"] for row in newest] == [service]
    require_problem(http.get("/requests/recent", params={"max": 0}), 400, "bad_request")


def test_the_fast_lane_lists_what_rest_lists(hub: HubProcess, http: httpx.Client, staff: Staff, service: str) -> None:
    staff.hire("Ana")
    http.post(f"/services/{service}/requests", content=b"x", params={"key": f"kept-{service[:50]}", "wait_ms": 20_000})

    with hub.client() as talk:
        kinds = {kind: talk.list(kind, max=1_000) for kind in ("service", "worker", "request", "recent", "poison")}
        durable = talk.list("durable", names=[service])

    assert service in {row["type"] for row in kinds["service"]}
    assert service in {name for row in kinds["worker"] for name in row["types"]}
    assert service in {row["service"] for row in kinds["recent"]}
    assert [(row["id"], row["state"]) for row in durable] == [(f"kept-{service[:50]}", "answered")]


# What is counted.


def counted(http: httpx.Client) -> Counter[str]:
    """What the broker has counted so far, by the names in its metrics."""
    lines = (line.split() for line in http.get("/../metrics").text.splitlines() if line.startswith("pregon_services_"))
    return Counter({name.removeprefix("pregon_services_").removesuffix("_total"): int(value) for name, value in lines})


def test_answers_that_are_late_second_or_of_no_use_are_counted(
    http: httpx.Client, staff: Staff, client: RawClient, hub: HubProcess, service: str
) -> None:
    others = f"{service[:50]}-others"
    # Only the first request is to take too long, however slow the machine is.
    for name, answer_ms in ((service, 2_000), (others, 60_000)):
        http.patch(f"/services/{name}", json={"liveness": "answers", "answer_ms": answer_ms})
    before = counted(http)
    slow = staff.hire("slow", "--manner", "hold", "--slots", "4", "--types", f"{service},{others}")
    client.ask(1)
    client.ask(1)
    slow.wait_for_line("given 1")
    staff.hire("twice", "--manner", "twice")
    client.require(1)

    slow.tell("answer, too late")
    wait_until(lambda: (counted(http) - before)["answers_late"], "it is heard, and taken back")
    with RawClient(hub.addresses.services_front, service=others) as leaving:
        leaving.ask(2)
        slow.wait_for_line("given 2")
        leaving.say("C", 2)
        slow.wait_for_line("dropped")
        leaving.ask(3)
        slow.wait_for_line("given 3")
        leaving.socket.send(b"nonsense")
    slow.tell("answer, to nobody")
    wait_until(lambda: (counted(http) - before)["answers_undeliverable"], "nobody was there")

    names = ("duplicates", "redispatched", "answers_late", "answers_unknown", "cancelled", "malformed")
    assert {name: (counted(http) - before)[name] for name in names} == dict.fromkeys(names, 1)
    assert workers_of(http, service)["slow"]["lost"] == 1


# Run in another way.


def test_the_policy_is_switched_while_requests_are_served(
    http: httpx.Client, staff: Staff, client: RawClient, service: str
) -> None:
    staff.hire("idle", "--load", "0.1")
    staff.hire("busy", "--load", "9")

    before = served_by(client, 10)
    switched = http.patch(f"/services/{service}", json={"policy": "least-loaded"})
    least_loaded = served_by(client, 10)
    http.patch(f"/services/{service}", json={"policy": "round-robin"})
    in_turn = served_by(client, 10)

    assert before == {"idle": 5, "busy": 5}
    assert (switched.status_code, switched.json()["options"]["policy"]) == (200, "least-loaded")
    assert least_loaded == {"idle": 10}
    assert in_turn == {"idle": 5, "busy": 5}
    policies = [row["policy"] for row in http.get("/requests/recent").json()["items"] if row["service"] == service]
    assert policies == ["round-robin"] * 10 + ["least-loaded"] * 10 + ["longest-idle"] * 10


def test_options_survive_a_restart_and_are_reset(make_hub: MakeHub, tmp_path: Path) -> None:
    hub = make_hub().start()
    wanted = {"policy": "least-loaded", "liveness": "beats-when-busy", "queue_max": 77, "durable": False}
    with httpx.Client(base_url=f"http://{hub.addresses.http}/v1", timeout=30) as http:
        http.patch("/services/sqrt", json={"answer_ms": 5_000})
        changed = http.patch("/services/sqrt", json=wanted).json()["options"]
        hub.kill()
        hub.start()
        with Staff(hub.addresses.services_back, tmp_path, "sqrt") as staff:
            staff.hire("Ana")
            kept = row_of(http, "sqrt")["options"]

            reset = http.delete("/services/sqrt")
            usual = row_of(http, "sqrt")["options"]
            hub.kill()
            hub.start()
            wait_until(lambda: workers_of(http, "sqrt"), "she comes back by herself", PATIENCE_S)
            after = row_of(http, "sqrt")["options"]

    assert kept == changed == {**usual, **wanted, "answer_ms": 5_000}
    assert reset.status_code == 204
    assert usual == after
    assert (usual["policy"], usual["queue_max"]) == (USUAL.policy, USUAL.queue_max)
    assert hub.bugs() == []


@pytest.mark.parametrize(
    "values",
    [
        {"policy": "the-fastest"},
        {"liveness": ""},
        {"beat_ms": 0},
        {"queue_max": 10**9},
        {"attempts_max": "many"},
        {"unknown": 1},
        {"durable": "yes"},
        [],
    ],
    ids=str,
)
def test_options_that_are_wrong_are_refused_and_change_nothing(http: httpx.Client, service: str, values: Any) -> None:
    http.patch(f"/services/{service}", json={"queue_max": 5})

    answer = http.patch(f"/services/{service}", json=values)

    require_problem(answer, 400, "bad_request")
    options = http.patch(f"/services/{service}", json={}).json()["options"]
    assert (options["queue_max"], options["policy"]) == (5, USUAL.policy)


def test_a_service_without_a_name_is_not_run(http: httpx.Client) -> None:
    require_problem(http.patch("/services/no%20name", json={}), 400, "bad_name")
    require_problem(http.delete("/services/no%20name"), 400, "bad_name")


# What was set aside.


def poison(http: httpx.Client, staff: Staff, service: str, key: str = "") -> dict[str, Any]:
    """Have a request kill two workers; what is shown of it then."""
    http.patch(f"/services/{service}", json={"attempts_max": 2, "beat_ms": 150, "patience": 4})
    for number in range(2):
        staff.hire(f"dies-{number}-{len(staff.all)}", "--dies-of", "bad")
    durable: dict[str, Any] = {"key": key, "wait_ms": 20_000} if key else {"durable": "false"}
    ended = http.post(f"/services/{service}/requests", content=b"bad", params=durable)
    if key:
        assert (ended.json()["state"], ended.json()["code"]) == ("parked", "poison_request")
    else:
        require_problem(ended, 422, "poison_request")
    shown: dict[str, Any] = [row for row in http.get("/poison").json()["items"] if row["service"] == service][-1]
    return shown


def test_a_durable_request_that_was_set_aside_is_released_and_answered(
    http: httpx.Client, staff: Staff, service: str
) -> None:
    key = f"bad-{service[:50]}"
    shown = poison(http, staff, service, key)

    released = http.post(f"/poison/{shown['number']}/release")
    staff.hire("good")
    answered = http.get(f"/services/{service}/requests/{key}", params={"wait_ms": 20_000}).json()

    assert (shown["durable_id"], shown["body"], len(shown["lost_workers"])) == (key, ["bad"], 2)
    assert (released.status_code, released.json()) == (200, {"number": shown["number"], "durable_id": key})
    assert (answered["state"], answered["frames"]) == ("answered", [{"text": "bad"}, {"text": "good"}])
    require_problem(http.post(f"/poison/{shown['number']}/release"), 404, "not_found")


def test_a_request_that_was_set_aside_is_dropped(http: httpx.Client, staff: Staff, service: str) -> None:
    key = f"bad-{service[:50]}"
    shown = poison(http, staff, service, key)

    dropped = http.delete(f"/poison/{shown['number']}")

    assert dropped.status_code == 204
    assert service not in {row["service"] for row in http.get("/poison").json()["items"]}
    require_problem(http.get(f"/services/{service}/requests/{key}"), 404, "not_found")
    require_problem(http.delete(f"/poison/{shown['number']}"), 404, "not_found")


def test_one_that_is_not_durable_is_looked_at_and_dropped_but_not_released(
    http: httpx.Client, staff: Staff, service: str
) -> None:
    shown = poison(http, staff, service)

    released = http.post(f"/poison/{shown['number']}/release")
    dropped = http.delete(f"/poison/{shown['number']}")

    assert (shown["durable_id"], shown["body"]) == ("", ["bad"])
    assert "not durable" in require_problem(released, 400, "bad_request")
    assert dropped.status_code == 204


@pytest.mark.parametrize("number", ["0", "99999", "one", "-1", "9" * 30])
def test_what_was_not_set_aside_is_not_released(http: httpx.Client, number: str) -> None:
    for answer in (http.post(f"/poison/{number}/release"), http.delete(f"/poison/{number}")):
        assert answer.status_code in (400, 404)
        assert answer.json()["code"] in ("bad_request", "not_found")
