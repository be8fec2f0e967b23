"""Node programs of the plain form, which know nothing of this broker: REQ or DEALER clients, REQ workers."""

from __future__ import annotations

from ..hub_process import find_port, wait_until
from .broker_process import BrokerProcess
from .conftest import MakeBroker, StartProgram


def test_a_client_is_answered_by_a_worker(start_broker: MakeBroker, node: StartProgram) -> None:
    broker = start_broker()
    worker = node("worker.cjs", broker.back, "Ana")

    client = node("client.cjs", broker.front, "Hola")

    assert client.finish() == ["resp: Hola by Ana"]
    assert worker.told("given ") == ["Hola"]


def test_a_client_that_asks_before_there_is_a_worker_waits_for_one(
    start_broker: MakeBroker, node: StartProgram
) -> None:
    broker = start_broker()
    client = node("client.cjs", broker.front, "Hola")
    broker.wait_for("waiting", 1)

    node("worker.cjs", broker.back, "Ana")

    assert client.finish() == ["resp: Hola by Ana"]


def test_several_clients_share_several_workers_and_each_gets_its_own_answers(
    start_broker: MakeBroker, node: StartProgram
) -> None:
    broker = start_broker()
    workers = {name: node("worker.cjs", broker.back, name, "5") for name in ("Ana", "Eva", "Leo")}
    broker.wait_for("workers", 3)
    asked = {client: [f"{client}-{number}" for number in range(10)] for client in ("uno", "dos", "tres", "cuatro")}

    clients = {client: node("client.cjs", broker.front, *messages) for client, messages in asked.items()}

    answers = {client: [line.split(" by ") for line in program.finish()] for client, program in clients.items()}
    assert {client: [line[0] for line in lines] for client, lines in answers.items()} == {
        client: [f"resp: {message}" for message in messages] for client, messages in asked.items()
    }
    worked = [work for worker in workers.values() for work in worker.told("given ")]
    assert sorted(worked) == sorted(message for messages in asked.values() for message in messages)
    assert all(worker.told("given ") for worker in workers.values()), "one worker did nothing"


def test_a_dealer_client_does_not_wait_for_one_answer_to_ask_again(
    start_broker: MakeBroker, node: StartProgram
) -> None:
    broker = start_broker()
    workers = [node("worker.cjs", broker.back, name, "hold") for name in ("Ana", "Eva")]
    broker.wait_for("workers", 2)

    client = node("dealer.cjs", broker.front, "uno", "dos")
    wait_until(lambda: all(worker.told("given ") for worker in workers), "each worker is given one")
    for worker in workers:
        worker.tell("go on")

    shown = sorted(client.finish())
    assert shown in (
        ["resp: [] dos by Ana", "resp: [] uno by Eva"],
        ["resp: [] dos by Eva", "resp: [] uno by Ana"],
    )


def test_all_segments_of_a_message_reach_the_worker(start_broker: MakeBroker, node: StartProgram) -> None:
    broker = start_broker()
    worker = node("worker.cjs", broker.back, "Ana")

    client = node("dealer.cjs", broker.front, "uno+dos++tres")

    assert client.finish() == ["resp: [] uno+dos++tres by Ana"]
    assert worker.told("given ") == ["uno+dos++tres"]


def test_a_worker_that_is_started_again_under_its_name_is_given_work(
    start_broker: MakeBroker, node: StartProgram
) -> None:
    broker = start_broker("--answer-ms", "3000")
    first = node("worker.cjs", broker.back, "Ana")
    assert node("client.cjs", broker.front, "uno").finish() == ["resp: uno by Ana"]

    first.kill()
    second = node("worker.cjs", broker.back, "Ana")
    second.wait_for_line("registering")
    answers = node("client.cjs", broker.front, "dos", "tres").finish()

    assert answers == ["resp: dos by Ana", "resp: tres by Ana"]
    assert broker.show("workers") == 1


def test_a_client_behind_another_broker_is_answered(start_broker: MakeBroker, node: StartProgram) -> None:
    broker = start_broker()
    worker = node("worker.cjs", broker.back, "Ana", "5")
    door = f"tcp://127.0.0.1:{find_port()}"
    node("forwarder.cjs", door, broker.front).wait_for_line("forwarding")

    clients = [node("client.cjs", door, f"{name}-1", f"{name}-2") for name in ("uno", "dos", "tres")]

    assert [client.finish() for client in clients] == [
        [f"resp: {name}-1 by Ana", f"resp: {name}-2 by Ana"] for name in ("uno", "dos", "tres")
    ]
    assert len(worker.told("given ")) == 6


def test_a_client_that_is_killed_while_it_waits_keeps_nobody_else_from_an_answer(
    start_broker: MakeBroker, node: StartProgram
) -> None:
    broker = start_broker()
    worker = node("worker.cjs", broker.back, "Ana", "hold")
    gone = node("client.cjs", broker.front, "uno")
    worker.wait_for_line("given uno")

    gone.kill()
    client = node("client.cjs", broker.front, "dos")
    worker.tell("answer to nobody")
    worker.wait_for_line("given dos")
    worker.tell("answer")

    assert client.finish() == ["resp: dos by Ana"]


def test_a_request_for_which_no_worker_comes_is_answered_with_the_reason(
    start_broker: MakeBroker, node: StartProgram
) -> None:
    broker = start_broker("--wait-ms", "300")

    client = node("client.cjs", broker.front, "Hola")

    (line,) = client.finish()
    assert line.startswith("resp: error service_unserved: ")


def test_the_broker_is_the_same_after_it_was_killed(start_broker: MakeBroker, node: StartProgram) -> None:
    broker: BrokerProcess = start_broker()
    node("worker.cjs", broker.back, "Ana")
    assert node("client.cjs", broker.front, "uno").finish() == ["resp: uno by Ana"]

    broker.kill()
    broker.start()
    client = node("client.cjs", broker.front, "dos")
    node("worker.cjs", broker.back, "Eva")

    assert client.finish() == ["resp: dos by Eva"]
