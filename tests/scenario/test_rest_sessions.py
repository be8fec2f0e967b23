"""What a producer stored under a session, read back over REST, whatever the session is called."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import httpx
import pytest

from pregon.hub.hub import Hub
from pregon.model.catalog import Retention, Subscription, Topic
from pregon.testing import RunningHub

from .rest import ARROW, publish, require_problem, rest_hub
from .test_rest_hub_tables import send, table_of


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[RunningHub, httpx.Client]]:
    with rest_hub() as both:
        yield both


@pytest.fixture
def http(running: tuple[RunningHub, httpx.Client]) -> httpx.Client:
    return running[1]


@pytest.fixture
def hub(running: tuple[RunningHub, httpx.Client]) -> Hub:
    return running[0].server.hub


@pytest.mark.parametrize(
    "name",
    ["spark-0", "a/b c", "año/1?x=#%", "/", "x" * 200, "../.."],
    ids=["plain", "slash", "signs", "only a slash", "long", "dots"],
)
def test_a_session_is_read_back_whatever_its_name_has(http: httpx.Client, hub: Hub, topic: str, name: str) -> None:
    send(hub, topic, name, 1, "a", "b")
    publish(http, topic)
    send(hub, topic, name, 2, "c")

    answer = http.get(
        f"/v1/topics/{topic}/sessions/{quote(name, safe='')}", headers={"Pregon-Producer": "dgrec", "Accept": ARROW}
    )

    table = table_of(answer)
    assert list(zip(table["seq"].to_pylist(), table["body"].to_pylist(), strict=True)) == [
        (1, b"a"),
        (2, b"b"),
        (4, b"c"),
    ]
    assert (answer.headers["pregon-first-number"], answer.headers["pregon-next-number"]) == ("1", "3")


def test_a_session_that_is_not_known_begins_at_one(http: httpx.Client, topic: str) -> None:
    answers = [http.get(f"/v1/topics/{topic}/sessions/s")]
    publish(http, topic)

    answers += [http.get(f"/v1/topics/{topic}/sessions/s"), http.head(f"/v1/topics/{topic}/sessions/s")]

    assert [one.headers["pregon-next-number"] for one in answers] == ["1"] * 3
    assert [table_of(one).num_rows for one in answers[:2]] == [0, 0]


def test_what_retention_removed_of_a_session_is_gone() -> None:
    with rest_hub(maintenance_every_ms=3_600_000) as (running, http):
        hub = running.server.hub
        hub.create(Topic(name="t", retention=Retention(when_acknowledged=True))).result()
        hub.create(Subscription(topic="t", subscriber="s")).result()
        for number in (1, 2):
            send(hub, "t", "s", number, "x")
        hub.ack("t", "s", 1).result()
        hub.maintenance.run_once()
        sent = {"Pregon-Producer": "dgrec"}

        lost = http.get("/v1/topics/t/sessions/s", headers=sent)
        rest = http.get("/v1/topics/t/sessions/s?from=2", headers=sent)

    assert "begins at 2 now" in require_problem(lost, 410, "data_lost")
    assert (table_of(rest)["seq"].to_pylist(), rest.headers["pregon-next-number"]) == ([2], "3")


@pytest.mark.parametrize(
    ("path", "producer", "code"),
    [
        ("t/sessions/s?from=0", "dgrec", "bad_request"),
        (f"t/sessions/{'ñ' * 101}", "dgrec", "bad_request"),
        ("t/sessions/s", "no producer", "bad_name"),
        ("t/sessions/s", "x" * 129, "bad_name"),
        ("-t/sessions/s", "dgrec", "bad_name"),
    ],
    ids=["batch 0", "long session", "bad producer", "long producer", "bad topic"],
)
def test_what_can_be_no_session_is_refused(http: httpx.Client, path: str, producer: str, code: str) -> None:
    answer = http.get(f"/v1/topics/{path}", headers={"Pregon-Producer": producer})

    require_problem(answer, 400, code)
