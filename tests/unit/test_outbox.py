"""The producer's memory: order, window, resending, giving up. No sockets, no sleeping."""

from __future__ import annotations

import itertools

import pytest

from pregon.client.outbox import Outbox, ProducerOptions, Receipt
from pregon.errors import BatchOutOfOrder, Forbidden, HubBusy, PregonError, Rejected
from pregon.model.batch import decode_sent
from pregon.model.message import Outgoing
from pregon.wire import commands as c
from pregon.wire.commands import Command
from pregon.wire.frames import ANSWER_BIT, ERROR, Answer, decode_request


class Hub:
    """The other end: reads what the outbox sends, and answers as told."""

    def __init__(self, outbox: Outbox) -> None:
        self.outbox = outbox
        self._ids = itertools.count(1)

    def sent(self, now_ms: float = 0) -> list[tuple[int, int]]:
        """Request id and batch number of what is due."""
        requests = [decode_request(frames) for frames in self.outbox.due(now_ms, lambda: next(self._ids))]
        return [(one.id, c.REQUEST_DECODERS[one.command].decode(one.header).number) for one in requests]

    def acknowledge(self, request_id: int, seq: int = 1) -> Receipt | None:
        header = c.encode_header(c.Published(seq=seq, count=1))
        return self.outbox.answered(Answer(Command.PUBLISH_BATCH | ANSWER_BIT, request_id, header, ()), 0)

    def refuse(self, request_id: int, error: PregonError, now_ms: float = 0) -> None:
        header = c.encode_header(c.header_of_error(error))
        self.outbox.answered(Answer(ERROR, request_id, header, ()), now_ms)


@pytest.fixture
def hub() -> Hub:
    return Hub(Outbox("t", "p", ProducerOptions(batch_messages=1, in_flight_max=3)))


def test_a_batch_is_sealed_when_it_has_enough_messages() -> None:
    outbox = Outbox("t", "p", ProducerOptions(batch_messages=3))

    full = [outbox.add(Outgoing(b"x"), 1) for _ in range(7)]

    assert full == [False, False, True, False, False, True, False]
    assert outbox.unacknowledged == 7
    assert outbox.has_unsealed


def test_a_batch_is_sealed_before_it_is_too_large_to_send() -> None:
    outbox = Outbox("t", "p", ProducerOptions(batch_messages=10_000, in_flight_max=64))
    for _ in range(30):
        outbox.add_body(bytes(500_000), 1)
    outbox.seal()

    frames = outbox.due(0, itertools.count(1).__next__)

    assert sum(decode_sent(one[2]).num_rows for one in frames) == 30


def test_a_batch_that_does_not_fill_is_sealed_after_lingering() -> None:
    outbox = Outbox("t", "p", ProducerOptions(linger_ms=20))
    outbox.add_body(b"x", 1)

    sealed = []
    for now_ms in (100, 110, 120):
        outbox.linger(now_ms)
        sealed.append(not outbox.has_unsealed)

    assert sealed == [False, False, True]


def test_what_is_left_after_a_crowded_batch_lingers_too() -> None:
    outbox = Outbox("t", "p", ProducerOptions(linger_ms=20))
    outbox.add_body(bytes(900_000), 1)
    assert outbox.add_body(bytes(900_000), 1), "the first goes alone"

    outbox.linger(100)
    outbox.linger(120)

    assert not outbox.has_unsealed


def test_lingering_does_not_pass_the_window() -> None:
    outbox = Outbox("t", "p", ProducerOptions(batch_messages=2, in_flight_max=1, linger_ms=20))
    for _ in range(3):
        outbox.add_body(b"x", 1)

    outbox.linger(100)
    outbox.linger(200)

    assert outbox.is_full
    assert outbox.has_unsealed


def test_a_full_window_holds_the_caller_back_until_an_acknowledgement(hub: Hub) -> None:
    for _ in range(3):
        hub.outbox.add_body(b"x", 1)
    (first, _), *_ = hub.sent()

    assert hub.outbox.is_full
    hub.acknowledge(first)
    assert not hub.outbox.is_full


def test_what_was_sent_is_not_due_again_until_the_connection_was_lost(hub: Hub) -> None:
    hub.outbox.add_body(b"x", 1)
    hub.outbox.add_body(b"y", 1)

    assert [number for _, number in hub.sent()] == [1, 2]
    assert hub.sent() == []
    hub.outbox.reconnected()
    assert [number for _, number in hub.sent()] == [1, 2]


def test_a_busy_hub_gets_everything_again_in_order_after_a_pause(hub: Hub) -> None:
    for _ in range(3):
        hub.outbox.add_body(b"x", 1)
    first, second, third = (request_id for request_id, _ in hub.sent())

    hub.refuse(first, HubBusy(""), now_ms=100)
    hub.refuse(second, BatchOutOfOrder(""), now_ms=100)
    hub.refuse(third, BatchOutOfOrder(""), now_ms=100)

    assert hub.sent(now_ms=100) == []
    pause_ms = hub.outbox.retry_in_ms(100)
    assert pause_ms is not None
    assert [number for _, number in hub.sent(now_ms=100 + pause_ms)] == [1, 2, 3]


def test_an_answer_to_an_earlier_sending_does_not_count(hub: Hub) -> None:
    hub.outbox.add_body(b"x", 1)
    ((old, _),) = hub.sent()
    hub.outbox.reconnected()
    ((new, _),) = hub.sent()

    hub.refuse(old, BatchOutOfOrder(""))
    assert hub.sent() == []

    assert hub.acknowledge(new) is not None
    assert hub.outbox.is_empty


def test_a_refusal_that_repeating_cannot_mend_stops_the_producer(hub: Hub) -> None:
    hub.outbox.add_body(b"x", 1)
    ((request_id, _),) = hub.sent()

    hub.refuse(request_id, Forbidden("may not"))

    assert isinstance(hub.outbox.failure, Forbidden)
    hub.outbox.reconnected()
    assert hub.sent() == []
    assert hub.outbox.unacknowledged == 1


def test_a_receipt_says_what_was_stored_where(hub: Hub) -> None:
    hub.outbox.add(Outgoing(b"x", id="mine"), 1)
    ((request_id, _),) = hub.sent()

    receipt = hub.acknowledge(request_id, seq=41)

    assert receipt == Receipt(41, 1, False, "mine", "mine")
    assert (hub.outbox.sent, hub.outbox.acknowledged) == (1, 1)


@pytest.mark.parametrize("options", [{"batch_messages": 0}, {"batch_messages": 10_001}, {"in_flight_max": 65}])
def test_options_out_of_range_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(Rejected):
        ProducerOptions(**options)  # type: ignore[arg-type]
