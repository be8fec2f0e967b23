"""Minutes of activity on disk: one row each, forgotten after a while.

Promise: a row that cannot be read is passed over. These are figures for people, and no reason not to start.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from sqlalchemy import Connection, delete, insert, select, update

from pregon.model.activity import Minute
from pregon.store.schema_admin import activity

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Minute).decode


def read_minutes(connection: Connection, since_us: int) -> Iterator[Minute]:
    """The minutes that began then or later, oldest first."""
    statement = select(activity.c.figures).where(activity.c.minute_us >= since_us).order_by(activity.c.minute_us)
    for figures in connection.execute(statement).scalars():
        try:
            yield _decode(figures)
        except msgspec.DecodeError:
            continue


def write_minute(connection: Connection, minute: Minute) -> None:
    """Write a minute, in the place of what was written of it before."""
    row = {"figures": _encode(minute)}
    changed = connection.execute(update(activity).where(activity.c.minute_us == minute.minute_us).values(row))
    if not changed.rowcount:
        connection.execute(insert(activity).values(minute_us=minute.minute_us, **row))


def forget_minutes(connection: Connection, before_us: int) -> int:
    """Forget the minutes that began before; how many there were."""
    return connection.execute(delete(activity).where(activity.c.minute_us < before_us)).rowcount
