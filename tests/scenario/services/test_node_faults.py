"""Node workers of the plain form that die, or answer too late: they have no beats, so the time of an answer is all
that the broker has to tell by."""

from __future__ import annotations

from ..hub_process import wait_until
from .conftest import MakeBroker, StartProgram

QUICK_MS = "700"
"""For workers that are dead: nobody has to answer in this time."""
AMPLE_MS = "3000"
"""For workers that must answer in this time, on a machine that does other things too."""


def test_the_request_of_a_worker_that_is_killed_is_answered_by_another(
    start_broker: MakeBroker, node: StartProgram
) -> None:
    broker = start_broker("--answer-ms", AMPLE_MS)
    dying = node("worker.cjs", broker.back, "Ana", "hold")
    client = node("client.cjs", broker.front, "Hola")
    dying.wait_for_line("given Hola")

    dying.kill()
    node("worker.cjs", broker.back, "Eva")

    assert client.finish() == ["resp: Hola by Eva"]
    assert broker.show("redispatched") == 1


def test_every_client_is_answered_once_while_a_worker_dies_in_the_middle(
    start_broker: MakeBroker, node: StartProgram
) -> None:
    broker = start_broker("--answer-ms", AMPLE_MS)
    dying = node("worker.cjs", broker.back, "Ana", "hold")
    broker.wait_for("workers", 1)
    asked = {name: [f"{name}-{number}" for number in range(10)] for name in ("uno", "dos", "tres")}
    clients = {name: node("client.cjs", broker.front, *messages) for name, messages in asked.items()}
    wait_until(lambda: dying.told("given "), "the first worker is given a request")

    for name in ("Eva", "Leo"):
        node("worker.cjs", broker.back, name, "5")
    dying.kill()

    answers = {name: [line.split(" by ")[0] for line in client.finish()] for name, client in clients.items()}
    assert answers == {name: [f"resp: {message}" for message in messages] for name, messages in asked.items()}


def test_the_late_answer_of_a_worker_given_up_is_dropped_and_it_is_taken_back(
    start_broker: MakeBroker, node: StartProgram
) -> None:
    broker = start_broker("--answer-ms", AMPLE_MS)
    slow = node("worker.cjs", broker.back, "Ana", "hold")
    client = node("client.cjs", broker.front, "Hola")
    slow.wait_for_line("given Hola")
    node("worker.cjs", broker.back, "Eva")
    assert client.finish() == ["resp: Hola by Eva"]
    assert broker.show("workers") == 1, "one of the two is given up"

    slow.tell("answer now")
    broker.wait_for("workers", 2)
    # Eva has waited for longer, so she is given the first, and Ana the second.
    client = node("client.cjs", broker.front, "uno", "dos")
    slow.wait_for_line("given dos")
    slow.tell("answer")

    assert client.finish() == ["resp: uno by Eva", "resp: dos by Ana"]
    assert broker.show("answered") == 3, "the late answer counted as one"


def test_a_request_with_which_worker_after_worker_dies_is_given_up_and_its_client_told(
    start_broker: MakeBroker, node: StartProgram
) -> None:
    broker = start_broker("--answer-ms", QUICK_MS, "--attempts", "2")
    client = node("client.cjs", broker.front, "poison")

    for name in ("Ana", "Eva"):
        worker = node("worker.cjs", broker.back, name, "hold")
        worker.wait_for_line("given poison")
        worker.kill()

    (line,) = client.finish()
    assert line.startswith("resp: error poison_request: 2 workers were lost with this request (Ana, Eva")
    node("worker.cjs", broker.back, "Leo")
    assert node("client.cjs", broker.front, "Hola").finish() == ["resp: Hola by Leo"]
