"""A hub with one group, for the library's tests: it answers calls as the real one does, without sockets or disk.

What it takes from members it checks as the real one: their turn, and what they depend on. The same suite of promises is
run against the real hub in the scenarios.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pregon.causal.encoding import decode_control
from pregon.causal.stamps import Stamp, encode_stamps
from pregon.client.calls import Call
from pregon.errors import AlreadyExists, BadRequest, NotAMember, NotFound, OutOfTurn, Unauthorized
from pregon.model.batch import Packing, encode, stamp
from pregon.model.group import AFTER_HEADER, ANSWERS_HEADER, KIND_HEADER, STAMP_HEADER, GroupMember
from pregon.model.message import Outgoing
from pregon.wire import commands as c
from pregon.wire import groups as g

GROUP = "design"
_INSTANTS = itertools.count(1_000_000)
"""All hubs have one clock: what is stored later has a later time."""


@dataclass
class Person:
    """A participant, and the member that it is."""

    name: str
    member: int = 0
    number: int = 0
    is_in: bool = False


@dataclass
class FakeHub:
    """The log of one hub; `offset` of `stride` if the group lives in several."""

    stride: int = 1
    offset: int = 0
    has_group: bool = True
    log: list[Outgoing] = field(default_factory=list)
    tail_seq: int = 1
    stored_us: list[int] = field(default_factory=list)
    people: dict[str, Person] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)
    frontier: set[Stamp] = field(default_factory=set)
    given: int = 1
    reports: list[Any] = field(default_factory=list)
    asked: list[Any] = field(default_factory=list)

    @property
    def me(self) -> int:
        """Its own number as a member."""
        return self.offset + 1

    def answer(self, call: Call[Any]) -> Any:
        """What a client has of a call."""
        self.asked.append(call.header)
        answered = getattr(self, f"_{type(call.header).__name__.lower()}")(call.header, call.payload)
        header, payload = answered if isinstance(answered, tuple) else (answered, ())
        return call.read(header, payload)

    def say(self, one: Stamp, after: tuple[Stamp, ...], name: str, body: bytes = b"", **headers: str) -> int:
        """A record at the head of the log, unchecked."""
        told = {KIND_HEADER: "message", **{key.replace("_", "-"): value for key, value in headers.items()}}
        told |= {STAMP_HEADER: str(one), AFTER_HEADER: encode_stamps(after)}
        self.stored_us.append(next(_INSTANTS))
        self.log.append(Outgoing(body, str(one), name, "text/plain", told))
        self.numbers[one.member] = one.number
        self.frontier -= {*after, Stamp(one.member, one.number - 1)}
        self.frontier.add(one)
        return len(self.log)

    def say_as_hub(self, kind: str, about: Mapping[str, Any]) -> int:
        """What the hub says of a member."""
        one = Stamp(self.me, self.numbers.get(self.me, 0) + 1)
        after = tuple(sorted(stamp for stamp in self.frontier if stamp.member != self.me))
        return self.say(one, after, "", msgspec.json.encode(about), group_kind=kind)

    def _person(self, token: str) -> Person:
        if token not in self.people:
            raise Unauthorized("no such token")
        return self.people[token]

    def _create(self, header: c.Create, _: Any) -> c.Rows:
        if header.kind == "group":
            self.has_group = True
            return c.Rows(rows=[header.entry])
        name = header.entry["name"]
        if any(person.name == name for person in self.people.values()):
            raise AlreadyExists(f"somebody is called {name} already")
        token = f"{self.offset}-{name}"
        self.people[token] = Person(name)
        return c.Rows(rows=[{"name": name, "token": token}])

    def _delete(self, header: c.Delete, _: Any) -> c.Count:
        return c.Count(count=int(self.people.pop(header.names[0], None) is not None))

    def _show(self, _header: c.Show, _: Any) -> c.Rows:
        return c.Rows(rows=[{"name": GROUP, "stride": self.stride, "offset": self.offset, "head_seq": len(self.log)}])

    def _mine(self, header: g.Mine, _: Any) -> g.Memberships:
        return g.Memberships(name=self._person(header.token).name)

    def _join(self, header: g.Join, _: Any) -> g.Joined:
        person = self._person(header.token)
        if not self.has_group:
            raise NotFound("there is no such group")
        if header.member and header.member != person.member:
            raise NotAMember("no longer")
        if header.member and header.number < person.number:
            raise BadRequest("too old")
        if not header.member:
            if person.member:
                self.say_as_hub("gone", {"member": person.member, "name": person.name})
            person.member, person.number, person.is_in = self.me + self.given * self.stride, 0, False
            self.given += 1
            self.say_as_hub("joining", {"member": person.member, "name": person.name})
        return g.Joined(
            group=GROUP,
            member=person.member,
            seq=len(self.log),
            number=person.number,
            clock=dict(self.numbers),
            highest=self.me + (self.given - 1) * self.stride,
            frontier=encode_stamps(sorted(one for one in self.frontier if one.member != person.member)),
            members=[GroupMember(member=one.member, name=one.name, number=one.number) for one in self._members()],
            traced=True,
        )

    def _members(self) -> list[Person]:
        return [person for person in self.people.values() if person.member]

    def _leave(self, header: g.Leave, _: Any) -> g.Sent:
        person = self._person(header.token)
        return g.Sent(seq=self.say_as_hub("leaving", {"member": person.member, "name": person.name}))

    def _send(self, header: g.Send, payload: Any) -> g.Sent:
        person = self._person(header.token)
        _, one, after, _ = decode_control(header.control)
        if one.member != person.member:
            raise NotAMember("another came in its place")
        if one.number <= person.number:
            return g.Sent(seq=0, stamp=str(one), duplicate=True)
        if one.number > person.number + 1:
            raise OutOfTurn("send the ones before it first")
        ours = [needed for needed in after if (needed.member - 1) % self.stride == self.offset]
        if any(self.numbers.get(needed.member, 0) < needed.number for needed in ours):
            raise BadRequest("it depends on what is not there")
        if payload[0] == b"refuse me":
            raise BadRequest("as you wish")
        person.number = one.number
        more = {ANSWERS_HEADER: header.answers} if header.answers else {}
        headers = {**header.headers, "group-kind": header.kind, **more}
        return g.Sent(seq=self.say(one, after, person.name, payload[0], **headers), stamp=str(one))

    def _read(self, header: g.Read, _: Any) -> tuple[c.Messages, tuple[Any, ...]]:
        person = self._person(header.token)
        if not person.member:
            raise NotAMember("join first")
        first = max(header.after_seq + 1, self.tail_seq)
        told = c.Messages(head_seq=len(self.log), tail_seq=self.tail_seq)
        payload = []
        for seq in range(first, min(first + header.max, len(self.log) + 1)):
            packing, message, at_us = Packing(), self.log[seq - 1], self.stored_us[seq - 1]
            packing.add(message, at_us, message.id)
            told.base_seqs.append(seq)
            told.counts.append(1)
            payload.append(encode(stamp(packing.pack(""), "pregon.groups", at_us)))
        return told, tuple(payload)

    def _report(self, header: g.Report, _: Any) -> c.Count:
        self.reports += header.rows
        return c.Count(count=len(header.rows))
