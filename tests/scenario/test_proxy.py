"""`pregon proxy` as a process: it forwards, says where it is, rests when nothing can move, and ends when told to."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread

import pytest
import zmq

from pregon.patterns import (
    Options,
    dealer,
    join_envelope,
    puller,
    pusher,
    replier,
    requester,
    require_subscribers,
    split_envelope,
    subscriber,
    xpub,
)

from .command_line import run
from .hub_process import COMMAND, clean_environment, find_port, wait_until

ANY = "tcp://127.0.0.1:*"
PATIENT = Options(wait_ms=30_000, linger_ms=0)


class ProxyProcess:
    """`pregon proxy --json`, running."""

    def __init__(self, kind: str, *options: str, front: str = ANY, back: str = ANY) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "proxy", kind, "--front", front, "--back", back, "--json", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=clean_environment(),
        )
        assert self.process.stdout is not None
        said = json.loads(self.process.stdout.readline() or "{}")
        self.front: str = said.get("front", "")
        self.back: str = said.get("back", "")
        self.capture: str = said.get("capture", "")

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Ask it to end; its exit status, and what it said on standard error."""
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=20)
        return self.process.returncode, err.decode()

    def cpu_s(self) -> float:
        """The time that it has spent on a processor."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


StartProxy = Callable[..., ProxyProcess]


@pytest.fixture
def start_proxy() -> Iterator[StartProxy]:
    """Starts proxies, which are not left behind."""
    started: list[ProxyProcess] = []

    def start(kind: str, *options: str, **places: str) -> ProxyProcess:
        started.append(ProxyProcess(kind, *options, **places))
        return started[-1]

    yield start
    for proxy in started:
        if proxy.process.poll() is None:
            proxy.process.kill()
        proxy.process.communicate()


def serve_roots(address: str, stopping: Event, served: list[str]) -> None:
    """A worker as they are taught for a ROUTER/DEALER broker: a REP that connects, and answers with square roots."""
    with replier(connect=address, options=PATIENT) as server:
        while not stopping.is_set():
            if server.poll(20):
                number = server.recv_string()
                served.append(number)
                server.send_string(f"{math.sqrt(float(number)):g}")


def test_requests_of_many_clients_reach_rep_workers_and_each_answer_its_client(start_proxy: StartProxy) -> None:
    proxy, stopping = start_proxy("router-dealer"), Event()
    served: list[list[str]] = [[], []]
    workers = [Thread(target=serve_roots, args=[proxy.back, stopping, each]) for each in served]
    wrong: list[tuple[int, str]] = []

    def ask(first: int) -> None:
        with requester(connect=proxy.front, options=PATIENT) as client:
            for number in range(first, first + 50):
                client.send_string(str(number * number))
                answer = client.recv_string()
                if answer != str(number):
                    wrong.append((number, answer))

    clients = [Thread(target=ask, args=[first]) for first in (0, 100, 200)]
    for thread in (*workers, *clients):
        thread.start()
    for client in clients:
        client.join()
    stopping.set()
    for worker in workers:
        worker.join()

    assert wrong == []
    assert sum(map(len, served)) == 150
    assert all(served), "one worker did everything"
    assert proxy.stop() == (0, "")


def test_requests_wait_for_a_worker_without_taking_a_processor_and_then_go_on(start_proxy: StartProxy) -> None:
    proxy, stopping = start_proxy("router-dealer"), Event()
    with requester(connect=proxy.front, options=PATIENT) as client:
        client.send_string("144")
        assert not client.poll(500)
        before_s = proxy.cpu_s()

        assert not client.poll(2_000)
        spent_s = proxy.cpu_s() - before_s
        worker = Thread(target=serve_roots, args=[proxy.back, stopping, []])
        worker.start()
        answer = client.recv_string()

    stopping.set()
    worker.join()
    assert spent_s < 0.5
    assert answer == "12"


def test_a_dealer_has_many_requests_under_way(start_proxy: StartProxy) -> None:
    proxy, stopping = start_proxy("router-dealer"), Event()
    worker = Thread(target=serve_roots, args=[proxy.back, stopping, []])
    worker.start()

    with dealer(connect=proxy.front, options=PATIENT) as client:
        for number in range(2_000):
            client.send_multipart(join_envelope([], [b"%d" % (number * number)]))
        answers = [int(split_envelope(client.recv_multipart())[1][0]) for _ in range(2_000)]

    stopping.set()
    worker.join()
    assert answers == list(range(2_000))


def test_subscribers_hear_all_publishers_and_their_subscriptions_travel(
    start_proxy: StartProxy, tmp_path: Path
) -> None:
    proxy = start_proxy("xsub-xpub", front=f"ipc://{tmp_path}/front")
    with xpub(connect=proxy.front, options=PATIENT) as one, xpub(connect=proxy.front, options=PATIENT) as other:
        with subscriber(connect=proxy.back, prefixes=["fallecidos"], options=PATIENT) as reader:
            require_subscribers(one, ["fallecidos"], wait_ms=30_000)
            require_subscribers(other, ["fallecidos"], wait_ms=30_000)

            one.send(b"nacimientos")
            one.send(b"fallecidos 1")
            other.send(b"fallecidos 2")
            heard = {reader.recv(), reader.recv()}

    assert heard == {b"fallecidos 1", b"fallecidos 2"}
    assert proxy.stop() == (0, "")


def test_what_is_pushed_waits_for_a_puller_and_is_given_once(start_proxy: StartProxy) -> None:
    proxy = start_proxy("pull-push")
    with pusher(connect=proxy.front, options=PATIENT) as sender:
        for number in range(500):
            sender.send(b"%d" % number)
        with puller(connect=proxy.back, options=PATIENT) as receiver:
            got = [int(receiver.recv()) for _ in range(500)]

    assert got == list(range(500))
    assert proxy.stop() == (0, "")


def test_who_captures_sees_what_passes_both_ways_with_its_envelope(start_proxy: StartProxy, tmp_path: Path) -> None:
    proxy, stopping = start_proxy("router-dealer", "--capture", f"ipc://{tmp_path}/capture"), Event()
    worker = Thread(target=serve_roots, args=[proxy.back, stopping, []])
    worker.start()
    with subscriber(connect=proxy.capture, options=PATIENT) as watcher:
        with requester(connect=proxy.front, identity=b"id234", options=PATIENT) as client:

            def is_watching() -> bool:
                client.send_string("1")
                client.recv()
                return bool(watcher.poll(1))

            wait_until(is_watching, "the watcher has subscribed")
            client.send_string("100")
            client.recv()
            seen = []
            while seen[-1:] != [[b"id234", b"", b"10"]]:
                seen.append(watcher.recv_multipart())

    stopping.set()
    worker.join()
    assert seen[-2:] == [[b"id234", b"", b"100"], [b"id234", b"", b"10"]]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_proxy_under_load_ends_when_told_to(start_proxy: StartProxy, number: signal.Signals) -> None:
    proxy, stopping = start_proxy("pull-push"), Event()

    def push() -> None:
        with pusher(connect=proxy.front, options=Options(wait_ms=20, linger_ms=0)) as sender:
            while not stopping.is_set():
                try:
                    sender.send(b"x" * 100)
                except zmq.Again:
                    continue

    thread = Thread(target=push)
    thread.start()
    with puller(connect=proxy.back, options=PATIENT) as receiver:
        for _ in range(5_000):
            receiver.recv()
        # From here on nobody takes anything: it is full, and told to end while it is.
        ended = proxy.stop(number)

    stopping.set()
    thread.join()
    assert ended == (0, "")


def test_people_are_told_where_to_connect_in_their_language() -> None:
    said = {}

    for language in ("en", "es"):
        process = subprocess.Popen(
            [*COMMAND, "proxy", "router-dealer", "--front", ANY, "--back", ANY],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=clean_environment(PREGON_LANG=language),
            text=True,
        )
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(4)]
        process.terminate()
        _, err = process.communicate(timeout=20)
        said[language] = ("".join(lines), err, process.returncode)

    assert "clients (REQ, DEALER):   tcp://127.0.0.1:" in said["en"][0]
    assert "workers (REP):           tcp://127.0.0.1:" in said["en"][0]
    assert "trabajadores (REP):      tcp://127.0.0.1:" in said["es"][0]
    assert "Se detiene con Ctrl-C" in said["es"][0]
    assert [one[1:] for one in said.values()] == [("", 0), ("", 0)]


def test_an_address_that_other_machines_reach_is_warned_of(start_proxy: StartProxy) -> None:
    proxy = start_proxy("xsub-xpub", back="tcp://0.0.0.0:*")

    status, err = proxy.stop()

    assert status == 0
    assert err.startswith("warning")
    assert f"{proxy.back} can be reached from other machines" in err
    assert proxy.front not in err


def test_what_cannot_be_is_refused_with_what_to_do() -> None:
    taken = f"tcp://127.0.0.1:{find_port()}"

    def refused(kind: str, front: str, back: str, *options: str) -> tuple[int, str]:
        said = run("proxy", kind, "--front", front, "--back", back, "--json", *options)
        assert said.out == ""
        return said.status, said.error["code"]

    with puller(bind=taken):
        found = [
            refused("router-router", ANY, ANY),
            refused("router-dealer", "somewhere", ANY),
            refused("router-dealer", ANY, "tcp://127.0.0.1:99999"),
            refused("router-dealer", ANY, ANY, "--capture", "inproc://capture"),
            refused("router-dealer", ANY, taken),
        ]

    assert found == [
        (2, "bad_request"), (2, "settings_invalid"), (2, "settings_invalid"), (2, "settings_invalid"),
        (4, "address_in_use"),
    ]  # fmt: skip
