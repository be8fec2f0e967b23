"""Durable requests: stored before yes is said, worked on whatever dies, one result each, collected at every door."""

from __future__ import annotations

import threading
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from ..conftest import MakeHub
from ..hub_process import HubProcess, wait_until
from .asking import RawClient
from .program import PATIENCE_S
from .staff import Staff
from .workers import PLAIN

KILLS = 3
_PACE_S = 0.03


def requests_of(hub: HubProcess, service: str) -> str:
    """Where the requests of a service are."""
    return f"http://{hub.addresses.http}/v1/services/{service}/requests"


def set_options(hub: HubProcess, service: str, **values: Any) -> None:
    """Run a service in another way."""
    answer = httpx.patch(f"http://{hub.addresses.http}/v1/services/{service}", json=values)
    assert answer.status_code == 200, answer.text


def listed(hub: HubProcess, service: str, **query: Any) -> list[dict[str, Any]]:
    """All the durable requests of a service, page by page."""
    rows: list[dict[str, Any]] = []
    while True:
        after = rows[-1]["id"] if rows else ""
        query = {**query, "max": 500, "after": after}
        page = httpx.get(requests_of(hub, service), params=query).json()["items"]
        if not page:
            return rows
        rows += page


def texts(answer: httpx.Response) -> list[str]:
    """The frames of a result over REST, all of them text."""
    return [frame["text"] for frame in answer.json()["frames"]]


# The hub is killed.


class Submitter:
    """A thread that hands in requests, each again and again until it is told that it is stored."""

    def __init__(self, hub: HubProcess, service: str, prefix: str) -> None:
        self.hub = hub
        self.service = service
        self.prefix = prefix
        self.stored: list[str] = []
        """Ids for which it heard yes."""
        self.stopping = threading.Event()

    def keys(self) -> Iterator[str]:
        """The next id, until it is told to stop."""
        while not self.stopping.wait(_PACE_S):
            yield f"{self.prefix}-{len(self.stored)}"

    def submit_by_zmq(self) -> None:
        """By PGS/1."""
        with RawClient(self.hub.addresses.services_front, self.prefix, self.service) as client:
            for number, key in enumerate(self.keys()):
                while True:
                    client.ask(number, key.encode(), durable=True, key=key)
                    reply = client.hear(1.0)
                    while reply is not None and reply.number != number:
                        reply = client.hear(1.0)  # Yes, again, to one before that was sent twice.
                    if reply is not None and reply.kind == "Y":
                        assert reply.tail == key.encode()
                        break
                self.stored.append(key)

    def submit_by_rest(self) -> None:
        """By HTTP."""
        with httpx.Client(timeout=5) as http:
            for key in self.keys():
                while not _is_accepted(http, requests_of(self.hub, self.service), key):
                    threading.Event().wait(_PACE_S)
                self.stored.append(key)


def _is_accepted(http: httpx.Client, url: str, key: str) -> bool:
    try:
        answer = http.post(url, params={"key": key}, content=key.encode())
    except httpx.TransportError:
        return False
    assert answer.status_code in (200, 202, 503), answer.text
    return answer.status_code != 503


@contextmanager
def submitting(submitters: dict[str, Submitter]) -> Iterator[Callable[[], None]]:
    """Both at work, until the end; what waits until both are told yes some more times."""
    failures: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # Whatever it is, it is the test's to report, not the thread's to lose.
            failures.append(error)

    works = (submitters["zmq"].submit_by_zmq, submitters["rest"].submit_by_rest)
    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()

    def wait_for_progress() -> None:
        wanted = {name: len(one.stored) + 5 for name, one in submitters.items()}
        wait_until(
            lambda: failures or all(len(submitters[name].stored) > count for name, count in wanted.items()),
            "both are told yes again",
            2 * PATIENCE_S,
        )
        assert not failures, failures

    try:
        yield wait_for_progress
    finally:
        for one in submitters.values():
            one.stopping.set()
        for thread in threads:
            thread.join(2 * PATIENCE_S)
    assert not failures, failures
    assert not any(thread.is_alive() for thread in threads)


def test_no_durable_request_is_lost_and_each_has_one_result_however_often_the_hub_is_killed(
    make_hub: MakeHub, tmp_path: Path
) -> None:
    hub = make_hub().start()
    set_options(hub, "sum", attempts_max=100, beat_ms=200, patience=10, answer_ms=3_000)
    rng = Random(11)
    submitters = {name: Submitter(hub, "sum", name) for name in ("zmq", "rest")}
    with Staff(hub.addresses.services_back, tmp_path, "sum") as staff:
        for number in range(3):
            staff.hire(f"worker-{number}", "--work-ms", "5", "--slots", "2")

        with submitting(submitters) as wait_for_progress:
            for _ in range(KILLS):
                wait_for_progress()
                time.sleep(rng.uniform(0, 0.2))
                hub.kill()
                rng.choice(staff.alive).kill()
                staff.call_in(f"worker-{len(staff.all)}", "--work-ms", "5", "--slots", "2")
                hub.start()
        stored = sorted(submitters["zmq"].stored + submitters["rest"].stored)
        wait_until(lambda: not listed(hub, "sum", state="waiting"), "all are answered", 2 * PATIENCE_S)
        results = collect_at_every_door(hub, "sum", stored)

    assert sorted(row["id"] for row in listed(hub, "sum", state="answered")) == stored, "all that heard yes, once"
    assert [result[0] for result in results] == stored, "each has the answer to what it asked"
    assert hub.bugs() == []


def collect_at_every_door(hub: HubProcess, service: str, keys: list[str]) -> list[list[str]]:
    """The answers, which must be the same by ZeroMQ, by REST and by PREGON/1."""
    by_zmq, by_rest, by_fast_lane = [], [], []
    with RawClient(hub.addresses.services_front) as client, hub.client() as talk, httpx.Client() as http:
        for number, key in enumerate(keys):
            client.say("L", number, key.encode())
            by_zmq.append([frame.decode() for frame in client.require(number).body])
            by_rest.append(texts(http.get(f"{requests_of(hub, service)}/{key}")))
            by_fast_lane.append([b64decode(frame).decode() for frame in talk.show("durable", key)["body"]])
    assert by_zmq == by_rest == by_fast_lane
    return by_zmq


def test_a_request_that_kills_its_workers_is_known_for_it_by_the_hub_that_comes_after(
    make_hub: MakeHub, tmp_path: Path
) -> None:
    hub = make_hub().start()
    set_options(hub, "poisoned", beat_ms=150, patience=4, attempts_max=3)
    where = hub.addresses
    with Staff(where.services_back, tmp_path, "poisoned") as staff:
        httpx.post(requests_of(hub, "poisoned"), params={"key": "bad"}, content=b"bad")
        for name in ("Ana", "Eva"):
            worker = staff.call_in(name, "--dies-of", "bad")
            wait_until(lambda worker=worker: not worker.is_alive, "it is dead", PATIENCE_S)  # type: ignore[misc]
        wait_until(lambda: attempts_of(hub, "poisoned", "bad") == 2, "both losses are on disk")
        hub.kill()
        hub.start()
        staff.call_in("Leo", "--dies-of", "bad")
        ended = httpx.get(f"{requests_of(hub, 'poisoned')}/bad", params={"wait_ms": 20_000}, timeout=30).json()
        hub.kill()
        hub.start()
        (shelved,) = httpx.get(f"http://{where.http}/v1/poison").json()["items"]

        released = httpx.post(f"http://{where.http}/v1/poison/{shelved['number']}/release")
        staff.hire("Sol")
        answered = httpx.get(f"{requests_of(hub, 'poisoned')}/bad", params={"wait_ms": 20_000}, timeout=30)

    assert (ended["state"], ended["code"], ended["attempts"]) == ("parked", "poison_request", 3)
    assert (shelved["service"], shelved["durable_id"], shelved["body"]) == ("poisoned", "bad", ["bad"])
    assert (released.status_code, released.json()["durable_id"]) == (200, "bad")
    assert (answered.json()["state"], texts(answered)) == ("answered", ["bad", "Sol"])
    assert hub.bugs() == []


def attempts_of(hub: HubProcess, service: str, key: str) -> int:
    """How many workers were lost with a request, as the store has it."""
    return int(httpx.get(f"{requests_of(hub, service)}/{key}").json()["attempts"])


# It lives.


def test_the_same_key_is_the_same_request_at_every_door(hub: HubProcess, tmp_path: Path) -> None:
    with (
        Staff(hub.addresses.services_back, tmp_path, "keyed") as staff,
        RawClient(hub.addresses.services_front, service="keyed") as client,
    ):
        for number in range(3):
            client.ask(number, b"first", durable=True, key="one-key")
        yes = [client.require(number) for number in range(3)]
        again = httpx.post(requests_of(hub, "keyed"), params={"key": "one-key"}, content=b"first")
        worker = staff.hire("Ana")
        collected = httpx.get(f"{requests_of(hub, 'keyed')}/one-key", params={"wait_ms": 20_000}, timeout=30)
        client.ask(9, b"first", durable=True, key="one-key")
        late = client.require(9)

    assert {(reply.kind, reply.tail) for reply in (*yes, late)} == {("Y", b"one-key")}
    assert (again.status_code, again.json()["id"], again.json()["state"]) == (202, "one-key", "waiting")
    assert texts(collected) == ["first", "Ana"]
    assert worker.told("given ") == ["first"], "it was worked on once"


def test_a_result_is_collected_by_all_who_wait_for_it_and_by_who_comes_later(hub: HubProcess, tmp_path: Path) -> None:
    with (
        Staff(hub.addresses.services_back, tmp_path, "awaited") as staff,
        RawClient(hub.addresses.services_front, service="awaited") as client,
        RawClient(hub.addresses.services_front, service="awaited") as other,
    ):
        worker = staff.hire("Ana", "--manner", "hold")
        client.ask(1, durable=True, key="awaited-1")
        assert client.require(1).kind == "Y"
        client.say("L", 2, b'awaited-1\n{"wait_ms": 30000}')
        other.say("L", 3, b'awaited-1\n{"wait_ms": 30000}')
        client.say("L", 4, b"awaited-1")
        not_yet = client.require(4)
        client.say("L", 5, b'awaited-1\n{"wait_ms": 50}')
        still_not = client.require(5)

        worker.wait_for_line("given 1")
        worker.tell("answer")
        told = [client.require(2), other.require(3)]
        client.say("L", 6, b"awaited-1")
        later = client.require(6)
        for one in (client, other):
            one.hear_the_rest()

    assert (not_yet.code, still_not.code) == ("answer_timeout", "answer_timeout")
    assert [reply.body for reply in (*told, later)] == [[b"1", b"Ana"]] * 3
    assert [reply.number for reply in client.replies] == [1, 4, 5, 2, 6]


def test_two_workers_that_answer_one_request_leave_one_result(hub: HubProcess, tmp_path: Path) -> None:
    set_options(hub, "raced", liveness="answers", answer_ms=1_000)
    with (
        Staff(hub.addresses.services_back, tmp_path, "raced") as staff,
        RawClient(hub.addresses.services_front, service="raced") as client,
    ):
        slow = staff.hire("slow", "--manner", "hold", "--times", "1")
        client.ask(1, durable=True, key="raced-1")
        client.require(1)
        slow.wait_for_line("given 1")
        staff.hire("quick")
        client.say("L", 2, b'raced-1\n{"wait_ms": 30000}')
        first = client.require(2)

        slow.tell("answer")
        wait_until(lambda: worker_row(hub, "slow")["state"] == "ready", "it is taken back, its answer heard")
        after = collect_at_every_door(hub, "raced", ["raced-1"])

    assert first.body == [b"1", b"quick"]
    assert after == [["1", "quick"]]


def worker_row(hub: HubProcess, name: str) -> dict[str, Any]:
    """What is shown of a worker."""
    rows = httpx.get(f"http://{hub.addresses.http}/v1/workers").json()["items"]
    row: dict[str, Any] = next(row for row in rows if row["name"] == name)
    return row


def test_a_plain_worker_serves_durable_requests_too(hub: HubProcess, tmp_path: Path) -> None:
    with Staff(hub.addresses.services_back, tmp_path, "plainly") as staff:
        staff.hire("plain", form=PLAIN)
        answer = httpx.post(requests_of(hub, "plainly"), params={"wait_ms": 20_000}, content=b"x", timeout=30)

    assert (answer.status_code, answer.json()["state"], texts(answer)) == (200, "answered", ["x", "plain"])


@pytest.mark.parametrize(
    ("tail", "code"),
    [(b"no-such-id", "not_found"), (b'no-such-id\n{"wait_ms": 100}', "not_found"), (b"x\n{", "bad_request")],
    ids=str,
)
def test_a_result_that_is_not_there_is_not_waited_for(hub: HubProcess, tail: bytes, code: str) -> None:
    with RawClient(hub.addresses.services_front) as client:
        client.say("L", 1, tail)
        reply = client.require(1)

    assert (reply.kind, reply.code) == ("E", code)


def test_a_durable_request_that_is_of_no_use_any_more_ends_so(hub: HubProcess) -> None:
    with RawClient(hub.addresses.services_front, service="nobody-serves-this") as client:
        client.ask(1, durable=True, key="hurried", deadline_ms=200)
        client.require(1)
        client.say("L", 2, b'hurried\n{"wait_ms": 20000}')
        reply = client.require(2)

    assert reply.code == "deadline_passed"


def test_a_service_that_is_not_durable_says_so(hub: HubProcess) -> None:
    set_options(hub, "fleeting", durable=False)
    with RawClient(hub.addresses.services_front, service="fleeting") as client:
        client.ask(1, durable=True)
        refused = client.require(1)
    over_rest = httpx.post(requests_of(hub, "fleeting"), content=b"x")

    assert refused.code == "bad_request"
    assert (over_rest.status_code, over_rest.json()["code"]) == (400, "bad_request")
