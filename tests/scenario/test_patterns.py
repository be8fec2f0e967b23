"""What the table of patterns guarantees holds on real sockets, and its traps are real."""

from __future__ import annotations

import time
from threading import Thread

import pytest
import zmq

from pregon.errors import AddressInUse, AnswerTimeout, SettingsInvalid
from pregon.patterns import (
    Options,
    ReliableRequester,
    bound_address,
    dealer,
    join_envelope,
    replier,
    requester,
    router,
    split_envelope,
)

from .hub_process import find_port, wait_until

ANY = "tcp://127.0.0.1:*"
PATIENT = Options(wait_ms=30_000, linger_ms=0)
SILENCE_MS = 300
"""How long nothing must come where nothing may come."""


def answer_once(server: zmq.Socket[bytes], answer: bytes) -> bytes:
    """A server takes a request and answers it; the request."""
    request = server.recv()
    server.send(answer)
    return request


def find_replier(address: str) -> zmq.Socket[bytes] | None:
    """A server at an address; None while another one has it: ZeroMQ gives it back a moment after it is closed."""
    try:
        return replier(bind=address, options=PATIENT)
    except AddressInUse:
        return None


def connections_of(client: ReliableRequester) -> list[bool]:
    """Which servers a client is connected to."""
    return [line.is_connected() for line in client._lines]


def test_a_second_request_before_the_answer_is_refused_and_the_answer_still_comes() -> None:
    with replier(bind=ANY, options=PATIENT) as server:
        with requester(connect=bound_address(server), options=PATIENT) as client:
            client.send(b"one")

            with pytest.raises(zmq.ZMQError) as refused:
                client.send(b"two")
            asked = answer_once(server, b"ONE")

            assert refused.value.errno == zmq.EFSM
            assert (asked, client.recv()) == (b"one", b"ONE")


def test_a_server_that_dies_before_it_answers_blocks_a_plain_client_for_ever() -> None:
    address = f"tcp://127.0.0.1:{find_port()}"
    server = replier(bind=address, options=PATIENT)
    with requester(connect=address, options=PATIENT) as client:
        client.send(b"one")
        server.recv()
        server.close()

        with wait_until(lambda: find_replier(address), "the address is free again") as successor:
            nothing = [client.poll(SILENCE_MS), successor.poll(0)]
            with pytest.raises(zmq.ZMQError) as refused:
                client.send(b"two")

    assert nothing == [0, 0]
    assert refused.value.errno == zmq.EFSM


def test_servers_are_asked_in_the_order_in_which_they_were_connected() -> None:
    servers = [replier(bind=ANY, options=PATIENT) for _ in range(3)]
    order = []

    with requester(connect=[bound_address(server) for server in servers], options=PATIENT) as client:
        for number in range(9):
            client.send(b"%d" % number)
            order.append(answer_once(servers[number % 3], b"done"))
            client.recv()

    for server in servers:
        server.close()
    assert order == [b"%d" % number for number in range(9)]


def test_a_request_whose_turn_falls_on_an_absent_server_waits_for_it() -> None:
    absent = f"tcp://127.0.0.1:{find_port()}"
    with replier(bind=ANY, options=PATIENT) as present:
        with requester(connect=[bound_address(present), absent], options=PATIENT) as client:
            client.send(b"first")
            answer_once(present, b"done")
            client.recv()

            client.send(b"second")
            while_idle = present.poll(SILENCE_MS)
            with replier(bind=absent, options=PATIENT) as late:
                asked = answer_once(late, b"done")
                client.recv()

    assert while_idle == 0
    assert asked == b"second"


def test_a_client_that_asks_without_pause_does_not_starve_another() -> None:
    with replier(bind="inproc://fair", options=PATIENT) as server:
        with dealer(connect="inproc://fair", options=PATIENT) as greedy:
            with requester(connect="inproc://fair", options=PATIENT) as modest:
                for _ in range(500):
                    greedy.send_multipart(join_envelope([], [b"greedy"]))
                modest.send(b"modest")

                served = [answer_once(server, b"done") for _ in range(4)]

                assert served.count(b"modest") == 1
                assert modest.recv() == b"done"


def test_each_of_many_clients_gets_its_own_answer() -> None:
    answers: dict[int, bytes] = {}

    def ask(address: str, number: int) -> None:
        with requester(connect=address, options=PATIENT) as client:
            client.send(b"%d" % number)
            answers[number] = client.recv()

    with replier(bind=ANY, options=PATIENT) as server:
        clients = [Thread(target=ask, args=[bound_address(server), number]) for number in range(10)]
        for client in clients:
            client.start()
        for _ in clients:
            server.send(b"answer to " + server.recv())
        for client in clients:
            client.join()

    assert answers == {number: b"answer to %d" % number for number in range(10)}


def test_a_reliable_client_gives_up_in_time_on_the_server_that_holds_its_request() -> None:
    with replier(bind=ANY, options=PATIENT) as silent:
        with ReliableRequester(bound_address(silent), time_limit_ms=300, tries=2) as client:
            wait_until(lambda: connections_of(client) == [True], "it is connected")
            began = time.monotonic()

            with pytest.raises(AnswerTimeout, match="2 tries of 300 ms"):
                client.request("100")

            took_ms = (time.monotonic() - began) * 1_000
            assert client.renewals >= 1
            assert silent.recv() == b"100"
            assert 600 <= took_ms < 20_000


def test_a_reliable_client_can_ask_again_after_a_failure() -> None:
    with replier(bind=ANY, options=PATIENT) as server:
        with ReliableRequester(bound_address(server), time_limit_ms=300, tries=1) as client:
            wait_until(lambda: connections_of(client) == [True], "it is connected")
            with pytest.raises(AnswerTimeout):
                client.request("lost")
            server.recv()
            # This answer is late: its asker's socket is closed.
            server.send(b"late")

            answers: list[list[bytes]] = []

            def insist() -> bool:
                try:
                    answers.append(client.request("again"))
                except AnswerTimeout:
                    return False
                return True

            thread = Thread(target=lambda: wait_until(insist, "the server answers"))
            thread.start()
            while thread.is_alive():
                if server.poll(20):
                    answer_once(server, b"fresh")
            thread.join()

    assert answers == [[b"fresh"]]


def test_a_reliable_client_passes_over_servers_that_are_dead_or_dying() -> None:
    dying, healthy = replier(bind=ANY, options=PATIENT), replier(bind=ANY, options=PATIENT)
    dead = f"tcp://127.0.0.1:{find_port()}"
    taken = []

    def die() -> None:
        with dying:
            if dying.poll(30_000):
                taken.append(dying.recv())

    def work() -> None:
        with healthy:
            for _ in range(2):
                answer_once(healthy, b"10")

    threads = [Thread(target=die), Thread(target=work)]
    with ReliableRequester(dead, bound_address(dying), bound_address(healthy), time_limit_ms=20_000) as client:
        for thread in threads:
            thread.start()
        # Only when all that live are connected is it known whose turn comes first.
        wait_until(lambda: connections_of(client) == [False, True, True], "it is connected to two")
        began = time.monotonic()

        answers = [client.request("100"), client.request("100")]
        took_s = time.monotonic() - began

    for thread in threads:
        thread.join()
    assert taken == [b"100"]
    assert answers == [[b"10"], [b"10"]]
    # Well below a time limit: the broken connection told.
    assert took_s < 15


def test_a_reliable_client_that_cannot_be_is_refused() -> None:
    wrong = [
        lambda: ReliableRequester(),
        lambda: ReliableRequester("tcp://127.0.0.1:1", tries=0),
        lambda: ReliableRequester("tcp://127.0.0.1:1", time_limit_ms=0),
        lambda: ReliableRequester("tcp://127.0.0.1:1", "tcp://127.0.0.1"),
    ]

    for make in wrong:
        with pytest.raises(SettingsInvalid):
            make()


def test_a_dealer_asks_in_turn_without_waiting_and_past_a_server_that_died() -> None:
    servers = [replier(bind=ANY, options=PATIENT) for _ in range(2)]
    with dealer(connect=[bound_address(server) for server in servers], options=PATIENT) as client:
        for number in range(4):
            client.send_multipart(join_envelope([], [b"%d" % number]))

        servers[0].recv()
        servers[0].close()
        asked = [answer_once(servers[1], b"done") for _ in range(2)]
        answers = [split_envelope(client.recv_multipart()) for _ in range(2)]

    servers[1].close()
    assert asked == [b"1", b"3"]
    assert answers == [([], [b"done"])] * 2


def test_a_request_without_a_delimiter_is_dropped_by_rep() -> None:
    with replier(bind=ANY, options=PATIENT) as server:
        with dealer(connect=bound_address(server), options=PATIENT) as client:
            client.send_multipart([b"no delimiter"])
            client.send_multipart(join_envelope([], [b"a delimiter"]))

            asked = server.recv_multipart()

    assert asked == [b"a delimiter"]


def test_a_router_answers_by_identity_in_any_order_and_not_who_has_gone() -> None:
    with router(bind=ANY, options=PATIENT) as server:
        clients = {
            name: requester(connect=bound_address(server), identity=name, options=PATIENT)
            for name in (b"peer1", b"peer2", b"peer3")
        }
        for name, client in clients.items():
            client.send(b"from " + name)
        requests = {frames[0]: frames for frames in (server.recv_multipart() for _ in clients)}
        clients.pop(b"peer2").close()

        for name in (b"peer3", b"peer2", b"peer1"):
            envelope, body = split_envelope(requests[name])
            server.send_multipart(join_envelope(envelope, [b"answer " + body[0]]))
        answers = {name: client.recv() for name, client in clients.items()}

        for client in clients.values():
            client.close()
    assert requests[b"peer1"] == [b"peer1", b"", b"from peer1"]
    assert answers == {b"peer1": b"answer from peer1", b"peer3": b"answer from peer3"}


def test_of_two_clients_with_one_identity_only_the_first_is_heard() -> None:
    with router(bind=ANY, options=PATIENT) as server:
        with requester(connect=bound_address(server), identity=b"same", options=PATIENT) as first:
            first.send(b"first")
            heard = [server.recv_multipart()]
            with requester(connect=bound_address(server), identity=b"same", options=PATIENT) as second:
                second.send(b"second")

                more = server.poll(SILENCE_MS)

    assert heard == [[b"same", b"", b"first"]]
    assert more == 0


@pytest.mark.parametrize("identity", [b"", b"\0mine", b"x" * 256])
def test_an_identity_that_libzmq_would_refuse_is_refused_with_the_rule(identity: bytes) -> None:
    with pytest.raises(SettingsInvalid, match="1 to 255 bytes"):
        requester(connect="tcp://127.0.0.1:1", identity=identity)
