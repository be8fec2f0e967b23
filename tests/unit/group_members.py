"""Members of a group on hubs without sockets, moved step by step by a test: nothing happens unless it says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pregon.client.groups.conversation import Conversation
from pregon.client.groups.events import Event, GroupEvent, GroupMessage
from pregon.client.groups.joining import Question, Wish, drive, joining
from pregon.client.groups.sending import OwnMessage, as_words
from pregon.errors import PregonError, Unavailable

from .group_hub import GROUP, FakeHub


class Actor:
    """A member, and its hubs: it sends to the first."""

    def __init__(
        self,
        hubs: Sequence[FakeHub],
        name: str = "",
        *,
        answer: Callable[[Question], Any] | None = None,
        **wish: Any,
    ) -> None:
        self.hubs = hubs
        self.events: list[Event] = []
        paths = tuple(f"tcp://{index}" for index in range(1, len(hubs)))
        flow = joining(Wish(group=GROUP, name=name, paths=paths, **wish))
        ask = answer or (lambda question: hubs[question.path].answer(question.call))
        self.talk: Conversation = drive(flow, ask)
        self.now_us = 0

    def say(self, text: str, answers: GroupEvent | None = None) -> OwnMessage:
        """Make a message; it is sent by `send`."""
        self.now_us += 1
        return self.talk.make(as_words(text, None, None, answers), self.now_us)

    def send(self) -> None:
        """Send what is due, as the loops do."""
        while due := self.talk.sending.due():
            for own in due:
                try:
                    sent = self.hubs[0].answer(own.call)
                except Unavailable:
                    continue
                except PregonError as error:
                    self.talk.refused(own, error)
                else:
                    self.talk.sending.stored(own, sent.seq)
            self.talk.sending.put_off()

    def tell(self, text: str, answers: GroupEvent | None = None) -> OwnMessage:
        """Say it and send it."""
        own = self.say(text, answers)
        self.send()
        return own

    def read(self, path: int = 0) -> bool:
        """Read one answer of a path; whether there was room for one."""
        call = self.talk.next_call(path)
        if call is None:
            return False
        self.now_us += 1
        self.talk.took(path, self.hubs[path].answer(call), self.now_us)
        return True

    def look(self, most: int = 1_000_000) -> list[Event]:
        """What it is shown now."""
        found: list[Event] = []
        while len(found) < most:
            self.now_us += 1
            event = self.talk.next_event(self.now_us)
            if event is None:
                break
            found.append(event)
        self.events += found
        return found

    def catch_up(self) -> list[Event]:
        """Read all paths to their ends, and look."""
        for path, hub in enumerate(self.hubs):
            while self.talk.paths[path].read_seq < len(hub.log) and self.read(path):
                pass
        return self.look()


def texts(events: Sequence[Event]) -> list[str]:
    """What the messages among them say."""
    return [event.text for event in events if isinstance(event, GroupMessage)]
