"""A member of a group without a hub, for asyncio: the same as `brokerless`, and the same thread does the work.

async with await AsyncPeerGroup.join("design", name="luis", peers=["tcp://10.0.0.7:5600"]) as luis:
    await luis.send("hola")
    async for event in luis:
        ...
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from pregon.causal.stamps import Stamp
from pregon.client.groups.brokerless_face import PeerFace, open_loop
from pregon.client.groups.brokerless_loop import PeerLoop
from pregon.client.groups.brokerless_state import PeerGroupOptions
from pregon.client.groups.events import Event, GroupEvent
from pregon.client.groups.sending import Body, as_words
from pregon.clock import monotonic_ms
from pregon.errors import QueueFull

__all__ = ["AsyncPeerGroup", "PeerGroupOptions"]


class AsyncPeerGroup(PeerFace):
    """A member. Iterate over it; use it with `async with`, or `close` it: it stays a member until it is missed."""

    def __init__(self, group: str, loop: PeerLoop, options: PeerGroupOptions) -> None:
        """For `join`, which waits until it is in."""
        super().__init__(group, loop, options)
        self._asyncio = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        loop.on_change = self._tell

    @classmethod
    async def join(
        cls,
        group: str,
        *,
        name: str = "",
        listen: str = "tcp://127.0.0.1:*",
        peers: Sequence[str] = (),
        state: bytes | None = None,
        options: PeerGroupOptions | None = None,
    ) -> AsyncPeerGroup:
        """Take part; returns when it is in. Raises AnswerTimeout if nobody answers, and why it is refused."""
        options = options if options is not None else PeerGroupOptions()
        found = cls(group, open_loop(group, name, listen, state, options), options)
        loop = found._loop
        loop.start(peers, founds=found._founds(peers, state))
        is_in = False
        try:
            is_in = await found._wait(lambda: loop.is_inside or loop.failure is not None, options.timeout_s)
            if not is_in or loop.failure is not None:
                raise loop.failure or found._nobody_answers(peers)
        except BaseException:  # Whatever it was, it goes on to the caller, who has no member to close.
            await found.close()
            raise
        return found

    async def __aenter__(self) -> AsyncPeerGroup:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _tell(self) -> None:
        # The event loop may have ended before the member was closed: then nobody waits.
        with contextlib.suppress(RuntimeError):
            self._asyncio.call_soon_threadsafe(self._changed.set)

    async def _wait(self, is_met: Callable[[], bool], timeout_s: float | None) -> bool:
        """Wait until something is so; whether it is."""
        deadline_ms = None if timeout_s is None else monotonic_ms() + timeout_s * 1_000
        while True:
            self._changed.clear()
            with self._loop.lock:
                if is_met():
                    return True
            left_s = None if deadline_ms is None else (deadline_ms - monotonic_ms()) / 1_000
            if left_s is not None and left_s <= 0:
                return False
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), left_s)

    async def send(
        self,
        body: Body,
        *,
        content_type: str | None = None,
        headers: Mapping[str, str] | None = None,
        answers: GroupEvent | Stamp | None = None,
    ) -> Stamp:
        """Say something to all members; raises BadRequest, TooLarge, QueueFull."""
        words = as_words(body, content_type, headers, answers)
        loop = self._loop
        if self._is_slowed:
            await self._wait(lambda: not self._is_slowed, self.SLOWED_S)
        if not await self._wait(lambda: not loop.is_full or loop.failure is not None, self._options.timeout_s):
            raise QueueFull(f"too much waits to be sent to {self.group}: send later")
        with loop.lock:
            return self._say(words)

    async def poll(self, timeout_s: float | None = 0.0) -> Event | None:
        """The next event; None if none comes in time, or it was closed. Without a limit if that is None."""
        found: list[Event] = []

        def is_met() -> bool:
            event = self._loop.take()
            if event is not None:
                found.append(event)
            return event is not None or self._is_over()

        await self._wait(is_met, timeout_s)
        return found[0] if found else None

    async def __aiter__(self) -> AsyncIterator[Event]:
        while (event := await self.poll(None)) is not None:
            yield event

    async def leave(self) -> None:
        """Be a member no more; returns when the others have its last messages, or have had the time. And close."""
        with self._loop.lock:
            self._begin_to_leave()
        await self._wait(lambda: self._loop.peer.is_done or self._loop.failure is not None, self._leave_s)
        await self.close()

    async def close(self) -> None:
        """Be silent. It stays a member until the others miss it; with `state()` it can come back before that."""
        self._is_closed = True
        await asyncio.to_thread(self._loop.close)
