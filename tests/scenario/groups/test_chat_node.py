"""The documents' client in Node, through the plain door of a room."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pregon import GroupMessage

from ..hub_process import HubProcess
from ..services.conftest import ROOT, node_project
from ..services.program import Program
from .conftest import Naming
from .plain_door import DoorProcess

__all__ = ["node_project"]


@pytest.fixture
def door(hub: HubProcess, group: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DoorProcess]:
    """The door of the test's own room."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data-home"))
    opened = DoorProcess(hub, tmp_path, group)
    yield opened.open()
    opened.end()


def test_the_clients_of_the_documents_chat_with_each_other_and_with_members(
    hub: HubProcess, door: DoorProcess, node_project: Path, tmp_path: Path, group: str, called: Naming
) -> None:
    shutil.copy(ROOT / "examples" / "chat" / "client.js", node_project / "client.js")
    ana, luis = (
        Program(nick, ["node", str(node_project / "client.js"), nick, door.pull, door.pub], tmp_path)
        for nick in (called("Ana"), called("Luis"))
    )
    with hub.client() as client:
        eva = client.join(group, name=called("eva"))
        try:
            ana.start()
            ana.wait_for_line(f"[server] {ana.name} connected")
            luis.start()
            ana.wait_for_line(f"[server] {luis.name} connected")
            luis.wait_for_line(f"[server] {luis.name} connected")
            ana.tell("hola, ¿qué tal?")
            luis.wait_for_line(f"[{ana.name}] hola, ¿qué tal?")
            luis.tell("BYE o no BYE")
            ana.wait_for_line(f"[{luis.name}] BYE o no BYE")
            eva.send("hola a los dos")
            ana.wait_for_line(f"[{eva.name}] hola a los dos")
            luis.wait_for_line(f"[{eva.name}] hola a los dos")
            assert luis.running.stdin is not None
            luis.running.stdin.close()
            ana.wait_for_line(f"[server] {luis.name} disconnected")
            luis.finish()
        finally:
            ana.end()
            luis.end()
        texts = [event.text for event in iter(lambda: eva.poll(1), None) if isinstance(event, GroupMessage)]
    assert texts == ["hola, ¿qué tal?", "BYE o no BYE"]
