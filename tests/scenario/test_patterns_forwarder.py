"""A forwarder inside a program: in one process with those whom it serves, and when one side cannot go on."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable

import pytest
import zmq

from pregon.errors import AddressInUse, BadRequest
from pregon.patterns import (
    Forwarder,
    Options,
    dealer,
    join_envelope,
    puller,
    pusher,
    replier,
    requester,
    split_envelope,
    subscriber,
)

from .hub_process import find_port, wait_until

ANY = "tcp://127.0.0.1:*"
PATIENT = Options(wait_ms=30_000, linger_ms=0)
FEW = Options(queue_messages_max=1, wait_ms=30_000, linger_ms=0)


def is_holding() -> bool:
    """Whether the thread of the only forwarder is where it sleeps because nothing can move."""
    (thread,) = [each for each in threading.enumerate() if each.name == "forwarder"]
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None and frame.f_code.co_name != "_hold":
        frame = frame.f_back
    return frame is not None


@pytest.fixture
def settle(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Waits until what was sent before has passed through libzmq's loop, or is held."""
    turns, forward = itertools.count(), zmq.proxy_steerable
    last = 0

    def count(*sockets: zmq.Socket[bytes]) -> int:
        nonlocal last
        ended = forward(*sockets)
        last = next(turns)
        return ended

    def wait() -> None:
        seen = last
        wait_until(lambda: last > seen + 1 or is_holding(), "the forwarder has looked twice")

    monkeypatch.setattr(zmq, "proxy_steerable", count)
    return wait


def test_threads_meet_at_a_forwarder_that_can_be_closed_and_made_again() -> None:
    answers = []

    for _ in range(3):
        with Forwarder("router-dealer", "inproc://front", "inproc://back") as broker:
            with requester(connect=broker.front, context=broker.context, options=PATIENT) as client:
                with replier(connect=broker.back, context=broker.context, options=PATIENT) as server:
                    client.send(b"ask")
                    server.send(server.recv() + b"ed")
                    answers.append(client.recv())

    assert answers == [b"asked"] * 3


def test_what_cannot_be_a_forwarder_is_refused_and_leaves_no_address_taken() -> None:
    address = f"tcp://127.0.0.1:{find_port()}"

    with pytest.raises(BadRequest, match="router-dealer, xsub-xpub, pull-push"):
        Forwarder("router-router", address, ANY)
    with pytest.raises(AddressInUse):
        Forwarder("router-dealer", address, address)
    with puller(bind=address) as free:
        taken = free.closed

    assert not taken


def test_answers_pass_and_are_captured_while_requests_are_held(settle: Callable[[], None]) -> None:
    sent = 0
    with Forwarder("router-dealer", "inproc://front", "inproc://back", "inproc://capture", FEW) as broker:
        context = broker.context
        client = dealer(connect=broker.front, context=context, options=PATIENT)
        worker = dealer(connect=broker.back, context=context, options=FEW)
        watcher = subscriber(connect=broker.capture, context=context, options=PATIENT)

        def fill() -> None:
            nonlocal sent
            while not is_holding():
                assert sent < 20, "it takes more than its limits"
                client.send_multipart(join_envelope([], [b"%d" % sent]))
                sent += 1
                settle()

        with client, worker, watcher:
            fill()
            in_hand = worker.recv_multipart()
            wait_until(lambda: not is_holding(), "there is room again")
            fill()

            worker.send_multipart(in_hand)
            first = split_envelope(client.recv_multipart())
            was_holding = is_holding()
            for _ in range(sent - 1):
                worker.send_multipart(worker.recv_multipart())
            rest = [split_envelope(client.recv_multipart()) for _ in range(sent - 1)]
            captured = [watcher.recv_multipart()[-1] for _ in range(2 * sent)]

    assert was_holding
    assert [first, *rest] == [([], [b"%d" % number]) for number in range(sent)]
    assert sorted(captured) == sorted(b"%d" % number for number in (*range(sent), *range(sent)))


def test_a_forwarder_that_holds_ends_when_it_is_closed_and_may_be_closed_twice() -> None:
    with Forwarder("pull-push", ANY, ANY, options=FEW) as queue:
        with pusher(connect=queue.front, options=PATIENT) as sender:
            sender.send(b"nobody takes this")
            wait_until(is_holding, "the forwarder holds what it has")
            before = queue.wait(0)

            queue.close()

            assert not before
            assert queue.wait(0)
    assert not [each for each in threading.enumerate() if each.name.startswith("forwarder")]
