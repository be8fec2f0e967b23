"""What clients say: frames of the front, in the plain form or in PGS/1, as events of the broker.

Nothing that arrives is believed: what cannot be read is answered with an error if it says who asks for what, and
counted if not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from pregon.errors import BadRequest, Forbidden, PregonError, TooLarge, VersionUnserved
from pregon.limits import SERVICE_BODY_BYTES_MAX, SERVICE_ENVELOPE_FRAMES_MAX, SERVICE_FRAMES_MAX
from pregon.services.broker import Broker
from pregon.services.ledger import Frames
from pregon.services.line import Line
from pregon.services.request import Asker, Request
from pregon.services.rights import Everybody, Rights
from pregon.services.view import list_services
from pregon.wire import services as wire
from pregon.wire.services import NO_ID, RequestOptions

_ASKERS_REMEMBERED = 10_000
_SHOWN_KEPT_MS = 50.0
_FEW = 100
_IDENTITY_BYTES_MAX = 255
"""Of a peer of ZeroMQ: no broker puts more into an envelope."""


class DurableDesk(Protocol):
    """Where requests that must not be lost are handed in, and results collected."""

    def submit(self, asker: Asker, id: bytes, line: Line, body: Frames, options: RequestOptions) -> None:
        """Store it, and say yes."""
        ...

    def collect(self, asker: Asker, id: bytes, durable_id: str, wait_ms: int) -> None:
        """The result, when it is there."""
        ...

    def cancel_collecting(self, asker: Asker, id: bytes) -> None:
        """Nobody waits for it any more."""
        ...


class Front:
    """Reads the frames of clients."""

    def __init__(self, broker: Broker, rights: Rights, desk: DurableDesk) -> None:
        self._broker = broker
        self._rights = rights
        self._is_for_everybody = isinstance(rights, Everybody)
        self._desk = desk
        self._askers: dict[bytes, Asker] = {}
        self._rows: list[dict[str, Any]] = []
        self._shown_ms = -_SHOWN_KEPT_MS

    def take(self, frames: Frames, user: str = "") -> None:
        """One message, the sender's identity first."""
        if len(frames) < 2:
            self._broker.counts.malformed += 1
            return
        head = frames[1]
        if head[:4] == b"PGS1":
            asker = self._askers.get(frames[0])
            if asker is None or asker.user != user:
                asker = self._remember(frames[0], user)
            self.take_rich(asker, head, frames[2:])
            return
        end = _envelope_end(frames)
        if not 0 < end < len(frames):
            self._broker.counts.malformed += 1
        elif frames[end][:4] == b"PGS1":
            self.take_rich(Asker(frames[0], frames[1:end], user=user), frames[end], frames[end + 1 :])
        else:
            asker = Asker(frames[0], frames[1:end], is_plain=True, user=user)
            self._ask(asker, NO_ID, self._broker.lines.default, frames[end:])

    def _remember(self, identity: bytes, user: str) -> Asker:
        """A bare DEALER, which asks again and again."""
        if len(self._askers) >= _ASKERS_REMEMBERED:
            self._askers.clear()
        asker = self._askers[identity] = Asker(identity, user=user)
        return asker

    def take_rich(self, asker: Asker, head: bytes, body: Frames) -> None:
        """A message of PGS/1, from whoever it is."""
        id = head[5:13]
        if head[4:5] == b"R":
            line = self._broker.lines.get(head[13:])
            if line is not None and not line.version:
                # The usual request: a type that is known, and no options.
                self._ask(asker, id, line, body)
                return
        try:
            self._take_seldom(asker, wire.decode_head(head), body)
        except PregonError as error:
            if isinstance(error, BadRequest):
                self._broker.counts.malformed += 1
            self._broker.refuse(asker, id if len(id) == 8 else NO_ID, error)

    def _take_seldom(self, asker: Asker, head: wire.Head, body: Frames) -> None:
        if head.kind == wire.REQUEST:
            name, options = wire.decode_request(head.tail)
            if "@" in name:
                raise BadRequest("a version is asked for in the options, not in the type")
            # In this order: who has no right learns nothing, and makes no line.
            if not self._has_right(asker, head.id, name):
                return
            line = self._find_line(name, options.version)
            if options.durable:
                if self._is_sound(asker, head.id, body):
                    self._desk.submit(asker, head.id, line, body, options)
            else:
                self._ask(asker, head.id, line, body, options)
        elif head.kind == wire.CANCEL:
            self._desk.cancel_collecting(asker, head.id)
            request = self._broker.under_way.get((asker.turn, head.id))
            if request is not None:
                self._broker.cancel(request)
        elif head.kind == wire.COLLECT:
            self._require_entry(asker)
            durable_id, wanted = wire.decode_collect(head.tail)
            self._desk.collect(asker, head.id, durable_id, wanted.wait_ms)
        elif head.kind == wire.QUERY:
            self._require_entry(asker)
            self._broker.replies.reply(asker, head.id, [self._served(asker.user)])
        else:
            raise BadRequest(f"{chr(head.kind)!r} is nothing that a client says: R, C, L or Q")

    def _require_entry(self, asker: Asker) -> None:
        """Raises Forbidden for one who may not come in at all, or no longer."""
        if not self._is_for_everybody and asker.tell is None and not self._rights.may_enter(asker.user):
            raise Forbidden("this broker lets only known keys in: ask the administrator for one")

    def _served(self, user: str) -> bytes:
        """Who serves what; of many, as it was a moment ago: looking at all costs more than a question should."""
        broker = self._broker
        is_many = len(broker.lines) + len(broker.workers) > _FEW
        if not is_many or broker.now_ms - self._shown_ms >= _SHOWN_KEPT_MS:
            self._rows, self._shown_ms = list_services(broker), broker.now_ms
        if self._is_for_everybody:
            return wire.encode_json(self._rows)
        return wire.encode_json([row for row in self._rows if self._rights.may_ask(user, row["type"])])

    def _find_line(self, name: str, version: str) -> Line:
        """The line of a type and version; raises VersionUnserved if others are served and this one is not."""
        line = self._broker.lines.require(name)
        if not version:
            return line
        wanted = self._broker.lines.get(f"{name}@{version}".encode())
        if wanted is not None and wanted.workers:
            return wanted
        lines = self._broker.lines.values()
        served = ", ".join(sorted(one.version for one in lines if one.type == name and one.version and one.workers))
        raise VersionUnserved(f"no worker serves version {version[:40]} of {name}; served now: {served or 'none'}")

    def _ask(self, asker: Asker, id: bytes, line: Line, body: Frames, options: RequestOptions | None = None) -> None:
        if not self._is_for_everybody and not self._has_right(asker, id, line.type):
            return
        if (len(body) != 1 or len(body[0]) > SERVICE_BODY_BYTES_MAX) and not self._is_sound(asker, id, body):
            return
        broker = self._broker
        request = Request(asker, id, line, body, broker.now_ms)
        if options is not None:
            request.take_options(options)
        broker.ask(request)

    def _has_right(self, asker: Asker, id: bytes, job_type: str) -> bool:
        # Who asks from inside the hub was asked for its key there.
        if asker.tell is not None or self._rights.may_ask(asker.user, job_type):
            return True
        self._broker.refuse(
            asker, id, Forbidden(f"{job_type[:100]} is not for you: ask the administrator for a CURVE key")
        )
        return False

    def _is_sound(self, asker: Asker, id: bytes, body: Sequence[bytes]) -> bool:
        count = len(body)
        error: PregonError | None = None
        if not count:
            error = BadRequest("a request has a body: at least one frame after the head, which may be empty")
        elif count > SERVICE_FRAMES_MAX:
            error = TooLarge(f"a body has at most {SERVICE_FRAMES_MAX} frames, this one {count}")
        elif (size := wire.body_bytes(body)) > SERVICE_BODY_BYTES_MAX:
            error = TooLarge(f"a body has at most {SERVICE_BODY_BYTES_MAX} bytes, this one {size}")
        if error is not None:
            self._broker.refuse(asker, id, error)
        return error is None


def _envelope_end(frames: Frames) -> int:
    """Where the content begins, after the identity, what brokers on the way have put before it, and the delimiter.

    0 if there is no delimiter, or if those were no brokers.
    """
    try:
        end = frames.index(b"", 1, SERVICE_ENVELOPE_FRAMES_MAX + 2) + 1
    except ValueError:
        return 0
    return 0 if end > 2 and any(len(frame) > _IDENTITY_BYTES_MAX for frame in frames[1:end]) else end
