"""CURVE: only known keys come in, each opens only its own job types, and a deleted one opens nothing."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zmq

from pregon import errors
from pregon.client.services.clients import ServiceClient

from ..command_line import run
from ..hub_process import HubProcess, clean_environment, end, wait_until
from .conftest import MakeBroker

PATIENCE_MS = 10_000
WORKER = """
import sys
from pregon import serve, service

@service(sys.argv[1])
def root(x: float) -> float:
    return x ** 0.5

serve(root, name=sys.argv[2])
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the key files of the module are."""
    return tmp_path_factory.mktemp("curve")


@pytest.fixture(scope="module")
def closed(place: Path) -> Iterator[HubProcess]:
    """A hub whose services ask for CURVE keys, with keys for a client and a worker."""
    hub = HubProcess(place / "data", services_curve="true").start()
    try:
        for name, *rights in (
            ("portal", "--ask", "sq*", "--ask", "slow"),
            ("tarificador", "--serve", "sqrt", "--serve", "slow"),
            ("stranger", "--ask", "other"),
        ):
            said = run("keys", "create", name, *rights, "--output", place / f"{name}.json", hub=hub.url)
            assert said.status == 0, said.err
        yield hub
        assert hub.bugs() == []
        assert hub.stop() == 0
    finally:
        end(hub)


@contextmanager
def worker(hub: HubProcess, file: Path, job_type: str, name: str) -> Iterator[None]:
    """A worker of our library with the keys of a file, known to the broker."""
    environment = clean_environment(PREGON_HUB=hub.url, PREGON_CURVE=str(file))
    with subprocess.Popen([sys.executable, "-c", WORKER, job_type, name], env=environment) as process:
        try:
            with hub.client() as asking:
                wait_until(lambda: name in [row["name"] for row in asking.list("worker")], f"{name} is known")
            yield
        finally:
            process.kill()


def client(hub: HubProcess, file: Path) -> ServiceClient:
    """Who asks with the keys of a file."""
    return ServiceClient(hub=hub.url, curve=str(file), timeout_ms=PATIENCE_MS)


def test_a_key_file_is_for_its_owner_only_and_never_written_over(closed: HubProcess, place: Path) -> None:
    file = place / "portal.json"

    again = run("keys", "create", "another", "--output", file, hub=closed.url)
    same = run("keys", "create", "portal", "--output", place / "again.json", hub=closed.url)

    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert again.status == 2
    assert "is there already" in again.err
    assert "has a key already" in same.err
    assert not (place / "again.json").exists()
    kept = json.loads(file.read_text())
    listed = {row["name"]: row for row in run("keys", "list", "--json", hub=closed.url).rows}
    assert listed["portal"]["public"] == kept["public"]
    assert kept["server"] == run("keys", "server", hub=closed.url).out.strip()
    assert not any(kept["secret"] in value for row in listed.values() for value in map(str, row.values()))


def test_known_keys_ask_and_serve(closed: HubProcess, place: Path) -> None:
    with worker(closed, place / "tarificador.json", "sqrt", "first"):
        with client(closed, place / "portal.json") as portal:
            found = portal.request("sqrt", 100)

    newest = run("services", "recent", "--max", "1", "--json", hub=closed.url).row
    assert found == 10.0
    assert (newest["service"], newest["client"], newest["worker"]) == ("sqrt", "portal", "first")


def test_a_key_opens_only_its_own_job_types(closed: HubProcess, place: Path) -> None:
    with client(closed, place / "portal.json") as portal, client(closed, place / "stranger.json") as stranger:
        with pytest.raises(errors.Forbidden, match="log is not for you"):
            portal.request("log", 100)
        with pytest.raises(errors.Forbidden, match="sqrt is not for you"):
            stranger.request("sqrt", 100)


def test_a_worker_that_may_not_serve_a_type_is_told_so(closed: HubProcess, place: Path) -> None:
    keys = json.loads((place / "portal.json").read_text())
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        dealer.setsockopt(zmq.LINGER, 0)
        dealer.curve_serverkey = keys["server"].encode()
        dealer.curve_publickey, dealer.curve_secretkey = keys["public"].encode(), keys["secret"].encode()
        dealer.connect(closed.addresses.services_back)

        dealer.send(b"PGS1H" + bytes(8) + b'{"types":["sqrt"]}')
        assert dealer.poll(PATIENCE_MS)
        (head,) = dealer.recv_multipart()

    assert head[4:5] == b"E"
    assert json.loads(head[13:])["code"] == "forbidden"


@pytest.mark.parametrize("is_encrypted", [False, True])
def test_who_has_no_known_key_is_not_let_in(closed: HubProcess, place: Path, is_encrypted: bool) -> None:
    server = run("keys", "server", hub=closed.url).out.strip()
    with zmq.Context() as context, context.socket(zmq.REQ) as req:
        req.setsockopt(zmq.LINGER, 0)
        if is_encrypted:
            req.curve_serverkey = server.encode()
            req.curve_publickey, req.curve_secretkey = zmq.curve_keypair()
        req.connect(closed.addresses.services_front)

        req.send(b"let me in")
        with client(closed, place / "portal.json") as portal:
            # Asked after it and answered: the other one would have been, too.
            assert "default" not in [row["type"] for row in portal.services()]

        assert not req.poll(500)


def test_a_deleted_key_opens_nothing_any_more(closed: HubProcess, place: Path) -> None:
    file = place / "brief.json"
    made = run("keys", "create", "brief", "--serve", "brief", "--ask", "brief", "--output", file, hub=closed.url)
    with worker(closed, file, "brief", "short"):
        with client(closed, file) as brief:
            assert brief.request("brief", 4) == 2.0

            deleted = run("keys", "delete", "brief", hub=closed.url)

            with pytest.raises(errors.Forbidden):
                brief.request("brief", 4)
        users = [row["user"] for row in run("services", "workers", "--json", hub=closed.url).rows]
    assert made.status == deleted.status == 0
    assert "brief" not in users
    assert run("keys", "delete", "brief", hub=closed.url).status == 3


def test_a_broker_by_itself_knows_the_keys_of_its_directory(tmp_path: Path, start_broker: MakeBroker) -> None:
    data, file = tmp_path / "alone", tmp_path / "solo.json"
    made = run("keys", "create", "solo", "--ask", "*", "--output", file, "--data", data)
    broker = start_broker("--curve", "--data", str(data))

    with ServiceClient(broker.front, curve=str(file), timeout_ms=PATIENCE_MS) as solo:
        found = [row["type"] for row in solo.services()]

    assert made.status == 0, made.err
    assert found == ["default"]


def test_curve_without_a_directory_is_refused() -> None:
    said = run("services", "--curve", "--front", "tcp://127.0.0.1:*", "--back", "tcp://127.0.0.1:*")

    assert said.status == 2
    assert "--curve needs --data" in said.err


def test_a_hub_without_curve_says_so_when_a_pair_is_asked_for(tmp_path: Path) -> None:
    hub = HubProcess(tmp_path / "data").start()
    try:
        said = run("keys", "create", "x", "--output", tmp_path / "x.json", hub=hub.url)
    finally:
        end(hub)

    assert said.status == 2
    assert "--services-curve" in said.err
    assert not (tmp_path / "x.json").exists()
