"""What goes back over HTTP: answers, problems (RFC 9457), and which form of an answer the client accepts."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from pregon.errors import (
    AckBeyondHead,
    AlreadyExists,
    AnswerTimeout,
    BatchOutOfOrder,
    Changed,
    Corrupt,
    DataLost,
    DeadlinePassed,
    Disabled,
    EndpointForbidden,
    Forbidden,
    InternalError,
    KeysUnavailable,
    LimitReached,
    MediaTypeUnknown,
    MethodUnknown,
    NotAcceptable,
    NotAMember,
    NotFound,
    NotPending,
    PoisonRequest,
    PregonError,
    RateLimited,
    Rejected,
    SchemaMismatch,
    ServiceFailed,
    SessionUnknown,
    StoreFull,
    TooLarge,
    Unauthorized,
    Unavailable,
    VersionUnserved,
)
from pregon.model.header_texts import header_text

Headers = list[tuple[bytes, bytes]]
JSON = "application/json"
PROBLEM = "application/problem+json"
EVENT = "application/cloudevents+json"
EVENTS = "application/cloudevents-batch+json"
ARROW = "application/vnd.apache.arrow.stream"
FRAMES = "application/vnd.pregon.frames"

_STATUS: dict[type[PregonError], int] = {
    Unauthorized: 401,
    Forbidden: 403,
    NotFound: 404,
    MethodUnknown: 405,
    NotAcceptable: 406,
    AlreadyExists: 409,
    NotPending: 409,
    NotAMember: 409,
    Disabled: 409,
    LimitReached: 409,
    BatchOutOfOrder: 409,
    SessionUnknown: 409,
    DataLost: 410,
    AckBeyondHead: 409,
    Changed: 412,
    TooLarge: 413,
    MediaTypeUnknown: 415,
    SchemaMismatch: 422,
    PoisonRequest: 422,
    ServiceFailed: 422,
    VersionUnserved: 404,
    DeadlinePassed: 408,
    AnswerTimeout: 504,
    EndpointForbidden: 422,
    RateLimited: 429,
    Rejected: 400,
    StoreFull: 507,
    KeysUnavailable: 503,
    Unavailable: 503,
    InternalError: 500,
    Corrupt: 500,
}


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request failed, as RFC 9457 has it; `code` is ours and stable."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    retryable: bool


@dataclass(slots=True)
class Answer:
    """A whole answer."""

    body: bytes = b""
    status: int = 200
    content_type: str = JSON
    headers: Sequence[tuple[bytes, bytes]] = ()


@dataclass(slots=True)
class Stream:
    """An answer that is written as it is made."""

    chunks: AsyncGenerator[bytes, None]
    """Closed when the client has left."""
    content_type: str
    headers: Sequence[tuple[bytes, bytes]] = ()
    status: int = 200


_encoder = msgspec.json.Encoder()


def json_answer(value: Any, status: int = 200, headers: Sequence[tuple[bytes, bytes]] = ()) -> Answer:
    """A value as JSON."""
    return Answer(_encoder.encode(value), status, JSON, headers)


def no_content() -> Answer:
    """Done, and nothing to say."""
    return Answer(b"", 204, "")


def status_of(error: PregonError) -> int:
    """The HTTP status of an error: that of its class, or of the nearest one above it."""
    return next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), 500)


def problem_of(error: PregonError) -> Problem:
    """An error as it travels."""
    title = (type(error).__doc__ or "").split("\n")[0].rstrip(".")
    return Problem(
        type=f"urn:pregon:problem:{error.code}",
        title=title,
        status=status_of(error),
        detail=str(error),
        code=error.code,
        retryable=error.is_retryable,
    )


def problem_answer(error: PregonError, headers: Sequence[tuple[bytes, bytes]] = ()) -> Answer:
    """An error as an answer."""
    problem = problem_of(error)
    extra: Headers = list(headers)
    if problem.status == 401:
        extra.append((b"www-authenticate", b'Bearer realm="pregon"'))
    if problem.retryable:
        extra.append((b"retry-after", b"1"))
    return Answer(_encoder.encode(problem), problem.status, PROBLEM, extra)


def choose(accept: str, offers: Sequence[str]) -> str:
    """The form that the client likes best of those on offer, the first if it does not say; raises NotAcceptable."""
    if not accept:
        return offers[0]
    best, best_quality = "", 0.0
    ranges = [_media_range(part) for part in accept[:2_000].split(",")]
    for offer in offers:
        matching = [(specificity(pattern, offer), quality) for pattern, quality in ranges]
        found = max((one for one in matching if one[0] > 0), default=(0, 0.0))
        if found[1] > best_quality:
            best, best_quality = offer, found[1]
    if not best:
        raise NotAcceptable(f"the answer can be one of {', '.join(offers)}: name one of them in Accept")
    return best


def _media_range(part: str) -> tuple[str, float]:
    pattern, *parameters = (piece.strip() for piece in part.split(";"))
    quality = 1.0
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            try:
                quality = max(0.0, min(float(value), 1.0))
            except ValueError:
                quality = 0.0
    return pattern.lower(), quality


def specificity(pattern: str, offer: str) -> int:
    """How exactly a range of Accept names a media type: 3 itself, 2 its kind, 1 anything, 0 not at all."""
    if pattern == offer.partition(";")[0]:
        return 3
    if pattern == offer.partition("/")[0] + "/*":
        return 2
    return 1 if pattern == "*/*" else 0


def header_value(text: str) -> bytes:
    """A text as a header may have it: percent-encoded where it is not printable ASCII."""
    return header_text(text).encode("ascii")
