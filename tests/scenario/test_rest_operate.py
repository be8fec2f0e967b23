"""Operate over REST: park, unpark, cancel and replay, with every message accounted for, and traces of all of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pyarrow as pa
import pytest

from pregon.limits import INTEGER_MAX, LIST_ROWS_MAX

from .hub_process import wait_until
from .rest import publish, publish_table, require_problem, rest_hub


class Subscription:
    """A subscription to a topic of so many messages; after everything it does, every message must be somewhere."""

    def __init__(self, http: httpx.Client, topic: str, count: int) -> None:
        self.http = http
        self.topic = topic
        self.at = f"/v1/topics/{topic}/subscriptions/bps"
        publish_table(http, topic, pa.table({"body": [str(n) for n in range(1, count + 1)]}))
        http.post(f"/v1/topics/{topic}/subscriptions", json={"subscriber": "bps"})

    def ask(self, verb: str, **values: Any) -> httpx.Response:
        """Do something to it."""
        answer = self.http.post(f"{self.at}/{verb}", json=values)
        account = self.account()
        parts = ("acknowledged", "pending", "parked", "expired", "filtered")
        assert account["accepted"] == sum(account[part] for part in parts), account
        assert account["accepted"] == account["head_seq"] - account["first_seq"] + 1
        return answer

    def account(self) -> dict[str, Any]:
        """Where its messages are."""
        account: dict[str, Any] = self.http.get(f"{self.at}/account").json()
        return account

    def counts(self) -> tuple[int, int, int, int]:
        """How many are acknowledged, pending, parked and expired."""
        account = self.account()
        return account["acknowledged"], account["pending"], account["parked"], account["expired"]

    def pull(self, **values: Any) -> list[int]:
        """The numbers of what is pending."""
        return [message["seq"] for message in self.ask("pull", **values).json()["messages"]]

    def pull_all(self) -> list[int]:
        """The numbers of everything that is delivered until nothing is pending, each answer acknowledged."""
        seen: list[int] = []
        while got := self.pull(max=3):
            seen += got
            self.ask("ack", seq=got[-1])
        return seen


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with rest_hub(maintenance_every_ms=50) as (_, http):
        yield http


def kinds(http: httpx.Client, topic: str, **query: Any) -> list[tuple[str, int, int]]:
    """The traces of a topic, oldest first: what happened to which numbers."""
    found = http.get("/v1/traces", params={"topic": topic, "max": 1_000, **query}).json()["items"]
    return [(one["kind"], one["first_seq"], one["last_seq"]) for one in reversed(found)]


def test_parked_messages_let_the_others_go_on_and_come_back_first(http: httpx.Client, topic: str) -> None:
    one = Subscription(http, topic, 6)

    parked = one.ask("park", seqs=[2, 3, 3, 5], reason="no such person").json()
    listed = http.get(f"{one.at}/parked").json()
    others = one.pull()
    one.ask("ack", seq=6)
    before = one.counts()
    unparked = one.ask("unpark", seqs=[3]).json()
    returned = one.pull()
    one.ask("ack", seq=3)
    rest = one.ask("unpark").json()
    last = one.pull_all()

    assert (parked, unparked, rest) == ({"count": 3}, {"count": 1}, {"count": 2})
    assert [(row["seq"], row["reason"], row["returned"]) for row in listed["items"]] == [
        (seq, "no such person", False) for seq in (2, 3, 5)
    ]
    assert listed["next"] is None
    assert (others, before, returned, last) == ([1, 4, 6], (3, 0, 3, 0), [3], [2, 5])
    assert one.counts() == (6, 0, 0, 0)


def test_cancelled_messages_are_never_delivered(http: httpx.Client, topic: str) -> None:
    one = Subscription(http, topic, 8)
    one.ask("park", seqs=[1, 2, 4])

    cancelled = one.ask("cancel", seqs=[2, 3, 5, 8], reason="by mistake").json()
    again = one.ask("cancel", seqs=[3, 5]).json()
    before = one.counts()
    one.ask("unpark")
    delivered = one.pull_all()

    assert (cancelled, again) == ({"count": 4}, {"count": 0})
    assert before == (0, 2, 2, 4)
    assert sorted(delivered) == [1, 4, 6, 7]
    assert one.counts() == (4, 0, 0, 4)
    assert [(first, last) for _, first, last in kinds(http, topic, kind="cancelled")] == [(2, 3), (5, 5), (8, 8)]


def test_a_replay_over_cancelled_messages_brings_them_back(http: httpx.Client, topic: str) -> None:
    one = Subscription(http, topic, 4)
    one.ask("cancel", seqs=[2])
    one.pull_all()

    replayed = one.ask("replay", from_seq=1).json()

    assert replayed == {"acked_seq": 0, "epoch": 1}
    assert sorted(one.pull_all()) == [1, 2, 3, 4]
    assert one.counts() == (4, 0, 0, 0)


def test_a_replay_from_a_time_begins_with_the_first_accepted_then(http: httpx.Client, topic: str) -> None:
    one = Subscription(http, topic, 3)
    publish(http, topic, b"later")
    accepted = [http.get(f"/v1/topics/{topic}/messages/{seq}").json()["accepted_at"] for seq in (1, 4)]
    one.pull_all()

    to_last = one.ask("replay", from_time=accepted[1]).json()
    last = one.pull_all()
    to_first = one.ask("replay", from_time=accepted[0]).json()
    everything = one.pull_all()
    one.ask("replay", from_time="1932-02-29T00:00:00-03:00")

    assert (to_last["acked_seq"], last) == (3, [4])
    assert (to_first["acked_seq"], everything) == (0, [1, 2, 3, 4])
    assert one.pull_all() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"from_seq": 1, "from_time": "2026-11-15T10:00:00Z"},
        {"from_seq": 0},
        {"from_seq": INTEGER_MAX},
        {"from_time": "yesterday"},
        {"from_time": ""},
        {"from_time": "9999-12-31T23:59:59Z"},
        {"unknown": 1},
    ],
    ids=str,
)
def test_a_replay_that_goes_nowhere_is_refused(http: httpx.Client, topic: str, wanted: dict[str, Any]) -> None:
    one = Subscription(http, topic, 2)

    require_problem(one.ask("replay", **wanted), 400, "bad_request")

    assert one.pull() == [1, 2]


@pytest.mark.parametrize("verb", ["park", "cancel", "unpark"])
def test_what_is_not_pending_is_not_set_aside(http: httpx.Client, topic: str, verb: str) -> None:
    one = Subscription(http, topic, 4)
    one.ask("ack", seq=2)
    before = one.counts()

    for seqs in ([1], [3, 2], [5], [3, INTEGER_MAX]):
        require_problem(one.ask(verb, seqs=seqs), 409, "not_pending")

    assert one.counts() == before == (2, 2, 0, 0)
    assert one.pull() == [3, 4]


@pytest.mark.parametrize(
    "wanted",
    [
        {"seqs": [0]},
        {"seqs": [-1]},
        {"seqs": ["one"]},
        {"seqs": [INTEGER_MAX + 1]},
        {"seqs": list(range(1, LIST_ROWS_MAX + 2))},
        {"seqs": [1], "reason": "x" * 501},
        {"seqs": [1], "reason": 5},
        {"seqs": [1], "unknown": 1},
        {"seqs": []},
        {},
    ],
    ids=lambda one: str(one)[:30],
)
def test_what_cannot_be_parked_or_cancelled_is_refused(http: httpx.Client, topic: str, wanted: dict[str, Any]) -> None:
    one = Subscription(http, topic, 2)

    for verb in ("park", "cancel"):
        require_problem(one.ask(verb, **wanted), 400, "bad_request")

    assert one.counts() == (0, 2, 0, 0)


@pytest.mark.parametrize("verb", ["park", "cancel", "unpark", "replay", "ack"])
def test_nobody_operates_on_a_subscription_that_is_not_there(http: httpx.Client, topic: str, verb: str) -> None:
    publish(http, topic)
    wanted = {"replay": {"from_seq": 1}, "ack": {"seq": 1}}.get(verb, {"seqs": [1]})

    answer = http.post(f"/v1/topics/{topic}/subscriptions/nobody/{verb}", json=wanted)

    require_problem(answer, 404, "not_found")


def test_pending_messages_past_their_limit_expire_and_are_accounted_for(http: httpx.Client, topic: str) -> None:
    one = Subscription(http, topic, 5)

    http.patch(one.at, json={"pending_max": 2})
    wait_until(lambda: one.counts()[3] == 3, "three have expired")

    assert one.counts() == (0, 2, 0, 3)
    assert one.pull_all() == [4, 5]


# Traces.


def test_every_step_of_a_message_leaves_a_trace(http: httpx.Client, topic: str) -> None:
    one = Subscription(http, topic, 3)

    one.ask("park", seqs=[2], reason="why")
    one.ask("ack", seq=3)
    one.ask("unpark")
    one.pull_all()
    one.ask("replay", from_seq=3)
    one.ask("cancel", seqs=[3], reason="enough")

    assert kinds(http, topic) == [
        ("accepted", 1, 3),
        ("parked", 2, 2),
        ("acknowledged", 1, 1),
        ("acknowledged", 3, 3),
        ("unparked", 2, 2),
        ("pulled", 2, 2),
        ("acknowledged", 2, 2),
        ("replayed", 3, 3),
        ("cancelled", 3, 3),
    ]
    (parked,) = http.get("/v1/traces", params={"topic": topic, "kind": "parked"}).json()["items"]
    assert (parked["detail"], parked["subscriber"], parked["producer"]) == ("why", "bps", "")


def test_every_filter_of_the_traces_restricts(http: httpx.Client, topic: str) -> None:
    who = f"p-{topic}"[:100]
    publish(http, topic, Pregon_Producer=who)
    publish(http, topic)
    first, second = (http.get(f"/v1/topics/{topic}/messages/{n}").json()["accepted_at"] for n in (1, 2))
    http.post(f"/v1/topics/{topic}/subscriptions", json={"subscriber": who})
    http.post(f"/v1/topics/{topic}/subscriptions/{who}/ack", json={"seq": 2})

    def count(**query: Any) -> int:
        return len(http.get("/v1/traces", params=query).json()["items"])

    assert count(topic=topic) == 3
    assert (count(producer=who), count(subscriber=who), count(subscriber="nobody")) == (1, 1, 0)
    assert (count(topic=topic, kind="accepted"), count(topic=topic, kind="parked")) == (2, 0)
    assert (count(topic=topic, seq=1), count(topic=topic, seq=1, kind="accepted"), count(topic=topic, seq=3)) == (
        2,
        1,
        0,
    )
    assert (count(topic=topic, since=second), count(topic=topic, until=first), count(topic=topic, until=second)) == (
        2,
        0,
        1,
    )
    assert count(topic=topic, until="1960-01-01T00:00:00Z") == 0
    assert count(topic=topic, since="2999-01-01T00:00:00Z") == 0
    assert count(topic=topic, since="2000-01-01T00:00:00Z", until="2999-01-01T00:00:00Z") == 3


def test_pages_of_traces_are_every_trace_once_newest_first(http: httpx.Client, topic: str) -> None:
    for _ in range(7):
        publish(http, topic)
    seen: list[dict[str, Any]] = []
    query: dict[str, Any] = {"topic": topic, "max": 3}

    for _ in range(10):
        page = http.get("/v1/traces", params=query).json()
        seen += page["items"]
        publish(http, topic, b"meanwhile")
        if page["next"] is None:
            break
        query["cursor"] = page["next"]

    assert [one["first_seq"] for one in seen] == [7, 6, 5, 4, 3, 2, 1]
    assert page["next"] is None


@pytest.mark.parametrize(
    "query", ["kind=lost", "seq=5", "seq=-1&topic=t", "since=now", "until=2026-13-01T00:00:00Z", "who=me", "max=1001"]
)
def test_a_search_that_is_wrong_is_refused(http: httpx.Client, query: str) -> None:
    require_problem(http.get(f"/v1/traces?{query}"), 400, "bad_request")
