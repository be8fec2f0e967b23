"""Live streams over REST: server-sent events and WebSockets, resumed without gap or repetition, ended in time."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from pregon.clock import monotonic_ms
from pregon.testing import RunningHub, run_hub

from .hub_process import wait_until
from .rest import listening, publish, require_problem, rest_hub, socket_of


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[RunningHub, httpx.Client]]:
    with rest_hub() as both:
        yield both


@pytest.fixture
def hub(running: tuple[RunningHub, httpx.Client]) -> RunningHub:
    return running[0]


@pytest.fixture
def http(running: tuple[RunningHub, httpx.Client]) -> httpx.Client:
    return running[1]


def waiting(http: httpx.Client) -> int:
    count: int = http.get("/v1/status").json()["waiting"]
    return count


def test_a_stream_begins_with_what_is_published_next(hub: RunningHub, http: httpx.Client, topic: str) -> None:
    publish(http, topic, b"before")

    with listening(http, topic) as events, socket_of(hub, topic) as socket:
        publish(http, topic, b'{"a":1}', Content_Type="application/json")
        shown = next(events), json.loads(socket.recv(timeout=10))

    assert shown[0][0] == 2
    assert shown[0][1] == shown[1] == http.get(f"/v1/topics/{topic}/messages/2").json()


def test_a_stream_from_a_number_shows_the_past_then_the_present(
    hub: RunningHub, http: httpx.Client, topic: str
) -> None:
    for number in range(1, 4):
        publish(http, topic, str(number))

    with listening(http, topic, "?from=2") as events, socket_of(hub, topic, "?from=2") as socket:
        publish(http, topic, b"4")
        by_event = [next(events)[0] for _ in range(3)]
        by_socket = [json.loads(socket.recv(timeout=10))["seq"] for _ in range(3)]

    assert by_event == by_socket == [2, 3, 4]


@pytest.mark.parametrize("query", ["", "?from=1"])
def test_who_comes_back_with_last_event_id_goes_on_after_it(http: httpx.Client, topic: str, query: str) -> None:
    for number in range(1, 4):
        publish(http, topic, str(number))

    with listening(http, topic, query, Last_Event_ID="2") as events:
        seq, _ = next(events)

    assert seq == 3


@pytest.mark.parametrize("body", [b'{\n "a":\r\n\r [1,\n\n2]\n}', b"[\n]\n", b'"a\\nb"'])
def test_json_over_several_lines_is_one_event(hub: RunningHub, http: httpx.Client, topic: str, body: bytes) -> None:
    publish(http, topic, body, Content_Type="application/json")
    publish(http, topic, b"after")

    with listening(http, topic, "?from=1") as events, socket_of(hub, topic, "?from=1") as socket:
        shown = [next(events) for _ in range(2)]
        first = json.loads(socket.recv(timeout=10))

    assert shown[0] == (1, first)
    assert first["json"] == json.loads(body)
    assert shown[1][0] == 2


def test_streams_cut_again_and_again_have_neither_gap_nor_repetition(
    hub: RunningHub, http: httpx.Client, topic: str
) -> None:
    count = 300
    publish(http, topic, b"1")

    def produce() -> None:
        with httpx.Client(base_url=hub.http, timeout=30) as own:
            for number in range(2, count + 1):
                publish(own, topic, str(number))

    producer = threading.Thread(target=produce)
    producer.start()
    by_event: list[int] = []
    while len(by_event) < count:
        resumed = {"Last_Event_ID": str(by_event[-1])} if by_event else {}
        with listening(http, topic, "?from=1", **resumed) as events:
            by_event += [next(events)[0] for _ in range(min(23, count - len(by_event)))]
    by_socket: list[int] = []
    while len(by_socket) < count:
        with socket_of(hub, topic, f"?from={len(by_socket) + 1}") as socket:
            wanted = min(37, count - len(by_socket))
            by_socket += [json.loads(socket.recv(timeout=10))["seq"] for _ in range(wanted)]
    producer.join()

    assert by_event == by_socket == list(range(1, count + 1))


def test_two_hundred_streams_all_see_everything_and_leave_nothing_behind(
    hub: RunningHub, http: httpx.Client, topic: str
) -> None:
    publish(http, topic, b"0")
    before = waiting(http)
    limits = httpx.Limits(max_connections=None)

    with ExitStack() as stack, httpx.Client(base_url=hub.http, timeout=30, limits=limits) as many:
        events = [stack.enter_context(listening(many, topic)) for _ in range(100)]
        with ThreadPoolExecutor(16) as pool:
            sockets = list(pool.map(lambda _: stack.enter_context(socket_of(hub, topic)), range(100)))
        for number in range(3):
            publish(http, topic, str(number))
        seen = [[next(one)[0] for _ in range(3)] for one in events]
        seen += [[json.loads(one.recv(timeout=10))["seq"] for _ in range(3)] for one in sockets]

    assert seen == [[2, 3, 4]] * 200
    wait_until(lambda: waiting(http) <= before, "nobody waits for those who left", deadline_s=5)
    assert publish(http, topic).status_code == 201


def test_the_hub_stopping_ends_streams_and_long_polls_at_once() -> None:
    with ExitStack() as stack, ExitStack() as life:
        hub = life.enter_context(run_hub())
        http = stack.enter_context(httpx.Client(base_url=hub.http, timeout=30))
        publish(http, "t", b"1")
        events = stack.enter_context(listening(http, "t", "?from=1"))
        socket = stack.enter_context(socket_of(hub, "t", "?from=1"))
        next(events), socket.recv(timeout=10)
        pool = stack.enter_context(ThreadPoolExecutor(1))
        asked = {"after": 1, "wait_ms": 30_000}
        poll = pool.submit(httpx.post, f"{hub.http}/v1/topics/t/subscriptions/s/pull", json=asked, timeout=40)
        wait_until(lambda: waiting(http) >= 3, "all three wait")

        began_ms = monotonic_ms()
        life.close()
        took_ms = monotonic_ms() - began_ms
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=5)
        rest = list(events)
        answered = poll.result(timeout=5)

    assert took_ms < 2_000
    assert rest == []
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 1001
    assert answered.status_code in (200, 503)


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "deleted and made again"])
def test_the_stream_of_a_deleted_topic_ends(hub: RunningHub, http: httpx.Client, topic: str, again: bool) -> None:
    publish(http, topic, b"1")

    with socket_of(hub, topic, "?from=1") as socket:
        socket.recv(timeout=10)
        http.delete(f"/v1/topics/{topic}")
        if again:
            publish(http, topic, b"another first")
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=5)

    assert closed.value.rcvd is not None, "it is told with a code"


def test_what_a_client_says_on_a_socket_is_dropped(hub: RunningHub, http: httpx.Client, topic: str) -> None:
    publish(http, topic, b"1")

    with socket_of(hub, topic, "?from=1") as socket:
        for said in ("hello", b"\x00\xff", "x" * 10_000):
            socket.send(said)
        first = json.loads(socket.recv(timeout=10))

    assert first["seq"] == 1


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        ("?from=0", {}),
        ("?from=-1", {}),
        ("?from=x", {}),
        (f"?from={2**63}", {}),
        ("?since=1", {}),
        ("", {"Last-Event-ID": "x"}),
        ("", {"Last-Event-ID": "-1"}),
        ("", {"Last-Event-ID": "9" * 19}),
    ],
)
def test_a_stream_from_nowhere_is_refused(
    hub: RunningHub, http: httpx.Client, topic: str, query: str, headers: dict[str, str]
) -> None:
    publish(http, topic)

    require_problem(http.get(f"/v1/topics/{topic}/stream{query}", headers=headers), 400, "bad_request")
    if query:
        with pytest.raises(InvalidStatus) as refused, socket_of(hub, topic, query):
            pass
        assert refused.value.response.status_code == 400


def test_what_has_no_stream_says_so(hub: RunningHub, http: httpx.Client, topic: str) -> None:
    publish(http, topic)

    require_problem(http.get("/v1/topics/nothing/stream"), 404, "not_found")
    require_problem(http.get(f"/v1/topics/{topic}/stream", headers={"Accept": "text/html"}), 406, "not_acceptable")
    for path in ("/v1/topics/nothing/stream", "/v1/topics", "/nothing"):
        with pytest.raises(InvalidStatus) as refused, connect(hub.http.replace("http", "ws", 1) + path):
            pass
        assert refused.value.response.status_code == 404
        assert json.loads(refused.value.response.body)["code"] == "not_found"


def test_a_browser_offers_its_key_as_a_protocol() -> None:
    with rest_hub() as (hub, http):
        publish(http, "t", b"1")
        made: dict[str, Any] = http.post("/v1/tokens", json={"name": "page", "scopes": ["admin", "read"]}).json()
        right, wrong = ([Subprotocol("pregon"), Subprotocol(f"pregon.key.{key}")] for key in (made["secret"], "nobody"))

        with socket_of(hub, "t", "?from=1", subprotocols=right) as socket:
            chosen, first = socket.subprotocol, json.loads(socket.recv(timeout=10))
        refusals = []
        for offered in (wrong, [Subprotocol("pregon")]):
            with pytest.raises(InvalidStatus) as refused, socket_of(hub, "t", "?from=1", subprotocols=offered):
                pass
            refusals.append(refused.value.response.status_code)

    assert (chosen, first["seq"]) == ("pregon", 1)
    assert refusals == [401, 401]


# Other sites' pages.


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "file://", "", "https://127.0.0.1", "x"])
def test_a_page_of_another_site_is_refused(hub: RunningHub, http: httpx.Client, topic: str, origin: str) -> None:
    publish(http, topic)

    require_problem(publish(http, topic, Origin=origin), 403, "forbidden")
    require_problem(http.get(f"/v1/topics/{topic}/stream", headers={"Origin": origin}), 403, "forbidden")
    with pytest.raises(InvalidStatus) as refused, socket_of(hub, topic, additional_headers={"Origin": origin}):
        pass
    assert refused.value.response.status_code == 403


def test_a_page_of_our_own_is_served(hub: RunningHub, http: httpx.Client, topic: str) -> None:
    answer = publish(http, topic, Origin=hub.http)

    with socket_of(hub, topic, "?from=1", additional_headers={"Origin": hub.http}) as socket:
        first = json.loads(socket.recv(timeout=10))

    assert (answer.status_code, first["seq"]) == (201, 1)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "10.0.0.1"])
def test_an_open_hub_answers_only_to_names_of_this_machine(http: httpx.Client, topic: str, host: str) -> None:
    answer = publish(http, topic, Host=host)

    require_problem(answer, 403, "forbidden")


@pytest.mark.parametrize("host", ["localhost", "localhost:5580", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:5580"])
def test_names_of_this_machine_are_answered(http: httpx.Client, host: str) -> None:
    answer = http.get("/healthz", headers={"Host": host})

    assert answer.status_code == 200
