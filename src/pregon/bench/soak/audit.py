"""What must be true after a soak, looked at message by message.

- Every publication that was acknowledged is in the log, once, with the number that its producer was told.
- Every subscription adds up exactly: accepted = acknowledged + pending + parked + expired + filtered; nothing is
  pending, and what is parked and filtered is just what should be.
- Every subscriber took every message that it wants, in order at its first time; with `parallel`, in order by key.
- A message that came more than once had the same id and the same body each time, and every signature was right.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pregon.bench.soak.cast import Cast, Part, is_poison, wants
from pregon.bench.soak.producers import Published
from pregon.bench.soak.stations import Taken
from pregon.client import Client
from pregon.delivery.formats import make_request
from pregon.model.catalog import PULL, SOAP
from pregon.model.message import Message
from pregon.model.subscription import Accounting

_FILTER_FAILED = "the filter failed"


@dataclass(slots=True)
class Findings:
    """What an audit found."""

    faults: list[str] = field(default_factory=list)
    messages: int = 0
    deliveries: int = 0
    repeated: int = 0
    parked: int = 0
    filtered: int = 0
    passed_by_failing_filters: int = 0


def read_logs(client: Client, topics: Sequence[str]) -> dict[str, list[Message]]:
    """All that is in the topics."""
    logs: dict[str, list[Message]] = {}
    for topic in topics:
        log: list[Message] = []
        while found := client.read(topic, len(log) + 1, max=5_000).messages:
            log += found
        logs[topic] = log
    return logs


def audit_publications(logs: dict[str, list[Message]], published: Iterable[Published], findings: Findings) -> None:
    """Whether everything acknowledged is there, once."""
    stored: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for topic, log in logs.items():
        findings.messages += len(log)
        for number, message in enumerate(log, 1):
            if message.seq != number:
                findings.faults.append(f"{topic}: message {message.seq} is where {number} should be")
            stored[_token_of(message.body)].append((topic, message.seq))
    for one in published:
        places = stored.pop(one.token, [])
        if not places and not one.is_certain:
            continue
        if len(places) != 1 or places[0][0] != one.topic or one.seq not in (0, places[0][1]):
            findings.faults.append(f"{one.token} acknowledged as {one.topic} {one.seq}, stored as {places}")
    findings.faults += [f"{token} was never published, stored as {places}" for token, places in stored.items()]


def _token_of(body: bytes) -> str:
    start = body.index(b"token-")
    end = min(at for mark in (b'"', b"<") if (at := body.find(mark, start)) > 0)
    return body[start:end].decode()


def audit_subscriptions(
    cast: Cast,
    logs: dict[str, list[Message]],
    taken: Iterable[Taken],
    accounts: dict[tuple[str, str], Accounting],
    findings: Findings,
) -> None:
    """Whether everybody has everything, in order, and every account adds up."""
    by_place: dict[tuple[str, str], list[Taken]] = defaultdict(list)
    for one in taken:
        by_place[one.topic, one.subscriber].append(one)
    for topic, part in cast.subscriptions:
        names = (topic, part.name)
        came = by_place.pop(names, [])
        _Place(part, logs[topic], came, accounts[names], findings).audit()
    findings.faults += [
        f"{names}: {len(came)} messages that it never subscribed to" for names, came in by_place.items()
    ]


class _Place:
    """One subscription and all that is known of it."""

    def __init__(
        self, part: Part, log: list[Message], came: list[Taken], account: Accounting, findings: Findings
    ) -> None:
        self._part = part
        self._log = log
        self._came = came
        self._account = account
        self._findings = findings
        self._first: dict[int, Taken] = {}
        """The first time that each message came, in that order."""

    def _fault(self, what: str) -> None:
        self._findings.faults.append(f"{self._account.topic} of {self._part.name}: {what}")

    def audit(self) -> None:
        """All of it."""
        for one in self._came:
            earlier = self._first.setdefault(one.seq, one)
            if earlier is not one:
                self._findings.repeated += 1
                if (earlier.id, earlier.digest) != (one.id, one.digest):
                    self._fault(f"message {one.seq} came again as another: {earlier.id}, {one.id}")
            if not one.is_signed_well:
                self._fault(f"message {one.seq} has a wrong signature")
        self._findings.deliveries += len(self._came)
        self._audit_bodies()
        self._audit_order()
        self._audit_account()

    def _audit_bodies(self) -> None:
        for seq, one in self._first.items():
            message = self._log[seq - 1]
            body = message.body
            if self._part.mode != PULL and self._part.format == SOAP:
                made = make_request(
                    SOAP, message, secrets=(), now_s=0, matched=one.matched, endpoint=self._part.endpoint
                )
                body = made.body
            if hashlib.blake2b(body, digest_size=16).digest() != one.digest:
                self._fault(f"message {seq} has another body than was published")

    def _audit_order(self) -> None:
        last: dict[str, int] = {}
        for seq in self._first:
            key = (self._log[seq - 1].key or "") if self._part.parallel > 1 else ""
            if seq < last.get(key, 0):
                self._fault(f"message {seq} came after {last[key]}")
            last[key] = seq

    def _audit_account(self) -> None:
        part, account, findings = self._part, self._account, self._findings
        wanted = {message.seq for message in self._log if wants(part.filter, message)}
        failing = {seq for seq, one in self._first.items() if one.matched.startswith(_FILTER_FAILED)} - wanted
        refused = {seq for seq in wanted if part.refuses_some and is_poison(self._log[seq - 1].body)}
        expected = wanted - refused
        if missing := sorted(expected - set(self._first)):
            self._fault(f"{len(missing)} messages never came: {missing[:10]}")
        if extra := sorted(set(self._first) - expected - failing):
            self._fault(f"{len(extra)} messages came that it does not want: {extra[:10]}")
        findings.passed_by_failing_filters += len(failing)
        findings.parked += account.parked
        findings.filtered += account.filtered
        whole = account.acknowledged + account.pending + account.parked + account.expired + account.filtered
        facts = {
            "accepted": (account.accepted, len(self._log)),
            "its sum": (whole, len(self._log)),
            "acknowledged": (account.acknowledged, len(self._first)),
            "pending": (account.pending, 0),
            "parked": (account.parked, len(refused)),
            "expired": (account.expired, 0),
        }
        for name, (said, should) in facts.items():
            if said != should:
                self._fault(f"{name} is {said}, not {should}")
