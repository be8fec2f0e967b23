"""Receive over REST: pull with the acknowledgement of before, wait for news, read by number and as it was published."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

from pregon.clock import monotonic_ms
from pregon.limits import INTEGER_MAX

from .hub_process import wait_until
from .rest import ARROW, EVENT, EVENTS, JSON, publish, publish_table, require_problem, rest_hub


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with rest_hub() as (_, http):
        yield http


def fill(http: httpx.Client, topic: str, count: int) -> str:
    """A topic with messages 1 to count, and a subscription to it; the address of the subscription."""
    publish_table(http, topic, pa.table({"body": [str(n) for n in range(1, count + 1)]}))
    http.post(f"/v1/topics/{topic}/subscriptions", json={"subscriber": "bps"})
    return f"/v1/topics/{topic}/subscriptions/bps"


def pull(http: httpx.Client, at: str, **asked: Any) -> dict[str, Any]:
    answer = http.post(f"{at}/pull", json=asked)
    assert answer.status_code == 200, answer.text
    pulled: dict[str, Any] = answer.json()
    return pulled


def seqs(pulled: dict[str, Any]) -> list[int]:
    return [message["seq"] for message in pulled["messages"]]


def test_a_pull_repeats_until_it_is_acknowledged_with_the_next(http: httpx.Client, topic: str) -> None:
    at = fill(http, topic, 5)

    first, again = pull(http, at, max=2), pull(http, at, max=2)
    second = pull(http, at, ack=first["last_seq"], max=2)
    last = pull(http, at, ack=second["last_seq"])
    none = pull(http, at, ack=last["last_seq"])

    assert [seqs(one) for one in (first, again, second, last, none)] == [[1, 2], [1, 2], [3, 4], [5], []]
    assert (none["last_seq"], none["acked_seq"], none["head_seq"], none["epoch"]) == (None, 5, 5, 0)


def test_a_first_pull_subscribes_from_the_oldest(http: httpx.Client, topic: str) -> None:
    publish(http, topic)

    pulled = http.post(f"/v1/topics/{topic}/subscriptions/new/pull").json()

    assert seqs(pulled) == [1]


def test_after_reads_ahead_without_acknowledging(http: httpx.Client, topic: str) -> None:
    at = fill(http, topic, 5)

    ahead = pull(http, at, after=3)

    assert (seqs(ahead), ahead["acked_seq"]) == ([4, 5], 0)
    assert seqs(pull(http, at)) == [1, 2, 3, 4, 5]


def test_a_long_poll_wakes_when_something_is_published(http: httpx.Client, topic: str) -> None:
    at = fill(http, topic, 1)
    waiting = http.get("/v1/status").json()["waiting"]

    with ThreadPoolExecutor(1) as pool:
        poll = pool.submit(pull, http, at, ack=1, wait_ms=20_000)
        wait_until(lambda: http.get("/v1/status").json()["waiting"] > waiting, "it waits")
        began_ms = monotonic_ms()
        publish(http, topic)
        pulled = poll.result(timeout=20)
        took_ms = monotonic_ms() - began_ms

    assert seqs(pulled) == [2]
    assert took_ms < 1_000


def test_a_long_poll_for_nothing_ends_in_time(http: httpx.Client, topic: str) -> None:
    at = fill(http, topic, 1)

    began_ms = monotonic_ms()
    pulled = pull(http, at, ack=1, wait_ms=200)
    took_ms = monotonic_ms() - began_ms

    assert (seqs(pulled), pulled["acked_seq"]) == ([], 1)
    assert 150 < took_ms < 2_000


def test_an_acknowledgement_of_before_a_replay_is_ignored(http: httpx.Client, topic: str) -> None:
    at = fill(http, topic, 3)
    before = pull(http, at)
    http.post(f"{at}/ack", json={"seq": 3})
    replayed = http.post(f"{at}/replay", json={"from_seq": 1}).json()

    late = pull(http, at, ack=3, epoch=before["epoch"])
    timely = pull(http, at, ack=2, epoch=replayed["epoch"])

    assert replayed == {"acked_seq": 0, "epoch": before["epoch"] + 1}
    assert (seqs(late), late["acked_seq"], late["epoch"]) == ([1, 2, 3], 0, replayed["epoch"])
    assert seqs(timely) == [3]


def test_nobody_acknowledges_what_was_not_published(http: httpx.Client, topic: str) -> None:
    at = fill(http, topic, 2)

    for number in (3, INTEGER_MAX):
        require_problem(http.post(f"{at}/ack", json={"seq": number}), 409, "ack_beyond_head")
        require_problem(http.post(f"{at}/pull", json={"ack": number}), 409, "ack_beyond_head")

    assert seqs(pull(http, at)) == [1, 2]


def test_an_acknowledgement_outlives_the_hub(tmp_path: Path) -> None:
    with rest_hub(tmp_path) as (_, http):
        at = fill(http, "t", 3)
        acked = http.post(f"{at}/ack", json={"seq": 2}).json()
        lower = http.post(f"{at}/ack", json={"seq": 1}).json()

    with rest_hub(tmp_path) as (_, http):
        pulled = pull(http, at)

    assert acked == lower == {"acked_seq": 2}
    assert seqs(pulled) == [3]


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", JSON),
        ("*/*", JSON),
        ("application/*", JSON),
        (JSON, JSON),
        (EVENTS, EVENTS),
        (ARROW, ARROW),
        (f"{JSON};q=0.5, {ARROW}", ARROW),
        (f"{ARROW};q=0, */*;q=0.1", JSON),
        (f"{JSON};q=0, */*;q=0.1", EVENTS),
        (f"text/html, {EVENTS.upper()};q=0.2", EVENTS),
    ],
)
def test_messages_come_in_the_form_that_is_liked_best(http: httpx.Client, topic: str, accept: str, form: str) -> None:
    at = fill(http, topic, 3)

    pulled = http.post(f"{at}/pull", headers={"Accept": accept})
    page = http.get(f"/v1/topics/{topic}/messages", headers={"Accept": accept})

    for answer in (pulled, page):
        assert answer.headers["content-type"] == form
    if form == ARROW:
        assert pa.ipc.open_stream(pulled.content).read_all().column("seq").to_pylist() == [1, 2, 3]
        assert pulled.headers["pregon-last-seq"] == "3"


@pytest.mark.parametrize("accept", ["text/html", "application/json;q=0", "image/*, text/*", ";;", "a/b;q=x"])
def test_a_form_that_there_is_not_is_refused(http: httpx.Client, topic: str, accept: str) -> None:
    at = fill(http, topic, 1)

    for path in (f"/v1/topics/{topic}/messages", f"/v1/topics/{topic}/messages/1", f"/v1/topics/{topic}/batches"):
        require_problem(http.get(path, headers={"Accept": accept}), 406, "not_acceptable")
    require_problem(http.post(f"{at}/pull", json={"ack": 1}, headers={"Accept": accept}), 406, "not_acceptable")

    assert seqs(pull(http, at)) == [1], "nothing was acknowledged"


@pytest.mark.parametrize(
    "asked",
    [
        {"max": 0},
        {"max": 10_001},
        {"max": "5"},
        {"wait_ms": -1},
        {"wait_ms": 60_001},
        {"ack": -1},
        {"ack": INTEGER_MAX + 1},
        {"after": 1.5},
        {"epoch": "x"},
        {"unknown": 1},
        [],
        None,
    ],
    ids=str,
)
def test_a_pull_that_is_wrong_is_refused(http: httpx.Client, topic: str, asked: Any) -> None:
    at = fill(http, topic, 1)

    answer = http.post(f"{at}/pull", json=asked) if asked is not None else http.post(f"{at}/pull", content=b"null")

    require_problem(answer, 415 if asked is None else 400, "media_type_unknown" if asked is None else "bad_request")


# One by one.


def test_a_page_goes_on_where_it_says(http: httpx.Client, topic: str) -> None:
    fill(http, topic, 7)
    base = f"/v1/topics/{topic}/messages"

    first = http.get(base, params={"max": 3}).json()
    second = http.get(base, params={"from": first["next"], "max": 3, "to": 6}).json()
    beyond = http.get(base, params={"from": 100}).json()

    assert (seqs(first), first["next"], first["tail_seq"], first["head_seq"]) == ([1, 2, 3], 4, 1, 7)
    assert (seqs(second), second["next"]) == ([4, 5, 6], None)
    assert (seqs(beyond), beyond["next"]) == ([], None)


def test_a_message_can_be_read_as_json_as_an_event_and_as_it_was(http: httpx.Client, topic: str) -> None:
    at = publish(http, topic, b"<a/>", Content_Type="text/html", Idempotency_Key="k", Pregon_Producer="dgrec").headers[
        "location"
    ]

    as_json, as_event, raw = http.get(at), http.get(at, headers={"Accept": EVENT}), http.get(f"{at}/body")

    assert (as_json.json()["text"], as_event.json()["data"], raw.content) == ("<a/>", "<a/>", b"<a/>")
    assert raw.headers["content-type"] == "text/html"
    assert raw.headers["x-content-type-options"] == "nosniff"
    assert raw.headers["content-security-policy"].startswith("sandbox")
    assert (raw.headers["pregon-seq"], raw.headers["pregon-id"], raw.headers["pregon-producer"]) == ("1", "k", "dgrec")


@pytest.mark.parametrize("message_id", ["a\x00b", "a\r\nSet-Cookie: x=1", "\x7f\x0b", "ñandú 🦤", " "])
def test_an_id_of_any_characters_makes_no_header_of_its_own(http: httpx.Client, topic: str, message_id: str) -> None:
    sent = http.post(f"/v1/topics/{topic}/batches", json={"messages": [{"text": "a", "id": message_id}]})

    raw = http.get(f"/v1/topics/{topic}/messages/1/body")

    assert sent.status_code == 201
    assert (raw.status_code, raw.content) == (200, b"a")
    assert "set-cookie" not in raw.headers
    assert raw.headers["pregon-id"].isprintable()


@pytest.mark.parametrize("content_type", ["text/html\r\nSet-Cookie: x=1", "ñ/ñ", "a\x00b", "\t"])
def test_a_content_type_of_any_characters_makes_no_header_of_its_own(
    http: httpx.Client, topic: str, content_type: str
) -> None:
    sent = http.post(f"/v1/topics/{topic}/batches", json={"messages": [{"text": "a", "content_type": content_type}]})

    raw = http.get(f"/v1/topics/{topic}/messages/1/body")

    assert (sent.status_code, raw.status_code, raw.content) == (201, 200, b"a")
    assert raw.headers["content-type"] == "application/octet-stream"
    assert http.get(f"/v1/topics/{topic}/messages/1").json()["content_type"] == content_type


def test_head_is_get_without_the_body(http: httpx.Client, topic: str) -> None:
    fill(http, topic, 3)

    for path in ("messages/1/body", "messages/1", "messages", "batches", "stream", ""):
        head = http.head(f"/v1/topics/{topic}/{path}".rstrip("/"))
        assert (head.status_code, head.content) == (200, b"")
        if path not in ("batches", "stream"):
            got = http.get(f"/v1/topics/{topic}/{path}".rstrip("/"))
            assert {**head.headers, "date": ""} == {**got.headers, "date": ""}

    assert http.head("/v1/topics/nothing").status_code == 404


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.0", "１", "9" * 19, "%20"])
def test_what_is_no_number_is_refused(http: httpx.Client, topic: str, number: str) -> None:
    fill(http, topic, 1)

    require_problem(http.get(f"/v1/topics/{topic}/messages/{number}"), 400, "bad_request")
    require_problem(http.get(f"/v1/topics/{topic}/messages/{number}/body"), 400, "bad_request")


def test_what_is_not_there_is_not_found(http: httpx.Client, topic: str) -> None:
    fill(http, topic, 1)

    for path in ("messages/2", "messages/2/body", "messages/99999999999", "subscriptions/nobody/account"):
        require_problem(http.get(f"/v1/topics/{topic}/{path}"), 404, "not_found")
    for path in ("messages", "messages/1", "messages/1/body", "batches", "stream", "subscriptions/nobody/parked"):
        require_problem(http.get(f"/v1/topics/nothing/{path}"), 404, "not_found")


@pytest.mark.parametrize(
    "query", ["from=0", "to=-1", "max=0", "max=10001", "from=x", "since=1", f"to={2**63}", "from="]
)
def test_a_range_that_is_wrong_is_refused(http: httpx.Client, topic: str, query: str) -> None:
    fill(http, topic, 1)

    require_problem(http.get(f"/v1/topics/{topic}/messages?{query}"), 400, "bad_request")
    require_problem(http.get(f"/v1/topics/{topic}/batches?{query}"), 400, "bad_request")
