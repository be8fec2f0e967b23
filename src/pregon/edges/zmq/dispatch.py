"""What each command of PREGON/1 asks of the hub, and how the answer is written.

`Dispatcher.handle` takes the frames of one request and calls back with the frames of its answer, exactly
once, from whichever thread has it. Whatever the frames are, the answer is a result or an error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from pregon.clock import wall_us
from pregon.errors import BadRequest, InternalError, PregonError
from pregon.hub.hub import Hub
from pregon.hub.pull import PullRequest
from pregon.hub.registry import KINDS
from pregon.model.batch import StoredBatch, decode_sent
from pregon.model.message import Outgoing
from pregon.model.trace import TraceQuery
from pregon.store.ticket import Ticket
from pregon.version import __version__
from pregon.wire import commands as c
from pregon.wire.commands import Command
from pregon.wire.frames import ANSWER_BIT, ERROR, Request, decode_request, encode_prelude, peek_request_id

log = logging.getLogger("pregon.edges")

_PING, _STATUS = int(Command.PING), int(Command.STATUS)

Frames = list[Any]
Reply = Callable[[Frames], None]
_Written = tuple[c.Header, Sequence[Any]]


class Dispatcher:
    """Turns requests into verbs and verbs' answers into frames."""

    def __init__(self, hub: Hub, status: Callable[[], dict[str, Any]]) -> None:
        self._hub = hub
        self._status = status
        self._verbs: dict[int, Callable[[Any, Sequence[Any]], tuple[Ticket[Any], Callable[[Any], _Written]]]] = {
            int(Command.PUBLISH): self._publish,
            int(Command.PUBLISH_BATCH): self._publish_batch,
            int(Command.PULL): self._pull,
            int(Command.ACK): self._ack,
            int(Command.READ): self._read,
            int(Command.PARK): self._park,
            int(Command.UNPARK): self._unpark,
            int(Command.PARKED): self._parked,
            int(Command.REPLAY): self._replay,
            int(Command.ACCOUNT): self._account,
            int(Command.TRACES): self._traces,
            int(Command.CREATE): self._create,
            int(Command.UPDATE): self._update,
            int(Command.DELETE): self._delete,
            int(Command.SHOW): self._show,
            int(Command.LIST): self._list,
        }

    def handle(self, frames: Sequence[Any], reply: Reply) -> None:
        """Carry out the request in the frames."""
        counters = self._hub.counters
        counters.requests += 1
        try:
            request = decode_request(frames)
        except PregonError as error:
            counters.frames_malformed += 1
            reply(_error_frames(peek_request_id(frames), error))
            return
        try:
            self._carry_out(request, reply)
        except PregonError as error:
            counters.requests_failed += 1
            reply(_error_frames(request.id, error))
        except Exception:  # An edge: whatever a request breaks, its sender is told and the hub goes on.
            log.exception("a request failed by a bug", extra={"command": request.command})
            counters.requests_failed += 1
            reply(_error_frames(request.id, InternalError("the hub failed to carry this out; its log says why")))

    def _carry_out(self, request: Request, reply: Reply) -> None:
        command = request.command
        decoder = c.REQUEST_DECODERS.get(command)
        if decoder is None:
            raise BadRequest(f"{command} is not a command of PREGON/1")
        try:
            header = decoder.decode(request.header)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadRequest(f"the header of {Command(command).name} is wrong: {str(error)[:200]}") from error
        prelude = encode_prelude(command | ANSWER_BIT, request.id)
        if command == _PING:
            reply([prelude, c.encode_header(c.Pong(version=__version__, now_us=wall_us()))])
            return
        if command == _STATUS:
            reply([prelude, c.encode_header(c.Rows(rows=[self._status()]))])
            return
        ticket, write = self._verbs[command](header, request.payload)

        def done(resolved: Ticket[Any]) -> None:
            try:
                answer, payload = write(resolved.value())
            except PregonError as error:
                self._hub.counters.requests_failed += 1
                reply(_error_frames(request.id, error))
            else:
                reply([prelude, c.encode_header(answer), *payload])

        ticket.when_done(done)

    # One method a command: the ticket of its verb, and how to write its answer.

    def _publish(self, header: c.Publish, payload: Sequence[Any]) -> tuple[Ticket[Any], Any]:
        message = Outgoing(_one(payload), header.id, header.key, header.content_type, header.headers)
        ticket = self._hub.publish(header.topic, header.producer, message, header.published_us)
        return ticket, _write_published

    def _publish_batch(self, header: c.PublishBatch, payload: Sequence[Any]) -> tuple[Ticket[Any], Any]:
        if len(header.session.encode()) > 200 or header.number < 0 or bool(header.session) != bool(header.number):
            raise BadRequest("a batch has a session of at most 200 bytes and a number from 1 on, or neither")
        batch = decode_sent(_one(payload), self._hub.options.body_bytes_max)
        ticket = self._hub.publish_batch(header.topic, header.producer, batch, header.session, header.number)
        return ticket, _write_published

    def _pull(self, header: c.Pull, payload: Sequence[Any]) -> tuple[Ticket[Any], Any]:
        request = PullRequest(
            topic=header.topic,
            subscriber=header.subscriber,
            ack=header.ack,
            epoch=header.epoch,
            after=header.after,
            messages_max=header.max,
            bytes_max=header.bytes_max,
            wait_ms=header.wait_ms,
        )
        return self._hub.pull(request), lambda pulled: _messages(
            pulled.batches, epoch=pulled.epoch, acked_seq=pulled.acked_seq, head_seq=pulled.head_seq
        )

    def _read(self, header: c.Read, payload: Sequence[Any]) -> tuple[Ticket[Any], Any]:
        ticket = self._hub.read_log(header.topic, header.first_seq, header.last_seq, header.max, header.bytes_max)
        return ticket, lambda read: _messages(read.batches, head_seq=read.head_seq, tail_seq=read.tail_seq)

    def _ack(self, header: c.Ack, payload: Sequence[Any]) -> tuple[Ticket[Any], Any]:
        ticket = self._hub.ack(header.topic, header.subscriber, header.seq, header.epoch)
        return ticket, lambda acked_seq: (c.Acked(acked_seq=acked_seq), ())

    def _park(self, header: c.Park, payload: Sequence[Any]) -> tuple[Ticket[Any], Any]:
        return self._hub.park(header.topic, header.subscriber, header.seqs, header.reason), _write_count

    def _unpark(self, header: c.Unpark, payload: Sequence[Any]) -> tuple[Ticket[Any], Any]:
        return self._hub.unpark(header.topic, header.subscriber, header.seqs), _write_count

    def _parked(self, header: c.Parked, payload: Sequence[Any]) -> tuple[Ticket[Any], Any]:
        ticket = self._hub.list_parked(header.topic, header.subscriber, header.after_seq)
        return ticket, lambda rows: (c.Rows(rows=rows), ())

    def _replay(self, header: c.Replay, payload: Sequence[Any]) -> tuple[Ticket[Any], Any]:
        ticket = self._hub.replay(header.topic, header.subscriber, from_seq=header.from_seq, from_us=header.from_us)
        return ticket, lambda cursor: (c.Cursor(acked_seq=cursor.acked_seq, epoch=cursor.epoch), ())

    def _account(self, header: c.Account, payload: Sequence[Any]) -> tuple[Ticket[Any], Any]:
        return self._hub.account(header.topic, header.subscriber), _write_row

    def _traces(self, header: c.Traces, payload: Sequence[Any]) -> tuple[Ticket[Any], Any]:
        ticket = self._hub.traces(_convert(header.query, TraceQuery))
        return ticket, lambda found: (
            c.Rows(rows=[msgspec.to_builtins(trace) for trace in found]),
            (),
        )

    def _create(self, header: c.Create, payload: Sequence[Any]) -> tuple[Ticket[Any], Any]:
        if header.kind not in KINDS:
            raise BadRequest(f"{header.kind[:40]!r} is not in the catalogue: use one of {', '.join(KINDS)}")
        return self._hub.create(_convert(header.entry, KINDS[header.kind])), _write_row

    def _update(self, header: c.Update, payload: Sequence[Any]) -> tuple[Ticket[Any], Any]:
        return self._hub.update(header.kind, tuple(header.names), header.values), _write_row

    def _delete(self, header: c.Delete, payload: Sequence[Any]) -> tuple[Ticket[Any], Any]:
        return self._hub.delete(header.kind, tuple(header.names)), lambda existed: (
            c.Count(count=int(existed)),
            (),
        )

    def _show(self, header: c.Show, payload: Sequence[Any]) -> tuple[Ticket[Any], Any]:
        return self._hub.show(header.kind, tuple(header.names)), _write_row

    def _list(self, header: c.List, payload: Sequence[Any]) -> tuple[Ticket[Any], Any]:
        ticket = self._hub.list(header.kind, after=tuple(header.after), names=tuple(header.names), rows_max=header.max)
        return ticket, lambda entries: (c.Rows(rows=[msgspec.to_builtins(entry) for entry in entries]), ())


def _one(payload: Sequence[Any]) -> Any:
    if len(payload) != 1:
        raise BadRequest(f"this command has one payload frame, not {len(payload)}")
    return payload[0]


def _convert(values: dict[str, Any], kind: type[Any]) -> Any:
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise BadRequest(f"{kind.__name__}: {error}") from error


def _write_published(published: Any) -> _Written:
    return c.Published(seq=published.seq, count=published.count, duplicate=published.duplicate), ()


def _write_count(count: int) -> _Written:
    return c.Count(count=count), ()


def _write_row(entry: Any) -> _Written:
    return c.Rows(rows=[msgspec.to_builtins(entry)]), ()


def _messages(batches: Sequence[StoredBatch], **numbers: int) -> _Written:
    header = c.Messages(
        base_seqs=[batch.base_seq for batch in batches], counts=[batch.count for batch in batches], **numbers
    )
    return header, [batch.arrow for batch in batches]


def _error_frames(request_id: int, error: PregonError) -> Frames:
    return [encode_prelude(ERROR, request_id), c.encode_header(c.header_of_error(error))]
