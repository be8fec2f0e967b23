"""The tables, column by column, as Spark has them.

`messages` is what `format("pregon")` reads unless the option `table` names another. Times are in UTC, to the
microsecond.
"""

from __future__ import annotations

import re
from functools import cache

from pyspark.sql.types import (
    BinaryType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

MESSAGES, TRACES, SUBSCRIPTIONS = "messages", "traces", "subscriptions"
REQUESTS, GROUP_DELIVERIES = "requests", "group_deliveries"

COLUMNS: dict[str, str] = {
    # Messages of topics: topic and seq name one, for ever.
    MESSAGES: """
        topic STRING, seq BIGINT, id STRING, key STRING, content_type STRING, headers MAP<STRING, STRING>, body BINARY,
        producer STRING, published_at TIMESTAMP, accepted_at TIMESTAMP
    """,
    # What happened to messages first_seq..last_seq of a topic; ids grow with the time.
    TRACES: """
        id BIGINT, at TIMESTAMP, kind STRING, topic STRING, producer STRING, subscriber STRING,
        first_seq BIGINT, last_seq BIGINT, attempt INT, latency_ms INT, detail STRING
    """,
    # The hub's own accounting, as it was when the newest trace was `as_of`.
    SUBSCRIPTIONS: """
        topic STRING, subscriber STRING, mode STRING, created_at TIMESTAMP, first_seq BIGINT, acked_seq BIGINT,
        head_seq BIGINT, accepted BIGINT, acknowledged BIGINT, pending BIGINT, parked BIGINT, expired BIGINT,
        filtered BIGINT, as_of BIGINT, at TIMESTAMP
    """,
    # How requests to services ended: messages of the topic pregon.requests, by their number there.
    REQUESTS: """
        seq BIGINT, ended_at TIMESTAMP, service STRING, client STRING, worker STRING, policy STRING, load DOUBLE,
        waited_ms DOUBLE, worked_ms DOUBLE, attempts INT, outcome STRING, durable_id STRING
    """,
    # What members of groups were shown: report `seq` of the topic pregon.deliveries, row by row. A member's
    # deliveries in the order (seq, row) are the order in which it was shown them.
    GROUP_DELIVERIES: """
        seq BIGINT, row INT, group STRING, member BIGINT, name STRING, stamp STRING, received_at TIMESTAMP,
        delivered_at TIMESTAMP, waited_for STRING
    """,
}
TABLES = tuple(COLUMNS)
_TYPES: dict[str, DataType] = {
    "STRING": StringType(),
    "BIGINT": LongType(),
    "INT": IntegerType(),
    "DOUBLE": DoubleType(),
    "BINARY": BinaryType(),
    "TIMESTAMP": TimestampType(),
    "MAP<STRING, STRING>": MapType(StringType(), StringType()),
}


@cache
def schema_of(table: str) -> StructType:
    """The columns of a table."""
    # Not by Spark's own parser: it is in the JVM, and a source is made where there is none.
    columns = re.split(r",\s*(?![^<]*>)", " ".join(COLUMNS[table].split()))
    pairs = [column.split(" ", 1) for column in columns]
    return StructType([StructField(name, _TYPES[kind]) for name, kind in pairs])
