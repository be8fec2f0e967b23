"""What workers say: frames of the back, in the plain form or in PGS/1, as events of the broker.

A worker of the plain form has a REQ socket: whatever it sends, it asks for work with it. One of PGS/1 says what it
means. Nothing that arrives is believed: an answer counts only for work that its sender has.
"""

from __future__ import annotations

from collections.abc import Sequence

from pregon.errors import BadRequest, Forbidden, LimitReached, PregonError, ServiceFailed
from pregon.limits import SERVICE_BODY_BYTES_MAX, SERVICE_FRAMES_MAX, SERVICE_TYPES_MAX, SERVICE_WORKERS_MAX
from pregon.services.broker import Broker, Frames
from pregon.services.line import Line
from pregon.services.options import ANSWERS
from pregon.services.rights import Rights
from pregon.services.watch import Watch, options_of
from pregon.services.worker import LOST, Worker
from pregon.wire import services as wire
from pregon.wire.services import NO_ID, Hello, Welcome

_WHO_ARE_YOU = wire.encode_head(wire.HELLO)
_MESSAGE_CHARACTERS_MAX = 2_000


class Back:
    """Reads the frames of workers."""

    def __init__(self, broker: Broker, watch: Watch, rights: Rights) -> None:
        self._broker = broker
        self._watch = watch
        self._rights = rights

    def take(self, frames: Frames, user: str = "") -> None:
        """One message, the sender's identity first."""
        if len(frames) < 2:
            self._broker.counts.malformed += 1
            return
        head = frames[1]
        if head[:4] == b"PGS1":
            worker = self._broker.workers.get(frames[0])
            if worker is not None and head[4:5] == b"A" and len(head) > 12 and worker.state != LOST:
                # The usual message: an answer of one that is known.
                worker.heard_ms = self._broker.now_ms
                if len(head) > 13 and (load := wire.decode_load(head[13:])) is not None:
                    worker.load = load
                self._answer(worker, head[5:13], frames[2:])
                return
            self._take_rich(frames[0], worker, frames[1:], user)
        elif head == b"" and len(frames) > 4 and frames[3] == b"":
            self._take_plain(frames[0], frames[2], frames[4:], user)
        else:
            self._broker.counts.malformed += 1

    # The plain form.

    def _take_plain(self, identity: bytes, client: bytes, said: Frames, user: str) -> None:
        broker = self._broker
        worker = broker.workers.get(identity)
        if worker is None or not worker.is_plain:
            if client:
                # Of one that we never met (the broker was started anew): it has no work of ours, but it asks for some.
                broker.counts.answers_unknown += 1
                said = [b""]
            self._register_plain(identity, said, user)
            return
        worker.heard_ms = broker.now_ms
        if worker.state == LOST:
            if client:
                broker.counts.answers_late += 1
                worker.late.clear()
            broker.join(worker)
            return
        work = next(iter(worker.in_hand.items()), None)
        if work is None:
            if client:
                broker.counts.answers_unknown += 1
            return
        work_id, request = work
        if client == request.asker.identity:
            self._answer(worker, work_id, said)
            return
        # It registers again, or answers somebody else: whichever, it does not work on what it was given.
        if client:
            broker.counts.answers_unknown += 1
        broker.give_up(worker, "it gave no answer and asked for more")
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
                self._broker.to_back.append([identity, _WHO_ARE_YOU])
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
                worker.load = load
        if head.kind == wire.ANSWER:
            self._answer(worker, head.id, body)
        elif head.kind == wire.ERROR:
            failure = wire.decode_failure(head.tail)
            if isinstance(failure.load, float):
                worker.load = failure.load
            text = failure.message[:_MESSAGE_CHARACTERS_MAX] or failure.code[:100]
            broker.answered(worker, head.id, ServiceFailed(text))
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

    def _hello(self, identity: bytes, hello: Hello, user: str) -> None:
        broker = self._broker
        lines = self._lines_of(hello.types, user)
        before = broker.workers.get(identity)
        if before is None:
            self._require_space()
        else:
            # The same one, started anew or told to say hello: it has nothing any more of what it was given.
            broker.give_up(before, "it said hello again")
            broker.forget(before)
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

    # Both.

    def _take_in(self, worker: Worker, user: str) -> None:
        worker.user = user
        self._broker.join(worker)
        self._watch.joined(worker)

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
        if len(body) == 1 and len(body[0]) <= SERVICE_BODY_BYTES_MAX:
            self._broker.answered(worker, work_id, body)
        elif not body or len(body) > SERVICE_FRAMES_MAX or wire.body_bytes(body) > SERVICE_BODY_BYTES_MAX:
            self._broker.answered(
                worker,
                work_id,
                ServiceFailed(
                    f"the worker's answer has not 1 to {SERVICE_FRAMES_MAX} frames of {SERVICE_BODY_BYTES_MAX} bytes"
                ),
            )
        else:
            self._broker.answered(worker, work_id, body)
