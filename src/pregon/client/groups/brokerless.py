"""A member of a group without a hub, for programs with threads: the members talk to each other directly, over ZeroMQ.

    with PeerGroup("design", name="ana") as ana:                                # the first one founds the group
        with PeerGroup("design", name="luis", peers=[ana.address]) as luis:     # the others name one that is in
            luis.send("hola")
            print(ana.poll(5.0))

It is used like the group of a hub (`pregon.client.groups.group`): send, iterate, ask a message what it followed from.
What differs: nothing is kept for who was not in, a message is accepted when it is sent (not when it is on a disk), and
anybody who reaches the addresses may join: the sockets have no keys.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence

from pregon.causal.stamps import Stamp
from pregon.client.groups.brokerless_face import PeerFace, open_loop
from pregon.client.groups.brokerless_state import PeerGroupOptions
from pregon.client.groups.events import Event, GroupEvent
from pregon.client.groups.sending import Body, as_words
from pregon.clock import monotonic_ms
from pregon.errors import QueueFull

__all__ = ["PeerGroup", "PeerGroupOptions"]


class PeerGroup(PeerFace):
    """A member. Iterate over it; use it with `with`, or `close` it: it stays a member, and is missed after a while."""

    def __init__(
        self,
        group: str,
        *,
        name: str = "",
        listen: str = "tcp://127.0.0.1:*",
        peers: Sequence[str] = (),
        state: bytes | None = None,
        options: PeerGroupOptions | None = None,
    ) -> None:
        """Take part; returns when it is in. Raises AnswerTimeout if nobody answers, and why it is refused."""
        options = options if options is not None else PeerGroupOptions()
        super().__init__(group, open_loop(group, name, listen, state, options), options)
        self._news = threading.Condition(self._loop.lock)
        self._loop.on_change = self._news.notify_all
        self._loop.start(peers, founds=self._founds(peers, state))
        with self._news:
            is_in = self._news.wait_for(lambda: self._loop.is_inside or self._loop.failure, options.timeout_s)
        if not is_in or self._loop.failure is not None:
            error = self._loop.failure or self._nobody_answers(peers)
            self._loop.close()
            raise error

    def __enter__(self) -> PeerGroup:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(
        self,
        body: Body,
        *,
        content_type: str | None = None,
        headers: Mapping[str, str] | None = None,
        answers: GroupEvent | Stamp | None = None,
    ) -> Stamp:
        """Say something to all members; raises BadRequest, TooLarge, QueueFull."""
        words = as_words(body, content_type, headers, answers)
        with self._news:
            if self._is_slowed:
                self._news.wait_for(lambda: not self._is_slowed, self.SLOWED_S)
            if not self._news.wait_for(lambda: not self._loop.is_full or self._loop.failure, self._options.timeout_s):
                raise QueueFull(f"too much waits to be sent to {self.group}: send later")
            return self._say(words)

    def poll(self, timeout_s: float | None = 0.0) -> Event | None:
        """The next event; None if none comes in time, or it was closed. Without a limit if that is None."""
        deadline_ms = None if timeout_s is None else monotonic_ms() + timeout_s * 1_000
        with self._news:
            while True:
                event = self._loop.take()
                if event is not None or self._is_over():
                    return event
                left_s = None if deadline_ms is None else (deadline_ms - monotonic_ms()) / 1_000
                if left_s is not None and left_s <= 0:
                    return None
                self._news.wait(left_s)

    def __iter__(self) -> Iterator[Event]:
        while (event := self.poll(None)) is not None:
            yield event

    def leave(self) -> None:
        """Be a member no more; returns when the others have its last messages, or have had the time. And close."""
        with self._news:
            self._begin_to_leave()
            self._news.wait_for(lambda: self._loop.peer.is_done or self._loop.failure, self._leave_s)
        self.close()

    def close(self) -> None:
        """Be silent. It stays a member until the others miss it; with `state()` it can come back before that."""
        self._is_closed = True
        self._loop.close()
