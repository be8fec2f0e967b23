"""`pregon services …`, `pregon request` and `pregon result`, against a real hub and real workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ..command_line import Said, run
from ..hub_process import HubProcess, end, wait_until
from .staff import Staff


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs of the module live."""
    return tmp_path_factory.mktemp("services")


@pytest.fixture(scope="module")
def served(place: Path) -> Iterator[HubProcess]:
    """A hub with a worker that serves `echo`."""
    hub = HubProcess(place / "data").start()
    try:
        with Staff(hub.addresses.services_back, place, "echo") as staff:
            staff.hire("ana")
            yield hub
        assert hub.bugs() == []
        assert hub.stop() == 0
    finally:
        end(hub)


def ask(hub: HubProcess, *arguments: str, **variables: str) -> Said:
    """Run a command against the hub."""
    return run(*arguments, hub=hub.url, **variables)


def test_a_request_shows_the_answer_a_frame_a_line(served: HubProcess) -> None:
    said = ask(served, "request", "echo", "uno", "dos")

    assert (said.status, said.err) == (0, "")
    assert said.out == "uno\ndos\nana\n"


def test_a_body_is_read_from_standard_input(served: HubProcess) -> None:
    said = run("request", "echo", "-", hub=served.url, stdin="Pepe Gómez")

    assert said.status == 0
    assert "Pepe Gómez" in said.out


def test_the_front_may_be_named_instead_of_a_hub(served: HubProcess) -> None:
    said = run("request", "echo", "x", "--front", served.addresses.services_front)

    assert said.status == 0
    assert "x" in said.out


def test_a_version_that_nobody_serves_is_an_error_in_words(served: HubProcess) -> None:
    said = ask(served, "request", "echo", "x", "--version", "9", "--json")

    assert said.status == 2
    assert said.error["code"] == "version_unserved"
    assert "version 9" in said.error["message"]


def test_a_durable_request_is_collected_by_its_id(served: HubProcess) -> None:
    left = ask(served, "request", "echo", "later", "--durable", "--key", "acta-1861")
    again = ask(served, "request", "echo", "later", "--durable", "--key", "acta-1861")
    another = ask(served, "request", "echo", "another", "--durable", "--key", "acta-1861", "--json")

    result = ask(served, "result", "acta-1861", "--wait-ms", "10000")

    assert left.out == again.out == "acta-1861\n"
    assert "later" in result.out
    assert another.error["code"] == "already_exists"
    (row,) = ask(served, "services", "durable", "--type", "echo", "--json").rows
    assert (row["id"], row["state"]) == ("acta-1861", "answered")


def test_a_result_that_is_not_known_is_told_so(served: HubProcess) -> None:
    said = ask(served, "result", "nothing", "--json")

    assert said.status == 3
    assert said.error["code"] == "not_found"


def test_services_workers_and_what_ended_are_listed(served: HubProcess) -> None:
    ask(served, "request", "echo", "x")

    services = {row["type"]: row for row in ask(served, "services", "list", "--json").rows}
    workers = ask(served, "services", "workers", "--json").rows
    newest = ask(served, "services", "recent", "--max", "1", "--json").row

    assert services["echo"]["workers"] == 1
    assert [row["name"] for row in workers] == ["ana"]
    assert (newest["service"], newest["worker"], newest["outcome"]) == ("echo", "ana", "answered")
    assert newest["policy"] == "longest-idle"


def test_a_service_is_run_in_another_way_and_as_all_the_others_again(served: HubProcess) -> None:
    changed = ask(served, "services", "set", "echo", "--policy", "least-loaded", "--answer-ms", "5000", "--json").row
    ask(served, "request", "echo", "x")
    newest = ask(served, "services", "recent", "--max", "1", "--json").row

    reset = ask(served, "services", "reset", "echo")
    again = ask(served, "services", "reset", "echo")

    assert (changed["options"]["policy"], changed["options"]["answer_ms"]) == ("least-loaded", 5_000)
    assert newest["policy"] == "least-loaded"
    assert reset.status == 0
    assert "no options of its own" in again.err


@pytest.mark.parametrize(
    ("options", "wrong"),
    [(["--policy", "fastest"], "policy"), (["--answer-ms", "1"], "answer_ms"), ([], "say what to change")],
)
def test_options_that_make_no_sense_are_refused(served: HubProcess, options: list[str], wrong: str) -> None:
    said = ask(served, "services", "set", "echo", *options)

    assert said.status == 2
    assert wrong in said.err


def test_top_shows_the_whole_in_two_languages(served: HubProcess) -> None:
    english = ask(served, "services", "top", "--once")
    spanish = ask(served, "services", "top", "--once", PREGON_LANG="es")

    assert english.status == spanish.status == 0
    assert "echo" in english.out and "ana" in english.out and "answered/s" in english.out
    assert "servicio" in spanish.out and "trabajador" in spanish.out


def test_what_kills_its_workers_is_set_aside_shown_released_and_dropped(served: HubProcess, place: Path) -> None:
    ask(served, "services", "set", "fatal", "--attempts", "1", "--beat-ms", "100")
    with Staff(served.addresses.services_back, place, "fatal") as staff:
        staff.hire("victim", "--dies-of", "x")
        left = ask(served, "request", "fatal", "x", "--durable").out.strip()
        wait_until(lambda: ask(served, "services", "poison", "--json").rows, "it is set aside")

        (row,) = ask(served, "services", "poison", "--json").rows
        released = ask(served, "services", "release", str(row["number"]))
        staff.hire("survivor")
        result = ask(served, "result", left, "--wait-ms", "10000")
        dropped = ask(served, "services", "drop", str(row["number"]))

    assert (row["service"], row["durable_id"], row["lost_workers"]) == ("fatal", left, ["victim"])
    assert released.status == 0
    assert (result.status, result.err) == (0, "")
    assert (dropped.status, "not_found" in dropped.err) == (3, True)
