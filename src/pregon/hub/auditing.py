"""Leave a note of who changed what, in the transaction of the change itself.

A verb that changes something is given a `Note`; its operation goes to the committer inside an `Audited` one, which
carries it out and then writes the note. So neither is on disk without the other. A change that is refused raises before
the note is written; one whose answer is that there was nothing to change (False, 0) leaves none.

What was asked for is written down as JSON. A secret is never handed to a note: verbs name what they say of themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from pregon.errors import PregonError
from pregon.limits import AUDIT_DETAIL_BYTES_MAX
from pregon.model.administration import AuditEntry
from pregon.model.runs import runs_of
from pregon.security.callers import Caller
from pregon.store.audit import write_audit
from pregon.store.transaction import Operation, Transaction

_VALUE_BYTES_MAX = 1_024
"""Of a note that is too long, values longer than this are left out."""


@dataclass(frozen=True, slots=True)
class Note:
    """Who did what to what, and how it was asked for."""

    who: str
    action: str
    kind: str
    object: str
    detail: Mapping[str, Any]
    answered: tuple[str, ...] = ()
    """Fields of the answer that are told too: the id of a new key."""


def note_of(
    caller: Caller,
    action: str,
    kind: str,
    names: Iterable[str],
    detail: Mapping[str, Any] | None = None,
    answered: tuple[str, ...] = (),
) -> Note:
    """The note of what a caller asks for."""
    return Note(caller.name, action, kind, " ".join(names), detail or {}, answered)


class Audited:
    """Another operation, and the note of it."""

    is_durable = True

    def __init__(self, operation: Operation, note: Note) -> None:
        self._operation = operation
        self._note = note
        self.ticket = operation.ticket
        self.size_bytes = operation.size_bytes + 500

    def apply(self, transaction: Transaction) -> None:
        """Carry it out, then write the note; raises what the operation does, with nothing written."""
        self._operation.apply(transaction)
        answer = transaction.results[-1][1]
        if answer == 0 or isinstance(answer, PregonError):
            return
        write_note(transaction, self._note, answer)


def audited(operation: Operation, note: Note | None) -> Operation:
    """The operation with its note, or as it is."""
    return operation if note is None else Audited(operation, note)


def write_note(transaction: Transaction, note: Note, answer: object = None) -> None:
    """Write a note; for who changes something in this transaction."""
    told = {name: getattr(answer, name) for name in note.answered}
    write_audit(
        transaction.connection,
        AuditEntry(
            at_us=transaction.now_us,
            who=note.who,
            action=note.action,
            kind=note.kind,
            object=note.object,
            detail=_encode({**note.detail, **told}),
        ),
    )


def set_fields(entry: msgspec.Struct, without: Sequence[str] = ()) -> dict[str, Any]:
    """What somebody set of a struct: its fields that are not as they are by themselves."""
    return {
        field.name: value
        for field in msgspec.structs.fields(entry)
        if field.name not in without
        and (value := getattr(entry, field.name)) != field.default
        and (field.default_factory is msgspec.NODEFAULT or value != field.default_factory())
    }


def spans_of(seqs: Sequence[int]) -> str:
    """Numbers of messages as people write them: 17-20 25."""
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs_of(sorted(set(seqs))))


def _encode(detail: Mapping[str, Any]) -> str:
    if not detail:
        return ""
    text = _json(detail)
    if len(text) > AUDIT_DETAIL_BYTES_MAX:
        short = {name: value for name, value in detail.items() if len(_json(value)) <= _VALUE_BYTES_MAX}
        text = _json({**short, "left_out": sorted(detail.keys() - short.keys())})
    return (text if len(text) <= AUDIT_DETAIL_BYTES_MAX else _json({"left_out": ["all"]})).decode()


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=repr)
