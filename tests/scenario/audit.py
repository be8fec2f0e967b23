"""What must be true of a data directory, however its hub ended: read through a hub, written as problems.

Promises: an empty list means that in every topic the numbers are dense, no id is there twice and the accepted
traces say exactly what the log holds; and that in every subscription the accounting adds up and the acknowledged
traces say exactly what the accounting does. For histories without retention, unparking and replays.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import msgspec

from pregon.hub.hub import Hub
from pregon.limits import LIST_ROWS_MAX, PULL_BYTES_MAX, PULL_MESSAGES_MAX
from pregon.model.catalog import Subscription, Topic
from pregon.model.message import Message
from pregon.model.trace import ACCEPTED, ACKNOWLEDGED, PARKED, Trace, TraceQuery
from pregon.store.database import DATABASE_FILE


def find_problems(hub: Hub) -> list[str]:
    """Everything that is wrong with what the hub holds."""
    problems: list[str] = []
    for topic in hub.list("topic", rows_max=LIST_ROWS_MAX).result():
        assert isinstance(topic, Topic)
        problems += _problems_of_topic(hub, topic)
    for subscription in hub.list("subscription", rows_max=LIST_ROWS_MAX).result():
        assert isinstance(subscription, Subscription)
        problems += _problems_of_subscription(hub, subscription)
    return problems


def check_integrity(data: Path) -> list[str]:
    """What SQLite itself finds wrong with the file; the hub must not be running."""
    with closing(sqlite3.connect(data / DATABASE_FILE)) as database:
        try:
            verdicts = [verdict for (verdict,) in database.execute("PRAGMA integrity_check")]
            orphans = database.execute("PRAGMA foreign_key_check").fetchall()
        except sqlite3.DatabaseError as error:
            return [f"the file cannot be checked: {error}"]
    return [*(verdict for verdict in verdicts if verdict != "ok"), *(f"orphan row {row}" for row in orphans)]


def read_topic(hub: Hub, topic: str) -> list[Message]:
    """Every message of a topic, in order."""
    messages: list[Message] = []
    while True:
        first_seq = len(messages) + 1
        read = hub.read_log(topic, first_seq, None, PULL_MESSAGES_MAX, PULL_BYTES_MAX).result()
        found = [message for batch in read.batches for message in batch.messages(topic)]
        if not found:
            return messages
        messages += found


def read_traces(hub: Hub, query: TraceQuery) -> list[Trace]:
    """Every trace that matches, oldest first."""
    traces: list[Trace] = []
    before = 0
    while True:
        page = hub.traces(msgspec.structs.replace(query, before=before, max=LIST_ROWS_MAX)).result()
        traces += page
        if len(page) < LIST_ROWS_MAX:
            return traces[::-1]
        before = page[-1].id


def numbers_in(traces: Iterable[Trace]) -> list[int]:
    """The numbers that traces name, each as often as it is named."""
    return sorted(seq for trace in traces for seq in range(trace.first_seq, trace.last_seq + 1))


def _problems_of_topic(hub: Hub, topic: Topic) -> list[str]:
    messages = read_topic(hub, topic.name)
    numbers = list(range(1, topic.head_seq + 1))
    problems = []
    if [message.seq for message in messages] != numbers:
        problems.append(f"{topic.name} ends at {topic.head_seq}, but its log has {len(messages)} messages")
    if len({(message.producer, message.id) for message in messages}) != len(messages):
        problems.append(f"{topic.name} has a message twice")
    times = [message.accepted_us for message in messages]
    if times != sorted(times):
        problems.append(f"the acceptance times of {topic.name} go back")
    traces = read_traces(hub, TraceQuery(topic=topic.name, kind=ACCEPTED))
    if numbers_in(traces) != numbers:
        problems.append(f"the accepted traces of {topic.name} do not cover 1..{topic.head_seq} once")
    elif [trace.producer for trace in traces for _ in range(trace.first_seq, trace.last_seq + 1)] != [
        message.producer for message in messages
    ]:
        problems.append(f"the accepted traces of {topic.name} name other producers than its log")
    return problems


def _problems_of_subscription(hub: Hub, subscription: Subscription) -> list[str]:
    names = (subscription.topic, subscription.subscriber)
    accounting = hub.account(*names).result()
    aside = hub.list_parked(*names).result()
    name, problems = " ".join(names), []
    settled = accounting.acknowledged + accounting.pending + accounting.parked + accounting.expired
    if accounting.accepted != settled or accounting.accepted != accounting.head_seq - accounting.first_seq + 1:
        problems.append(f"the accounting of {name} does not add up: {accounting}")
    of_this = TraceQuery(topic=names[0], subscriber=names[1])
    acknowledged = numbers_in(read_traces(hub, msgspec.structs.replace(of_this, kind=ACKNOWLEDGED)))
    parked = numbers_in(read_traces(hub, msgspec.structs.replace(of_this, kind=PARKED)))
    if parked != [row["seq"] for row in aside]:
        problems.append(f"the traces of {name} do not say what is parked")
    expected = sorted(set(range(accounting.first_seq, accounting.acked_seq + 1)) - set(parked))
    if acknowledged != expected or len(expected) != accounting.acknowledged:
        problems.append(f"the acknowledged traces of {name} do not cover what it acknowledged, once each")
    return problems
