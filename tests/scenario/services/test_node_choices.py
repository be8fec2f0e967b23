"""Which worker gets a request: by the type of the job, by the load, and whichever form either of them speaks."""

from __future__ import annotations

from .conftest import MakeBroker, StartProgram


def test_a_job_goes_to_a_worker_of_its_type(start_broker: MakeBroker, node: StartProgram) -> None:
    broker = start_broker()
    node("worker.cjs", broker.back, "Ana", "0", "A,B")
    node("worker.cjs", broker.back, "Eva", "0", "B")
    node("worker.cjs", broker.back, "Leo", "0", "C")
    broker.wait_for("workers", 2, "B")
    broker.wait_for("workers", 1, "C")

    clients = {name: node("typed.cjs", broker.front, name, *"12345678") for name in "ABC"}

    names = {name: {line.split(" by ")[1] for line in client.finish()} for name, client in clients.items()}
    assert names["A"] == {"Ana"}
    assert names["B"] <= {"Ana", "Eva"}
    assert "Eva" in names["B"], "she serves nothing else, and was free"
    assert names["C"] == {"Leo"}


def test_a_job_of_a_type_that_nobody_serves_gets_an_error_and_others_go_on(
    start_broker: MakeBroker, node: StartProgram
) -> None:
    broker = start_broker("--wait-ms", "300")
    node("worker.cjs", broker.back, "Ana", "0", "A")
    broker.wait_for("workers", 1, "A")

    refused = node("typed.cjs", broker.front, "Z", "1")
    of_no_type = node("client.cjs", broker.front, "1")
    served = node("typed.cjs", broker.front, "A", "1")

    assert refused.finish() == ["PGS1E service_unserved"]
    assert of_no_type.finish()[0].startswith("resp: error service_unserved: ")
    assert served.finish() == ["resp: 1 by Ana"]


def test_the_least_loaded_is_chosen_by_what_workers_said_when_they_registered(
    start_broker: MakeBroker, node: StartProgram
) -> None:
    broker = start_broker("--policy", "least-loaded")
    for name, load in (("Ana", "0.9"), ("Eva", "0.1"), ("Leo", "0.5")):
        node("worker.cjs", broker.back, name, "0", "", load)
    broker.wait_for("workers", 3)

    client = node("client.cjs", broker.front, *"123456")

    assert client.finish() == [f"resp: {number} by Eva" for number in "123456"]


def test_a_load_that_comes_with_an_answer_counts_for_the_next_choice(
    start_broker: MakeBroker, node: StartProgram
) -> None:
    broker = start_broker("--policy", "least-loaded")
    node("loads.cjs", broker.back, "Ana", "0.1", "0.8")
    node("loads.cjs", broker.back, "Eva", "0.5", "0.9")
    broker.wait_for("workers", 2)

    client = node("client.cjs", broker.front, *"1234")

    assert client.finish() == ["resp: 1 by Ana", "resp: 2 by Eva", "resp: 3 by Ana", "resp: 4 by Ana"]


def test_workers_take_turns_where_loads_do_not_count(start_broker: MakeBroker, node: StartProgram) -> None:
    broker = start_broker("--policy", "round-robin")
    for count, (name, load) in enumerate((("Ana", "0.9"), ("Eva", "0.1"), ("Leo", "0.5")), start=1):
        node("worker.cjs", broker.back, name, "0", "", load)
        broker.wait_for("workers", count)

    client = node("client.cjs", broker.front, *"123456")

    assert [line.split(" by ")[1] for line in client.finish()] == ["Ana", "Eva", "Leo"] * 2


def test_workers_of_both_forms_serve_clients_of_both_forms(start_broker: MakeBroker, node: StartProgram) -> None:
    broker = start_broker("--policy", "round-robin")
    node("worker.cjs", broker.back, "plain")
    node("loads.cjs", broker.back, "headed", "0")
    broker.wait_for("workers", 2)

    plain = node("client.cjs", broker.front, "1", "2", "3", "4").finish()
    headed = node("typed.cjs", broker.front, "default", "1", "2", "3", "4").finish()

    for lines in (plain, headed):
        assert [line.split(" by ")[0] for line in lines] == [f"resp: {number}" for number in "1234"]
        assert {line.split(" by ")[1] for line in lines} == {"plain", "headed"}
