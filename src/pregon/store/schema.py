"""The tables. `migrations/` builds them step by step; a test checks that both say the same.

Times are microseconds since 1970 in `*_us` columns. Numbers of messages are 1, 2, 3 … in each topic.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
    true,
)

from pregon.store import schema_admin as schema_admin
from pregon.store import schema_groups as schema_groups
from pregon.store.schema_base import HEAD_REVISION as HEAD_REVISION
from pregon.store.schema_base import ZERO, Id
from pregon.store.schema_base import metadata as metadata

topic = Table(
    "topic",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", String(160), nullable=False, unique=True),
    Column("description", Text, nullable=False, server_default=""),
    Column("restricted", Boolean, nullable=False, server_default=false()),
    # False: nothing more is accepted; what is there is delivered.
    Column("enabled", Boolean, nullable=False, server_default=true()),
    Column("retention_age_ms", BigInteger),
    Column("retention_bytes_max", BigInteger),
    Column("retention_when_acknowledged", Boolean, nullable=False, server_default=false()),
    # The number of the newest message, and of the oldest one still in the log.
    Column("head_seq", BigInteger, nullable=False, server_default=ZERO),
    Column("tail_seq", BigInteger, nullable=False, server_default=text("1")),
    Column("bytes", BigInteger, nullable=False, server_default=ZERO),
    # When the newest message was accepted: acceptance times never go back.
    Column("accepted_us", BigInteger, nullable=False, server_default=ZERO),
    # Up to here small neighbouring batches have been merged.
    Column("merged_seq", BigInteger, nullable=False, server_default=ZERO),
    # The newest version of its schema; 0 when it never had one.
    Column("schema_version", Integer, nullable=False, server_default=ZERO),
    # A deleted topic has given up its name and waits for its batches to be removed little by little.
    Column("deleted", Boolean, nullable=False, server_default=false()),
    Column("created_us", BigInteger, nullable=False),
    # An id is never given twice: what is remembered of a deleted one is not taken for its successor's.
    sqlite_autoincrement=True,
)

producer = Table(
    "producer",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", String(160), nullable=False, unique=True),
    Column("description", Text, nullable=False, server_default=""),
    # False: what it publishes is refused.
    Column("enabled", Boolean, nullable=False, server_default=true()),
    Column("created_us", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)

producer_topic = Table(
    "producer_topic",
    metadata,
    Column("producer_id", ForeignKey("producer.id", ondelete="CASCADE"), primary_key=True),
    Column("topic_id", ForeignKey("topic.id", ondelete="CASCADE"), primary_key=True),
)

subscriber = Table(
    "subscriber",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", String(160), nullable=False, unique=True),
    Column("description", Text, nullable=False, server_default=""),
    # pull or push; where to, in which format (see model.catalog), and how: `push` is PushOptions as JSON.
    Column("mode", String(10), nullable=False, server_default="pull"),
    Column("endpoint", Text, nullable=False, server_default=""),
    Column("format", String(20), nullable=False, server_default="cloudevents"),
    Column("push", Text, nullable=False, server_default="{}"),
    # False: nothing is pushed, everything waits to be pulled. The hub says why when it was the hub who did it.
    Column("enabled", Boolean, nullable=False, server_default=true()),
    Column("disabled_reason", Text, nullable=False, server_default=""),
    Column("created_us", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)

signing_secret = Table(
    "signing_secret",
    metadata,
    Column("id", String(20), primary_key=True),
    Column("subscriber_id", ForeignKey("subscriber.id", ondelete="CASCADE"), nullable=False, index=True),
    # As it is: a signature needs it, its hash would not do.
    Column("secret", LargeBinary, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("expires_us", BigInteger),
)

subscription = Table(
    "subscription",
    metadata,
    Column("id", Id, primary_key=True),
    Column("topic_id", ForeignKey("topic.id", ondelete="CASCADE"), nullable=False),
    Column("subscriber_id", ForeignKey("subscriber.id", ondelete="CASCADE"), nullable=False, index=True),
    # The first message that it is entitled to, and the last one up to which everything is settled.
    Column("first_seq", BigInteger, nullable=False),
    Column("acked_seq", BigInteger, nullable=False),
    # Counts the replays: an acknowledgement from before a replay names an older epoch.
    Column("epoch", Integer, nullable=False, server_default=ZERO),
    # Messages that went by unacknowledged because of the subscription's own limits.
    Column("expired", BigInteger, nullable=False, server_default=ZERO),
    Column("pending_max", BigInteger),
    Column("pending_age_ms", BigInteger),
    # True: nothing is pushed in it; everything waits, and can be pulled.
    Column("paused", Boolean, nullable=False, server_default=false()),
    # Which messages it wants, as JSON (see filters), empty for all of them; how often that was changed; how far the
    # filter has looked; and how many messages it did not want.
    Column("filter", Text, nullable=False, server_default=""),
    Column("filter_version", Integer, nullable=False, server_default=ZERO),
    Column("examined_seq", BigInteger, nullable=False, server_default=ZERO),
    Column("filtered", BigInteger, nullable=False, server_default=ZERO),
    # Of the message that is to be pushed next: how often that failed, how often because the subscriber refused it,
    # and when it is tried again.
    Column("attempts", Integer, nullable=False, server_default=ZERO),
    Column("refusals", Integer, nullable=False, server_default=ZERO),
    Column("next_try_us", BigInteger, nullable=False, server_default=ZERO),
    # Since when pushes fail, 0 when they do not, and how the last one did; up to where it was traced that they wait.
    Column("failing_since_us", BigInteger, nullable=False, server_default=ZERO),
    Column("last_failure", Text, nullable=False, server_default=""),
    Column("deferred_seq", BigInteger, nullable=False, server_default=ZERO),
    Column("created_us", BigInteger, nullable=False),
    UniqueConstraint("topic_id", "subscriber_id"),
    sqlite_autoincrement=True,
)

batch = Table(
    "batch",
    metadata,
    # Topic and last number in one key, so that the row needs no other index (see store.log). The batch that
    # holds message n of a topic is the first whose last number is n or more.
    Column("key", Id, primary_key=True, autoincrement=False),
    Column("messages", Integer, nullable=False),
    Column("bytes", Integer, nullable=False),
    Column("first_us", BigInteger, nullable=False),
    Column("last_us", BigInteger, nullable=False),
    # Last, so that the rest of a row is read without it.
    Column("arrow", LargeBinary, nullable=False),
)

parked = Table(
    "parked",
    metadata,
    Column("subscription_id", ForeignKey("subscription.id", ondelete="CASCADE"), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    # False: parked. True: unparked, to be delivered again before anything else.
    Column("returned", Boolean, nullable=False, server_default=false()),
    # A returned message that was given to a puller: only then can it be acknowledged.
    Column("handed_out", Boolean, nullable=False, server_default=false()),
    # Acknowledged while the cursor had not come so far; the row goes when the cursor passes.
    Column("done", Boolean, nullable=False, server_default=false()),
    Column("reason", Text, nullable=False, server_default=""),
    Column("at_us", BigInteger, nullable=False),
    # The message itself, a batch of one: retention of the log need not wait for an operator.
    Column("arrow", LargeBinary, nullable=False),
)

expired_range = Table(
    "expired_range",
    metadata,
    # Expired messages that the log still has: a replay over them makes them pending again.
    Column("subscription_id", ForeignKey("subscription.id", ondelete="CASCADE"), primary_key=True),
    Column("first_seq", BigInteger, primary_key=True, autoincrement=False),
    Column("last_seq", BigInteger, nullable=False),
)

filter_result = Table(
    "filter_result",
    metadata,
    # What a filter said of messages: wanted ones after the cursor, with the reason that travels with them; and those
    # not wanted, as long as the log has them: a replay over them has them examined anew.
    Column("subscription_id", ForeignKey("subscription.id", ondelete="CASCADE"), primary_key=True),
    Column("first_seq", BigInteger, primary_key=True, autoincrement=False),
    Column("last_seq", BigInteger, nullable=False),
    Column("matched", Boolean, nullable=False),
    Column("reason", Text, nullable=False, server_default=""),
)

dedupe = Table(
    "dedupe",
    metadata,
    Column("topic_id", ForeignKey("topic.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("producer_id", BigInteger, primary_key=True, autoincrement=False),
    Column("message_id", String(200), primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

producer_session = Table(
    "producer_session",
    metadata,
    Column("topic_id", ForeignKey("topic.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("producer_id", BigInteger, primary_key=True, autoincrement=False),
    Column("session", String(200), primary_key=True),
    # The last batches, as MessagePack [[number, base_seq, count], …], oldest first.
    Column("batches", LargeBinary, nullable=False),
    Column("at_us", BigInteger, nullable=False, index=True),
)

trace = Table(
    "trace",
    metadata,
    # Names, not ids: what was proved stays proved when a topic is deleted. Ids follow the time, which never goes
    # back, so that a time is found by halves and needs no index.
    Column("id", Id, primary_key=True),
    Column("at_us", BigInteger, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("topic", String(160), nullable=False),
    Column("producer", String(160), nullable=False, server_default=""),
    Column("subscriber", String(160), nullable=False, server_default=""),
    Column("first_seq", BigInteger, nullable=False),
    Column("last_seq", BigInteger, nullable=False),
    Column("detail", Text, nullable=False, server_default=""),
    # Of a push: which attempt it was, 0 for what is none; and how long the subscriber took to answer.
    Column("attempt", Integer, nullable=False, server_default=ZERO),
    Column("latency_ms", Integer, nullable=False, server_default=ZERO),
)
# How traces are found, newest first (see store.trace_search). SQLite has the id at the end of each index by itself, and
# would store it twice if it were named; for another database it is to be added to each.
# A message is found by the end of a range that has it, in one of the last four: the longer ranges may be, the more of
# them must be looked at to find those that began before it, so that the short ones are kept apart from the long.
TRACE_SPAN_SHORT = 100
_ACCEPTED, _NOT_ACCEPTED, _OF_SUBSCRIBER = "producer <> ''", "producer = ''", "subscriber <> ''"
TRACE_SINGLE = f"{_NOT_ACCEPTED} AND first_seq = last_seq"
TRACE_SHORT = f"{_NOT_ACCEPTED} AND last_seq - first_seq > 0 AND last_seq - first_seq < {TRACE_SPAN_SHORT}"
TRACE_LONG = f"{_NOT_ACCEPTED} AND last_seq - first_seq >= {TRACE_SPAN_SHORT}"
for _name, _columns, _where in (
    # What is accepted is in none by its kind alone: it is everywhere, and a message alone should be quick to store.
    ("kind", "kind", _NOT_ACCEPTED),
    ("topic_kind", "topic kind", None),
    ("subscriber_kind", "subscriber kind", _OF_SUBSCRIBER),
    ("subscriber_topic_kind", "subscriber topic kind", _OF_SUBSCRIBER),
    ("producer", "producer", _ACCEPTED),
    ("producer_topic", "producer topic", _ACCEPTED),
    ("accepted", "topic last_seq first_seq", _ACCEPTED),
    ("single", "topic last_seq", TRACE_SINGLE),
    ("short", "topic last_seq first_seq", TRACE_SHORT),
    ("long", "topic last_seq first_seq", TRACE_LONG),
):
    _condition = None if _where is None else text(_where)
    _on = [trace.c[column] for column in _columns.split()]
    Index(f"ix_trace_{_name}", *_on, sqlite_where=_condition, postgresql_where=_condition)

trace_mark = Table(
    "trace_mark",
    metadata,
    # Up to which trace somebody has copied them, and when it last said so: what comes after is not forgotten.
    Column("name", String(160), primary_key=True),
    Column("trace_id", BigInteger, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("put_us", BigInteger, nullable=False),
)

topic_schema = Table(
    "topic_schema",
    metadata,
    Column("topic_id", ForeignKey("topic.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("version", Integer, primary_key=True, autoincrement=False),
    # xml, json, xsd, json-schema; none when the schema was taken away.
    Column("kind", String(20), nullable=False),
    Column("text", Text, nullable=False),
    # Whether it accepts all that the version before it did: yes, no or unknown, and why, a reason a line.
    Column("compatible", String(10), nullable=False),
    Column("reasons", Text, nullable=False, server_default=""),
    Column("created_us", BigInteger, nullable=False),
)

access_key = Table(
    "access_key",
    metadata,
    # The public part; of the secret there is only its SHA-256.
    Column("id", String(20), primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("owner", String(160), nullable=False),
    Column("secret_hash", LargeBinary(32), nullable=False),
    # Of a token, separated by spaces.
    Column("scopes", String(100), nullable=False, server_default=""),
    Column("label", Text, nullable=False, server_default=""),
    Column("requests_per_s", Integer),
    Column("body_bytes_max", Integer),
    Column("created_us", BigInteger, nullable=False),
    Column("expires_us", BigInteger),
)
Index("ix_access_key_kind_owner", access_key.c.kind, access_key.c.owner)

service_request = Table(
    "service_request",
    metadata,
    # A durable request to a service, and its result once it has one.
    Column("id", String(200), primary_key=True),
    Column("service", String(300), nullable=False),
    # waiting, answered, failed or parked (set aside because worker after worker was lost with it).
    Column("state", String(10), nullable=False),
    # Who asked, by its CURVE key or its key of the hub: only the same one may collect the result.
    Column("user", String(200), nullable=False, server_default=""),
    Column("priority", Integer, nullable=False),
    Column("attempts", Integer, nullable=False, server_default=ZERO),
    Column("submitted_us", BigInteger, nullable=False),
    Column("deadline_us", BigInteger),
    Column("ended_us", BigInteger),
    # When its result is forgotten.
    Column("keep_until_us", BigInteger),
    Column("code", String(100), nullable=False, server_default=""),
    Column("message", Text, nullable=False, server_default=""),
    # Frames as MessagePack: what was asked, and what was answered.
    Column("body", LargeBinary, nullable=False),
    Column("answer", LargeBinary),
)
Index("ix_service_request_state", service_request.c.state, service_request.c.submitted_us)
Index("ix_service_request_keep_until_us", service_request.c.keep_until_us)

service_setting = Table(
    "service_setting",
    metadata,
    # How a service is run, if not as all the others: ServiceOptions as JSON.
    Column("service", String(160), primary_key=True),
    Column("options", Text, nullable=False),
)

curve_key = Table(
    "curve_key",
    metadata,
    # The public key of a client or worker, in Z85, and which job types it may ask for and serve (patterns, by spaces).
    Column("public", String(40), primary_key=True),
    Column("name", String(160), nullable=False, unique=True),
    Column("asks", Text, nullable=False, server_default=""),
    Column("serves", Text, nullable=False, server_default=""),
    Column("created_us", BigInteger, nullable=False),
)
