"""What clients and workers of a broker know: what each asked or was given, and what it was told.

Promises: who is told twice, or something of another worker or another time, is an AssertionError.
"""

from __future__ import annotations

from collections import Counter

from hypothesis.stateful import RuleBasedStateMachine

from pregon.wire import services as wire

from .audit import live_requests
from .cast import DEALERS, OPTIONS, PLAIN, REQS, RICH
from .stage import Heard, Stage, error_of, read


class Notebook(RuleBasedStateMachine):
    """A history of a broker, as far as it is only written down."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = Stage(OPTIONS)
        self.serial = 0
        self.open: dict[tuple[bytes, bytes], bytes] = {}
        """What clients of PGS/1 wait for: by client and id, the body."""
        self.open_plain: dict[bytes, set[bytes]] = {client: set() for client in PLAIN}
        """What clients of the plain form have asked and not been answered; errors do not say which."""
        self.errors_plain: Counter[bytes] = Counter()
        self.work: dict[bytes, list[tuple[int, bytes, list[bytes]]]] = {name: [] for name in (*DEALERS, *REQS)}
        """Every delivery that a worker has received: its number, the id or client to answer with, and the body."""
        self.deliveries = 0
        self.latest: dict[bytes, int] = {}
        """Of each body, the last delivery."""

    def settle(self) -> None:
        """Everybody reads what they were sent."""
        for worker, received in self.work.items():
            for sent in self.stage.at_back.pop(worker, []):
                if sent[0] == b"":
                    self.note_delivery(received, sent[1], sent[3:])
                elif (heard := read(sent)).kind == "R":
                    self.note_delivery(received, heard.id, heard.body)
        for client in RICH:
            for heard in map(read, self.stage.told(client)):
                self.note_reply(client, heard)
        for client in PLAIN:
            for reply in self.stage.told(client):
                assert reply[0] == b""
                self.note_plain_reply(client, reply[1:])

    def note_delivery(self, received: list[tuple[int, bytes, list[bytes]]], id: bytes, body: list[bytes]) -> None:
        self.deliveries += 1
        self.latest[body[0]] = self.deliveries
        received.append((self.deliveries, id, body))

    def note_reply(self, client: bytes, heard: Heard) -> None:
        if heard.kind == "E" and heard.id == wire.NO_ID:
            return  # What it said could not be read.
        assert heard.kind in "AE"
        body = self.open.pop((client, heard.id), None)
        assert body is not None, "told twice, or of what it never asked"
        if heard.kind == "A":
            assert heard.body == [body, b"%d" % self.latest[body]], "of another worker, or another time"
        else:
            assert error_of(heard).message

    def note_plain_reply(self, client: bytes, reply: list[bytes]) -> None:
        if reply[0].startswith(b"error "):
            code = error_of(read(reply)).code
            assert reply[0].startswith(b"error %b: " % code.encode())
            self.errors_plain[client] += 1
            return
        body = reply[0]
        assert body in self.open_plain[client], "told twice, or of what it never asked"
        assert reply == [body, b"%d" % self.latest[body]]
        self.open_plain[client].remove(body)

    def new_body(self, size: int) -> list[bytes]:
        self.serial += 1
        return [b"body-%d" % self.serial, *[b"more"] * size]

    def recount(self, client: bytes) -> None:
        live = {one.body[0] for one in live_requests(self.stage.broker) if one.asker.identity == client}
        self.open_plain[client] &= live
        self.errors_plain[client] = 0
