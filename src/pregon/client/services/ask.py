"""Something that is asked of the broker: what to send, and what became of it.

Pure: no sockets and no clock. An ask may be sent again whenever its answer was lost: its id stays the same, and the
broker takes one that it still has for what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol, TypedDict

import msgspec

from pregon.client.services.arguments import check_body, decode_result
from pregon.errors import AnswerMalformed, BadName, BadRequest, PregonError
from pregon.limits import SERVICE_HEAD_BYTES_MAX, SERVICE_WAIT_MS_MAX
from pregon.model.ids import new_id
from pregon.wire.services import (
    COLLECT,
    NO_ID,
    PRIORITY_DEFAULT,
    PRIORITY_MAX,
    QUERY,
    REQUEST,
    CollectOptions,
    RequestOptions,
    encode_head,
    encode_options,
)

RETRIES_DEFAULT = 3
RETRIES_MAX = 100
_NAME_BYTES_MAX = 400


class AskOptions(TypedDict, total=False):
    """How something is asked for; all of it may be left out."""

    timeout_ms: float
    """How long the caller waits, whatever happens; the client's own unless said."""
    retries: int
    """How often it is at most sent again after silence, or because nobody served it; 3."""
    priority: int
    """0 to 9, the higher first; 5."""
    deadline_ms: int
    """The answer is of no use after this long: refused early if it would come later."""
    version: str
    """Only a worker of this version."""


class Waiter(Protocol):
    """Who is told that an ask is done; a `threading.Event` is one."""

    def set(self) -> None:
        """It is done."""
        ...


class Waited(Protocol):
    """What somebody waits for: an ask, or a window of them."""

    waiter: Waiter | None


class Ask:
    """One question. `Conversation` sends it and finishes it, once."""

    __slots__ = (
        "answer",
        "body",
        "deadline_ms",
        "failure",
        "id",
        "is_done",
        "is_put_off",
        "kind",
        "pauses",
        "refusal",
        "resend_ms",
        "retries",
        "sent_ms",
        "started_ms",
        "tail",
        "timeout_ms",
        "tries",
        "until_ms",
        "waiter",
    )

    def __init__(self, kind: int, tail: bytes, body: list[bytes], timeout_ms: float, retries: int) -> None:
        self.kind = kind
        self.tail = tail
        self.body = body
        self.timeout_ms = timeout_ms
        self.retries = retries
        self.id = NO_ID
        self.deadline_ms: int | None = None
        """As the caller gave it; when it is sent again, less is left of it."""
        self.is_done = False
        self.answer: list[bytes] = []
        self.failure: PregonError | None = None
        self.refusal: PregonError | None = None
        """Why it was last refused for the moment; `is_put_off` while it is not sent again."""
        self.is_put_off = False
        self.waiter: Waiter | None = None
        # When it began, was last sent, is sent again and is given up; how often it was sent, and put off.
        self.started_ms = self.sent_ms = self.resend_ms = self.until_ms = 0.0
        self.tries = self.pauses = 0

    def frames(self, now_ms: float) -> list[bytes]:
        """What to send now."""
        tail = self.tail
        if self.deadline_ms is not None:
            left_ms = max(1, int(self.deadline_ms - (now_ms - self.started_ms)))
            name, _, options = tail.partition(b"\n")
            # The options are JSON that we wrote: an object, empty or not.
            rest = options[1:] if len(options) > 2 else b"}"
            tail = b'%b\n{"deadline_ms":%d%b%b' % (name, left_ms, b"" if rest == b"}" else b",", rest)
        return [encode_head(self.kind, self.id, tail), *self.body]

    def finish(self, answer: list[bytes]) -> None:
        """It is answered."""
        self.answer = answer
        self._done()

    def fail(self, failure: PregonError) -> None:
        """There will be no answer."""
        self.failure = failure
        self._done()

    def _done(self) -> None:
        self.is_done = True
        if self.waiter is not None:
            self.waiter.set()

    def result(self, wanted: Any = None) -> Any:
        """The value that was answered; raises what came in its place, or AnswerMalformed."""
        if self.failure is not None:
            raise self.failure
        try:
            return decode_result(self.answer, wanted)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise AnswerMalformed(f"the answer is no {wanted}: {str(error)[:300]}") from error

    def result_frames(self) -> list[bytes]:
        """The frames that were answered; raises what came in their place."""
        if self.failure is not None:
            raise self.failure
        return self.answer


def ask_request(name: str, body: list[bytes], default_ms: float, options: AskOptions) -> Ask:
    """A request; raises BadName, BadRequest or TooLarge."""
    if not options:
        return Ask(REQUEST, _request_tail(name, "", PRIORITY_DEFAULT), body, default_ms, RETRIES_DEFAULT)
    timeout_ms, retries = _limits(options, default_ms)
    tail = _request_tail(name, options.get("version", ""), options.get("priority", PRIORITY_DEFAULT))
    ask = Ask(REQUEST, tail, body, timeout_ms, retries)
    deadline_ms = options.get("deadline_ms")
    if deadline_ms is not None:
        ask.deadline_ms = int(_within("deadline_ms", deadline_ms, 1, SERVICE_WAIT_MS_MAX))
    return ask


def ask_submit(name: str, body: list[bytes], key: str, default_ms: float, options: AskOptions) -> Ask:
    """A request to be stored and worked on whoever waits; raises BadName, BadRequest or TooLarge."""
    timeout_ms, retries = _limits(options, default_ms)
    wished = RequestOptions(
        version=options.get("version", ""),
        priority=int(_within("priority", options.get("priority", PRIORITY_DEFAULT), 0, PRIORITY_MAX)),
        deadline_ms=options.get("deadline_ms"),
        durable=True,
        # Made here, and not by the hub: sent again because its answer was lost, it is the same request.
        key=key or new_id(),
    )
    return Ask(REQUEST, _tail(name, wished), body, timeout_ms, retries)


def ask_collect(id: str, wait_ms: int, default_ms: float) -> Ask:
    """The result of a durable request, waited for at the broker; raises BadName or BadRequest."""
    waited_ms = int(_within("wait_ms", wait_ms, 0, SERVICE_WAIT_MS_MAX))
    tail = _tail(id, CollectOptions(wait_ms=waited_ms))
    return Ask(COLLECT, tail, [], waited_ms + default_ms, RETRIES_DEFAULT)


def ask_services(default_ms: float) -> Ask:
    """Who serves what."""
    return Ask(QUERY, b"", [], default_ms, RETRIES_DEFAULT)


def as_frames(frames: Sequence[bytes | str]) -> list[bytes]:
    """Frames as the caller gave them; raises BadRequest or TooLarge."""
    try:
        return check_body([frame.encode() if isinstance(frame, str) else bytes(frame) for frame in frames])
    except UnicodeEncodeError as error:
        raise BadRequest(f"a frame is no text that UTF-8 can write: {error}") from error


def _limits(options: AskOptions, default_ms: float) -> tuple[float, int]:
    timeout_ms = _within("timeout_ms", options.get("timeout_ms", default_ms), 1, SERVICE_WAIT_MS_MAX)
    return timeout_ms, int(_within("retries", options.get("retries", RETRIES_DEFAULT), 0, RETRIES_MAX))


def _within(what: str, value: float, least: int, most: int) -> float:
    if not isinstance(value, int | float) or not least <= value <= most:
        raise BadRequest(f"{what} is a number from {least} to {most}, not {value!r}")
    return value


@lru_cache(maxsize=256)
def _request_tail(name: str, version: str, priority: int) -> bytes:
    wished = RequestOptions(version=version, priority=int(_within("priority", priority, 0, PRIORITY_MAX)))
    return _tail(name, wished)


def _tail(name: str, options: msgspec.Struct) -> bytes:
    try:
        is_name = 0 < len(name.encode()) <= _NAME_BYTES_MAX and "\n" not in name
    except (UnicodeEncodeError, AttributeError):
        is_name = False
    if not is_name:
        raise BadName(f"a job type or an id is text of one line and at most {_NAME_BYTES_MAX} bytes, not {name!r:.100}")
    tail = encode_options(name, options)
    if len(tail) > SERVICE_HEAD_BYTES_MAX // 2:
        raise BadRequest("the options of a request pass 8 KiB: shorten its version or key")
    return tail
