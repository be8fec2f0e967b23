"""What was said in a group, read from the logs: here of a database in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from sqlalchemy import Connection, create_engine, insert, update

from pregon.errors import NotFound
from pregon.groups import trace as tracing
from pregon.groups.trace import clean, read_trace
from pregon.model.batch import Packing, encode, stamp
from pregon.model.group import DELIVERIES_TOPIC
from pregon.model.message import Outgoing
from pregon.model.trace import DELIVERED, Trace
from pregon.store.log import append
from pregon.store.schema import metadata, topic
from pregon.store.schema_groups import causal_group, group_member
from pregon.store.traces import write_traces

NOON = 1_794_830_400_000_000


class Log:
    """A database with a group in it, and what is said there."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.now_us = NOON
        self.topics: dict[str, int] = {}
        metadata.create_all(connection)
        self.make_topic("groups.design")
        connection.execute(
            insert(causal_group).values(
                name="design", topic_id=self.topics["groups.design"], access="open", created_us=NOON
            )
        )

    def make_topic(self, name: str) -> None:
        """One more."""
        made = self.connection.execute(insert(topic).values(name=name, created_us=NOON)).inserted_primary_key
        assert made is not None
        self.topics[name] = made[0]

    def member(self, member: int, name: str, subscriber: str = "") -> None:
        """On the roll of the group."""
        self.connection.execute(
            insert(group_member).values(
                group_id=1, member=member, name=name, kind="hosted", state="in", joined_seq=0, subscriber=subscriber
            )
        )

    def store(self, topic_name: str, message: Outgoing) -> int:
        """At the head of a topic, a millisecond after the last; its number."""
        self.now_us += 1_000
        packing = Packing()
        packing.add(message, self.now_us - 100, "x")
        arrow = encode(stamp(packing.pack(""), "pregon.groups", self.now_us))
        return append(self.connection, self.topics[topic_name], 1, arrow, self.now_us)

    def say(self, stamp: str, name: str, body: bytes = b"hola", after: str = "", **more: str) -> int:
        """A message of the group."""
        headers = {"group-kind": more.get("kind", "message"), "group-stamp": stamp, "group-after": after}
        if "answers" in more:
            headers["group-answers"] = more["answers"]
        content_type = more.get("content_type", "text/plain; charset=utf-8")
        return self.store("groups.design", Outgoing(body, None, name, content_type, headers))

    def report(self, member: int, *rows: list[Any], group: str = "design") -> None:
        """What a member says that it was shown."""
        if DELIVERIES_TOPIC not in self.topics:
            self.make_topic(DELIVERIES_TOPIC)
        body = msgspec.json.encode({"group": group, "member": member, "name": "?", "rows": rows})
        self.store(DELIVERIES_TOPIC, Outgoing(body, None, group, "application/json"))


@pytest.fixture
def log() -> Iterator[Log]:
    """An empty group."""
    with create_engine("sqlite://").connect() as connection:
        yield Log(connection)


def test_messages_are_told_with_what_they_depend_on(log: Log) -> None:
    log.member(2, "ana")
    log.say("2:1", "ana")
    log.say("3:1", "luis", '{"a": "ñ"}'.encode(), "2:1", answers="2:1", content_type="application/json")

    trace = read_trace(log.connection, "design")

    first, second = trace.messages
    assert (first.seq, first.stamp, first.member, first.name, first.kind) == (1, "2:1", 2, "ana", "message")
    assert (first.after, first.answers, first.text) == ((), "", "hola")
    assert (first.accepted_us, first.published_us) == (NOON + 1_000, NOON + 900)
    assert (second.after, second.answers, second.text) == (("2:1",), "2:1", '{"a": "ñ"}')
    assert trace.members == [(2, "ana"), (3, "luis")]
    assert (trace.deliveries, trace.head_seq, trace.is_whole) == ([], 2, True)


def test_the_hubs_own_messages_are_told_with_whom_they_are_about(log: Log) -> None:
    log.say("1:1", "pregon", b'{"member":2,"name":"ana"}', kind="joining")
    log.say("1:2", "pregon", b'{"member":2,"name":"anita","old":"ana"}', kind="renamed")
    log.say("1:3", "pregon", b"not JSON", kind="gone")

    trace = read_trace(log.connection, "design")

    assert [(one.kind, one.about, one.text) for one in trace.messages] == [
        ("joining", 2, "ana"),
        ("renamed", 2, "ana → anita"),
        ("gone", 0, ""),
    ]
    assert trace.members == [(1, "pregon")]


def test_a_member_that_the_roll_has_forgotten_is_called_as_the_log_says(log: Log) -> None:
    log.say("1:1", "pregon", b'{"member":5,"name":"eva","old":"evita"}', kind="renamed")
    log.say("2:1", "ana")
    log.report(5, ["2:1", NOON, NOON, ""])
    log.report(6, ["2:1", NOON, NOON, ""])

    trace = read_trace(log.connection, "design")

    assert trace.members == [(1, "pregon"), (2, "ana"), (5, "eva"), (6, "6")]


def test_a_member_is_called_as_it_is_called_last(log: Log) -> None:
    log.member(2, "anita")
    log.say("2:1", "ana")

    trace = read_trace(log.connection, "design")

    assert (trace.members, trace.messages[0].name) == ([(2, "anita")], "ana")


def test_deliveries_are_those_that_members_reported_of_these_messages_each_once(log: Log) -> None:
    log.say("2:1", "ana")
    log.say("3:1", "luis")
    log.report(4, ["2:1", NOON + 5, NOON + 9, "3:1"], ["9:9", 1, 1, ""])
    log.report(4, ["2:1", NOON + 70, NOON + 70, ""], ["3:1", NOON + 6, NOON + 6, ""])
    log.report(4, ["2:1", 1, 2, ""], group="another")
    log.store(DELIVERIES_TOPIC, Outgoing(b"{}", None, "design", "application/json"))

    found = read_trace(log.connection, "design").deliveries

    assert [(one.member, one.stamp, one.received_us, one.delivered_us, one.waited_for) for one in found] == [
        (4, "2:1", NOON + 5, NOON + 9, "3:1"),
        (4, "3:1", NOON + 6, NOON + 6, ""),
    ]
    assert [one.was_held for one in found] == [True, False]


def test_reports_are_looked_for_from_the_first_message_on(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(5):
        log.report(4, ["8:8", 1, 1, ""])
    log.say("2:1", "ana")
    log.report(4, ["2:1", NOON, NOON, ""])
    monkeypatch.setattr(tracing, "REPORTS_MAX", 1)

    trace = read_trace(log.connection, "design")

    assert [one.stamp for one in trace.deliveries] == ["2:1"]
    assert trace.is_whole


def test_a_web_service_was_shown_what_it_was_pushed(log: Log) -> None:
    log.member(5, "cad", subscriber="cad-turbina")
    for number in (1, 2, 3):
        log.say(f"2:{number}", "ana")
    at = [log.now_us + 100, log.now_us + 200, log.now_us + 900]
    spans = [(1, 2), (3, 3), (2, 3)]
    write_traces(
        log.connection,
        [
            Trace(at_us=at_us, kind=DELIVERED, topic="groups.design", subscriber=name, first_seq=first, last_seq=last)
            for at_us, (first, last) in zip(at, spans, strict=True)
            for name in ("cad-turbina", "somebody")
        ],
    )

    found = read_trace(log.connection, "design", 2, 3)

    assert {one.stamp: (one.member, one.received_us, one.delivered_us) for one in found.deliveries} == {
        "2:2": (5, at[0], at[0]),
        "2:3": (5, at[1], at[1]),
    }
    assert len(found.deliveries) == 2
    assert found.members == [(2, "ana"), (5, "cad")]


def test_a_part_is_what_was_asked_for_of_what_there_is(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(1, 11):
        log.say(f"2:{number}", "ana")
    monkeypatch.setattr(tracing, "MESSAGES_USUAL", 4)
    monkeypatch.setattr(tracing, "MESSAGES_MAX", 6)

    def seqs(*part: int) -> list[int]:
        return [one.seq for one in read_trace(log.connection, "design", *part).messages]

    assert seqs() == [7, 8, 9, 10]
    assert seqs(0, 5) == [2, 3, 4, 5]
    assert seqs(8, 99) == [8, 9, 10]
    assert seqs(1, 6) == [1, 2, 3, 4, 5, 6]
    assert read_trace(log.connection, "design", 1, 6).is_whole
    assert seqs(1, 7) == [1, 2, 3, 4, 5, 6]
    assert not read_trace(log.connection, "design", 1, 7).is_whole
    log.connection.execute(update(topic).where(topic.c.name == "groups.design").values(tail_seq=9))
    assert seqs(3, 9) == [9]
    with pytest.raises(NotFound, match="it has 9 to 10"):
        seqs(2, 4)
    with pytest.raises(NotFound, match="it has 9 to 10"):
        seqs(20)


def test_who_came_later_is_told_nothing_from_before(log: Log) -> None:
    for number in range(1, 6):
        log.say(f"2:{number}", "ana")

    def seqs(first_seq: int) -> list[int]:
        return [one.seq for one in read_trace(log.connection, "design", first_seq, None, 4).messages]

    assert seqs(0) == seqs(1) == [4, 5]
    assert seqs(5) == [5]


def test_so_many_bytes_and_deliveries_and_no_more(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(1, 5):
        log.say(f"2:{number}", "ana", b"x" * 1_000)
        log.report(4, [f"2:{number}", NOON, NOON, ""])

    monkeypatch.setattr(tracing, "DELIVERIES_MAX", 3)
    few = read_trace(log.connection, "design")
    monkeypatch.setattr(tracing, "DELIVERIES_MAX", 4)
    all_ = read_trace(log.connection, "design")
    monkeypatch.setattr(tracing, "REPORTS_MAX", 2)
    less = read_trace(log.connection, "design")
    monkeypatch.setattr(tracing, "_PAGE_MESSAGES", 1)
    monkeypatch.setattr(tracing, "READ_BYTES_MAX", 2_000)
    part = read_trace(log.connection, "design")

    assert (len(few.deliveries), few.is_whole) == (3, False)
    assert (len(all_.deliveries), all_.is_whole) == (4, True)
    assert (len(less.deliveries), less.is_whole) == (2, False)
    assert 0 < len(part.messages) < 4
    assert not part.is_whole


def test_a_group_that_is_not_there_is_not_found_and_an_empty_one_is_empty(log: Log) -> None:
    assert read_trace(log.connection, "design").messages == []
    with pytest.raises(NotFound, match="pregon group list"):
        read_trace(log.connection, "nothing")


def test_what_has_no_stamp_is_left_out(log: Log) -> None:
    log.store("groups.design", Outgoing(b"x", None, "ana", "text/plain", {"group-stamp": "3:x"}))
    log.say("2:1", "ana")

    assert [one.seq for one in read_trace(log.connection, "design").messages] == [2]


def test_only_text_is_told_and_only_its_beginning(log: Log) -> None:
    log.say("2:1", "ana", b"\x00\xff", content_type="application/octet-stream")
    log.say("2:2", "ana", ("ñ" * 500).encode())
    log.say("2:3", "ana", "uno\n\n dos\t\x1b[31m\u202etres 👩‍🔬".encode())
    log.say("2:4", "ana", b"<a/>", content_type="application/soap+xml")

    texts = [one.text for one in read_trace(log.connection, "design").messages]

    assert texts == ["", "ñ" * 80, "uno dos \ufffd[31m\ufffdtres 👩‍🔬", "<a/>"]


def test_what_cannot_be_seen_is_replaced() -> None:
    assert clean("a\x00b\u200bc") == "a\ufffdb\ufffdc"


def test_of_a_group_in_several_hubs_what_was_shown_of_the_others_is_told_too(log: Log) -> None:
    log.connection.execute(update(causal_group).values(stride=2, place=1))
    log.say("2:1", "ana")
    log.report(4, ["2:1", NOON, NOON, ""], ["3:1", NOON + 1, NOON + 1, ""], ["2:9", NOON, NOON, ""], ["x", 1, 1, ""])

    trace = read_trace(log.connection, "design")

    assert [one.stamp for one in trace.deliveries] == ["2:1", "3:1"]
    assert (trace.hubs, trace.hubs_here) == (2, 1)
