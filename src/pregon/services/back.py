"""What workers say: frames of the back, in the plain form or in PGS/1, as events of the broker.

A worker of the plain form has a REQ socket: whatever it sends, it asks for work with it. One of PGS/1 says what it
means. Nothing that arrives is believed: an answer counts only for work that its sender has.
"""

from __future__ import annotations

from collections.abc import Sequence

from pregon.errors import BadRequest, Forbidden, LimitReached, PregonError, ServiceFailed
from pregon.limits import SERVICE_BODY_BYTES_MAX, SERVICE_FRAMES_MAX, SERVICE_TYPES_MAX, SERVICE_WORKERS_MAX
from pregon.services.broker import Broker
from pregon.services.ledger import Frames
from pregon.services.line import Line
from pregon.services.options import ANSWERS
from pregon.services.rights import Rights
from pregon.services.watch import Watch, options_of
from pregon.services.worker import LOST, Worker
from pregon.wire import services as wire
from pregon.wire.services import NO_ID, Hello, Welcome

_WHO_ARE_YOU = wire.encode_head(wire.HELLO)
_MESSAGE_CHARACTERS_MAX = 2_000
_ASK_AGAIN_MS = 1_000.0
_ASKED_REMEMBERED = 10_000


class Back:
    """Reads the frames of workers."""

    def __init__(self, broker: Broker, watch: Watch, rights: Rights) -> None:
        self._broker = broker
        self._watch = watch
        self._rights = rights
        self._asked_ms: dict[bytes, float] = {}
        """When unknown ones were asked who they are."""

    def take(self, frames: Frames, user: str = "") -> None:
        """One message, the sender's identity first."""
        if len(frames) < 2:
            self._broker.counts.malformed += 1
            return
        broker = self._broker
        head = frames[1]
        worker = broker.workers.get(frames[0])
        if worker is not None and worker.user != user:
            # The identity is another's now, who may not serve the same.
            self._replace(worker, "somebody else came with its identity")
            worker = None
        if head[:5] == b"PGS1A" and worker is not None and worker.state != LOST and not worker.is_plain:
            # The usual message: an answer of one that is known.
            worker.heard_ms = broker.now_ms
            if len(head) != 13:
                if len(head) < 13:
                    self._take_rich(frames[0], worker, frames[1:], user)
                    return
                load = wire.decode_load(head[13:])
                if load is not None:
                    worker.load = load
            if len(frames) == 3 and len(frames[2]) <= SERVICE_BODY_BYTES_MAX:
                broker.answered(worker, head[5:13], frames[2:])
            else:
                self._answer(worker, head[5:13], frames[2:])
        elif head[:4] == b"PGS1":
            self._take_rich(frames[0], worker, frames[1:], user)
        elif head == b"" and len(frames) > 4 and frames[3] == b"":
            self._take_plain(frames[0], worker, frames[2], frames[4:], user)
        else:
            broker.counts.malformed += 1

    # The plain form.

    def _take_plain(self, identity: bytes, worker: Worker | None, client: bytes, said: Frames, user: str) -> None:
        broker = self._broker
        if worker is None or not worker.is_plain or not client:
            if client:
                # Of one that we never met (the broker was started anew): it has no work of ours, but it asks for some.
                broker.counts.answers_unknown += 1
                said = [b""]
            if worker is not None:
                self._replace(worker, "it registered again")
            self._register_plain(identity, said, user)
            return
        worker.heard_ms = broker.now_ms
        if worker.state == LOST:
            if worker.late:
                broker.counts.answers_late += 1
                worker.late.clear()
            else:
                broker.counts.answers_unknown += 1
            broker.join(worker)
            return
        for work_id, request in worker.in_hand.items():
            if client == request.asker.identity:
                self._answer(worker, work_id, said)
                return
        # It answers somebody else: it does not work on what it was given.
        broker.counts.answers_unknown += 1
        if worker.in_hand:
            broker.give_up(worker, "it answered somebody else")
            broker.join(worker)

    def _register_plain(self, identity: bytes, said: Frames, user: str) -> None:
        try:
            names = [one.strip() for one in said[0].decode("ascii").split(",")] if said[0] else []
            if len(names) > SERVICE_TYPES_MAX:
                raise BadRequest(f"a worker serves at most {SERVICE_TYPES_MAX} types")
            lines = self._lines_of(names or [self._broker.lines.default.name], user)
            self._require_space()
        except (PregonError, UnicodeDecodeError):
            # A REQ socket takes whatever it is sent for work, so that nothing can be said to it.
            self._broker.counts.malformed += 1
            return
        load = wire.decode_load(said[1]) if len(said) > 1 else None
        worker = Worker(identity, lines, 1, load or 0.0, self._broker.now_ms)
        worker.is_plain = True
        self._take_in(worker, user)

    # PGS/1.

    def _take_rich(self, identity: bytes, worker: Worker | None, frames: Frames, user: str) -> None:
        try:
            head = wire.decode_head(frames[0])
            if head.kind == wire.HELLO:
                self._hello(identity, wire.decode_hello(head.tail), user)
            elif worker is None or worker.is_plain:
                if head.kind in (wire.ANSWER, wire.ERROR):
                    self._broker.counts.answers_unknown += 1
                self._ask_who(identity)
            else:
                self._hear(worker, head, frames[1:])
        except PregonError as error:
            self._broker.counts.malformed += 1
            self._broker.to_back.append([identity, wire.encode_head(wire.ERROR, NO_ID, wire.encode_failure(error))])

    def _hear(self, worker: Worker, head: wire.Head, body: Frames) -> None:
        broker = self._broker
        worker.heard_ms = broker.now_ms
        if head.kind in (wire.ANSWER, wire.BEAT):
            load = wire.decode_load(head.tail)
            if load is not None:
                broker.load_told(worker, load)
        if head.kind == wire.ANSWER:
            self._answer(worker, head.id, body)
        elif head.kind == wire.ERROR:
            self._fail(worker, head)
        elif head.kind == wire.GIVE_BACK:
            broker.given_back(worker, head.id)
            return
        elif head.kind == wire.GOODBYE:
            broker.leave(worker)
            return
        elif head.kind != wire.BEAT:
            raise BadRequest(f"{chr(head.kind)!r} is nothing that a worker says: H, A, E, N, B or G")
        if worker.state == LOST:
            broker.join(worker)

    def _fail(self, worker: Worker, head: wire.Head) -> None:
        try:
            failure = wire.decode_failure(head.tail)
        except BadRequest:
            # Its words cannot be read; that it failed can, and its client need not wait for more.
            self._broker.counts.malformed += 1
            failure = wire.Failure()
        if isinstance(failure.load, float):
            worker.load = failure.load
        text = failure.message[:_MESSAGE_CHARACTERS_MAX] or failure.code[:100]
        self._broker.answered(worker, head.id, ServiceFailed(text))

    def _hello(self, identity: bytes, hello: Hello, user: str) -> None:
        broker = self._broker
        self._asked_ms.pop(identity, None)
        lines = self._lines_of(hello.types, user)
        before = broker.workers.get(identity)
        if before is None:
            self._require_space()
        else:
            # The same one, started anew or told to say hello: it has nothing any more of what it was given.
            self._replace(before, "it said hello again")
        worker = Worker(identity, lines, hello.slots, hello.load, broker.now_ms)
        if before is not None:
            worker.late = before.late
            worker.lost_count = before.lost_count
        if hello.name:
            worker.name = "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in hello.name)
        options = options_of(worker)
        watched = options.liveness != ANSWERS
        welcome = Welcome(beat_ms=options.beat_ms if watched else 0, patience_ms=options.patience_ms if watched else 0)
        broker.to_back.append([identity, wire.encode_head(wire.WELCOME, NO_ID, wire.encode_json(welcome))])
        self._take_in(worker, user)

    def _ask_who(self, identity: bytes) -> None:
        """Ask one that we do not know to say hello; not for each of the messages that it sent meanwhile."""
        now_ms = self._broker.now_ms
        if now_ms - self._asked_ms.get(identity, -_ASK_AGAIN_MS) < _ASK_AGAIN_MS:
            return
        if len(self._asked_ms) >= _ASKED_REMEMBERED:
            self._asked_ms.clear()
        self._asked_ms[identity] = now_ms
        self._broker.to_back.append([identity, _WHO_ARE_YOU])

    # Both.

    def _take_in(self, worker: Worker, user: str) -> None:
        worker.user = user
        self._broker.join(worker)
        self._watch.joined(worker)

    def _replace(self, worker: Worker, reason: str) -> None:
        """It has nothing any more of what it was given, and another takes its place."""
        if worker.in_hand or worker.overdue:
            self._broker.give_up(worker, reason)
        self._broker.forget(worker)

    def _require_space(self) -> None:
        workers = self._broker.workers
        if len(workers) >= SERVICE_WORKERS_MAX:
            for worker in [one for one in workers.values() if one.state == LOST]:
                self._broker.forget(worker)
        if len(workers) >= SERVICE_WORKERS_MAX:
            raise LimitReached(f"the broker has {SERVICE_WORKERS_MAX} workers already")

    def _lines_of(self, names: Sequence[str], user: str) -> list[Line]:
        """The lines of what a worker serves: of each type, and of its version; raises what is wrong with one."""
        lines: dict[str, Line] = {}
        for name in names:
            job_type, _, version = name.partition("@")
            if not self._rights.may_serve(user, job_type):
                raise Forbidden(f"you may not serve {job_type[:100]}: ask the administrator for a CURVE key")
            lines[job_type] = self._broker.lines.require(job_type)
            if version:
                lines[name] = self._broker.lines.require(name)
        return list(lines.values())

    def _answer(self, worker: Worker, work_id: bytes, body: Frames) -> None:
        if not body or len(body) > SERVICE_FRAMES_MAX or wire.body_bytes(body) > SERVICE_BODY_BYTES_MAX:
            self._broker.answered(
                worker,
                work_id,
                ServiceFailed(
                    f"the worker's answer has not 1 to {SERVICE_FRAMES_MAX} frames of {SERVICE_BODY_BYTES_MAX} bytes"
                ),
            )
        else:
            self._broker.answered(worker, work_id, body)
