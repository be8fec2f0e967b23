"""Find traces, newest first, by any of their fields, alone or together.

A search walks an index backwards whose last part is the id, and stops when its page is full; so it takes as long
among ten million rows as among ten. Where no index has just these fields it walks one for each kind, side by side:
there are few kinds. Two searches look at rows that they may not want:

- What happened to the messages of a producer. Only what was accepted has a producer; so each row that fits the rest is
  asked whether the producer published one of its messages.
- What was accepted, by anybody, in any topic: rows as they come, since that is a good part of all.

Promises:
- Those two look at so many rows and no more; the page then says where to go on, however full it is.
- All rows that fit are found, each once, in the order of their ids.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    bindparam,
    case,
    func,
    literal_column,
    select,
    text,
    union_all,
)

from pregon import limits
from pregon.errors import BadRequest
from pregon.limits import INTEGER_MAX
from pregon.model.trace import ACCEPTED, KINDS, Trace, TracePage, TraceQuery
from pregon.store.prepared import Prepared
from pregon.store.schema import TRACE_LONG, TRACE_SHORT, TRACE_SINGLE, TRACE_SPAN_SHORT, trace
from pregon.store.traces import first_id_at

ASKED_ROWS = (100, 200, 300)
"""Rows that a search for what happened to a producer's messages asks about: so many, then more, then it ends."""
WALKED_ROWS_MAX = 20_000
"""Rows that a search for all that was accepted walks by."""

_NAMES = [column.name for column in trace.columns]
_NOTHING: ColumnElement[str] = literal_column("''")


class _Shape(NamedTuple):
    """Which fields a search names: one statement is made for each shape."""

    topic: bool
    seq: bool
    subscriber: bool
    producer: bool
    """As the one who published what was accepted."""
    kind: bool
    is_walk: bool
    """All that was accepted, by anybody, in any topic."""


def find_traces(connection: Connection, query: TraceQuery) -> TracePage:
    """A page of the traces that match, newest first; raises BadRequest for a question that makes no sense."""
    _check(query)
    is_of_messages = bool(query.producer and (query.subscriber or query.kind not in ("", ACCEPTED)))
    shape = _Shape(
        topic=bool(query.topic),
        seq=bool(query.seq),
        subscriber=bool(query.subscriber),
        producer=bool(query.producer) and not is_of_messages,
        kind=bool(query.kind),
        is_walk=query.kind == ACCEPTED and not (query.topic or query.subscriber or query.producer),
    )
    until = first_id_at(connection, query.until_us) if query.until_us else INTEGER_MAX
    values = {
        "topic": query.topic,
        "subscriber": query.subscriber,
        "producer": query.producer,
        "kind": query.kind,
        **_around(query.seq),
        "from_id": first_id_at(connection, query.since_us) if query.since_us else 0,
        "to_id": min(until, query.before or INTEGER_MAX),
    }
    rows_max = max(1, min(query.max, limits.LIST_ROWS_MAX))
    if is_of_messages:
        return _ask(connection, shape, values, rows_max)
    walked_to = _shorten(connection, values) if shape.is_walk else 0
    # One more than the page has tells whether there is a next one.
    found = _as_traces(_page_of(shape).run(connection, {**values, "rows": rows_max + 1}))
    if len(found) > rows_max:
        return TracePage(found[:rows_max], next=found[rows_max - 1].id)
    return TracePage(found, next=walked_to)


def _shorten(connection: Connection, values: dict[str, Any]) -> int:
    """Let a walk by all rows end after so many; where it is to go on, 0 if that is its end anyway."""
    ((oldest, newest),) = _ENDS.run(connection, {})
    end: int = min(values["to_id"], (newest or 0) + 1) - WALKED_ROWS_MAX
    if end <= max(values["from_id"], oldest or 0):
        return 0
    values["from_id"] = end
    return end


def _ask(connection: Connection, shape: _Shape, values: dict[str, Any], rows_max: int) -> TracePage:
    """What happened to the messages of a producer, among the rows that fit the rest."""
    ids: list[int] = []
    values = dict(values)
    for rows in ASKED_ROWS:
        asked = _asked_of(shape).run(connection, {**values, "rows": rows})
        ids += [id_ for id_, is_own in asked if is_own]
        if len(ids) > rows_max or len(asked) < rows:
            break
        values["to_id"] = asked[-1][0]
    ids, has_more = ids[:rows_max], len(ids) > rows_max
    found = connection.execute(_rows().where(trace.c.id.in_(ids)).order_by(trace.c.id.desc())).all() if ids else []
    return TracePage(_as_traces(found), next=ids[-1] if has_more else 0 if len(asked) < rows else asked[-1][0])


def traces_of_message(
    connection: Connection, topic: str, seq: int, from_id: int, subscribers: Collection[str] | None = None
) -> list[Trace]:
    """The newest traces that touch a message, newest first, at most LIST_ROWS_MAX; only from an id on.

    With subscribers only theirs, and those that are of no subscriber.
    """
    fields = [] if subscribers is None else [trace.c.subscriber.in_(["", *subscribers])]
    newest_first = trace.c.id.desc()
    statement = _rows().where(trace.c.id.in_(_touching()), *fields).order_by(newest_first).limit(limits.LIST_ROWS_MAX)
    values = {"topic": topic, **_around(seq), "from_id": from_id, "to_id": INTEGER_MAX}
    return _as_traces(connection.execute(statement, values).all())


def find_acceptance(connection: Connection, topic: str, seq: int, from_id: int) -> Trace | None:
    """The trace of a message's acceptance, only from an id on; None if there is none any more."""
    statement = _rows().where(*_has_message("last_of_long"), trace.c.producer != _NOTHING, _FROM_ID).limit(1)
    found = _as_traces(connection.execute(statement, {"topic": topic, **_around(seq), "from_id": from_id}).all())
    return found[0] if found else None


def _check(query: TraceQuery) -> None:
    if query.kind and query.kind not in KINDS:
        raise BadRequest(f"{query.kind[:40]!r} is not a kind of trace: use one of {', '.join(KINDS)}")
    for name in ("seq", "since_us", "until_us", "before"):
        if not 0 <= getattr(query, name) <= INTEGER_MAX:
            raise BadRequest(f"{name} of a search is 0 to {INTEGER_MAX}")
    if query.seq and not query.topic:
        raise BadRequest("a message number means nothing without its topic: give both")


def _around(seq: int) -> dict[str, int]:
    """A message's number, and where ranges that have it end at most."""
    return {
        "seq": seq,
        "last_of_short": min(seq + TRACE_SPAN_SHORT, INTEGER_MAX),
        "last_of_long": min(seq + limits.TRACE_SPAN_MAX, INTEGER_MAX),
    }


def _as_traces(rows: Iterable[Sequence[Any]]) -> list[Trace]:
    return [Trace(**dict(zip(_NAMES, row, strict=True))) for row in rows]


# Statements: which rows fit.

_ENDS = Prepared(select(select(func.min(trace.c.id)).scalar_subquery(), select(func.max(trace.c.id)).scalar_subquery()))
_FROM_ID = trace.c.id >= bindparam("from_id")
_WITHIN = (_FROM_ID, trace.c.id < bindparam("to_id"))


def _rows() -> Select[Any]:
    return select(*trace.columns)


def _has_message(last: str) -> tuple[ColumnElement[bool], ...]:
    """Ranges that have the message, and end not after a number."""
    return (
        trace.c.topic == bindparam("topic"),
        trace.c.last_seq.between(bindparam("seq"), bindparam(last)),
        trace.c.first_seq <= bindparam("seq"),
    )


def _touching() -> Any:
    """The ids of the rows whose range has a message, from the four indexes by the end of a range."""
    ids = select(trace.c.id).where(*_WITHIN)
    return union_all(
        ids.where(*_has_message("last_of_long"), trace.c.producer != _NOTHING),
        ids.where(*_has_message("seq"), text(TRACE_SINGLE)),
        ids.where(*_has_message("last_of_short"), text(TRACE_SHORT)),
        ids.where(*_has_message("last_of_long"), text(TRACE_LONG)),
    )


def _fitting(shape: _Shape, rows: str) -> FromClause:
    """The ids of the newest rows that fit, at most so many, as the indexes have them."""
    ids, newest_first = select(trace.c.id), trace.c.id.desc()
    if shape.seq:
        # A message has few rows. The rest of the question is put so that no index answers it: that would have more.
        wanted = [name for name in ("subscriber", "producer", "kind") if getattr(shape, name)]
        rest = [func.coalesce(trace.c[name], "") == bindparam(name) for name in wanted]
        found = ids.where(trace.c.id.in_(_touching()), *rest).order_by(newest_first)
        return found.limit(bindparam(rows)).subquery("fitting")
    fields = _fields(shape)
    if shape.kind or shape.producer or not fields:
        found = ids.where(*_WITHIN, *fields).order_by(newest_first)
        return found.limit(bindparam(rows)).subquery("fitting")
    every = [ids.where(*_WITHIN, *fields, trace.c.kind == literal_column(f"'{kind}'")) for kind in KINDS]
    together = union_all(*every)
    return together.order_by(together.selected_columns.id.desc()).limit(bindparam(rows)).subquery("fitting")


def _fields(shape: _Shape) -> list[ColumnElement[bool]]:
    """What a row that fits has, said so that the index is used that has just such rows."""
    fields: list[ColumnElement[bool]] = []
    if shape.topic:
        fields.append(trace.c.topic == bindparam("topic"))
    if shape.subscriber:
        fields += [trace.c.subscriber == bindparam("subscriber"), trace.c.subscriber != _NOTHING]
    if shape.producer:
        fields += [trace.c.producer == bindparam("producer"), trace.c.producer != _NOTHING]
    elif shape.kind:
        fields.append(trace.c.kind == bindparam("kind"))
        if not (shape.topic or shape.subscriber or shape.is_walk):
            fields.append(trace.c.producer == _NOTHING)
    return fields


@cache
def _page_of(shape: _Shape) -> Prepared:
    """The statement that finds a page."""
    ids = _fitting(shape, "rows")
    return Prepared(_rows().where(trace.c.id.in_(select(ids.c.id))).order_by(trace.c.id.desc()))


@cache
def _asked_of(shape: _Shape) -> Prepared:
    """The statement that asks rows, newest first, whether they have a message of the producer."""
    ids, asked = _fitting(shape, "rows"), trace.alias("asked")
    # Whether it ever published to the topic is known at once, and most often the answer.
    is_own = case((_has_published(asked).exists(), _is_of_producer(asked)))
    rows = select(asked.c.id, is_own).where(asked.c.id.in_(select(ids.c.id)))
    return Prepared(rows.order_by(asked.c.id.desc()))


def _has_published(row: FromClause) -> Select[Any]:
    """What the producer published to a row's topic."""
    own = trace.alias()
    mine = own.c.producer == bindparam("producer"), own.c.producer != _NOTHING
    return select(own.c.id).where(*mine, own.c.topic == row.c.topic).correlate(row)


def _is_of_producer(row: FromClause) -> ColumnElement[bool]:
    """Whether the producer published at least one message of a row's range.

    A topic's numbers and the ids of their acceptances grow together: what was accepted from the range's first message
    to its last is what has an id between those two. So three short look-ups tell, however long the range is.
    """
    first, begins = _acceptance(row, row.c.first_seq)
    last, ends = _acceptance(row, row.c.last_seq)
    first_id = begins.with_only_columns(case((first.c.first_seq <= row.c.last_seq, first.c.id))).scalar_subquery()
    last_id = ends.with_only_columns(last.c.id).scalar_subquery()
    published = _has_published(row)
    (own_id,) = published.selected_columns
    return published.where(own_id >= first_id, own_id <= func.coalesce(last_id, row.c.id)).exists()


def _acceptance(row: FromClause, seq: ColumnElement[int]) -> tuple[FromClause, Select[Any]]:
    """The acceptance of a message of a row's topic: the first one that ends at its number or later."""
    found = trace.alias()
    statement = (
        select(found)
        .where(found.c.topic == row.c.topic, found.c.producer != _NOTHING, found.c.last_seq >= seq)
        .order_by(found.c.last_seq)
        .limit(literal_column("1"))
        .correlate(row)
    )
    return found, statement
