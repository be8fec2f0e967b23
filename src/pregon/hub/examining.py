"""Have filters look at new messages, ahead of every delivery.

A subscription with a filter is shown only what its filter has looked at: two threads, one for quick filters and one
for slow ones, follow the log for it, and write down which messages it wants and why. A filter that fails or takes too
long lets the message pass, with that as the reason (see `filters.examiner`).

Promises:
- A message is examined in the order of the log, once, unless a replay or another filter has it examined again.
- Nobody but the subscriptions with filters waits for a filter; those with quick ones do not wait for slow ones.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, update

from pregon import limits
from pregon.errors import PregonError
from pregon.filters.examiner import Examiner
from pregon.filters.expression import Verdict
from pregon.filters.lanes import QUICK, SLOW, Lane
from pregon.hub.settle import SubscriptionOperation
from pregon.hub.waiting import WaitingRoom
from pregon.model import trace
from pregon.model.message import Message
from pregon.model.runs import runs_without
from pregon.model.trace import Trace
from pregon.store import cursors
from pregon.store.cursors import Place
from pregon.store.filter_results import Examined, write_examined
from pregon.store.log import read_range
from pregon.store.pushing import list_filtered
from pregon.store.schema import subscription
from pregon.store.ticket import Ticket
from pregon.store.transaction import Transaction

log = logging.getLogger("pregon.hub")
T = TypeVar("T")
_RETRY_MS = 1_000
_Names = tuple[str, str]


class HubVerbs(Protocol):
    """What is needed of the hub."""

    def read(self, read: Callable[[Connection], T]) -> Ticket[T]:
        """Run a read."""
        ...

    def submit(self, operation: Any) -> Ticket[Any]:
        """Have an operation carried out."""
        ...


class NoteExamined(SubscriptionOperation[bool]):
    """Write down what a filter said; answers with whether that still counts."""

    is_durable = False
    is_told = False

    def __init__(self, place: Place, results: Sequence[Examined]) -> None:
        super().__init__(place.cursor.topic, place.cursor.subscriber)
        self._place = place
        self._results = results
        self.size_bytes = 200 + 200 * len(results)

    def carry_out(self, transaction: Transaction, place: Place) -> bool:
        """Note it, and pass over what is not wanted right after the cursor."""
        if _state(place) != _state(self._place):
            return False
        # What was acknowledged meanwhile was settled without the filter, and what is set aside is counted as that.
        aside = [(seq, seq) for seq in cursors.aside_after(transaction.connection, place.id, place.examined_seq)]
        results = [
            Examined(first_seq, last_seq, one.matched, one.reason)
            for one in self._results
            for first_seq, last_seq in runs_without(max(one.first_seq, place.examined_seq + 1), one.last_seq, aside)
        ]
        write_examined(transaction.connection, place.id, results)
        for one in results:
            if not one.matched:
                transaction.traces.append(
                    Trace(
                        at_us=transaction.now_us,
                        kind=trace.FILTERED,
                        topic=self.topic,
                        subscriber=self.subscriber,
                        first_seq=one.first_seq,
                        last_seq=one.last_seq,
                        detail=one.reason,
                    )
                )
        examined = max(place.examined_seq, self._results[-1].last_seq)
        connection = transaction.connection
        connection.execute(update(subscription).where(subscription.c.id == place.id).values(examined_seq=examined))
        fresh = cursors.find_place(connection, self.topic, self.subscriber)
        assert fresh is not None
        cursors.move_cursor(connection, fresh, fresh.cursor.acked_seq)
        transaction.moved.add(self.topic)
        return True


def _state(place: Place) -> tuple[int, int, int]:
    return (place.id, place.cursor.epoch, place.filter_version)


@dataclass(frozen=True, slots=True)
class _ToExamine:
    place: Place
    messages: list[Message]


class Examining:
    """The threads that follow the log for filters."""

    def __init__(self, hub: HubVerbs, examiner: Examiner, waiting_room: WaitingRoom) -> None:
        self._hub = hub
        self._waiting_room = waiting_room
        self._examiner = examiner
        self._by_topic: dict[str, list[tuple[_Names, str]]] = {}
        self._changed = threading.Condition()
        self._waiting: dict[Lane, OrderedDict[_Names, str]] = {QUICK: OrderedDict(), SLOW: OrderedDict()}
        """Subscriptions to look after, with their filters, by lane."""
        self._is_renewal_wanted = False
        self._is_stopping = False
        self._threads = [
            threading.Thread(target=self._run, args=(lane,), name=f"pregon-filters-{lane}", daemon=True)
            for lane in (QUICK, SLOW)
        ]

    def start(self) -> None:
        """Begin to work, with what came while nobody did."""
        self._examiner.start()
        self.renew()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End after the messages at hand."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()
        self._examiner.stop()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def renew(self) -> None:
        """Learn which subscriptions have filters, and look after all of them."""
        by_topic: dict[str, list[tuple[_Names, str]]] = {}
        for one in self._hub.read(list_filtered).result():
            by_topic.setdefault(one.topic, []).append(((one.topic, one.subscriber), one.filter))
        self._by_topic = by_topic
        self._look_after(by_topic)

    def committed(self, transaction: Transaction) -> None:
        """Called in the committer's thread after each transaction."""
        if transaction.is_catalogue_changed:
            self._want_renewal()
        if self._by_topic:
            topics = {one.topic for one in transaction.accepted}
            self._look_after(topics.union(topic for topic, _ in transaction.touched))

    def _look_after(self, topics: Iterable[str]) -> None:
        wanted = [pair for topic in topics for pair in self._by_topic.get(topic, ())]
        if not wanted:
            return
        with self._changed:
            for names, text in wanted:
                self._waiting[self._examiner.lane_of(text)].setdefault(names, text)
            self._changed.notify_all()

    def _run(self, lane: Lane) -> None:
        while True:
            with self._changed:
                while not self._waiting[lane] and not self._is_stopping and not self._may_renew(lane):
                    self._changed.wait()
                if self._is_stopping:
                    return
                is_renewal = self._may_renew(lane)
                if not is_renewal:
                    names, text = self._waiting[lane].popitem(last=False)
            if is_renewal:
                self._renew_carefully()
                continue
            try:
                examined = self._examine_some(names, lane)
                if examined:
                    self._look_again(names, examined)
            except Exception as error:  # The top of the thread's loop: the other filters must go on.
                if not isinstance(error, PregonError):
                    log.exception("a filter failed by a bug", extra={"topic": names[0], "subscriber": names[1]})
                log.warning("filter put off", extra={"topic": names[0], "subscriber": names[1], "reason": str(error)})
                self._look_later(names, text)

    def _look_later(self, names: _Names, text: str) -> None:
        def look(_is_new: bool) -> None:
            self._look_again(names, text)

        self._waiting_room.call_after(_RETRY_MS, look)

    def _may_renew(self, lane: Lane) -> bool:
        """Only one thread renews, so that what was read last is what counts."""
        return lane == QUICK and self._is_renewal_wanted

    def _renew_carefully(self) -> None:
        self._is_renewal_wanted = False
        try:
            self.renew()
        except PregonError as error:
            log.warning("filters not renewed", extra={"code": error.code, "reason": str(error)})
            self._waiting_room.call_after(_RETRY_MS, self._want_renewal)

    def _want_renewal(self, _is_new: bool = False) -> None:
        with self._changed:
            self._is_renewal_wanted = True
            self._changed.notify_all()

    def _look_again(self, names: _Names, text: str) -> None:
        """Behind those that wait, in the lane that is its by now."""
        with self._changed:
            self._waiting[self._examiner.lane_of(text)].setdefault(names, text)
            self._changed.notify_all()

    def _examine_some(self, names: _Names, lane: Lane) -> str:
        """Examine the next messages of a subscription; its filter of now if there may be more, empty if not."""
        found = self._hub.read(lambda connection: _read(connection, *names)).result()
        if found is None or self._is_stopping:
            return ""
        verdicts = self._examiner.examine(found.place.filter, found.messages, lane=lane)
        if self._is_stopping:
            return ""
        if verdicts:
            self._hub.submit(NoteExamined(found.place, _as_runs(found.messages, verdicts))).result()
        return found.place.filter


def _read(connection: Connection, topic: str, subscriber: str) -> _ToExamine | None:
    """The next messages that a filter has not looked at; None when there are none, or no such filter."""
    place = cursors.find_place(connection, topic, subscriber)
    if place is None or not place.filter or place.examined_seq >= place.cursor.head_seq:
        return None
    batches = read_range(
        connection,
        place.topic_id,
        place.examined_seq + 1,
        place.cursor.head_seq,
        messages_max=limits.EXAMINE_MESSAGES_MAX,
        bytes_max=limits.PUSH_READ_BYTES_MAX,
    )
    messages = [message for batch in batches for message in batch.messages(topic)]
    return _ToExamine(place, messages) if messages else None


def _as_runs(messages: Sequence[Message], verdicts: Sequence[Verdict]) -> list[Examined]:
    """Neighbours of which the filter said the same, together; what it had no time for is left out."""
    runs: list[Examined] = []
    for message, verdict in zip(messages, verdicts, strict=False):
        last = runs[-1] if runs else None
        same = last is not None and (last.matched, last.reason) == (verdict.matched, verdict.reason)
        if last is not None and same and last.last_seq + 1 == message.seq:
            runs[-1] = Examined(last.first_seq, message.seq, last.matched, last.reason)
        else:
            runs.append(Examined(message.seq, message.seq, verdict.matched, verdict.reason))
    return runs
