"""When somebody is told that something is wrong with a subscription, and when that it is well again.

A pure state machine: events and the time come in, notices come out. `notices` brings it the events, and sends what
it says; which words a notice has is in `notice_texts`.

Promises:
- A subscription that fails for less than the grace is never told of; one that was told of is told of once more, when
  it recovers.
- At most `NOTICES_AN_HOUR_MAX` notices an hour about one subscription. What comes beyond them is counted, and when
  the hour is over the newest of it is told, with how many more there were: the last that people hear is how it is.
- Whatever happens, at most `SUBSCRIPTIONS_WATCHED_MAX` subscriptions are remembered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pregon.model.catalog import PUSH
from pregon.store.backlogs import Backlog

FAILING = "failing"
"""Pushes to a subscription have failed for longer than the grace."""
RECOVERED = "recovered"
"""They succeed again."""
DISABLED = "disabled"
"""The subscriber answered that it is gone: nothing is pushed to it any more."""
BACKLOG = "backlog"
"""More messages are pending than the limit."""
PARKED = "parked"
"""A message was set aside because the subscriber refused it too often."""
KINDS = (FAILING, RECOVERED, DISABLED, BACKLOG, PARKED)

NOTICES_AN_HOUR_MAX = 6
"""Notices about one subscription in an hour."""
SUBSCRIPTIONS_WATCHED_MAX = 20_000
"""Subscriptions of which something is remembered at once; what is wrong with one more is not told."""
_HOUR_US = 3_600_000_000
_REASON_CHARACTERS_MAX = 500

Names = tuple[str, str]
"""A topic and a subscriber; the topic is empty for what concerns all of a subscriber's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One thing to tell."""

    kind: str
    at_us: int
    topic: str
    subscriber: str
    reason: str = ""
    since_us: int = 0
    """Of what fails or failed: since when."""
    pending: int = 0
    oldest_pending_us: int = 0
    seq: int = 0
    """Of a message that was parked: its number."""
    more: int = 0
    """Notices about the same subscription that were not told before this one."""


@dataclass(frozen=True, slots=True)
class AlarmOptions:
    """When to tell."""

    after_us: int = 60_000_000
    """How long pushes may fail before it is told."""
    pending_max: int = 10_000
    """Pending messages from which on it is told; 0 for never."""


@dataclass(slots=True)
class _Failure:
    since_us: int
    reason: str
    is_told: bool = False


@dataclass(slots=True)
class _Hour:
    """The notices about one subscription since a time."""

    begun_us: int
    told: int = 0
    held: Notice | None = None
    held_back: int = 0


class Alarms:
    """What is wrong now, and what of it was told. Not thread-safe: who owns it keeps a lock."""

    def __init__(self, options: AlarmOptions | None = None) -> None:
        self._options = options or AlarmOptions()
        self.failing: dict[Names, _Failure] = {}
        """Subscriptions that fail; who has nothing to report but a success looks here first."""
        self._long: set[Names] = set()
        """Subscriptions whose backlog was told."""
        self._hours: dict[Names, _Hour] = {}
        self._has_looked = False

    def push_failed(self, topic: str, subscriber: str, reason: str, now_us: int) -> list[Notice]:
        """A push failed; what there is to tell now."""
        failure = self.failing.get((topic, subscriber))
        if failure is None:
            if len(self.failing) >= SUBSCRIPTIONS_WATCHED_MAX:
                return []
            failure = self.failing[topic, subscriber] = _Failure(now_us, reason)
        failure.reason = reason
        return self._tell_failure((topic, subscriber), failure, now_us)

    def push_delivered(self, topic: str, subscriber: str, now_us: int) -> list[Notice]:
        """A push succeeded."""
        failure = self.failing.pop((topic, subscriber), None)
        if failure is None or not failure.is_told:
            return []
        recovered = Notice(kind=RECOVERED, at_us=now_us, topic=topic, subscriber=subscriber, since_us=failure.since_us)
        return self._tell(recovered)

    def disabled(self, subscriber: str, reason: str, now_us: int) -> list[Notice]:
        """Nothing is pushed to a subscriber any more: what was only about to be told of it is told no more."""
        for names in [names for names, one in self.failing.items() if names[1] == subscriber and not one.is_told]:
            del self.failing[names]
        return self._tell(Notice(kind=DISABLED, at_us=now_us, topic="", subscriber=subscriber, reason=reason))

    def parked(self, topic: str, subscriber: str, seq: int, reason: str, now_us: int) -> list[Notice]:
        """A message was set aside because the subscriber refused it too often."""
        parked = Notice(kind=PARKED, at_us=now_us, topic=topic, subscriber=subscriber, reason=reason, seq=seq)
        return self._tell(parked)

    def looked(self, backlogs: Sequence[Backlog], now_us: int) -> list[Notice]:
        """This is what waits for every subscription."""
        notices: list[Notice] = []
        known = {(one.topic, one.subscriber): one for one in backlogs}
        for names in [names for names, one in self.failing.items() if _is_over(one, known.get(names))]:
            del self.failing[names]
        self._long.intersection_update(known)
        for names, backlog in known.items():
            if not self._has_looked and backlog.is_failing:
                self._remember_failure(names, backlog)
            if self._options.pending_max:
                notices += self._weigh(names, backlog, now_us)
        self._has_looked = True
        return notices + self.passed(now_us)

    def passed(self, now_us: int) -> list[Notice]:
        """Time has gone by: tell of what has failed long enough, and what was held back for an hour."""
        notices = [
            notice for names, failure in self.failing.items() for notice in self._tell_failure(names, failure, now_us)
        ]
        for names, hour in list(self._hours.items()):
            if 0 <= now_us - hour.begun_us < _HOUR_US:
                continue
            del self._hours[names]
            if hour.held is not None:
                notices += self._tell(replace(hour.held, more=hour.held_back - 1), now_us)
        return notices

    def _remember_failure(self, names: Names, backlog: Backlog) -> None:
        """What fails since before this hub was started is known from the store."""
        failure = self.failing.get(names)
        if failure is not None:
            failure.since_us = min(failure.since_us, backlog.failing_since_us)
        elif len(self.failing) < SUBSCRIPTIONS_WATCHED_MAX:
            self.failing[names] = _Failure(backlog.failing_since_us, "")

    def _tell_failure(self, names: Names, failure: _Failure, now_us: int) -> list[Notice]:
        if failure.is_told or now_us - failure.since_us < self._options.after_us:
            return []
        failure.is_told = True
        topic, subscriber = names
        return self._tell(
            Notice(
                kind=FAILING,
                at_us=now_us,
                topic=topic,
                subscriber=subscriber,
                reason=failure.reason,
                since_us=failure.since_us,
            )
        )

    def _weigh(self, names: Names, backlog: Backlog, now_us: int) -> list[Notice]:
        """Tell of a backlog once; again only after it was half as long as the limit."""
        if names in self._long:
            if backlog.pending < self._options.pending_max / 2:
                self._long.discard(names)
            return []
        if backlog.pending < self._options.pending_max or len(self._long) >= SUBSCRIPTIONS_WATCHED_MAX:
            return []
        self._long.add(names)
        topic, subscriber = names
        return self._tell(
            Notice(
                kind=BACKLOG,
                at_us=now_us,
                topic=topic,
                subscriber=subscriber,
                pending=backlog.pending,
                oldest_pending_us=backlog.oldest_pending_us,
            )
        )

    def _tell(self, notice: Notice, now_us: int | None = None) -> list[Notice]:
        """The notice, unless there were too many about this subscription in this hour."""
        names, now_us = (notice.topic, notice.subscriber), notice.at_us if now_us is None else now_us
        hour = self._hours.get(names)
        if hour is None:
            if len(self._hours) >= SUBSCRIPTIONS_WATCHED_MAX:
                return []
            hour = self._hours[names] = _Hour(now_us)
        notice = replace(notice, reason=notice.reason[:_REASON_CHARACTERS_MAX])
        if hour.told >= NOTICES_AN_HOUR_MAX:
            hour.held, hour.held_back = notice, hour.held_back + 1
            return []
        hour.told += 1
        return [notice]


def _is_over(failure: _Failure, backlog: Backlog | None) -> bool:
    """Whether a failure is nobody's business any more: nothing is to be pushed there.

    What was told is remembered until it is pushed again, so that the recovery is told.
    """
    if backlog is None or backlog.mode != PUSH:
        return True
    return not failure.is_told and (backlog.pending == 0 or not backlog.enabled or backlog.paused)
