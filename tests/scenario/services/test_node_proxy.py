"""Workers that do not ask for work, with a REP socket, behind `pregon proxy router-dealer`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ..hub_process import COMMAND, find_port, wait_until
from .conftest import StartProgram
from .program import Program


class Proxy(Program):
    """The forwarder, on free ports."""

    def __init__(self, place: Path) -> None:
        self.front = f"tcp://127.0.0.1:{find_port()}"
        self.back = f"tcp://127.0.0.1:{find_port()}"
        ours = ("proxy", "router-dealer", "--front", self.front, "--back", self.back)
        super().__init__("proxy", [*COMMAND, *ours], place)


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    proxy = Proxy(tmp_path)
    proxy.start()
    yield proxy
    proxy.end()


def test_clients_are_answered_by_a_rep_worker(proxy: Proxy, node: StartProgram) -> None:
    worker = node("rep.cjs", proxy.back, "Ana")

    clients = [node("client.cjs", proxy.front, f"{name}-1", f"{name}-2") for name in ("uno", "dos")]

    assert [client.finish() for client in clients] == [
        [f"resp: {name}-1 by Ana", f"resp: {name}-2 by Ana"] for name in ("uno", "dos")
    ]
    assert sorted(worker.lines()) == ["given dos-1", "given dos-2", "given uno-1", "given uno-2"]


def test_rep_workers_take_turns(proxy: Proxy, node: StartProgram) -> None:
    for name in ("Ana", "Eva"):
        node("rep.cjs", proxy.back, name)

    def ask() -> list[str]:
        return [line.split(" by ")[1] for line in node("client.cjs", proxy.front, *"1234").finish()]

    # A worker takes part as soon as it is connected, of which nobody is told.
    wait_until(lambda: set(ask()) == {"Ana", "Eva"}, "both workers are connected")
    turns = ask()

    assert turns in (["Ana", "Eva"] * 2, ["Eva", "Ana"] * 2)
    assert proxy.stop() == 0
