"""Clients and workers that find the broker through their hub; durable requests; CURVE keys."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pregon import AsyncClient, Client, ServiceClient, Worker, service
from pregon.errors import AnswerTimeout, Forbidden, HubUnreachable, PregonError, Rejected, ServiceFailed, Unauthorized

from ..command_line import run
from ..conftest import MakeHub
from ..hub_process import HubProcess
from .library import WorkerProcess


@service("sqrt", version="2", slots=4)
def sqrt(x: float) -> float:
    """The root."""
    if x < 0:
        raise ValueError("no root")
    return x**0.5


@pytest.fixture
def worker(hub: HubProcess) -> Iterator[Worker]:
    """A worker in this program, which asked the hub where to go."""
    with Worker(sqrt, hub=hub.url, name="ana", load=lambda: 0.5) as worker:
        worker.wait_until_ready(30)
        yield worker


@pytest.mark.usefixtures("worker")
def test_a_client_of_the_hub_asks_its_services(client: Client) -> None:
    found = client.request("sqrt", 100), list(client.map("sqrt", [1, 4, 9]))

    assert found == (10.0, [1.0, 2.0, 3.0])
    assert client.ping().version


@pytest.mark.usefixtures("worker")
def test_a_client_of_the_hub_asks_them_with_asyncio_and_over_http(hub: HubProcess) -> None:
    async def run() -> list[float]:
        async with AsyncClient(f"http://{hub.addresses.http}") as client:
            first = await client.request("sqrt", 100)
            return [first, *[one async for one in client.map("sqrt", [1, 4])]]

    assert asyncio.run(run()) == [10.0, 1.0, 2.0]


@pytest.mark.usefixtures("worker")
def test_a_worker_is_shown_with_its_name_load_and_types(client: Client) -> None:
    client.request("sqrt", 4)

    (row,) = [row for row in client.list("worker") if row["name"] == "ana"]

    assert (row["load"], row["slots"], row["types"]) == (0.5, 4, ["sqrt", "sqrt@2"])


def test_a_worker_program_finds_the_broker_by_the_address_of_the_hub(hub: HubProcess, tmp_path: Path) -> None:
    worker = WorkerProcess(tmp_path, "eva", "echo", "--hub", hub.url)
    worker.start()
    try:
        worker.wait_until_ready()
        with ServiceClient(hub=hub.url) as client:
            found = client.request("echo", 5)
        status = worker.stop()
    finally:
        worker.end()

    assert (found, status) == (5, 0)


@pytest.mark.usefixtures("worker")
def test_a_durable_request_is_left_and_its_result_collected(client: Client) -> None:
    id = client.submit("sqrt", 144, key="acta-1")
    again = client.submit("sqrt", 144, key="acta-1")

    result = client.collect(id, wait_ms=30_000, returns=float)

    assert (id, again, result) == ("acta-1", "acta-1", 12.0)
    assert client.collect_frames(id) == [b"12.0"]


def test_a_durable_request_waits_for_a_worker_and_for_who_collects(hub: HubProcess) -> None:
    async def run() -> tuple[str, float]:
        async with AsyncClient(hub.url) as client:
            id = await client.submit("sqrt", 225)
            with pytest.raises(AnswerTimeout):
                await client.collect(id, wait_ms=100)
            with Worker(sqrt, hub=hub.url):
                return id, await client.collect(id, wait_ms=30_000)

    id, result = asyncio.run(run())

    assert len(id) > 10
    assert result == 15.0


@pytest.mark.usefixtures("worker")
def test_a_durable_request_that_failed_says_so_when_it_is_collected(client: Client) -> None:
    id = client.submit("sqrt", -1)

    with pytest.raises(ServiceFailed, match="no root"):
        client.collect(id, wait_ms=30_000)


def test_what_was_never_submitted_cannot_be_collected(client: Client) -> None:
    with pytest.raises(Rejected, match="no durable request"):
        client.collect("nothing")


def test_a_worker_waits_for_a_hub_that_is_not_there_yet(make_hub: MakeHub) -> None:
    hub = make_hub("late")

    with ThreadPoolExecutor(1) as pool, Worker(sqrt, hub=hub.url) as worker:
        ready = pool.submit(worker.wait_until_ready, 60)
        hub.start()
        is_ready = ready.result(90)
        with hub.client() as client:
            found = client.request("sqrt", 4)

    assert (is_ready, found) == (True, 2.0)


def test_a_worker_that_never_found_its_hub_can_be_stopped(make_hub: MakeHub) -> None:
    hub = make_hub("never")

    with Worker(sqrt, hub=hub.url) as worker:
        is_ready = worker.wait_until_ready(0.2)

    assert not is_ready
    with hub.client(timeout_ms=200) as client, pytest.raises(HubUnreachable):
        client.request("sqrt", 4)


@pytest.fixture
def secured(make_hub: MakeHub) -> HubProcess:
    """A hub whose services only known keys use."""
    return make_hub("secured", services_curve="true").start()


def make_key(hub: HubProcess, place: Path, name: str, *rights: str) -> str:
    """A file with a key that the hub knows."""
    file = place / f"{name}.json"
    said = run("keys", "create", name, "--output", file, *rights, hub=hub.url)
    assert file.exists(), said.err
    return str(file)


def test_known_keys_serve_and_ask_and_unknown_ones_are_told(secured: HubProcess, tmp_path: Path) -> None:
    serving = make_key(secured, tmp_path, "roots", "--serve", "sqrt")
    asking = make_key(secured, tmp_path, "web", "--ask", "sqrt")

    with Worker(sqrt, hub=secured.url, curve=serving) as worker:
        worker.wait_until_ready(30)
        with secured.client(curve=asking) as client:
            found = client.request("sqrt", 100)
        with secured.client(curve="") as nobody, pytest.raises(Unauthorized):
            nobody.request("sqrt", 100)

    assert found == 10.0


def test_a_key_opens_only_what_it_was_made_for(secured: HubProcess, tmp_path: Path) -> None:
    asking = make_key(secured, tmp_path, "web", "--ask", "cube")

    with secured.client(curve=asking) as client, pytest.raises(Forbidden):
        client.request("sqrt", 100)
    worker = Worker(sqrt, hub=secured.url, curve=asking).start()
    with pytest.raises(Forbidden):
        worker.join()


def test_a_broker_with_another_key_than_the_file_says_is_not_spoken_to(secured: HubProcess, tmp_path: Path) -> None:
    right = Path(make_key(secured, tmp_path, "web", "--ask", "sqrt"))
    keys = json.loads(right.read_text())
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps({**keys, "server": keys["public"]}))

    with secured.client(curve=str(wrong), timeout_ms=1_000) as client, pytest.raises(PregonError) as caught:
        client.request("sqrt", 100)

    assert caught.value.code in ("settings_invalid", "hub_unreachable", "unauthorized")
