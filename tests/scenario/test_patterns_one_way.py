"""What the table guarantees of the patterns without answers, PUSH/PULL and PUB/SUB, and where sockets may be."""

from __future__ import annotations

import socket as stdlib_socket
from pathlib import Path

import pytest
import zmq

from pregon.errors import AddressInUse, AnswerTimeout, SettingsInvalid
from pregon.patterns import (
    Options,
    bound_address,
    publisher,
    puller,
    pusher,
    replier,
    requester,
    require_subscribers,
    subscriber,
    xpub,
)

from .hub_process import find_port, wait_until

ANY = "tcp://127.0.0.1:*"
PATIENT = Options(wait_ms=30_000, linger_ms=0)
SILENCE_MS = 300
"""How long nothing must come where nothing may come."""


def test_what_is_pushed_before_the_puller_is_there_arrives_whole_and_in_order(tmp_path: Path) -> None:
    address = f"ipc://{tmp_path}/stage"
    sent = [[b"kind", b"%d" % number, b""] for number in range(100)]

    with pusher(connect=address, options=PATIENT) as sender:
        for frames in sent:
            sender.send_multipart(frames)
        with puller(bind=address, options=PATIENT) as receiver:
            received = [receiver.recv_multipart() for _ in sent]

    assert received == sent


def test_a_pusher_whose_queue_is_full_waits() -> None:
    small = Options(queue_messages_max=10, wait_ms=50, linger_ms=0)
    taken = 0

    with puller(bind="inproc://full", options=small) as receiver, pusher(connect="inproc://full", options=small) as out:
        with pytest.raises(zmq.Again):
            while taken < 1_000:
                out.send(b"%d" % taken)
                taken += 1
        received = [receiver.recv() for _ in range(taken)]

    # The queues of both ends are one, in a process.
    assert taken == 20
    assert received == [b"%d" % number for number in range(20)]


def test_pullers_get_messages_in_turn_however_slow_they_are() -> None:
    pullers = [puller(bind=ANY, options=PATIENT) for _ in range(3)]

    with pusher(connect=[bound_address(each) for each in pullers], options=PATIENT) as sender:
        for number in range(9):
            sender.send(b"%d" % number)
        # The first one does nothing until the others have done all of theirs.
        got = [[each.recv() for _ in range(3)] for each in reversed(pullers)]

    for each in pullers:
        each.close()
    assert got == [[b"2", b"5", b"8"], [b"1", b"4", b"7"], [b"0", b"3", b"6"]]


def test_what_waits_at_a_puller_that_dies_is_not_given_to_another() -> None:
    living, dying = puller(bind=ANY, options=PATIENT), puller(bind=ANY, options=PATIENT)
    with pusher(connect=[bound_address(living), bound_address(dying)], options=PATIENT) as sender:
        for number in range(4):
            sender.send(b"%d" % number)
        # What it has read came last: all that was sent to it has arrived.
        first = dying.recv()
        wait_until(lambda: dying.poll(0), "the other message is there")
        dying.close()

        got = [living.recv(), living.recv()]
        more = living.poll(SILENCE_MS)

    living.close()
    assert (first, got, more) == (b"1", [b"0", b"2"], 0)


def test_pushers_are_heard_in_turn_and_each_in_its_order() -> None:
    with puller(bind="inproc://in", options=PATIENT) as receiver:
        flood, quiet = (pusher(connect="inproc://in", options=PATIENT) for _ in range(2))
        with flood, quiet:
            for number in range(500):
                flood.send(b"flood %d" % number)
            for number in range(3):
                quiet.send(b"quiet %d" % number)

            first = [receiver.recv() for _ in range(8)]

    assert [one for one in first if one.startswith(b"quiet")] == [b"quiet 0", b"quiet 1", b"quiet 2"]
    assert [one for one in first if one.startswith(b"flood")] == [b"flood %d" % number for number in range(5)]


def test_a_subscriber_gets_what_begins_with_its_prefixes_and_a_late_one_misses_what_was_before() -> None:
    with xpub(bind=ANY, options=PATIENT) as out:
        out.send(b"fallecidos 0")
        with subscriber(connect=bound_address(out), prefixes=["fin", "fallecidos", b"na"], options=PATIENT) as reader:
            require_subscribers(out, ["fallecidos", "fin", b"na"])
            for text in (b"fallecidos 1", b"otros", b"nacimientos", b"falle", b"fallecidos-2026", b"fin"):
                out.send(text)

            got = list(iter(reader.recv, b"fin"))

    assert got == [b"fallecidos 1", b"nacimientos", b"fallecidos-2026"]


def test_a_plain_publisher_is_heard_from_the_moment_that_the_subscription_arrives() -> None:
    sent = 0

    def is_heard() -> bool:
        nonlocal sent
        out.send(b"%d" % sent)
        sent += 1
        return bool(reader.poll(1))

    with publisher(bind=ANY, options=PATIENT) as out:
        for _ in range(10):
            out.send(b"%d" % sent)
            sent += 1
        with subscriber(connect=bound_address(out), options=PATIENT) as reader:
            wait_until(is_heard, "the subscription has arrived")
            first = int(reader.recv())

    assert first >= 10


def test_a_slow_subscriber_misses_messages_and_delays_nobody() -> None:
    small = Options(queue_messages_max=10, wait_ms=0, linger_ms=0)
    with xpub(bind="inproc://news", options=small) as out:
        slow = subscriber(connect="inproc://news", prefixes=[""], options=small)
        quick = subscriber(connect="inproc://news", prefixes=["n"], options=Options(wait_ms=0, linger_ms=0))
        with slow, quick:
            require_subscribers(out, ["", "n"])
            for number in range(100):
                out.send(b"n%d" % number)

            got = [quick.recv() for _ in range(100)]
            seen = [slow.recv() for _ in range(20)]
            with pytest.raises(zmq.Again):
                slow.recv()

    assert got == [b"n%d" % number for number in range(100)]
    assert seen == got[:20]


def test_waiting_for_a_subscriber_that_does_not_come_ends() -> None:
    with xpub(bind=ANY, options=PATIENT) as out, pytest.raises(AnswerTimeout, match="'fallecidos' in 20 ms"):
        require_subscribers(out, ["fallecidos"], wait_ms=20)


@pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc"])
def test_a_pattern_is_the_same_over_every_transport(transport: str, tmp_path: Path) -> None:
    address = {"tcp": ANY, "ipc": f"ipc://{tmp_path}/talk", "inproc": "inproc://talk"}[transport]

    with replier(bind=address, options=PATIENT) as server:
        with requester(connect=bound_address(server), options=PATIENT) as client:
            client.send_multipart([b"a", b"", b"b"])
            asked = server.recv_multipart()
            server.send(b"done")
            answer = client.recv()

    assert (asked, answer) == ([b"a", b"", b"b"], b"done")


def test_a_frame_that_is_too_large_is_not_read_and_its_sender_cut_off() -> None:
    got: list[bytes] = []
    with puller(bind=ANY, options=Options(frame_bytes_max=1_000, linger_ms=0)) as receiver:
        with pusher(connect=bound_address(receiver), options=PATIENT) as sender:
            sender.send(b"x" * 1_001)

            def is_heard() -> bool:
                sender.send(b"small")
                if receiver.poll(20):
                    got.append(receiver.recv())
                return bool(got)

            wait_until(is_heard, "the sender is back")

    assert got == [b"small"]


@pytest.mark.parametrize(
    "address",
    [
        "", "127.0.0.1:9999", "tcp://127.0.0.1", "tcp://127.0.0.1:99999", "tcp://127.0.0.1:-1", "tcp://:9999",
        "tcp://127.0.0.1:" + "9" * 5_000, "tcp://no.such.host.invalid:9999", "tcp://8.8.8.8:9999", "udp://127.0.0.1:9999",
        "ipc://", "ipc://*", "ipc://" + "x" * 200, "ipc:///no/such/folder/x", "ipc://a\0b", "inproc://" + "x" * 300,
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused_with_the_forms_that_are(address: str) -> None:
    with pytest.raises(SettingsInvalid, match="use tcp://HOST:PORT, ipc://PATH or inproc://NAME") as refused:
        puller(bind=address)

    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:*", "tcp://127.0.0.1:0", "ipc://*"])
def test_an_address_that_is_to_be_chosen_cannot_be_connected_to(address: str) -> None:
    with pytest.raises(SettingsInvalid):
        pusher(connect=address)


def test_a_socket_without_a_place_or_with_too_many_is_refused() -> None:
    for places in ([], ["tcp://127.0.0.1:9"] * 101):
        with pytest.raises(SettingsInvalid, match="1 to 100 addresses"):
            pusher(connect=places)


@pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc"])
def test_an_address_that_somebody_has_is_refused_and_they_keep_it(transport: str, tmp_path: Path) -> None:
    address = {"tcp": f"tcp://127.0.0.1:{find_port()}", "ipc": f"ipc://{tmp_path}/mine", "inproc": "inproc://mine"}

    with puller(bind=address[transport], options=PATIENT) as first:
        with pytest.raises(AddressInUse, match="another program listens"):
            puller(bind=address[transport])
        with pusher(connect=address[transport], options=PATIENT) as sender:
            sender.send(b"still here")
            got = first.recv()

    assert got == b"still here"


def test_a_file_is_not_deleted_to_listen_in_its_place(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("data")

    with pytest.raises(SettingsInvalid, match="no socket"):
        puller(bind=f"ipc://{precious}")

    assert precious.read_text() == "data"


def test_a_path_that_a_killed_program_left_behind_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "left"
    with stdlib_socket.socket(stdlib_socket.AF_UNIX) as killed:
        killed.bind(str(path))

    with puller(bind=f"ipc://{path}", options=PATIENT) as receiver:
        with pusher(connect=f"ipc://{path}", options=PATIENT) as sender:
            sender.send(b"hello")
            got = receiver.recv()

    assert got == b"hello"
