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
from pregon.delivery.rehearsals import Rehearsals
from pregon.edges import dispatch_groups, dispatch_people, dispatch_services
from pregon.edges.dispatch_answers import (
    WRITERS_OF_ENTRIES,
    Written,
    convert,
    one_frame,
    three_names,
    two_names,
    write_count,
    write_existed,
    write_messages,
    write_published,
    write_row,
    write_rows,
    write_traces,
)
from pregon.edges.rehearsal_forms import RehearsalIn, rehearsal_out
from pregon.errors import BadRequest, InternalError, NotFound, PregonError
from pregon.groups.desk import GroupsDesk
from pregon.hub.access import NewKey
from pregon.hub.gate import Gate
from pregon.hub.pull import PullRequest
from pregon.hub.registry import KINDS
from pregon.hub.signing import OVERLAP_MS_DEFAULT
from pregon.model.administration import AuditQuery
from pregon.model.batch import decode_sent
from pregon.model.catalog import SchemaVersion
from pregon.model.message import Outgoing
from pregon.model.trace import TraceQuery
from pregon.security.callers import Caller
from pregon.security.keys import READ
from pregon.services.desk import ServicesDesk
from pregon.store.ticket import Ticket
from pregon.version import __version__
from pregon.wire import commands as c
from pregon.wire.commands import Command
from pregon.wire.frames import ANSWER_BIT, ERROR, Request, decode_request, encode_prelude, peek_request_id

log = logging.getLogger("pregon.edges")

_PING, _STATUS = int(Command.PING), int(Command.STATUS)

Frames = list[Any]
Reply = Callable[[Frames], None]
_Answered = tuple[Ticket[Any], Callable[[Any], Written]]
_Verb = Callable[[Caller, Any, Sequence[Any]], _Answered]

KEY, SCHEMA, SECRET = "key", "schema", "secret"
"""Kinds that are created, listed and deleted like entries of the catalogue, and are none."""
REHEARSAL = "rehearsal"
"""A kind that is only created, and not kept: a test of a subscriber's web service."""
PUSH_STATE = "push"
"""A kind that is only shown: how pushing a subscription goes."""
_ALL_KINDS = (
    *KINDS,
    KEY,
    SCHEMA,
    SECRET,
    REHEARSAL,
    *dispatch_services.KINDS,
    *dispatch_groups.KINDS,
    *dispatch_people.KINDS,
)


class _NewSecret(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A signing secret to make: the subscriber's own if it brings one."""

    subscriber: str
    secret: str = ""
    overlap_ms: int = OVERLAP_MS_DEFAULT


class _NewRehearsal(RehearsalIn, kw_only=True, forbid_unknown_fields=True):
    """A test to send, and to whom."""

    subscriber: str


class Dispatcher:
    """Turns requests into verbs and verbs' answers into frames."""

    def __init__(self, gate: Gate, status: Callable[[], dict[str, Any]]) -> None:
        self._gate = gate
        self._counters = gate.hub.counters
        self._body_bytes_max = gate.hub.options.body_bytes_max
        self._status = status
        self.services: ServicesDesk | None = None
        self.groups: GroupsDesk | None = None
        self._people = dispatch_people.PeopleDesk(gate.people)
        self.rehearsals: Rehearsals | None = None
        self._verbs: dict[int, _Verb] = {
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
            int(Command.CANCEL): self._cancel,
            int(Command.STORY): self._story,
            int(Command.AUDIT): self._audit,
        }

    def handle(self, frames: Sequence[Any], reply: Reply, presented: str = "") -> Callable[[], None]:
        """Carry out the request in the frames, of who presents a key there, or has presented it already.

        Returns what to call when nobody waits for the answer any more.
        """
        counters = self._counters
        counters.requests += 1
        try:
            request = decode_request(frames)
        except PregonError as error:
            counters.frames_malformed += 1
            reply(_error_frames(peek_request_id(frames), error))
            return _nothing
        try:
            return self._carry_out(request, reply, presented)
        except PregonError as error:
            counters.requests_failed += 1
            reply(_error_frames(request.id, error))
        except Exception:  # An edge: whatever a request breaks, its sender is told and the hub goes on.
            log.exception("a request failed by a bug", extra={"command": request.command})
            counters.requests_failed += 1
            reply(_error_frames(request.id, InternalError("the hub failed to carry this out; its log says why")))
        return _nothing

    def _carry_out(self, request: Request, reply: Reply, presented: str) -> Callable[[], None]:
        command = request.command
        decoder = c.REQUEST_DECODERS.get(command)
        if decoder is None:
            raise BadRequest(f"{command} is not a command of PREGON/1")
        try:
            header = decoder.decode(request.header)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadRequest(f"the header of {Command(command).name} is wrong: {str(error)[:200]}") from error
        prelude = encode_prelude(command | ANSWER_BIT, request.id)
        caller = self._gate.identify(header.auth or presented)
        if command == _PING:
            reply([prelude, c.encode_header(c.Pong(version=__version__, now_us=wall_us()))])
            return _nothing
        if command == _STATUS:
            self._gate.rules.require(caller, READ)
            reply([prelude, c.encode_header(c.Rows(rows=[self._status()]))])
            return _nothing
        ticket, write = self._begin(command, caller, header, request.payload)

        def done(resolved: Ticket[Any]) -> None:
            try:
                answer, payload = write(resolved.value())
            except PregonError as error:
                self._counters.requests_failed += 1
                reply(_error_frames(request.id, error))
            else:
                reply([prelude, c.encode_header(answer), *payload])

        ticket.when_done(done)
        return ticket.abandon

    def _begin(self, command: int, caller: Caller, header: Any, payload: Sequence[Any]) -> _Answered:
        """The ticket of who carries the command out, and how to write its answer."""
        verb = self._verbs.get(command)
        if verb is None:
            return dispatch_groups.carry_out(self.groups, caller, header, payload)
        if command in WRITERS_OF_ENTRIES:
            write = WRITERS_OF_ENTRIES[Command(command)]
            if header.kind in dispatch_services.KINDS:
                return dispatch_services.carry_out(self.services, caller, Command(command), header, convert), write
            if header.kind in dispatch_groups.KINDS:
                return dispatch_groups.change_entry(self.groups, caller, Command(command), header), write
            if header.kind in dispatch_people.KINDS:
                return self._people.carry_out(caller, Command(command), header), write
        return verb(caller, header, payload)

    # One method a command: the ticket of its verb, and how to write its answer.

    def _publish(self, caller: Caller, header: c.Publish, payload: Sequence[Any]) -> _Answered:
        message = Outgoing(one_frame(payload), header.id, header.key, header.content_type, header.headers)
        ticket = self._gate.publish(caller, header.topic, header.producer, message, header.published_us)
        return ticket, write_published

    def _publish_batch(self, caller: Caller, header: c.PublishBatch, payload: Sequence[Any]) -> _Answered:
        if len(header.session.encode()) > 200 or header.number < 0 or bool(header.session) != bool(header.number):
            raise BadRequest("a batch has a session of at most 200 bytes and a number from 1 on, or neither")
        batch = decode_sent(one_frame(payload), self._body_bytes_max)
        way = (header.topic, header.producer)
        ticket = self._gate.publish_batch(caller, way, batch, header.session, header.number)
        return ticket, write_published

    def _pull(self, caller: Caller, header: c.Pull, payload: Sequence[Any]) -> _Answered:
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
        return self._gate.pull(caller, request), lambda pulled: write_messages(
            pulled.batches,
            [c.Match(one.first_seq, one.last_seq, one.reason) for one in pulled.matches],
            epoch=pulled.epoch,
            acked_seq=pulled.acked_seq,
            head_seq=pulled.head_seq,
        )

    def _read(self, caller: Caller, header: c.Read, payload: Sequence[Any]) -> _Answered:
        numbers = (header.first_seq, header.last_seq)
        ticket = self._gate.read_log(caller, header.topic, numbers, header.max, header.bytes_max)
        return ticket, lambda read: write_messages(read.batches, [], head_seq=read.head_seq, tail_seq=read.tail_seq)

    def _ack(self, caller: Caller, header: c.Ack, payload: Sequence[Any]) -> _Answered:
        ticket = self._gate.ack(caller, header.topic, header.subscriber, header.seq, header.epoch)
        return ticket, lambda acked_seq: (c.Acked(acked_seq=acked_seq), ())

    def _park(self, caller: Caller, header: c.Park, payload: Sequence[Any]) -> _Answered:
        return self._gate.park(caller, header.topic, header.subscriber, header.seqs, header.reason), write_count

    def _unpark(self, caller: Caller, header: c.Unpark, payload: Sequence[Any]) -> _Answered:
        return self._gate.unpark(caller, header.topic, header.subscriber, header.seqs), write_count

    def _cancel(self, caller: Caller, header: c.Cancel, payload: Sequence[Any]) -> _Answered:
        ticket = self._gate.cancel(caller, header.topic, header.subscriber, header.seqs, header.reason)
        return ticket, write_count

    def _parked(self, caller: Caller, header: c.Parked, payload: Sequence[Any]) -> _Answered:
        ticket = self._gate.list_parked(caller, header.topic, header.subscriber, header.after_seq)
        return ticket, lambda rows: (c.Rows(rows=rows), ())

    def _replay(self, caller: Caller, header: c.Replay, payload: Sequence[Any]) -> _Answered:
        ticket = self._gate.replay(
            caller, header.topic, header.subscriber, from_seq=header.from_seq, from_us=header.from_us
        )
        return ticket, lambda cursor: (c.Cursor(acked_seq=cursor.acked_seq, epoch=cursor.epoch), ())

    def _account(self, caller: Caller, header: c.Account, payload: Sequence[Any]) -> _Answered:
        return self._gate.account(caller, header.topic, header.subscriber), write_row

    def _traces(self, caller: Caller, header: c.Traces, payload: Sequence[Any]) -> _Answered:
        return self._gate.traces(caller, convert(header.query, TraceQuery)), write_traces

    def _audit(self, caller: Caller, header: c.Audit, payload: Sequence[Any]) -> _Answered:
        return self._gate.audit(caller, convert(header.query, AuditQuery)), write_traces

    def _story(self, caller: Caller, header: c.Story, payload: Sequence[Any]) -> _Answered:
        return self._gate.story(caller, header.topic, header.seq), write_row

    def _create(self, caller: Caller, header: c.Create, payload: Sequence[Any]) -> _Answered:
        if header.kind == KEY:
            return self._gate.create_key(caller, convert(header.entry, NewKey)), write_row
        if header.kind == SCHEMA:
            return self._gate.set_schema(caller, convert(header.entry, SchemaVersion)), write_row
        if header.kind == SECRET:
            new = convert(header.entry, _NewSecret)
            return self._gate.create_secret(caller, new.subscriber, new.secret, new.overlap_ms), write_row
        if header.kind == REHEARSAL:
            return self._rehearse(caller, convert(header.entry, _NewRehearsal))
        if header.kind not in KINDS:
            raise BadRequest(f"{header.kind[:40]!r} is not in the catalogue: use one of {', '.join(_ALL_KINDS)}")
        return self._gate.create(caller, convert(header.entry, KINDS[header.kind])), write_row

    def _rehearse(self, caller: Caller, new: _NewRehearsal) -> _Answered:
        if self.rehearsals is None:
            raise NotFound("this hub does not push: it has no web service to test")
        ticket = self.rehearsals.rehearse(caller, new.subscriber, new.trial())
        return ticket, lambda rehearsal: write_row(rehearsal_out(rehearsal))

    def _update(self, caller: Caller, header: c.Update, payload: Sequence[Any]) -> _Answered:
        return self._gate.update(caller, header.kind, tuple(header.names), header.values), write_row

    def _delete(self, caller: Caller, header: c.Delete, payload: Sequence[Any]) -> _Answered:
        if header.kind == KEY:
            owner_kind, owner, key_id = three_names(header.names)
            return self._gate.revoke_key(caller, owner_kind, owner, key_id), write_existed
        if header.kind == SECRET:
            subscriber, secret_id = two_names(header.names, "a secret by its subscriber and its id")
            return self._gate.revoke_secret(caller, subscriber, secret_id), write_existed
        return self._gate.delete(caller, header.kind, tuple(header.names)), write_existed

    def _show(self, caller: Caller, header: c.Show, payload: Sequence[Any]) -> _Answered:
        if header.kind == PUSH_STATE:
            topic, subscriber = two_names(header.names, "a subscription by its topic and subscriber")
            return self._gate.push_state(caller, topic, subscriber), write_row
        return self._gate.show(caller, header.kind, tuple(header.names)), write_row

    def _list(self, caller: Caller, header: c.List, payload: Sequence[Any]) -> _Answered:
        names, after = tuple(header.names), tuple(header.after)
        if header.kind == KEY:
            owner_kind, owner, _ = three_names([*header.names, "", "", ""][:3])
            place = (*after, "", "")[:2]
            return self._gate.list_keys(caller, owner_kind, owner, (place[0], place[1]), header.max), write_rows
        if header.kind == SCHEMA:
            before = int(after[0]) if after and after[0].isdecimal() and len(after[0]) < 10 else 0
            return self._gate.list_schemas(caller, names[0] if names else "", before, header.max), write_rows
        if header.kind == SECRET:
            return self._gate.list_secrets(caller, names[0] if names else ""), write_rows
        return self._gate.list(caller, header.kind, after=after, names=names, rows_max=header.max), write_rows


def _nothing() -> None:
    """The answer has been given already."""


def _error_frames(request_id: int, error: PregonError) -> Frames:
    return [encode_prelude(ERROR, request_id), c.encode_header(c.header_of_error(error))]
