"""One attempt to push one message: a request out, an outcome back.

How the request is written is in `formats`, what a status means in `outcome`; when to try again is left to others.

Promises:
- `attempt` never raises but when it is cancelled: whatever a subscriber does becomes an Outcome.
- It takes no longer than the target's time limit, and reads no more than `PUSH_ANSWER_BYTES_MAX` of an answer, which it
  never decompresses.
- A SOAP answer counts when it is there as a whole; of the other formats the status counts, and what comes after it is
  only read so that the connection can be used again.
- Redirects are followed only if the operator said so, as 307 or 308, to where the guard lets them, never out of https.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

import aiohttp
from yarl import URL

from pregon import limits
from pregon.clock import monotonic_ms, wall_us
from pregon.delivery.connections import Connections, Trip, current_trip
from pregon.delivery.exchange import Answer, Place, Recording, exchange
from pregon.delivery.failures import explain_failure, is_stale_connection
from pregon.delivery.formats import PushRequest, make_request
from pregon.delivery.outcome import (
    DELIVERED,
    REFUSED,
    UNREACHABLE,
    Outcome,
    classify,
    describe_status,
    read_retry_after,
    shorten_reason,
)
from pregon.delivery.soap_answers import find_fault
from pregon.errors import BadRequest, EndpointForbidden
from pregon.model.catalog import SOAP, check_endpoint
from pregon.model.message import Message
from pregon.security.guard import Guard

log = logging.getLogger("pregon.delivery")

REDIRECTS_MAX = 3
_REDIRECTS = (307, 308)
"""The redirects that keep the method and the body."""
_DRAIN_S_MAX = 1.0
_PLACES_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Target:
    """Where a message is pushed to, and how."""

    subscriber: str
    endpoint: str
    format: str
    time_limit_ms: int
    secrets: tuple[bytes, ...] = field(default=(), repr=False)
    """Those with which it is signed, the newest first."""


class Poster:
    """Pushes messages. For one event loop."""

    def __init__(self, guard: Guard, *, may_redirect: bool = False) -> None:
        self._guard = guard
        self._may_redirect = may_redirect
        self._connections: Connections | None = None
        self._places: dict[str, Place] = {}

    async def start(self) -> None:
        """Be ready; in the loop in which it is used."""
        self._connections = Connections(self._guard)

    async def close(self) -> None:
        """Close every connection; attempts under way end as unreachable."""
        connections, self._connections = self._connections, None
        if connections is not None:
            await connections.close()

    @property
    def connections_open(self) -> int:
        """How many connections there are, at work or kept for later."""
        return self._connections.open_count if self._connections else 0

    async def attempt(
        self,
        target: Target,
        message: Message,
        *,
        attempt: int,
        matched: str = "",
        traceparent: str = "",
        recording: Recording | None = None,
    ) -> Outcome:
        """Push a message to a target, once; what was sent and answered is left in `recording`, for who wants it."""
        started_ms = monotonic_ms()
        now_s = wall_us() // 1_000_000
        try:
            request = make_request(
                target.format,
                message,
                secrets=target.secrets,
                now_s=now_s,
                matched=matched,
                attempt=attempt,
                endpoint=target.endpoint,
            )
        except Exception:  # A message that cannot be written is one that never will be: the others must go on.
            log.exception("a message could not be written", extra=_where(target, message))
            return Outcome(REFUSED, "the hub could not write this message: its log has the details")
        if traceparent:
            # The hub's own span stands between the producer's and the subscriber's.
            request.headers["traceparent"] = traceparent
        errand = _Errand(target, request, started_ms, now_s, recording)
        try:
            async with asyncio.timeout(target.time_limit_ms / 1_000):
                return await self._carry_out(errand)
        except TimeoutError:
            return errand.verdict or errand.outcome(UNREACHABLE, f"no answer in {target.time_limit_ms} ms")
        except EndpointForbidden as error:
            return errand.outcome(UNREACHABLE, str(error))
        except Exception as error:  # Whatever the network or the subscriber did, it is an outcome.
            reason = explain_failure(error, errand.trip)
            if reason is None:
                log.exception("a push failed in an unknown way", extra=_where(target, message))
                reason = f"the push failed: {type(error).__name__}"
            return errand.outcome(UNREACHABLE, reason)

    async def _carry_out(self, errand: _Errand) -> Outcome:
        place = self._place_of(errand.target.endpoint)
        hops = 0
        while True:
            response = await self._post(place, errand)
            errand.answered_ms = monotonic_ms()
            if response.status not in _REDIRECTS or not self._may_redirect:
                break
            response.close()
            hops += 1
            if hops > REDIRECTS_MAX:
                return errand.refuse(response.status, f"redirected more than {REDIRECTS_MAX} times")
            onward = _find_location(place.url, response.headers.get("Location", ""))
            if onward is None:
                return errand.refuse(response.status, "redirected to nowhere that a push could go")
            self._guard.check_url(str(onward))
            place = Place(onward)
        try:
            return await _read_answer(response, errand)
        finally:
            response.close()

    async def _post(self, place: Place, errand: _Errand) -> Answer:
        connections = self._connections
        if connections is None:
            raise ConnectionAbortedError("the hub is stopping")
        request = errand.request
        while True:
            trip = errand.trip = Trip(place.url.raw_host or "")
            current_trip.set(trip)
            try:
                return await exchange(connections, place, request.headers, request.body, errand.recording)
            except (aiohttp.ClientConnectionError, OSError) as error:
                # A kept connection that the subscriber closed meanwhile says nothing of the subscriber: once more,
                # over a new one. The message may have arrived before; its id is the same.
                if not errand.is_first or not is_stale_connection(error, trip):
                    raise
            finally:
                errand.is_first = False

    def _place_of(self, endpoint: str) -> Place:
        place = self._places.get(endpoint)
        if place is None:
            if len(self._places) >= _PLACES_MAX:
                self._places.clear()
            try:
                # As it was written: what is percent-encoded in it may be signed by whoever gave it out.
                url = URL(check_endpoint(endpoint), encoded=True)
                if not url.raw_host or not url.port:
                    raise aiohttp.InvalidURL(endpoint)
                place = Place(url)
            except (ValueError, BadRequest) as error:
                raise aiohttp.InvalidURL(endpoint) from error
            self._places[endpoint] = place
        return place


class _Errand:
    """One attempt under way."""

    __slots__ = ("answered_ms", "is_first", "now_s", "recording", "request", "started_ms", "target", "trip", "verdict")

    def __init__(
        self, target: Target, request: PushRequest, started_ms: float, now_s: int, recording: Recording | None
    ) -> None:
        self.target = target
        self.request = request
        self.started_ms = started_ms
        self.answered_ms = 0.0
        self.now_s = now_s
        self.recording = recording
        self.trip = Trip("")
        self.verdict: Outcome | None = None
        """What the head of the answer says, where that is enough."""
        self.is_first = True
        """Whether nothing was sent yet."""

    def outcome(self, kind: str, reason: str, status: int = 0, retry_after: str | None = None) -> Outcome:
        """How it ended."""
        ended_ms = self.answered_ms if status else monotonic_ms()
        wait_ms = None if retry_after is None else read_retry_after(retry_after, self.now_s)
        return Outcome(kind, reason, status, wait_ms, round(ended_ms - self.started_ms))

    def refuse(self, status: int, why: str) -> Outcome:
        """The subscriber answered, and not in a way that settles the message."""
        return self.outcome(REFUSED, shorten_reason(f"{describe_status(status)}: {why}"), status)

    @property
    def left_s(self) -> float:
        """How much of its time it has left."""
        return max(0.0, (self.started_ms + self.target.time_limit_ms - monotonic_ms()) / 1_000)


async def _read_answer(response: Answer, errand: _Errand) -> Outcome:
    """What an answer means whose head is there."""
    status = response.status
    kind = classify(status)
    reason = describe_status(status)
    if 300 <= status < 400:
        reason = f"{reason}: redirects are not followed"
    verdict = errand.outcome(kind, reason, status, None if kind == DELIVERED else response.headers.get("Retry-After"))
    if errand.target.format == SOAP and (kind in (DELIVERED, REFUSED)):
        # Only all of it says that it is no fault.
        errand.verdict = verdict if kind == REFUSED else None
        answer = await _read_whole(response, is_needed=kind == DELIVERED)
        if answer is None:
            if kind == DELIVERED:
                return errand.refuse(status, f"the answer has more than {limits.PUSH_ANSWER_BYTES_MAX} bytes")
        elif answer:
            fault = find_fault(answer, response.headers.get("Content-Type", ""))
            if fault is not None:
                return errand.refuse(status, f"SOAP fault: {fault}")
    elif not response.is_complete:
        errand.verdict = verdict
        await _drain(response, errand)
    return verdict


async def _read_whole(response: Answer, *, is_needed: bool) -> bytes | None:
    """All of an answer; None if it is too large, or is not needed and does not come."""
    content, pieces, size = response.content, [], 0
    try:
        while piece := await content.readany():
            pieces.append(piece)
            size += len(piece)
            if size > limits.PUSH_ANSWER_BYTES_MAX:
                return None
    except (aiohttp.ClientError, OSError):
        if is_needed:
            raise
        return None
    return b"".join(pieces)


async def _drain(response: Answer, errand: _Errand) -> None:
    """Read what comes after the head for a while, so that the connection can be used again; else it is closed."""
    content, size = response.content, 0
    try:
        async with asyncio.timeout(min(_DRAIN_S_MAX, errand.left_s)):
            while piece := await content.readany():
                size += len(piece)
                if size > limits.PUSH_ANSWER_BYTES_MAX:
                    return
    except (TimeoutError, aiohttp.ClientError, OSError):
        # The status has said all that matters.
        return


def _find_location(url: URL, location: str) -> URL | None:
    """Where a redirect leads, if a push may follow it there by what it says of itself."""
    try:
        onward = url.join(URL(location, encoded=True)).with_fragment(None)
        check_endpoint(str(onward))
    except (ValueError, BadRequest):
        return None
    is_way_out = url.scheme == "https" and onward.scheme != "https"
    return None if is_way_out or not location else onward


def _where(target: Target, message: Message) -> dict[str, object]:
    return {"subscriber": target.subscriber, "topic": message.topic, "seq": message.seq}
