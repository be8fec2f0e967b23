"""How answers of PREGON/1 are written, and how what a request names is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from pregon.errors import BadRequest
from pregon.model.administration import AuditPage
from pregon.model.batch import StoredBatch
from pregon.model.trace import TracePage
from pregon.wire import commands as c
from pregon.wire.commands import Command
from pregon.wire.headers import Header

Written = tuple[Header, Sequence[Any]]


def one_frame(payload: Sequence[Any]) -> Any:
    """The only payload frame; raises BadRequest."""
    if len(payload) != 1:
        raise BadRequest(f"this command has one payload frame, not {len(payload)}")
    return payload[0]


def two_names(names: Sequence[str], what: str) -> tuple[str, str]:
    """Two names; raises BadRequest, saying of what."""
    if len(names) != 2:
        raise BadRequest(f"name {what}")
    return names[0], names[1]


def three_names(names: Sequence[str]) -> tuple[str, str, str]:
    """The names of a key; raises BadRequest."""
    if len(names) != 3:
        raise BadRequest("name a key by the kind of its owner, the owner's name, and its id")
    return names[0], names[1], names[2]


def convert(values: dict[str, Any], kind: type[Any]) -> Any:
    """Values as a struct; raises BadRequest."""
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise BadRequest(f"{kind.__name__}: {error}") from error


def write_published(published: Any) -> Written:
    """Where messages were stored."""
    return c.Published(seq=published.seq, count=published.count, duplicate=published.duplicate), ()


def write_count(count: int) -> Written:
    """How many were changed."""
    return c.Count(count=count), ()


def write_row(entry: Any) -> Written:
    """One entry."""
    return c.Rows(rows=[msgspec.to_builtins(entry)]), ()


def write_rows(entries: Sequence[Any]) -> Written:
    """Entries."""
    return c.Rows(rows=[msgspec.to_builtins(entry) for entry in entries]), ()


def write_traces(page: TracePage | AuditPage) -> Written:
    """A page of traces, or of the audit."""
    return c.TraceRows(rows=[msgspec.to_builtins(one) for one in page], next=page.next), ()


def write_existed(existed: bool) -> Written:
    """Whether there was one."""
    return c.Count(count=int(existed)), ()


WRITERS_OF_ENTRIES: dict[Command, Callable[[Any], Written]] = {
    Command.LIST: write_rows,
    Command.SHOW: write_row,
    Command.CREATE: write_row,
    Command.UPDATE: write_row,
    Command.DELETE: write_existed,
}


def write_messages(batches: Sequence[StoredBatch], matches: list[c.Match], **numbers: int) -> Written:
    """Messages, batches as they are stored."""
    header = c.Messages(
        base_seqs=[batch.base_seq for batch in batches],
        counts=[batch.count for batch in batches],
        matches=matches,
        **numbers,
    )
    return header, [batch.arrow for batch in batches]
