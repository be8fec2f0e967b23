"""A member of a group for programs with threads: the blocking loops around `conversation`.

A group has connections of its own: one to each hub that it reads, on which a thread keeps a question open, and one to
send. Any number of threads may use a group. Who sends and waits carries out the sending itself, and that of others who
sent before it; what nobody waits for is sent by a thread, which also tells the hub what was shown.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from pregon.causal.stamps import Stamp
from pregon.client.calls import busy_delay_ms
from pregon.client.groups import calls
from pregon.client.groups.conversation import Conversation
from pregon.client.groups.events import Event, GroupEvent, GroupMember
from pregon.client.groups.face import MemberFace
from pregon.client.groups.joining import Question, drive, leaving
from pregon.client.groups.lines import Line, OpenLine
from pregon.client.groups.reports import LAST_REPORT_MS, REPORT_EVERY_MS
from pregon.client.groups.sending import AT_ONCE_MAX, Body, OwnMessage, Words, as_words
from pregon.clock import monotonic_ms, wall_us
from pregon.errors import HubStopping, HubUnreachable, PregonError, Unavailable

_THREAD_END_S = 15.0


class Group(MemberFace):
    """A member of a group. Iterate over it; use it with `with`, or `close` it: it stays a member."""

    def __init__(self, conversation: Conversation, open_line: OpenLine) -> None:
        super().__init__(conversation)
        self._open_line = open_line
        self._sender = open_line(0)
        self._readers: Sequence[Line] = [open_line(path) for path in range(len(conversation.paths))]
        # The requests of one client over HTTP go by several connections, and would arrive in any order.
        self._at_once = 1 if self._sender.hub.startswith("http") else AT_ONCE_MAX
        lock = conversation.lock
        self._news, self._room, self._work = (threading.Condition(lock) for _ in range(3))
        """Something to show; room to read more; something to send, or that was sent."""
        self._sending = threading.Lock()
        self._is_nudged = False
        self._refusals = 0
        self._is_closing = self._is_closed = False
        targets: list[Callable[[], None]] = [self._send_what_is_left]
        targets += [partial(self._read, path) for path in range(len(self._readers))]
        self._threads = [threading.Thread(target=one, name="pregon-group", daemon=True) for one in targets]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Group:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Sending.

    def send(
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
        with self._work:
            self._conversation.require_open()
            self._wait_for_room()
            own = self._make(words, is_told=wait)
        if wait:
            self._wait_until_done(own)
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
        """The same, never waiting: the message as it is made, which tells later what has become of it."""
        with self._work:
            self._conversation.require_open()
            return self._make(as_words(body, content_type, headers, answers), is_told=False)

    def _make(self, words: Words, *, is_told: bool) -> OwnMessage:
        own = self._conversation.make(words, wall_us())
        own.is_told = is_told
        if not is_told:
            self._nudge()
        return own

    def _nudge(self) -> None:
        """Have the thread send what nobody waits for."""
        self._is_nudged = True
        self._work.notify_all()

    def _wait_for_room(self) -> None:
        self._require_room(self._work.wait_for(self._may_go_on, self._sender.timeout_ms / 1_000))

    def _wait_until_done(self, own: OwnMessage) -> None:
        """Send until it is stored, or refused for good; raises why neither happens."""
        deadline_ms = monotonic_ms() + self._sender.timeout_ms
        attempt = 0
        while not own.is_done:
            try:
                self._send_due()
            except Unavailable:
                delay_ms = busy_delay_ms(attempt)
                attempt += 1
                with self._work:
                    if not own.is_done and (self._is_closed or monotonic_ms() + delay_ms > deadline_ms):
                        own.is_told = False
                        self._nudge()
                        raise
                    self._work.wait_for(lambda: own.is_done or self._is_closed, delay_ms / 1_000)

    def _send_due(self) -> None:
        """Send what is not under way, and wait for the answers; raises what puts them off."""
        with self._sending:
            while True:
                with self._work:
                    due = self._conversation.sending.due(self._at_once)
                if not due:
                    return
                self._send_these(due)

    def _send_these(self, due: Sequence[OwnMessage]) -> None:
        put_off: Unavailable | None = None
        asked: deque[Any] = deque()
        try:
            asked.extend(self._sender._begin(own.call) for own in due)
            for own in due:
                try:
                    sent = self._sender._finish(asked.popleft())
                except Unavailable as error:
                    # Those behind it are answered too, and must be before anything is sent again in their place.
                    put_off = error
                    if isinstance(error, HubUnreachable | HubStopping):
                        break
                except PregonError as error:
                    self._settle(own, error)
                else:
                    self._settle(own, sent.seq)
        finally:
            # However it ended, Ctrl-C too, what has no answer goes again.
            for question in asked:
                self._sender._forget(question)
            with self._work:
                self._conversation.sending.put_off()
                self._work.notify_all()
        if put_off is not None:
            raise put_off

    def _settle(self, own: OwnMessage, found: int | PregonError) -> None:
        with self._work:
            if isinstance(found, PregonError):
                self._conversation.refused(own, found)
            else:
                self._conversation.sending.stored(own, found)
            self._work.notify_all()
            if self._conversation.failure is not None:
                self._wake()

    def flush(self) -> None:
        """Wait until everything that was sent is on the hub's disk; raises why something was refused."""
        while True:
            with self._work:
                unstored = self._conversation.sending.unstored
                if not unstored:
                    self._conversation.sending.raise_untold()
                    return
            self._wait_until_done(unstored[-1])

    def _send_what_is_left(self) -> None:
        """The thread: sends what nobody waits for, and tells the hub what was shown."""
        while not self._is_closed:
            try:
                self._send_due()
                self._report()
                self._refusals = 0
            except Unavailable:
                self._refusals += 1
            except PregonError as error:
                self._end(error)
                return
            pause_s = (busy_delay_ms(self._refusals) if self._refusals else REPORT_EVERY_MS) / 1_000
            with self._work:
                self._work.wait_for(lambda: self._is_closed or (self._is_nudged and not self._refusals), pause_s)
                self._is_nudged = False

    def _report(self, *, is_last: bool = False) -> None:
        with self._work:
            found = self._conversation.next_report(monotonic_ms(), is_last=is_last)
        if found is None:
            return
        rows, call = found
        try:
            count = self._sender._run(call)
        except Unavailable:
            with self._work:
                self._conversation.reports.failed(rows)
            raise
        if not count:
            with self._work:
                self._conversation.reports.turn_off()

    def _report_last(self) -> None:
        """Reports are for pictures: the last one is tried once, if the hub seems to be there, and not for long."""
        if self._refusals or self.unsent or self._conversation.failure is not None:
            return
        self._sender.timeout_ms = min(self._sender.timeout_ms, LAST_REPORT_MS)
        try:
            self._report(is_last=True)
        except PregonError:
            pass  # Nobody waits for it.

    # Reading.

    def _read(self, path: int) -> None:
        """The thread: keeps a question open at one hub, while there is room for the answer."""
        conversation, attempt = self._conversation, 0
        while not self._is_closed:
            with self._room:
                call = conversation.next_call(path)
                if call is None:
                    if conversation.failure is not None:
                        return
                    self._room.wait()
                    continue
            try:
                answer = self._readers[path]._run(call)
            except Unavailable:
                attempt += 1
                with self._room:
                    conversation.intake.failed(path)
                    self._room.wait_for(lambda: self._is_closed, busy_delay_ms(attempt) / 1_000)
            except PregonError as error:
                self._end(error)
                return
            else:
                attempt = 0
                with self._news:
                    conversation.took(path, answer, wall_us())
                    self._news.notify_all()
                    # What this path brought may have set free what another one holds back.
                    self._room.notify_all()

    def _end(self, error: PregonError) -> None:
        with self._news:
            self._conversation.fail(error)
            self._wake()

    def _wake(self) -> None:
        for one in (self._news, self._room, self._work):
            one.notify_all()

    def poll(self, timeout_s: float | None = 0.0) -> Event | None:
        """The next event; None if none comes in time, or the group was closed. Without a limit if that is None."""
        deadline_ms = None if timeout_s is None else monotonic_ms() + timeout_s * 1_000
        conversation = self._conversation
        with self._news:
            while True:
                was_full = not conversation.intake.has_room
                event = conversation.next_event(wall_us())
                if event is not None:
                    if was_full:
                        self._room.notify_all()
                    return event
                if self._is_closed:
                    return None
                if conversation.failure is not None:
                    raise conversation.failure
                left_s = None if deadline_ms is None else (deadline_ms - monotonic_ms()) / 1_000
                if left_s is not None and left_s <= 0:
                    return None
                self._news.wait(left_s)

    def __iter__(self) -> Iterator[Event]:
        while (event := self.poll(None)) is not None:
            yield event

    # Membership.

    def presence(self) -> tuple[GroupMember, ...]:
        """Ask the hub who of the members is here now."""
        found = self._sender._run(calls.list_members(self.group, self.token))
        with self._conversation.lock:
            self._conversation.view.see(found)
            return self._conversation.view.members

    def rename(self, name: str) -> None:
        """Take part under another name, in all groups; the others are shown that."""
        self._sender._run(calls.rename(self.token, name))

    def leave(self) -> None:
        """Be a member no more: the others are told, after all that was sent. And close."""
        self.flush()
        drive(leaving(self._conversation, wall_us()), self._ask)
        self.flush()
        self.close()

    def _ask(self, question: Question) -> Any:
        if question.path == 0:
            return self._sender._run(question.call)
        # The connection on which that hub is read has a question open.
        line = self._open_line(question.path)
        try:
            return line._run(question.call)
        finally:
            line.close()

    def close(self) -> None:
        """Give the connections back. It stays a member, and what was not sent yet is in `state()`."""
        with self._news:
            if self._is_closing:
                return
            self._is_closing = True
        self._report_last()
        with self._news:
            self._is_closed = True
            self._conversation.close()
            self._wake()
        for line in (self._sender, *self._readers):
            line.close()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(_THREAD_END_S)
