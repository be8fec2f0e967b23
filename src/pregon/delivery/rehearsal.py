"""A rehearsal: one test message to a subscriber's web service, and all that went over the wire.

It is sent as a push is: written by `formats`, signed with the subscriber's secrets, guarded, within its time limit,
over the pusher's connections. It is no message of any topic: it has the number 0, its producer is `pregon.test`, and it
says that it is a test (`Pregon-Test: true`, in SOAP also `ps:test`). Who may have one sent is left to `rehearsals`.

Promises:
- What is shown of the request is what was written to the socket; where no connection was made, what would have been.
  But of the signature only its first characters: who may have a test sent is not to have what they like signed.
- Never raises, whatever the web service does: that is an outcome, as it is of a push.
- What is shown is bounded: bodies by `REHEARSAL_BODY_BYTES_MAX`, headers of the answer by `_HEADERS_BYTES_MAX`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from pregon.clock import format_us, wall_us
from pregon.delivery.attempt import Poster, Target
from pregon.delivery.exchange import Recording
from pregon.delivery.formats import SIGNATURE_HEADER, TEST_SEQ
from pregon.delivery.outcome import DELIVERED, shorten_reason
from pregon.limits import KIB, REHEARSAL_BODY_BYTES_MAX
from pregon.model.batch import StoredBatch, encode, pack, stamp
from pregon.model.catalog import SOAP
from pregon.model.events import JSON_CONTENT_TYPE
from pregon.model.ids import new_id
from pregon.model.message import Message, Outgoing, check_outgoing
from pregon.model.names import check_name
from pregon.soap.content import XML
from pregon.soap.vocabulary import PS

TEST_TOPIC = "pregon.test"
TEST_PRODUCER = "pregon.test"
_HEADERS_BYTES_MAX = 32 * KIB
"""Of the answer: more than any web service has to say in them."""
_SIGNATURE_SHOWN_CHARACTERS = 8

Headers = list[tuple[str, str]]


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What to send; without a body, a small sample in the subscriber's format."""

    topic: str = TEST_TOPIC
    body: bytes | None = None
    content_type: str = ""
    """Empty: XML for a subscriber that gets SOAP, else JSON."""

    def check(self) -> Trial:
        """Itself; raises BadName, BadRequest or TooLarge for what no message may be."""
        check_name("topic", self.topic)
        check_outgoing(Outgoing(self.body or b"", content_type=self.content_type or XML), REHEARSAL_BODY_BYTES_MAX)
        return self


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What was sent."""

    request_line: str = ""
    headers: Headers = []
    body: bytes = b""
    body_is_cut: bool = False
    """Whether more was sent than is shown."""


class GivenAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What was answered; all empty when there was no answer."""

    status: int | None = None
    reason: str = ""
    """The phrase beside the status, if there was one."""
    headers: Headers = []
    body: bytes = b""
    body_is_cut: bool = False
    """Whether there was more than was read."""


class Rehearsal(msgspec.Struct, frozen=True, kw_only=True):
    """One test of a web service: what was sent, what it answered, and what a push would have made of that."""

    subscriber: str
    endpoint: str
    format: str
    request: Request
    answer: GivenAnswer
    outcome: str
    """A kind of `outcome`."""
    reason: str
    latency_ms: int
    """How long it took until the answer began, or until there was none."""
    at_us: int

    @property
    def is_delivered(self) -> bool:
        """Whether a message would have been delivered."""
        return self.outcome == DELIVERED


async def rehearse(poster: Poster, target: Target, trial: Trial) -> Rehearsal:
    """Send a test that was checked to a target, once."""
    at_us = wall_us()
    recording = Recording()
    outcome = await poster.attempt(target, make_message(trial, target.format, at_us), attempt=1, recording=recording)
    return Rehearsal(
        subscriber=target.subscriber,
        endpoint=target.endpoint,
        format=target.format,
        request=_request(recording),
        answer=_answer(recording),
        outcome=outcome.kind,
        reason=outcome.reason,
        latency_ms=outcome.latency_ms,
        at_us=at_us,
    )


def make_message(trial: Trial, format: str, at_us: int) -> Message:
    """The message of a test, as if it had been accepted at a time."""
    body, content_type = trial.body, trial.content_type
    if body is None:
        body = _sample(format, at_us)
    sent = Outgoing(body, new_id(), None, content_type or (XML if format == SOAP else JSON_CONTENT_TYPE))
    batch = StoredBatch(TEST_SEQ, 1, encode(stamp(pack([sent], [at_us]), TEST_PRODUCER, at_us)))
    (message,) = batch.messages(trial.topic)
    return message


def _sample(format: str, at_us: int) -> bytes:
    at = format_us(at_us)
    if format == SOAP:
        return f'<test xmlns="{PS}"><at>{at}</at></test>'.encode()
    return msgspec.json.encode({"test": True, "at": at})


def _request(recording: Recording) -> Request:
    line, *lines = recording.head.rstrip("\r\n").split("\r\n")
    return Request(
        request_line=line,
        headers=[(name, _mask(name, value)) for name, _, value in (one.partition(": ") for one in lines)],
        body=recording.body[:REHEARSAL_BODY_BYTES_MAX],
        body_is_cut=len(recording.body) > REHEARSAL_BODY_BYTES_MAX,
    )


def _mask(name: str, value: str) -> str:
    """A header as it is shown: of a signature enough to see that it is there, and by which scheme."""
    if name.lower() != SIGNATURE_HEADER or len(value) <= _SIGNATURE_SHOWN_CHARACTERS:
        return value
    return value[:_SIGNATURE_SHOWN_CHARACTERS] + "..."


def _answer(recording: Recording) -> GivenAnswer:
    if not recording.status:
        return GivenAnswer()
    return GivenAnswer(
        status=recording.status,
        reason=shorten_reason(recording.reason),
        headers=list(_bounded(recording.answer_headers)),
        body=recording.received[:REHEARSAL_BODY_BYTES_MAX],
        body_is_cut=recording.is_cut or len(recording.received) > REHEARSAL_BODY_BYTES_MAX,
    )


def _bounded(headers: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[str, str]]:
    """The headers of an answer as text, as far as there is room for them."""
    left = _HEADERS_BYTES_MAX
    for name, value in headers:
        left -= len(name) + len(value)
        if left < 0:
            return
        yield name.decode(errors="replace"), value.decode(errors="replace")
