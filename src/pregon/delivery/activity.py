"""What flows through the hub: how fast now, and what flowed in the last hour and the last day, also after a restart.

It follows every transaction and only counts there. A thread looks at the counts every five seconds: it keeps them for
five minutes, adds them up by the minute, and writes each minute when it is over.

    transactions ── Tally ──5 s──> samples of 5 minutes ──> now()
                                       └── the minute ──60 s──> table `activity`, minutes of a day ──> series()

Promises:
- `committed` never waits but for the moment in which counts are taken away.
- Nothing of a minute is lost by a stop and a start within it. A crash loses what was counted since the minute began.
- What waits is read at most every `_BACKLOGS_MS` when somebody asks, and once a minute; by one at a time.
- A minute that cannot be written is written with the next one, unless an hour of them waits.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Sequence
from typing import Literal

from pregon.clock import monotonic_ms
from pregon.delivery.figures import Figures
from pregon.delivery.tally import Tally, Waits
from pregon.errors import PregonError
from pregon.hub.hub import Hub
from pregon.model.activity import MINUTE_US, Minute, Now, Point, add_counts, make_series, merge, minute_of, rates
from pregon.store.activity import forget_minutes, read_minutes, write_minute
from pregon.store.backlogs import Backlog, read_backlogs
from pregon.store.ticket import Ticket
from pregon.store.transaction import Transaction

log = logging.getLogger("pregon.delivery")

Span = Literal["hour", "day"]
SPANS: dict[Span, tuple[int, int]] = {"hour": (1, 60), "day": (10, 144)}
"""Minutes of each point, and how many points."""
TOPICS_SHOWN_MAX = 20
"""Topics whose rates are told."""

_SAMPLE_US = 5_000_000
_SAMPLES_MAX = 60
"""Of five minutes."""
_RATE_SAMPLES = 3
"""Whole samples by which rates are told, besides the one that has begun."""
_DAY_US = 24 * 60 * MINUTE_US
_KEPT_US = 8 * _DAY_US
_UNWRITTEN_MAX = 60
_BACKLOGS_MS = 2_000.0
_LAST_WRITE_S = 1.0


class _WriteMinutes:
    """Write minutes, and forget those that are too old."""

    is_durable = False

    def __init__(self, minutes: Sequence[Minute], before_us: int) -> None:
        self._minutes = minutes
        self._before_us = before_us
        self.size_bytes = 500 * len(minutes)
        self.ticket: Ticket[None] = Ticket()

    def apply(self, transaction: Transaction) -> None:
        for minute in self._minutes:
            write_minute(transaction.connection, minute)
        forget_minutes(transaction.connection, self._before_us)
        transaction.results.append((self.ticket, None))


class Activity:
    """Counts, remembers, and says."""

    def __init__(self, hub: Hub, figures: Figures) -> None:
        self._hub = hub
        self._waits = Waits(figures)
        self._counting = threading.Lock()
        """Held by who writes while it counts, and for a moment by who takes the counts away."""
        self._tally = Tally()
        self._lock = threading.Lock()
        """For all that follows, which only this thread changes."""
        self._samples: deque[tuple[float, Minute]] = deque(maxlen=_SAMPLES_MAX)
        """Each with how long it took, in milliseconds."""
        self._sampled_ms = monotonic_ms()
        self._minute = Minute(minute_us=minute_of(hub.clock.now_us()))
        self._minutes: dict[int, Minute] = {}
        """Those of the last day that are over, without their topics, by when they began."""
        self._unwritten: deque[Minute] = deque(maxlen=_UNWRITTEN_MAX)
        self._looking = threading.Lock()
        self._backlogs: Sequence[Backlog] = ()
        self._looked_ms: float | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pregon-activity", daemon=True)

    def start(self) -> None:
        """Remember the last day, and begin to count; the hub must be running."""
        self.remember()
        self._hub.follow(self)
        self._thread.start()

    def stop(self) -> None:
        """Write what the minute has come to so far; before the hub is stopped."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self.tick()
        if self._looked_ms is not None:
            self._minute.look(*_together(self._backlogs))
        self._unwritten.append(self._minute)
        self._write(_LAST_WRITE_S)

    def remember(self) -> None:
        """Read the last day back, with what was counted before in the minute that goes on."""
        now_us = self._hub.clock.now_us()
        try:
            known = self._hub.read(lambda connection: list(read_minutes(connection, now_us - _DAY_US))).result()
        except PregonError as error:
            log.warning("activity not remembered", extra={"code": error.code, "reason": str(error)})
            return
        with self._lock:
            self._minute = Minute(minute_us=minute_of(now_us))
            for minute in known:
                if minute.minute_us < self._minute.minute_us:
                    self._keep(minute)
                else:
                    self._minute = minute

    def committed(self, transaction: Transaction) -> None:
        """Called in the committer's thread after each transaction."""
        with self._counting:
            self._tally.take(transaction)

    # What is asked.

    def now(self) -> Now:
        """How fast messages move, by the last 15 to 20 seconds; how long pushes took, by the last five minutes."""
        at_us = self._hub.clock.now_us()
        with self._lock:
            samples = list(self._samples)
            span_ms = monotonic_ms() - self._sampled_ms
            begun = self._peek()
        latest = samples[-_RATE_SAMPLES:]
        flow = merge([*(sample for _, sample in latest), begun], at_us)
        span_ms += sum(one_ms for one_ms, _ in latest)
        waited: list[int] = []
        for _, sample in samples:
            waited = add_counts(waited, sample.waited)
        return rates(flow, waited, span_ms, at_us, TOPICS_SHOWN_MAX)

    def series(self, span: Span) -> list[Point]:
        """What flowed in the last hour by the minute, or in the last day by ten minutes; the last point goes on."""
        with self._lock:
            minutes = dict(self._minutes)
            running = merge((self._minute, self._peek()), self._minute.minute_us)
            # Of what has just begun nobody has looked yet what waits.
            running.look(self._minute.backlog_pending, self._minute.backlog_parked, self._minute.failing)
        if self._looked_ms is not None:
            running.look(*_together(self._backlogs))
        minutes[running.minute_us] = running
        now_us = max(self._hub.clock.now_us(), running.minute_us)
        return make_series(minutes, now_us, *SPANS[span])

    def backlogs(self) -> Sequence[Backlog]:
        """What waits for each subscription, as it was a moment ago; raises Unavailable if that was never known.

        Whoever asks while somebody else looks gets what was known before.
        """
        is_known = self._looked_ms is not None
        if self._is_fresh() or not self._looking.acquire(blocking=not is_known):
            return self._backlogs
        try:
            if not self._is_fresh():
                self._backlogs = self._hub.read(read_backlogs).result()
                self._looked_ms = monotonic_ms()
        except PregonError as error:
            if self._looked_ms is None:
                raise
            log.warning("backlogs not read", extra={"code": error.code, "reason": str(error)})
        finally:
            self._looking.release()
        return self._backlogs

    @property
    def backlogs_age_ms(self) -> float | None:
        """How long ago it was so; None if nobody has looked yet."""
        looked_ms = self._looked_ms
        return None if looked_ms is None else monotonic_ms() - looked_ms

    def _is_fresh(self) -> bool:
        age_ms = self.backlogs_age_ms
        return age_ms is not None and age_ms < _BACKLOGS_MS

    def _peek(self) -> Minute:
        """What was counted since the last sample."""
        with self._counting:
            return self._tally.sum_up(0)

    # What the thread does.

    def _run(self) -> None:
        self._look()
        while not self._stopping.wait(self._until_next_s()):
            try:
                self.tick()
            except PregonError as error:
                log.warning("activity put off", extra={"code": error.code, "reason": str(error)})
            except Exception:  # The top of the thread's loop: what is counted next must not be lost with it.
                log.exception("activity failed by a bug")

    def _until_next_s(self) -> float:
        """Until the next whole five seconds of the clock, and a moment: so a minute has its own samples."""
        return (_SAMPLE_US - self._hub.clock.now_us() % _SAMPLE_US) / 1_000_000 + 0.001

    def tick(self) -> None:
        """Take a sample; if a minute is over, have it written."""
        now_us, now_ms = self._hub.clock.now_us(), monotonic_ms()
        # A sample belongs to the minute in which most of it was.
        minute_us = max(self._minute.minute_us, minute_of(now_us - _SAMPLE_US // 2))
        is_over = minute_us > self._minute.minute_us
        if is_over:
            self._look()
        with self._counting:
            tally, self._tally = self._tally, Tally()
        sample = tally.sum_up(now_us)
        sample.waited = self._waits.take()
        with self._lock:
            if is_over:
                self._close(minute_us)
            self._minute.add(sample)
            self._samples.append((now_ms - self._sampled_ms, sample))
            self._sampled_ms = now_ms
        if is_over:
            self._write()

    def _look(self) -> None:
        """See what waits at the end of the minute."""
        try:
            waiting = _together(self.backlogs())
        except PregonError:
            return  # The hub is too busy to say: the minute does without.
        self._minute.look(*waiting)

    def _close(self, next_us: int) -> None:
        """The minute is over, and another has begun."""
        ended, self._minute = self._minute, Minute(minute_us=next_us)
        if ended.is_empty:
            return
        self._unwritten.append(ended)
        self._keep(ended)

    def _keep(self, ended: Minute) -> None:
        """Remember a minute for a day, without its topics: those are on disk."""
        kept = merge((ended,), ended.minute_us)
        kept.topics = {}
        self._minutes[kept.minute_us] = kept
        for minute_us in [one for one in self._minutes if one < kept.minute_us - _DAY_US]:
            del self._minutes[minute_us]

    def _write(self, timeout_s: float = 30.0) -> None:
        """Write the minutes that are over."""
        minutes = [one for one in self._unwritten if not one.is_empty]
        if minutes:
            operation = _WriteMinutes(minutes, minutes[-1].minute_us - _KEPT_US)
            try:
                self._hub.committer.submit(operation)
                operation.ticket.result(timeout_s)
            except PregonError as error:
                log.warning("activity not written yet", extra={"code": error.code, "reason": str(error)})
                return
        self._unwritten.clear()


def _together(backlogs: Sequence[Backlog]) -> tuple[int, int, int]:
    """What is pending and parked for all subscriptions, and how many of them fail."""
    return (
        sum(one.pending for one in backlogs),
        sum(one.parked for one in backlogs),
        sum(one.is_failing for one in backlogs),
    )
