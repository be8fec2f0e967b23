"""Members of groups by the library, blocking or asyncio behind the same face, and a judge who is told all they do."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

from pregon import GroupEvent, GroupMessage, MemberJoined, Stamp
from pregon.causal.oracle import Oracle

from ..both_clients import AsyncClientFace, AsyncFace, open_client

KINDS = ("sync", "async")
_DEADLINE_S = 60.0


class AsyncGroupFace(AsyncFace):
    """The asyncio member, used as if it were blocking."""

    def __getattr__(self, name: str) -> Any:
        if name in ("members", "name", "number", "token", "group", "held", "unsent"):
            return self._loop.call(lambda: getattr(self._inner, name))
        if name == "say":
            return lambda *args, **options: self._loop.call(lambda: self._inner.say(*args, **options))
        return super().__getattr__(name)

    def __iter__(self) -> Iterator[Any]:
        events = aiter(self._inner)
        while True:
            try:
                yield self._loop.run(anext(events))
            except StopAsyncIteration:
                return


def open_groups(kind: str, url: str, **options: Any) -> Any:
    """A client of either kind, as a context manager."""
    return open_client(kind, url, **options)


def join(client: Any, *args: Any, **options: Any) -> Any:
    """A member of a group by either kind of client."""
    return _face(client, client.join(*args, **options))


def private(client: Any, *args: Any) -> Any:
    """A conversation of two by either kind of client."""
    return _face(client, client.private(*args))


def _face(client: Any, group: Any) -> Any:
    return AsyncGroupFace(client._loop, group) if isinstance(client, AsyncClientFace) else group


def next_message(group: Any, timeout_s: float = _DEADLINE_S) -> GroupMessage:
    """The next message that a member is shown, whatever is shown before it."""
    deadline = time.monotonic() + timeout_s
    while (left_s := deadline - time.monotonic()) > 0:
        event = group.poll(left_s)
        if isinstance(event, GroupMessage):
            return event
    raise AssertionError(f"{group.name} was shown no message in {timeout_s} s")


def messages(group: Any, count: int) -> list[GroupMessage]:
    """The next messages."""
    return [next_message(group) for _ in range(count)]


def texts(group: Any, count: int) -> list[str]:
    """What the next messages say."""
    return [message.text for message in messages(group, count)]


class Judge:
    """Happened-before by its definition, for members in several threads."""

    def __init__(self) -> None:
        self.oracle = Oracle()
        self._lock = threading.Lock()
        self._early: dict[Stamp, str] = {}

    def said(self, group: Any, text: str, **options: Any) -> Stamp:
        """A member says something: the judge knows before anybody can be shown it."""
        with self._lock:
            stamp = group.send(text, wait=False, **options)
            self.oracle.sent(group.number, stamp, text)
        return stamp

    def shown(self, group: Any, event: GroupEvent) -> None:
        """A member was shown something."""
        with self._lock:
            if isinstance(event, GroupMessage):
                self.oracle.delivered(group.number, event.stamp, event.text)
            elif isinstance(event, MemberJoined):
                self.oracle.delivered(group.number, event.stamp)

    def joined(self, *groups: Any) -> None:
        """These have joined, one after the other; each was shown those who came after it."""
        for place, group in enumerate(groups):
            self.oracle.joined(group.number, {other.number: 1 for other in groups[:place]})
            self.oracle.sent(group.number, Stamp(group.number, 1))


class Chatter:
    """A member in a thread of its own: says so many things, looks in between, and ends when it has seen all."""

    def __init__(self, group: Any, judge: Judge, says: int, sees: int) -> None:
        self.group = group
        self.texts: list[str] = []
        self.error: BaseException | None = None
        self._judge, self._says, self._sees = judge, says, sees
        self._thread = threading.Thread(target=self._talk, name=f"chatter {group.name}")
        self._thread.start()

    def _talk(self) -> None:
        try:
            for number in range(self._says):
                self._judge.said(self.group, f"{self.group.name} {number}")
                self._look(0.02)
            self.group.flush()
            deadline = time.monotonic() + _DEADLINE_S
            while len(self.texts) < self._sees and time.monotonic() < deadline:
                self._look(0.5)
        except BaseException as error:  # Whatever it was, the test that waits for the thread is told.
            self.error = error

    def _look(self, timeout_s: float) -> None:
        while (event := self.group.poll(timeout_s)) is not None:
            self._judge.shown(self.group, event)
            if isinstance(event, GroupMessage):
                self.texts.append(event.text)
            timeout_s = 0.0

    def end(self) -> list[str]:
        """What it was shown, when it is done."""
        self._thread.join(2 * _DEADLINE_S)
        assert not self._thread.is_alive(), f"{self.group.name} did not end"
        if self.error is not None:
            raise self.error
        return self.texts
