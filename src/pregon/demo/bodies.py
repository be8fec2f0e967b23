"""The public bodies of the demo: who they are, how each receives, and the ledger in which it writes what it got.

Each is what a body would write for itself: a web service for what is pushed, or a loop for what it pulls. They know
nothing of each other, and only of the hub what arrives.

Promises:
- A ledger has each message once, whatever is repeated, in the order in which they came.
- A signed request with a wrong signature is refused and not written down.
"""

from __future__ import annotations

import hmac
import threading
from collections.abc import Mapping

from pregon.demo.doors import TOPIC, Doors, Pulled
from pregon.demo.news import read_ci
from pregon.demo.web_service import Answer, WebService
from pregon.security.signatures import decode_secret, sign
from pregon.soap.envelope import open_envelope
from pregon.soap.texts import CONTENT_TYPES, write_envelope
from pregon.soap.vocabulary import PS, SOAP_11, WSA

IMM, BPS, CORTE, CGN = "IMM", "BPS", "CORTE", "CGN"


class Ledger:
    """What a body has received; may be written from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids: set[str] = set()
        self._seqs: list[int] = []
        self._cis: dict[int, str] = {}
        self.repeated = 0
        """Messages that came again, and were dropped by their id."""

    def take(self, message_id: str, seq: int, ci: str) -> None:
        """Write a message down, unless it is there."""
        with self._lock:
            if message_id in self._ids:
                self.repeated += 1
                return
            self._ids.add(message_id)
            self._seqs.append(seq)
            self._cis[seq] = ci

    @property
    def seqs(self) -> list[int]:
        """The numbers of the messages, as they came."""
        with self._lock:
            return list(self._seqs)

    @property
    def cis(self) -> dict[int, str]:
        """Whom each message tells of."""
        with self._lock:
            return dict(self._cis)

    def __len__(self) -> int:
        with self._lock:
            return len(self._seqs)


class SoapBody:
    """A body with a SOAP web service: IMM."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.service = WebService(self._receive)

    def _receive(self, _headers: Mapping[str, str], content: bytes) -> Answer:
        _, root = open_envelope(content)
        message_id = root.findtext(f".//{{{WSA}}}MessageID") or ""
        seq = int(root.findtext(f".//{{{PS}}}notificationId") or 0)
        self.ledger.take(message_id, seq, read_ci(content))
        return Answer(200, write_envelope(SOAP_11, "", b""), CONTENT_TYPES[SOAP_11])


class SignedBody:
    """A body that gets signed requests, whose header says the number: BPS and CORTE."""

    def __init__(self, seq_header: str) -> None:
        self.ledger = Ledger()
        self.service = WebService(self._receive)
        self.pushed: set[int] = set()
        """The numbers that came by push, since the last time that it pulled."""
        self.verified = 0
        self.forged = 0
        self._seq_header = seq_header
        self._secret = b""

    def learn(self, secret: str) -> None:
        """Take the secret with which the hub signs."""
        self._secret = decode_secret(secret)

    def _receive(self, headers: Mapping[str, str], content: bytes) -> Answer:
        message_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
        if not timestamp.isdecimal() or not self._is_signed(message_id, int(timestamp), content, headers):
            self.forged += 1
            return Answer(401, b"the signature is wrong")
        self.verified += 1
        seq = int(headers.get(self._seq_header, "0"))
        self.pushed.add(seq)
        # Topic and number are the same whichever way a message comes; webhook-id is for who never pulls.
        self.ledger.take(f"{TOPIC}:{seq}", seq, read_ci(content))
        return Answer(204)

    def _is_signed(self, message_id: str, timestamp_s: int, content: bytes, headers: Mapping[str, str]) -> bool:
        expected = sign([self._secret], message_id, timestamp_s, content)
        given = headers.get("webhook-signature", "").split(" ")
        return any(hmac.compare_digest(expected.encode(), one.encode()) for one in given)

    def pull_one(self, doors: Doors, name: str) -> int:
        """Ask for the first message that waits, by SOAP, and acknowledge it, by REST; its number, 0 for none."""
        pulled = doors.until_answered(lambda: doors.pull_soap(name))
        if pulled is None:
            return 0
        self.ledger.take(f"{TOPIC}:{pulled.seq}", pulled.seq, pulled.ci)
        doors.until_answered(lambda: doors.ack_rest(name, pulled.seq))
        # What was taken while the service fell, and could not be answered, came before.
        self.pushed.clear()
        return pulled.seq


class PullingBody:
    """A body without a web service, which asks once a day for all that waits: CGN."""

    def __init__(self, name: str, doors: Doors) -> None:
        self.ledger = Ledger()
        self.days = 0
        """How often it has asked."""
        self._name = name
        self._doors = doors

    def collect(self) -> int:
        """Ask for one message after another, each request acknowledging the one before; how many there were."""
        ack: int | None = None
        count = 0
        while (pulled := self._next(ack)) is not None:
            self.ledger.take(f"{TOPIC}:{pulled.seq}", pulled.seq, pulled.ci)
            ack = pulled.seq
            count += 1
        self.days += 1
        return count

    def _next(self, ack: int | None) -> Pulled | None:
        return self._doors.until_answered(lambda: self._doors.pull_soap(self._name, ack))
