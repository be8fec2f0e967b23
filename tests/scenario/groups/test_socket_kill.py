"""The hub is killed in the middle of a conversation, thrice: who comes back finds all of it, once and in order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from websockets.exceptions import ConnectionClosed, InvalidHandshake

from ..conftest import MakeHub
from ..hub_process import HubProcess, wait_until
from .talker import Frame, Talker

T = TypeVar("T")
COUNT = 120
GONE = (OSError, ConnectionClosed, InvalidHandshake, TimeoutError)


class Stubborn:
    """One participant that comes back as often as it must, and goes on where it was: what a page does by itself."""

    def __init__(self, hub: HubProcess, name: str) -> None:
        self.http = f"http://{hub.addresses.http}"
        self.told: list[Frame] = []
        self._name = name
        self._talker = Talker(self.http).hello(name)
        self._token = self._talker.token
        self._talker.join("plaza", create=True, after=0)
        self.returns = 0

    def insist(self, act: Callable[[Talker], T]) -> T:
        """Do it, on one socket or the next."""
        while True:
            try:
                return act(self._talker)
            except GONE:
                self._come_back()

    def _come_back(self) -> None:
        self._keep()
        self._talker.close()
        self.returns += 1

        def connected() -> Talker | None:
            try:
                return Talker(self.http, open_timeout=2).hello(token=self._token)
            except GONE:
                return None

        self._talker = wait_until(connected, f"{self._name} is back")
        self._talker.join("plaza", after=self.told[-1]["seq"] if self.told else 0)

    def _keep(self) -> None:
        self.told += self._talker.rooms.pop("plaza", [])

    def talk(self) -> None:
        """Say so many things, each until it is accepted, having seen what it was told."""
        for number in range(COUNT):
            id = f"{self._name}-{number}"
            self.insist(lambda talker, id=id: talker.send("plaza", id, id=id))  # type: ignore[misc]

    def read_all(self, count: int) -> list[Frame]:
        """Everything that was said, when it is so much."""

        def look(talker: Talker) -> bool:
            self._keep()
            if len([one for one in self.told if one["kind"] == "message"]) >= count:
                return True
            talker.hear(timeout_s=20)
            return False

        while not self.insist(look):
            pass
        self._talker.close()
        return self.told


def said_in(hub: HubProcess) -> int:
    """How many messages the room has."""
    with hub.client() as client:
        head_seq: int = client.show("topic", "groups.plaza")["head_seq"]
        return head_seq


def test_a_conversation_goes_on_over_the_death_of_the_hub(make_hub: MakeHub) -> None:
    hub = make_hub().start()
    people = [Stubborn(hub, name) for name in ("ana", "luis", "eva")]
    threads = [threading.Thread(target=person.talk, daemon=True) for person in people]

    for thread in threads:
        thread.start()
    for share in (0.2, 0.5, 0.8):
        wait_until(lambda share=share: said_in(hub) > share * 3 * COUNT, "they talk")  # type: ignore[misc]
        hub.kill()
        hub.start()
    for thread in threads:
        thread.join()
    told = [person.read_all(3 * COUNT) for person in people]

    assert all(person.returns >= 1 for person in people), "each of them was cut off"
    assert told[0] == told[1] == told[2]
    assert [one["seq"] for one in told[0]] == list(range(1, 3 * COUNT + 7)), "each message once, none left out"
    for person in ("ana", "luis", "eva"):
        said = [one["text"] for one in told[0] if one["kind"] == "message" and one["name"] == person]
        assert said == [f"{person}-{number}" for number in range(COUNT)]
    seen: set[str] = set()
    for message in told[0]:
        assert set(message["after"]) <= seen, "causes come first"
        seen.add(message["stamp"])
    assert hub.bugs() == []
