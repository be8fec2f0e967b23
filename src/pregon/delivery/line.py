"""The line of one subscription: its messages, pushed in order, tried again when they fail.

    read what is pending -> wait for the turn -> push -> delivered: write it down, next
                                                      -> refused: wait, again; poison: park it, next, or block
                                                      -> unreachable: the endpoint waits (see `endpoint`), again

Pull and push share the cursor, so whatever happens to the subscription meanwhile (an acknowledgement by pull, a replay,
a message parked) is told by `touch`, and the line reads anew where it stands.

Promises:
- In order: a message is pushed when the one before it was delivered, parked or settled by somebody else; with
  `parallel`, when the one before it with the same key was.
- While something fails there is one push at a time, and no message is held in memory for it.
- An answer that says delivered is written down, also when the line is closed meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import OrderedDict
from collections.abc import Sequence

from pregon import limits
from pregon.clock import monotonic_ms, wall_us
from pregon.delivery.attempt import Target
from pregon.delivery.desk import PushDesk, Tries
from pregon.delivery.failure_notes import FailureNotes
from pregon.delivery.outcome import DELIVERED, GONE, REFUSED, Outcome
from pregon.delivery.party import Party
from pregon.delivery.reading import Chunk, Reached, find_next
from pregon.delivery.retry import delay_ms, describe_delay
from pregon.delivery.settling import Settling
from pregon.errors import PregonError
from pregon.hub.deliver import Delivery, PushedFrom
from pregon.model.batch import StoredBatch
from pregon.model.catalog import PARK
from pregon.model.message import Message

log = logging.getLogger("pregon.delivery")
_READ_AGAIN_S = 1.0


class Line:
    """One subscription."""

    def __init__(
        self, desk: PushDesk, party: Party, topic: str, subscription_id: int, remembered: Tries | None = None
    ) -> None:
        self.topic = topic
        self.subscription_id = subscription_id
        self.party = party
        self.is_closing = False
        self._desk = desk
        self._names = (topic, party.pushed.name)
        self._remembered = remembered
        """What was failing when the hub stopped: the first message that is read."""
        self._tries: OrderedDict[int, Tries] = OrderedDict()
        self._after: tuple[PushedFrom, int] | None = None
        self._reached: Reached | None = None
        """Where it stands, while it is at the end of its topic."""
        self._fresh: Sequence[StoredBatch] = ()
        """What was published right after that, and need not be read."""
        self._is_dirty = False
        self._is_touched = False
        self._bell = asyncio.Event()
        self._settling = Settling(desk.hub, desk.bridge, self._names)
        self._failing = FailureNotes(desk, self._settling)
        self.task: asyncio.Task[None] | None = None

    # What it is told.

    def wake(self, fresh: Sequence[StoredBatch] = ()) -> None:
        """Something may be pending; `fresh` is what was just published, if it is all that was."""
        self._is_dirty = True
        if self.task is None and not self.is_closing:
            self._fresh = fresh
            self.task = asyncio.get_running_loop().create_task(self._run())

    def touch(self) -> None:
        """Somebody else moved the cursor, or changed what is pending."""
        self._is_touched = True
        self.ring()
        self.wake()

    def ring(self) -> None:
        """Look again whether it is the turn."""
        self._bell.set()

    def close(self) -> None:
        """Push no more; what is on its way is still written down."""
        self.is_closing = True
        self.ring()

    def begin_anew(self) -> None:
        """The subscriber's entry changed, or the subscription is resumed: try at once."""
        self._tries.clear()
        self._remembered = None
        self.is_closing = False
        self.touch()

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is on its way, to the subscriber or to the store: another line may take its place."""
        return self.task is None and not self._settling.unsettled

    async def settle(self) -> None:
        """Have everything that was delivered written."""
        await self._settling.settled()

    # What it does.

    async def _run(self) -> None:
        try:
            while not self.is_closing:
                self._is_dirty = False
                try:
                    has_more = await self._push_some()
                except PregonError as error:
                    log.warning("push put off", extra={"topic": self.topic, "reason": str(error)})
                    has_more = not self.is_closing and not await self._wait(_READ_AGAIN_S * 1_000)
                    self._is_dirty = True
                if not has_more and not self._is_dirty:
                    break
        except Exception:  # The top of the task: the other lines must go on, and this one when something comes.
            log.exception("a push failed by a bug", extra={"topic": self.topic, "subscriber": self._names[1]})
        finally:
            self.task = None
            self.party.waiting.discard(self)
        if self._is_dirty and not self.is_closing:
            self.wake()

    async def _push_some(self) -> bool:
        """Read what is pending and push it, or wait for its turn; whether there may be more."""
        if self._is_touched or self._settling.unsettled >= limits.PUSH_UNSETTLED_MAX:
            await self._settling.settled()
            self._is_touched, self._after, self._reached = False, None, None
        is_careful = self._is_careful
        chunk = None if is_careful else self._take_fresh()
        if chunk is None:
            chunk = await self._read(1 if is_careful else limits.PUSH_READ_MESSAGES_MAX)
        if chunk is None or not chunk.messages:
            self._reached = None if chunk is None else chunk.reached
            return False
        wait_ms = self._wait_ms(chunk)
        if wait_ms > 0:
            # Without the message: who waits long must not hold anything.
            del chunk
            await self._wait(wait_ms)
            return True
        if self.party.options.parallel > 1 and not is_careful and not chunk.is_returned:
            await self._push_in_parallel(chunk)
            return True
        try:
            for message in chunk.messages:
                if self.is_closing or self._is_touched or not await self._push(chunk, message):
                    break
                if not chunk.is_returned:
                    self._after = (chunk.of, message.seq)
            else:
                # At the end of the topic: whatever comes is told.
                self._reached = chunk.reached
                return chunk.reached is None
        finally:
            # What was unparked is settled one by one: what comes next is read when that is written.
            self._is_touched |= chunk.is_returned
        return True

    def _take_fresh(self) -> Chunk | None:
        """What was just published, if this stands right before it; else it is to be read."""
        fresh, reached, self._fresh, self._reached = self._fresh, self._reached, (), None
        return self._desk.recent.follow(reached, fresh) if fresh and reached else None

    @property
    def _is_careful(self) -> bool:
        return bool(self._tries) or self._remembered is not None or self.party.endpoint.is_failing

    async def _read(self, messages_max: int) -> Chunk | None:
        names, after = self._names, self._after
        ticket = self._desk.hub.read(
            lambda connection: find_next(connection, *names, after, messages_max), is_small=True
        )
        found = await self._desk.bridge.answer(ticket)
        return None if found is None else self._desk.recent.unpack(found)

    def _wait_ms(self, chunk: Chunk) -> float:
        """How long the first message has to wait; what was tried and is pending no more is forgotten."""
        seq = chunk.messages[0].seq
        if self._remembered is not None:
            self._tries[seq], self._remembered = self._remembered, None
        if not chunk.is_returned:
            for tried in [one for one in self._tries if one < seq]:
                del self._tries[tried]
        now_ms = monotonic_ms()
        tries = self._tries.get(seq)
        own_ms = 0.0 if tries is None else tries.next_try_ms - now_ms
        return max(own_ms, self.party.endpoint.wait_ms(now_ms))

    async def _wait(self, ms: float) -> bool:
        """Wait, or until the bell rings; whether it did."""
        self._bell.clear()
        self.party.waiting.add(self)
        try:
            async with asyncio.timeout(ms / 1_000):
                await self._bell.wait()
        except TimeoutError:
            return False
        finally:
            self.party.waiting.discard(self)
        return True

    async def _push_in_parallel(self, chunk: Chunk) -> None:
        """Push a chunk, messages of the same key one after the other; the first failure stops it."""
        waiting = OrderedDict((message.seq, message) for message in chunk.messages)
        busy: dict[asyncio.Task[bool], str] = {}
        is_well, failure = True, None
        while busy or (waiting and is_well):
            if is_well and not self.is_closing and not self._is_touched:
                passed: set[str] = set(busy.values())
                for seq, message in list(waiting.items()):
                    if len(busy) >= self.party.options.parallel:
                        break
                    key = message.key or ""
                    if key not in passed:
                        del waiting[seq]
                        busy[asyncio.get_running_loop().create_task(self._push(chunk, message))] = key
                    passed.add(key)
            if not busy:
                break
            done, _ = await asyncio.wait(busy, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                del busy[task]
                failure = failure or task.exception()
                is_well = is_well and failure is None and task.result()
        if is_well and not waiting:
            self._after = (chunk.of, chunk.messages[-1].seq)
        else:
            # What got through ahead of what did not must be written before the next look.
            self._is_touched = True
        if failure is not None:
            raise failure

    async def _push(self, chunk: Chunk, message: Message) -> bool:
        """Push one message; whether it is settled."""
        tries = self._tries.get(message.seq)
        attempt = 1 if tries is None else tries.attempts + 1
        party, target, generation = self.party, self.party.target, self.party.generation
        outcome, wait_ms = await self._attempt(target, chunk, message, attempt)
        if outcome is None:
            return False
        desk, now_us = self._desk, wall_us()
        waited_ms = max(0, now_us - message.accepted_us) / 1_000
        desk.figures.pushed(*self._names, outcome.kind, outcome.latency_ms, waited_ms)
        if outcome.kind == DELIVERED:
            self._tries.pop(message.seq, None)
            self._settling.note(chunk.of, Delivery(message.seq, attempt, outcome.latency_ms))
            desk.notifier.push_delivered(*self._names, now_us)
            return True
        if outcome.kind == GONE:
            tries = self._tries.pop(message.seq, Tries())
            tries.attempts += 1
            # Until the catalogue says otherwise.
            self.is_closing |= await self._failing.disable(target, chunk.of, message.seq, outcome, tries)
            return False
        if (self.party, party.generation, self.subscription_id) != (party, generation, chunk.of.subscription_id):
            # It went to what the catalogue said before: that is no reason to wait now.
            await self._failing.write(chunk.of, message.seq, outcome, Tries(attempt), "next try at once")
            return False
        return await self._have_failed(chunk, message, outcome, wait_ms)

    async def _attempt(
        self, target: Target, chunk: Chunk, message: Message, attempt: int
    ) -> tuple[Outcome | None, int]:
        """Send it once, if it is still its turn; how that went, and how long the endpoint is to be left alone."""
        desk, party, generation = self._desk, self.party, self.party.generation
        if party.endpoint.wait_ms(monotonic_ms()) > 0:
            return None, 0
        slots = desk.probes if party.endpoint.is_failing else desk.slots
        party.endpoint.begin()
        outcome = None
        try:
            if not await self._take_turn():
                return None, 0
            async with slots:
                desk.figures.in_flight += 1
                span = desk.telemetry and desk.telemetry.begin_push(self._names[1], message, attempt)
                try:
                    outcome = await desk.poster.attempt(
                        target,
                        message,
                        attempt=attempt,
                        matched=chunk.reason_for(message.seq),
                        traceparent=span.traceparent if span else "",
                    )
                finally:
                    desk.figures.in_flight -= 1
                    if span:
                        span.end(outcome)
        finally:
            wait_ms = party.end_push(outcome, generation)
        return outcome, wait_ms

    async def _take_turn(self) -> bool:
        """Wait for the turn that the subscriber's pace gives; whether it is still to be used."""
        pace = self.party.pace
        turn_ms = pace.take_turn(monotonic_ms())
        if turn_ms <= 0 or not (await self._wait(turn_ms) or self.is_closing or self._is_touched):
            return True
        pace.give_back()
        return False

    async def _have_failed(self, chunk: Chunk, message: Message, outcome: Outcome, wait_ms: int) -> bool:
        """Decide when to try again, or to park it; whether it is settled."""
        options, now_ms = self.party.options, monotonic_ms()
        tries = self._tries.setdefault(message.seq, Tries())
        tries.attempts += 1
        if outcome.kind == REFUSED:
            tries.refusals += 1
            if options.on_poison == PARK and tries.refusals >= options.attempts_max:
                return await self._park(chunk, message, tries, outcome)
            wait_ms = delay_ms(options, tries.refusals, random.random(), outcome.retry_after_ms)
            tries.next_try_ms = now_ms + wait_ms
        next_try = f"next try in {describe_delay(wait_ms)}"
        await self._failing.write(chunk.of, message.seq, outcome, tries, next_try, wait_ms)
        return False

    async def _park(self, chunk: Chunk, message: Message, tries: Tries, outcome: Outcome) -> bool:
        """Set a message aside that the subscriber does not want, so that the ones after it go on."""
        is_parked = await self._failing.park(chunk.of, message.seq, outcome, tries)
        if is_parked is None:
            tries.next_try_ms = monotonic_ms() + self.party.options.delay_ms_max
            return False
        self._tries.pop(message.seq, None)
        self._is_touched |= not is_parked
        return is_parked
