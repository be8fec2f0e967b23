"""A member of a group for asyncio: the same conversation as `group`, driven by an event loop.

A group has connections of its own: one to each hub that it reads, on which a task keeps a question open; what it sends
goes over the first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from pregon.causal.stamps import Stamp
from pregon.client.calls import busy_delay_ms
from pregon.client.groups import calls
from pregon.client.groups.conversation import Conversation
from pregon.client.groups.events import Event, GroupEvent, GroupMember
from pregon.client.groups.face import MemberFace
from pregon.client.groups.joining import Question, drive_async, leaving
from pregon.client.groups.lines import AsyncLine, OpenAsyncLine
from pregon.client.groups.reports import LAST_REPORT_MS, REPORT_EVERY_MS
from pregon.client.groups.sending import AT_ONCE_MAX, Body, OwnMessage, Words, as_words
from pregon.clock import monotonic_ms, wall_us
from pregon.errors import HubStopping, HubUnreachable, PregonError, Unavailable


class AsyncGroup(MemberFace):
    """A member of a group. Iterate over it; use it with `async with`, or `close` it: it stays a member."""

    def __init__(self, conversation: Conversation, open_line: OpenAsyncLine) -> None:
        super().__init__(conversation)
        self._lines: Sequence[AsyncLine] = [open_line(path) for path in range(len(conversation.paths))]
        # The requests of one client over HTTP go by several connections, and would arrive in any order.
        self._at_once = 1 if self._lines[0].hub.startswith("http") else AT_ONCE_MAX
        self._changed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sending = asyncio.Lock()
        self._refusals = 0
        self._is_closed = False
        readers = (self._read(path) for path in range(len(self._lines)))
        self._tasks = [asyncio.create_task(one) for one in (self._send_what_is_left(), *readers)]

    async def __aenter__(self) -> AsyncGroup:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _wake(self) -> None:
        """Something has changed: whoever waits looks again."""
        if not self._changed.done():
            self._changed.set_result(None)
        self._changed = asyncio.get_running_loop().create_future()

    async def _wait(self, is_met: Callable[[], bool], timeout_s: float | None) -> bool:
        """Wait until something is so; whether it is."""
        deadline_ms = None if timeout_s is None else monotonic_ms() + timeout_s * 1_000
        while not is_met():
            left_s = None if deadline_ms is None else (deadline_ms - monotonic_ms()) / 1_000
            if left_s is not None and left_s <= 0:
                return False
            await asyncio.wait([self._changed], timeout=left_s)
        return True

    # Sending.

    async def send(
        self,
        body: Body,
        *,
        content_type: str | None = None,
        headers: Mapping[str, str] | None = None,
        answers: GroupEvent | Stamp | None = None,
        wait: bool = True,
    ) -> Stamp:
        """Say something to all; returns when it is on the hub's disk, or at once if not to `wait`.

        After an Unavailable (the hub is away, say) the message is not lost: it is sent when the hub is back, and
        `flush` waits for that.
        """
        words = as_words(body, content_type, headers, answers)
        self._conversation.require_open()
        self._require_room(await self._wait(self._may_go_on, self._lines[0].timeout_ms / 1_000))
        own = self._make(words, is_told=wait)
        if wait:
            try:
                await self._wait_until_done(own)
            finally:
                own.is_told = own.is_done
            if own.error is not None:
                raise own.error
        return own.stamp

    def say(
        self,
        body: Body,
        *,
        content_type: str | None = None,
        headers: Mapping[str, str] | None = None,
        answers: GroupEvent | Stamp | None = None,
    ) -> OwnMessage:
        """The same, without waiting: the message as it is made, which tells later what has become of it.

        It leaves when the event loop goes on: what is kept of `state()` before that has it.
        """
        words = as_words(body, content_type, headers, answers)
        self._conversation.require_open()
        return self._make(words, is_told=False)

    def _make(self, words: Words, *, is_told: bool) -> OwnMessage:
        own = self._conversation.make(words, wall_us())
        own.is_told = is_told
        self._wake()
        return own

    async def _wait_until_done(self, own: OwnMessage) -> None:
        """Send until it is stored, or refused for good; raises why neither happens."""
        deadline_ms = monotonic_ms() + self._lines[0].timeout_ms
        attempt = 0
        while not own.is_done:
            try:
                await self._send_due()
            except Unavailable:
                delay_ms = busy_delay_ms(attempt)
                attempt += 1
                if not own.is_done and (self._is_closed or monotonic_ms() + delay_ms > deadline_ms):
                    raise
                await self._wait(lambda: own.is_done or self._is_closed, delay_ms / 1_000)

    async def _send_due(self) -> None:
        """Send what is not under way, and wait for the answers; raises what puts them off."""
        async with self._sending:
            while due := self._conversation.sending.due(self._at_once):
                try:
                    await self._send_these(due)
                finally:
                    self._conversation.sending.put_off()
                    self._wake()

    async def _send_these(self, due: Sequence[OwnMessage]) -> None:
        # In this order: each task sends when it begins.
        asked = [asyncio.create_task(self._lines[0]._run(own.call)) for own in due]
        put_off: Unavailable | None = None
        try:
            for own, task in zip(due, asked, strict=True):
                try:
                    sent = await task
                except Unavailable as error:
                    # Those behind it are answered too, and must be before anything is sent again in their place.
                    put_off = error
                    if isinstance(error, HubUnreachable | HubStopping):
                        break
                except PregonError as error:
                    self._conversation.refused(own, error)
                else:
                    self._conversation.sending.stored(own, sent.seq)
                self._wake()
        finally:
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        if put_off is not None:
            raise put_off

    async def flush(self) -> None:
        """Wait until everything that was sent is on the hub's disk; raises why something was refused."""
        while unstored := self._conversation.sending.unstored:
            await self._wait_until_done(unstored[-1])
        self._conversation.sending.raise_untold()

    async def _send_what_is_left(self) -> None:
        """The task: sends what nobody waits for, and tells the hub what was shown."""
        sending = self._conversation.sending
        while not self._is_closed:
            try:
                await self._send_due()
                await self._report()
                self._refusals = 0
            except Unavailable:
                self._refusals += 1
            except PregonError as error:
                self._end(error)
                return
            pause_s = (busy_delay_ms(self._refusals) if self._refusals else REPORT_EVERY_MS) / 1_000
            await self._wait(lambda: self._is_closed or (not self._refusals and sending.has_unwaited), pause_s)

    async def _report(self, *, is_last: bool = False) -> None:
        found = self._conversation.next_report(monotonic_ms(), is_last=is_last)
        if found is None:
            return
        rows, call = found
        try:
            count = await self._lines[0]._run(call)
        except Unavailable:
            self._conversation.reports.failed(rows)
            raise
        if not count:
            self._conversation.reports.turn_off()

    # Reading.

    async def _read(self, path: int) -> None:
        """The task: keeps a question open at one hub, while there is room for the answer."""
        conversation, attempt = self._conversation, 0
        while not self._is_closed:
            call = conversation.next_call(path)
            if call is None:
                if conversation.failure is not None:
                    return
                await asyncio.wait([self._changed])
                continue
            try:
                answer = await self._lines[path]._run(call)
            except Unavailable:
                attempt += 1
                conversation.intake.failed(path)
                await self._wait(lambda: self._is_closed, busy_delay_ms(attempt) / 1_000)
            except PregonError as error:
                self._end(error)
                return
            else:
                attempt = 0
                conversation.took(path, answer, wall_us())
                self._wake()

    def _end(self, error: PregonError) -> None:
        self._conversation.fail(error)
        self._wake()

    async def poll(self, timeout_s: float | None = 0.0) -> Event | None:
        """The next event; None if none comes in time, or the group was closed. Without a limit if that is None."""
        deadline_ms = None if timeout_s is None else monotonic_ms() + timeout_s * 1_000
        conversation = self._conversation
        while True:
            was_full = not conversation.intake.has_room
            event = conversation.next_event(wall_us())
            if event is not None:
                if was_full:
                    self._wake()
                return event
            if self._is_closed:
                return None
            if conversation.failure is not None:
                raise conversation.failure
            left_s = None if deadline_ms is None else (deadline_ms - monotonic_ms()) / 1_000
            if left_s is not None and left_s <= 0:
                return None
            await asyncio.wait([self._changed], timeout=left_s)

    async def __aiter__(self) -> AsyncIterator[Event]:
        while (event := await self.poll(None)) is not None:
            yield event

    # Membership.

    async def presence(self) -> tuple[GroupMember, ...]:
        """Ask the hub who of the members is here now."""
        found = await self._lines[0]._run(calls.list_members(self.group, self.token))
        self._conversation.view.see(found)
        return self.members

    async def rename(self, name: str) -> None:
        """Take part under another name, in all groups; the others are shown that."""
        await self._lines[0]._run(calls.rename(self.token, name))

    async def leave(self) -> None:
        """Be a member no more: the others are told, after all that was sent. And close."""

        async def ask(question: Question) -> Any:
            return await self._lines[question.path]._run(question.call)

        await self.flush()
        await drive_async(leaving(self._conversation, wall_us()), ask)
        await self.flush()
        await self.close()

    async def close(self) -> None:
        """Give the connections back. It stays a member, and what was not sent yet is in `state()`."""
        if self._is_closed:
            return
        self._is_closed = True
        if not (self._refusals or self.unsent or self._conversation.failure is not None):
            try:
                async with asyncio.timeout(LAST_REPORT_MS / 1_000):
                    await self._report(is_last=True)
            except (PregonError, TimeoutError):
                pass  # Reports are for pictures: nobody waits for them.
        self._conversation.close()
        self._wake()
        for line in self._lines:
            await line.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
