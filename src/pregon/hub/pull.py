"""Pull: what a subscription has not acknowledged yet, in order, with the acknowledgement of the last answer.

A pull gives the first unacknowledged messages and moves nothing: pulling again without acknowledging gives
the same ones. That also says what two pullers of one subscription get: the same messages, both, until one
of them acknowledges; the cursor follows the highest acknowledgement and never goes back.

Unparked messages come first and alone in an answer, so that acknowledging the last number of an answer
acknowledges exactly what the answer had.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection

from pregon import limits
from pregon.clock import monotonic_ms
from pregon.errors import BadRequest, PregonError
from pregon.hub.counters import Counters
from pregon.hub.deliver import PushedFrom
from pregon.hub.pending import Match, fit, read_pending
from pregon.hub.pulled_notes import PulledNotes
from pregon.hub.settle import Ack, SubscriptionOperation
from pregon.hub.under_way import DeliveriesUnderWay
from pregon.hub.waiting import WaitingRoom
from pregon.model.batch import StoredBatch
from pregon.model.subscription import accept_ack
from pregon.store import cursors
from pregon.store.committer import Committer
from pregon.store.cursors import Place, SetAside
from pregon.store.readers import Readers
from pregon.store.ticket import Ticket
from pregon.store.transaction import Transaction

_EXAMINE_WAIT_MS = 1_000
"""How long a pull that does not wait for news waits for a filter."""
_SMALL_MESSAGES = 16
"""Pulls of up to so many are read by who asks."""


class PullRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to pull. `ack` acknowledges everything up to a number first; `wait_ms` waits for something new.

    `after` reads ahead: it begins after a number that was received and is not acknowledged yet.
    """

    topic: str
    subscriber: str
    ack: int | None = None
    epoch: int | None = None
    after: int | None = None
    messages_max: int = 500
    bytes_max: int = limits.PULL_BYTES_MAX
    wait_ms: int = 0

    def is_ahead(self, epoch: int) -> bool:
        """Whether it reads ahead in the subscription as it is now: a replay begins everything anew."""
        return self.after is not None and self.epoch in (None, epoch)

    def check(self) -> PullRequest:
        """Itself, if its values are in range; raises BadRequest."""
        for name, value, least, most in (
            ("max", self.messages_max, 1, limits.PULL_MESSAGES_MAX),
            ("bytes_max", self.bytes_max, 1, limits.PULL_BYTES_MAX),
            ("wait_ms", self.wait_ms, 0, limits.WAIT_MS_MAX),
            ("ack", self.ack or 0, 0, limits.INTEGER_MAX),
            ("after", self.after or 0, 0, limits.INTEGER_MAX),
        ):
            if not least <= value <= most:
                raise BadRequest(f"{name} is {value}: use {least} to {most}")
        return self


class Pulled(msgspec.Struct, frozen=True, kw_only=True):
    """The answer: messages in order, as runs of consecutive numbers."""

    batches: Sequence[StoredBatch]
    epoch: int
    acked_seq: int
    head_seq: int
    matches: Sequence[Match] = ()
    """Why the subscription's filter wants them, if it has one."""


class _HandOut(SubscriptionOperation["Pulled | None"]):
    """Give the unparked messages and note that they were given; None when there are none left."""

    def __init__(self, request: PullRequest) -> None:
        super().__init__(request.topic, request.subscriber)
        self._request = request

    def carry_out(self, transaction: Transaction, place: Place) -> Pulled | None:
        """Give them out."""
        request, cursor = self._request, place.cursor
        again = not request.is_ahead(cursor.epoch)
        messages = cursors.returned_messages(transaction.connection, place.id, request.messages_max, again=again)
        fitting = fit(messages, request.bytes_max)
        if not fitting:
            return None
        cursors.update_aside(transaction.connection, place.id, [one.base_seq for one in fitting], handed_out=True)
        return Pulled(batches=fitting, epoch=cursor.epoch, acked_seq=cursor.acked_seq, head_seq=cursor.head_seq)


class _Found(msgspec.Struct, frozen=True):
    """What a read saw: an answer, or None when there are unparked messages, which the writer hands out."""

    pulled: Pulled | None
    is_examined: bool = True
    """Whether a filter has looked at everything there is."""


def _is_alone(aside: dict[int, SetAside], seq: int) -> bool:
    """Whether a number is that of an unparked message, which came alone: having it says nothing of those before it."""
    one = aside.get(seq)
    return one is not None and (one.done or (one.returned and one.handed_out))


def _read(
    connection: Connection,
    request: PullRequest,
    under_way: Sequence[Ack],
    delivered: Mapping[PushedFrom, Collection[int]],
) -> _Found | None:
    """Look in one snapshot; None if there is no such subscription.

    Acknowledgements and deliveries that are under way count as if they were written.
    """
    place = cursors.find_place(connection, request.topic, request.subscriber)
    if place is None:
        return None
    cursor = place.cursor
    aside = cursors.set_aside(connection, place.id)
    for ack in under_way:
        if ack.seq <= cursor.head_seq and not _is_alone(aside, ack.seq) and accept_ack(cursor, ack.seq, ack.epoch):
            cursor = msgspec.structs.replace(cursor, acked_seq=ack.seq)
    if request.ack is not None:
        accept_ack(cursor, request.ack, request.epoch)
    acked_seq = cursor.acked_seq
    is_ahead = request.is_ahead(cursor.epoch)
    if any(one.returned and not (one.handed_out and is_ahead) for one in aside.values()):
        return _Found(None)
    after = request.after if is_ahead and request.after is not None else 0
    if _is_alone(aside, after):
        after = 0
    first_seq = max(acked_seq, after) + 1
    of = PushedFrom(request.topic, request.subscriber, place.id, cursor.epoch)
    not_again = {*aside, *delivered[of]} if of in delivered else aside
    found = read_pending(connection, place, not_again, first_seq, request.messages_max, request.bytes_max)
    pulled = Pulled(
        batches=found.batches,
        epoch=cursor.epoch,
        acked_seq=acked_seq,
        head_seq=cursor.head_seq,
        matches=found.matches,
    )
    return _Found(pulled, is_examined=place.visible_seq >= cursor.head_seq)


class Puller:
    """Answers pulls: reads in a reader thread, writes through the committer, waits in the waiting room."""

    def __init__(
        self,
        readers: Readers,
        committer: Committer,
        waiting: WaitingRoom,
        counters: Counters,
        notes: PulledNotes,
    ) -> None:
        self._notes = notes
        self.deliveries = DeliveriesUnderWay()
        self._readers = readers
        self._committer = committer
        self._waiting = waiting
        self._counters = counters
        self._acks: dict[tuple[str, str], tuple[Ack, ...]] = {}
        self._acks_lock = threading.Lock()

    def acks_under_way(self, topic: str, subscriber: str) -> tuple[Ack, ...]:
        """Acknowledgements of a subscription that are taken and not yet written."""
        return self._acks.get((topic, subscriber), ())

    def send_ack(self, request: PullRequest, seq: int) -> None:
        """Have an acknowledgement written, without waiting for it; raises HubBusy or HubStopping."""
        # Not durable: losing it only repeats a delivery.
        ack = Ack(request.topic, request.subscriber, seq, request.epoch, is_durable=False)
        key = (request.topic, request.subscriber)
        with self._acks_lock:
            self._acks[key] = (*self._acks.get(key, ()), ack)
        ack.ticket.when_done(lambda _: self._ack_written(key, ack))
        try:
            self._committer.submit(ack)
        except PregonError:
            self._ack_written(key, ack)
            raise
        self._counters.acknowledgements += 1

    def _ack_written(self, key: tuple[str, str], ack: Ack) -> None:
        with self._acks_lock:
            left = tuple(one for one in self._acks.get(key, ()) if one is not ack)
            if left:
                self._acks[key] = left
            else:
                self._acks.pop(key, None)

    def pull(self, request: PullRequest, make_subscription: Callable[[], Ticket[object]]) -> Ticket[Pulled]:
        """Answer a pull; `make_subscription` is called when there is none, and its error is the answer."""
        attempt = _Attempt(self, request.check(), make_subscription)
        if request.ack:
            # Before reading, so that whoever asks next finds it; the read refuses one that cannot be.
            self.send_ack(request, request.ack)
        attempt.read(is_small=request.messages_max <= _SMALL_MESSAGES)
        return attempt.ticket

    def _deliver(self, ticket: Ticket[Pulled], request: PullRequest, pulled: Pulled) -> None:
        if pulled.batches:
            self._notes.note(request.topic, request.subscriber, pulled.epoch, pulled.batches)
        self._counters.messages_delivered += sum(batch.count for batch in pulled.batches)
        ticket.resolve(pulled)


class _Attempt:
    """One pull on its way through the threads. Each step ends by starting the next, or by answering."""

    def __init__(self, puller: Puller, request: PullRequest, make: Callable[[], Ticket[object]]) -> None:
        self.ticket: Ticket[Pulled] = Ticket()
        self._puller = puller
        self._request = request
        self._make: Callable[[], Ticket[object]] | None = make
        self._started_ms = monotonic_ms()
        self._deadline_ms = self._started_ms + request.wait_ms
        self._seen_version = 0

    def read(self, *, is_small: bool = False) -> None:
        """Look for pending messages; raises HubBusy or HubStopping."""
        ticket: Ticket[_Found | None] = Ticket()
        ticket.when_done(self._guard(self._have_read))
        request = self._request
        self._seen_version = self._puller._waiting.version(request.topic)
        under_way = self._puller.acks_under_way(request.topic, request.subscriber)
        delivered = self._puller.deliveries.numbers_of(request.topic, request.subscriber)
        self._puller._readers.submit(
            lambda connection: _read(connection, request, under_way, delivered), ticket, is_small=is_small
        )

    def _guard(self, step: Callable[[Ticket[Any]], None]) -> Callable[[Ticket[Any]], None]:
        """A step whose error is the answer."""

        def guarded(ticket: Ticket[Any]) -> None:
            try:
                step(ticket)
            except PregonError as error:
                self.ticket.fail(error)

        return guarded

    def _have_read(self, ticket: Ticket[object]) -> None:
        found = ticket.value()
        # Its acknowledgement is on its way: reading again must not count again what may have been replayed since.
        self._request = msgspec.structs.replace(self._request, ack=None)
        if found is None:
            self._make_subscription()
            return
        assert isinstance(found, _Found)
        if found.pulled is None:
            operation = _HandOut(self._request)
            operation.ticket.when_done(self._guard(self._have_handed_out))
            self._puller._committer.submit(operation)
            return
        if not found.is_examined and not found.pulled.batches:
            # What the filter has not looked at yet may be what is asked for: it will in a moment.
            self._deadline_ms = max(self._deadline_ms, self._started_ms + _EXAMINE_WAIT_MS)
        self._answer_or_wait(found.pulled)

    def _answer_or_wait(self, pulled: Pulled) -> None:
        left_ms = self._deadline_ms - monotonic_ms()
        if pulled.batches or left_ms <= 0:
            self._puller._deliver(self.ticket, self._request, pulled)
            return

        def come_back(is_new: bool) -> None:
            if not is_new:
                self._puller._deliver(self.ticket, self._request, pulled)
                return
            try:
                self.read()
            except PregonError as error:
                self.ticket.fail(error)

        self.ticket.give_up = self._puller._waiting.wait(self._request.topic, self._seen_version, left_ms, come_back)

    def _have_handed_out(self, ticket: Ticket[object]) -> None:
        pulled = ticket.value()
        if pulled is None:
            # The acknowledgement settled the last of them: go on with what is pending.
            self.read()
        else:
            assert isinstance(pulled, Pulled)
            self._puller._deliver(self.ticket, self._request, pulled)

    def _make_subscription(self) -> None:
        make, self._make = self._make, None
        if make is None:
            # It was deleted between being made and being read; the client may ask again.
            self._puller._deliver(self.ticket, self._request, Pulled(batches=[], epoch=0, acked_seq=0, head_seq=0))
            return
        made = make()
        made.when_done(self._guard(self._have_made))

    def _have_made(self, ticket: Ticket[object]) -> None:
        ticket.value()
        self.read()
