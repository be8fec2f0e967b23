"""Marks among the traces: who copies them says how far it is, and the hub forgets nothing that comes after.

A mark has a name, and the id of the last trace that its owner has safely. Forgetting by age stops at the lowest mark.
A mark that nobody has put for `trace_mark_ms` is dropped by housekeeping (see `maintenance`), so that an archive that
is no more does not fill the disk.

Promises:
- A mark that was answered is on disk, and holds from the transaction on in which it was put.
- A mark never lies after the newest trace, so that it cannot let go of what was not even written.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pregon.errors import BadRequest, LimitReached
from pregon.hub.gate import Gate
from pregon.limits import INTEGER_MAX, TRACE_MARKS_MAX
from pregon.model.names import check_name
from pregon.model.trace import TraceMark
from pregon.security.callers import Caller
from pregon.security.keys import OPERATE, READ
from pregon.store import trace_marks
from pregon.store.ticket import Ticket
from pregon.store.traces import newest_trace_id
from pregon.store.transaction import Transaction


class PutMark(msgspec.Struct, frozen=True, kw_only=True):
    """A mark that was put, and where it was before."""

    mark: TraceMark
    previous_id: int | None
    """None for a new one."""

    @property
    def is_moved_back(self) -> bool:
        """Whether it was further on: what lay between may be forgotten already."""
        return self.previous_id is not None and self.mark.id < self.previous_id


class _Operation:
    """A change of the marks; on disk before it is answered."""

    size_bytes = 200
    is_durable = True

    def __init__(self) -> None:
        self.ticket: Ticket[Any] = Ticket()


class _Put(_Operation):
    def __init__(self, name: str, id: int) -> None:
        super().__init__()
        self._name, self._id = name, id

    def apply(self, transaction: Transaction) -> None:
        """Put it; raises BadRequest or LimitReached."""
        connection, now_us = transaction.connection, transaction.now_us
        newest = newest_trace_id(connection)
        if self._id > newest:
            raise BadRequest(f"there is no trace {self._id} yet, the newest is {newest}: put the mark at what you have")
        marks = trace_marks.list_marks(connection)
        there = next((one for one in marks if one.name == self._name), None)
        if there is None and len(marks) >= TRACE_MARKS_MAX:
            raise LimitReached(f"there are {len(marks)} marks already: delete one that nobody needs")
        created_us = now_us if there is None else there.created_us
        mark = TraceMark(name=self._name, id=self._id, created_us=created_us, put_us=now_us)
        trace_marks.write_mark(connection, mark)
        done = PutMark(mark=mark, previous_id=None if there is None else there.id)
        transaction.results.append((self.ticket, done))


class _Delete(_Operation):
    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def apply(self, transaction: Transaction) -> None:
        """Take it away."""
        was_there = trace_marks.delete_mark(transaction.connection, self._name)
        transaction.results.append((self.ticket, was_there))


def put_mark(gate: Gate, caller: Caller, name: str, id: int) -> Ticket[PutMark]:
    """Say that the traces up to this id are copied; raises Unauthorized, Forbidden, BadName or BadRequest."""
    gate.rules.require(caller, OPERATE)
    check_name("mark", name)
    if not 0 <= id <= INTEGER_MAX:
        raise BadRequest(f"the id of a trace is 0 to {INTEGER_MAX}; 0: nothing is copied yet")
    return gate.hub.submit(_Put(name, id))


def delete_mark(gate: Gate, caller: Caller, name: str) -> Ticket[bool]:
    """Let go of what a mark held; answers with whether there was one."""
    gate.rules.require(caller, OPERATE)
    return gate.hub.submit(_Delete(name))


def list_marks(gate: Gate, caller: Caller) -> Ticket[list[TraceMark]]:
    """Every mark, by name."""
    gate.rules.require(caller, READ)
    return gate.hub.read(trace_marks.list_marks)
