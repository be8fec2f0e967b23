"""Envelopes: what stands before the first empty frame of a message, and says where its answer goes.

    from a REQ              ['', body…]
    through one ROUTER      [client, '', body…]
    through two             [broker, client, '', body…]

REQ and REP add and remove all of it by themselves. A program with a DEALER or a ROUTER sees it, and must give back with
an answer what came with the request.

Frames in, frames out: no sockets here.
"""

from __future__ import annotations

from collections.abc import Sequence

from pregon.errors import BadRequest
from pregon.limits import SERVICE_ENVELOPE_FRAMES_MAX

DELIMITER = b""
"""The empty frame between an envelope and the body."""


def split_envelope(frames: Sequence[bytes]) -> tuple[list[bytes], list[bytes]]:
    """The envelope, without its delimiter, and the body; raises BadRequest where there is no delimiter.

    Later empty frames are of the body.
    """
    try:
        at = frames.index(DELIMITER, 0, SERVICE_ENVELOPE_FRAMES_MAX + 1)
    except ValueError as error:
        raise BadRequest(
            f"none of the first {SERVICE_ENVELOPE_FRAMES_MAX + 1} frames is empty, so nothing says where the envelope "
            "ends: send with REQ, or put an empty frame before the body"
        ) from error
    return list(frames[:at]), list(frames[at + 1 :])


def join_envelope(envelope: Sequence[bytes], body: Sequence[bytes]) -> list[bytes]:
    """The frames to send: the envelope (empty for a DEALER that asks), the delimiter, the body."""
    return [*envelope, DELIMITER, *body]
