"""A member of a group without a hub in a process of its own, on a line that loses what it is told to.

Run with a name, how much of what it sends is lost (0 to 1), and the address of a member (none: it founds the group).
Each line that it reads is a word: from `speak` on it says something every few milliseconds, until `stop`; it can `tell`
what it was shown, and `leave`. Each line that it writes is JSON.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from pregon.causal.peer_outputs import PeerOptions
from pregon.client.groups.brokerless import PeerGroup, PeerGroupOptions
from pregon.client.groups.brokerless_mesh import Mesh
from pregon.client.groups.events import GroupEvent

EVERY_S = 0.01
WAIT_S = 60.0
OPTIONS = PeerGroupOptions(timeout_s=WAIT_S, peer=PeerOptions(dead_ms=3_000, forget_ms=10_000))


class Process:
    """Such a process, as a test sees it."""

    def __init__(self, name: str, loss: float, address: str = "") -> None:
        command = [sys.executable, str(Path(__file__).resolve()), name, str(loss), address]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.hello: dict[str, Any] = self.read()

    @property
    def number(self) -> int:
        """Its number in the group."""
        return int(self.hello["number"])

    @property
    def address(self) -> str:
        """Where it is found."""
        return str(self.hello["address"])

    def read(self) -> dict[str, Any]:
        """What it says next."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the process ended"
        said: dict[str, Any] = json.loads(line)
        return said

    def ask(self, word: str) -> dict[str, Any]:
        """Tell it something, and what it says."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        return self.read()

    def kill(self) -> None:
        """End it without a word."""
        self._process.kill()
        self.close()

    def close(self) -> None:
        """Have it ended."""
        self._process.kill()
        self._process.wait()
        for end in (self._process.stdin, self._process.stdout):
            assert end is not None
            end.close()


def lose(share: float, seed: str) -> None:
    """From now on so much of what this process sends is lost."""
    dice, send = random.Random(seed), Mesh.send

    def lossy(mesh: Mesh, to: int | None, frame: bytes) -> None:
        if dice.random() >= share:
            send(mesh, to, frame)

    Mesh.send = lossy  # type: ignore[method-assign]


class Speaker:
    """What the process does."""

    def __init__(self, group: PeerGroup) -> None:
        self.group = group
        self.shown: list[dict[str, Any]] = []
        self.sent: list[str] = []
        self.is_speaking = True
        self._threads = [threading.Thread(target=one, daemon=True) for one in (self._look, self._speak)]

        self._threads[0].start()

    def speak(self) -> None:
        """Begin to speak."""
        self._threads[1].start()

    def stop(self) -> None:
        """Say no more."""
        self.is_speaking = False
        self._threads[1].join()

    def _look(self) -> None:
        for event in self.group:
            after = [str(stamp) for stamp in getattr(event, "after", ())]
            stamp = str(event.stamp) if isinstance(event, GroupEvent) else ""
            self.shown.append({"is": type(event).__name__, "stamp": stamp, "after": after, "member": event.member})

    def _speak(self) -> None:
        while self.is_speaking:
            self.sent.append(str(self.group.send(f"{self.group.name} {len(self.sent)}")))
            time.sleep(EVERY_S)


def say(**what: Any) -> None:
    """A line for the test."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def main(name: str, loss: float, address: str) -> None:
    """Take part until there is nothing more to read."""
    lose(loss, name)
    group = PeerGroup("design", name=name, peers=[address] if address else [], options=OPTIONS)
    speaker = Speaker(group)
    say(number=group.number, address=group.address)
    for line in sys.stdin:
        word = line.strip()
        if word == "speak":
            speaker.speak()
            say(is_speaking=True)
        elif word == "stop":
            speaker.stop()
            say(sent=speaker.sent)
        elif word == "leave":
            speaker.stop()
            group.leave()
            say(sent=speaker.sent, shown=speaker.shown)
        else:
            members = [member.number for member in group.members if member.is_here]
            say(shown=list(speaker.shown), members=members, held=group.held, repaired=group.counts.repaired)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3])
