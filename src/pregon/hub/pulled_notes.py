"""What was given to who pulled, until it is traced.

A pull writes nothing of its own: what it gave is noted here, and traced with the next transaction, which usually is
the one of its acknowledgement; when there is none, within `_FLUSH_MS`.

Promise: bounded, also in what it remembers to recognise a pull that is only repeated.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from pregon.errors import PregonError
from pregon.hub.settle import Barrier
from pregon.hub.waiting import WaitingRoom
from pregon.model.batch import StoredBatch
from pregon.model.runs import Run
from pregon.model.trace import PULLED, Trace
from pregon.store.transaction import Transaction

_FLUSH_MS = 200
_NOTES_MAX = 10_000


class PulledNotes:
    """Gathers what pulls gave."""

    def __init__(self, waiting: WaitingRoom, submit: Callable[[Barrier], object]) -> None:
        self._waiting = waiting
        self._submit = submit
        self._lock = threading.Lock()
        self._notes: list[tuple[str, str, int, int]] = []
        self._is_flush_asked = False
        self._last: OrderedDict[tuple[str, str], tuple[int, list[Run]]] = OrderedDict()
        """What each subscription was given last, and in which epoch."""

    def note(self, topic: str, subscriber: str, epoch: int, batches: Sequence[StoredBatch]) -> None:
        """These went out in an answer; who asks for the same again and again is noted once."""
        runs = [(batch.base_seq, batch.last_seq) for batch in batches]
        with self._lock:
            last = self._last.get((topic, subscriber))
            if last == (epoch, runs) or len(self._notes) >= _NOTES_MAX:
                return
            if last is None or last[0] != epoch or last[1][0][0] != runs[0][0] or runs[-1][1] > last[1][-1][1]:
                self._remember((topic, subscriber), (epoch, runs))
            if last is not None and last[0] == epoch and last[1][0][0] == runs[0][0]:
                # The same beginning, and more that came meanwhile.
                given_seq = last[1][-1][1]
                runs = [(max(first, given_seq + 1), last_seq) for first, last_seq in runs if last_seq > given_seq]
            self._notes += [(topic, subscriber, first, last_seq) for first, last_seq in runs]
            is_first, self._is_flush_asked = not self._is_flush_asked, True
        if is_first:
            self._waiting.call_after(_FLUSH_MS, self._flush)

    def _remember(self, who: tuple[str, str], given: tuple[int, list[Run]]) -> None:
        self._last[who] = given
        self._last.move_to_end(who)
        if len(self._last) > _NOTES_MAX:
            self._last.popitem(last=False)

    def _flush(self, _is_new: bool) -> None:
        self._is_flush_asked = False
        if self._notes:
            try:
                self._submit(Barrier())
            except PregonError:
                # The hub is busy or stopping, and so writes: the notes go with that.
                return

    def forget(self) -> None:
        """The catalogue changed: a topic of the same name may be another."""
        with self._lock:
            self._last.clear()

    def join(self, transaction: Transaction) -> None:
        """Have them traced with a transaction; called before it ends."""
        if not self._notes:
            return
        with self._lock:
            notes, self._notes = self._notes, []
        traces = [
            Trace(
                at_us=transaction.now_us,
                kind=PULLED,
                topic=topic,
                subscriber=subscriber,
                first_seq=first_seq,
                last_seq=last_seq,
            )
            for topic, subscriber, first_seq, last_seq in notes
        ]
        # They were given before what this transaction acknowledges.
        transaction.traces[:0] = traces
