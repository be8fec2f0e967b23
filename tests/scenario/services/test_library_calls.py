"""What a client of our library asks of workers of our library, blocking and with asyncio, through a real broker."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pregon import AsyncServiceClient, ServiceClient
from pregon.errors import (
    AnswerMalformed,
    AnswerTimeout,
    DeadlinePassed,
    HubStopping,
    HubUnreachable,
    PregonError,
    Rejected,
    VersionUnserved,
)

from ..hub_process import find_port, wait_until
from .broker_process import BrokerProcess
from .library import workers

Ask = Callable[..., Any]
"""`ask("request", "sqrt", 100)`, by either client."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker and a worker with everything, for the whole module."""
    place = tmp_path_factory.mktemp("calls")
    broker = BrokerProcess(place)
    try:
        broker.start()
        with workers(place, broker.back) as start:
            worker = start("ana")
            yield broker
            assert worker.is_alive, worker.said()
        assert broker.bugs() == []
    finally:
        broker.end()


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[ServiceClient]:
    with ServiceClient(broker.front, timeout_ms=20_000) as client:
        yield client


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest, broker: BrokerProcess) -> Iterator[Ask]:
    """Calls a verb of a client of one kind, then of the other."""
    if request.param == "sync":
        with ServiceClient(broker.front, timeout_ms=20_000) as client:
            yield lambda verb, *arguments, **options: getattr(client, verb)(*arguments, **options)
        return

    async def run(verb: str, arguments: Any, options: Any) -> Any:
        async with AsyncServiceClient(broker.front, timeout_ms=20_000) as client:
            return await getattr(client, verb)(*arguments, **options)

    yield lambda verb, *arguments, **options: asyncio.run(run(verb, arguments, options))


def test_a_request_is_answered_with_a_value_of_the_type_that_is_wanted(ask: Ask) -> None:
    assert ask("request", "sqrt", 100) == 10.0
    assert ask("request", "sqrt", 100, returns=str) == "10.0"
    assert ask("request", "sqrt", 100, version="2", priority=9, deadline_ms=20_000, returns=float) == 10.0


def test_an_answer_of_another_type_is_malformed(ask: Ask) -> None:
    with pytest.raises(AnswerMalformed):
        ask("request", "sqrt", 2, returns=int)


def test_several_arguments_and_results_are_several_frames(ask: Ask) -> None:
    assert ask("request", "echo", 1, "dos", b"\xff") == (1, "dos", b"\xff")
    assert ask("request_frames", "echo", [b"a", "b", b""]) == [b"a", b"b", b""]


def test_a_wrong_argument_is_told_by_name(ask: Ask) -> None:
    with pytest.raises(Rejected, match="`x`"):
        ask("request", "sqrt", "abc")


def test_what_the_function_raises_reaches_who_asked(ask: Ask) -> None:
    with pytest.raises(Rejected, match="ValueError: as it was told"):
        ask("request", "apart", "raise")


def test_a_version_that_nobody_serves_is_told_at_once(ask: Ask) -> None:
    with pytest.raises(VersionUnserved):
        ask("request", "sqrt", 100, version="9")


def test_who_waits_in_vain_is_told_and_the_broker_too(ask: Ask, broker: BrokerProcess) -> None:
    with pytest.raises(AnswerTimeout):
        ask("request", "nobody", 1, timeout_ms=300)

    broker.wait_for("waiting", 0, "nobody")


def test_a_deadline_is_kept_by_the_broker(ask: Ask) -> None:
    with pytest.raises(DeadlinePassed):
        ask("request", "nobody-in-time", 1, deadline_ms=200, retries=0)


def test_who_serves_what_can_be_asked(ask: Ask) -> None:
    found = {(row["type"], row["version"]) for row in ask("services")}

    assert {("sqrt", "2"), ("echo", ""), ("apart", "")} <= found


def test_a_map_gives_every_result_in_the_order_of_the_inputs(client: ServiceClient) -> None:
    results = list(client.map("sqrt", (n * n for n in range(5_000)), in_flight=200, progress=True))

    assert results == [float(n) for n in range(5_000)]


def test_a_map_with_asyncio_gives_them_in_order_too(broker: BrokerProcess) -> None:
    async def run() -> list[Any]:
        async with AsyncServiceClient(broker.front) as client:
            return [one async for one in client.map("echo", range(5_000), in_flight=500, returns=str)]

    assert asyncio.run(run()) == [str(n) for n in range(5_000)]


def test_an_error_ends_a_map_or_stands_in_its_place(client: ServiceClient) -> None:
    with pytest.raises(Rejected):
        list(client.map("sqrt", [1, "x", 9]))

    results = list(client.map("sqrt", [1, "x", 9], return_errors=True))

    assert (results[0], results[2]) == (1.0, 3.0)
    assert isinstance(results[1], PregonError)


def test_who_leaves_a_map_has_the_rest_cancelled(client: ServiceClient, broker: BrokerProcess) -> None:
    results = client.map("who", [0.0, *([3.0] * 50)], in_flight=50)

    first = next(results)
    waiting = broker.show("waiting", "who")
    results.close()

    assert first == "ana"
    assert waiting > 40
    broker.wait_for("waiting", 0, "who")


def test_who_no_longer_awaits_has_it_cancelled_and_the_coroutine_ends(broker: BrokerProcess) -> None:
    async def run() -> None:
        async with AsyncServiceClient(broker.front) as client:
            task = asyncio.create_task(client.request("patient", 1.75))
            await asyncio.to_thread(broker.wait_for, "in_hand", 1, "patient")
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())

    broker.wait_for("in_hand", 0, "patient")


def test_many_threads_share_a_client_and_each_gets_its_own_answers(client: ServiceClient) -> None:
    def ask_many(thread: int) -> list[int]:
        return [client.request("echo", thread * 1_000 + n) for n in range(200)]

    with ThreadPoolExecutor(24) as pool:
        found = list(pool.map(ask_many, range(24)))

    assert found == [[thread * 1_000 + n for n in range(200)] for thread in range(24)]


def test_a_map_and_single_requests_share_a_client(client: ServiceClient) -> None:
    with ThreadPoolExecutor(4) as pool:
        maps = [pool.submit(lambda: list(client.map("echo", range(2_000), in_flight=100))) for _ in range(2)]
        singles = [client.request("echo", n) for n in range(300)]
        found = [one.result(60) for one in maps]

    assert singles == list(range(300))
    assert found == [list(range(2_000))] * 2


def test_a_thousand_coroutines_share_a_client(broker: BrokerProcess) -> None:
    async def run() -> list[Any]:
        async with AsyncServiceClient(broker.front, timeout_ms=60_000) as client:
            return await asyncio.gather(*(client.request("echo", n) for n in range(1_000)))

    assert asyncio.run(run()) == list(range(1_000))


def test_closing_a_client_ends_what_other_threads_wait_for(broker: BrokerProcess) -> None:
    client = ServiceClient(broker.front, timeout_ms=60_000)
    found: list[BaseException] = []

    def wait() -> None:
        try:
            client.request("nobody-ever", 1)
        except HubStopping as error:
            found.append(error)

    threads = [threading.Thread(target=wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    broker.wait_for("waiting", 3, "nobody-ever")
    client.close()
    for thread in threads:
        thread.join(30)

    assert len(found) == 3
    with pytest.raises(HubStopping):
        client.request("echo", 1)


def test_where_no_broker_is_the_error_says_so() -> None:
    with ServiceClient(f"tcp://127.0.0.1:{find_port()}", timeout_ms=300) as client:
        with pytest.raises(HubUnreachable, match="is it running there"):
            client.request("echo", 1)


def test_a_request_asked_before_the_broker_is_there_is_answered_when_it_is(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    place = tmp_path_factory.mktemp("late")
    broker = BrokerProcess(place)
    try:
        with workers(place, broker.back) as start, ServiceClient(broker.front, timeout_ms=60_000) as client:
            start("ana", "echo", is_waited_for=False)
            with ThreadPoolExecutor(1) as pool:
                asked = pool.submit(client.request, "echo", 5)
                broker.start()
                assert asked.result(60) == 5
    finally:
        broker.end()


def test_requests_under_way_survive_a_broker_that_is_killed_and_started_again(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    place = tmp_path_factory.mktemp("killed")
    broker = BrokerProcess(place)
    try:
        broker.start()
        with workers(place, broker.back) as start, ServiceClient(broker.front, timeout_ms=90_000) as client:
            start("ana", "echo", "who")
            with ThreadPoolExecutor(2) as pool:
                asked = pool.submit(lambda: list(client.map("echo", range(30_000), in_flight=200)))
                slow = pool.submit(client.request, "who", 0.2)
                wait_until(lambda: broker.show("answered", "echo") > 500, "some are answered")
                broker.kill()
                broker.start()
                found = asked.result(90), slow.result(90)
    finally:
        broker.end()

    assert found == (list(range(30_000)), "ana")
