"""What the command line says when something is wrong: exit statuses, JSON errors, two languages."""

from __future__ import annotations

import json
from pathlib import Path

from .command_line import run
from .hub_process import Addresses, HubProcess, find_port


def test_a_hub_that_is_not_there_ends_with_five_and_says_where_it_was_looked_for() -> None:
    nowhere = f"tcp://127.0.0.1:{find_port()}"

    people = run("publish", "novedades", "x", "--timeout", "200", hub=nowhere)
    program = run("pull", "novedades", "--timeout", "200", "--json", hub=nowhere)

    assert (people.status, program.status) == (5, 5)
    assert people.err.startswith("error hub_unreachable")
    assert nowhere in people.err
    assert "pregon serve" in people.err
    assert program.out == ""
    assert {**program.error, "message": ""} == {"code": "hub_unreachable", "message": "", "retryable": True}


def test_the_option_wins_over_the_variable_and_the_variable_over_the_default(hub: HubProcess, tmp_path: Path) -> None:
    nowhere = f"tcp://127.0.0.1:{find_port()}"

    by_variable = run("topic", "list", "--json", hub=hub.url)
    by_option = run("topic", "list", "--json", "--hub", hub.url, hub=nowhere)
    misled = run("publish", "t", "x", "--hub", nowhere, "--timeout", "200", hub=hub.url)

    assert (by_variable.status, by_option.status, misled.status) == (0, 0, 5)


def test_what_is_no_address_ends_with_two() -> None:
    said = run("topic", "list", "--hub", "somewhere", "--json")

    assert said.status == 2
    assert said.error["code"] == "settings_invalid"


def test_a_wrong_use_ends_with_two_and_shows_the_right_one() -> None:
    unknown, missing, none = run("shout"), run("publish"), run("topic", "create")

    assert (unknown.status, missing.status, none.status) == (2, 2, 2)
    assert "Usage" in missing.err


def test_help_and_version_end_with_zero() -> None:
    said = [run("--help"), run("subscription", "--help"), run("--version")]

    assert [one.status for one in said] == [0, 0, 0]
    assert "publish" in said[0].out
    assert "replay" in said[1].out
    assert said[2].out.startswith("pregon ")


def test_every_status_says_which_kind_of_mistake_it_was(hub: HubProcess, tmp_path: Path) -> None:
    (tmp_path / "pregon.db").write_bytes(b"no database at all" * 100)

    statuses = {
        "well": run("topic", "list", hub=hub.url).status,
        "something is wrong": run("doctor", "--data", str(tmp_path), hub=hub.url).status,
        "rejected": run("publish", "not a name", "x", hub=hub.url).status,
        "not found": run("topic", "show", "absent", hub=hub.url).status,
        "in use": run("serve", "--data", hub.data, *Addresses().options()).status,
        "unavailable": run("publish", "t", "x", "--timeout", "100", hub=f"tcp://127.0.0.1:{find_port()}").status,
        "corrupt": run("serve", "--data", tmp_path, *Addresses().options()).status,
        "unauthorized": run("topic", "list", hub=hub.url, key="pgn_0123456789ab_wrong").status,
    }

    assert list(statuses.values()) == list(range(8)), statuses


def test_people_who_read_spanish_are_told_in_spanish(hub: HubProcess, topic: str) -> None:
    spanish = "es_UY"

    empty = run("producer", "list", "--after", "zzzz", hub=hub.url, PREGON_LANG=spanish)
    pulled = run("pull", topic, "--as", "bps", hub=hub.url, PREGON_LANG=spanish)
    deleted = run("topic", "delete", topic, "--yes", hub=hub.url, PREGON_LANG=spanish)
    by_locale = run("traces", "--topic", "absent", hub=hub.url, LANG="es_ES.UTF-8")
    stays_english = run("traces", "--topic", "absent", hub=hub.url, LANG="es_ES.UTF-8", PREGON_LANG="en")
    programs = run("topic", "show", "absent", "--json", hub=hub.url, PREGON_LANG=spanish)

    assert empty.out == "todavía no hay ninguno\n"
    assert pulled.err == "no hay novedades pendientes para bps\n"
    assert deleted.out == f"topic {topic} eliminado\n"
    assert by_locale.out == "no hay trazas\n"
    assert stays_english.out == "no traces\n"
    assert programs.error["code"] == "not_found"


def test_the_log_of_a_hub_is_json_when_no_person_reads_it(hub: HubProcess) -> None:
    lines = hub.log.read_text().splitlines()

    events = [json.loads(line) for line in lines]

    (ready,) = [event for event in events if event["event"] == "hub ready"]
    assert ready["zmq"] == hub.url
    assert {"at", "level", "logger", "version", "pid", "data", "feed", "ingest", "http"} <= set(ready)
