"""`pregon schema`: what the messages of a topic must be, and what is said of a change; and `subscription cancel`."""

from __future__ import annotations

import json
from pathlib import Path

from pregon.client import Client

from .command_line import Said, run
from .hub_process import HubProcess

_PERSON = {"type": "object", "properties": {"nombre": {"type": "string"}}, "required": ["nombre"]}
_XSD = """<?xml version="1.0" encoding="UTF-8"?>
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:element name="fallecido" type="xs:string"/>
</xs:schema>
"""


def write(directory: Path, schema: dict[str, object]) -> Path:
    """A JSON Schema in a file."""
    file = directory / "schema.json"
    file.write_text(json.dumps(schema))
    return file


def test_a_topic_takes_only_what_fits_its_schema(hub: HubProcess, topic: str, tmp_path: Path) -> None:
    run("topic", "create", topic, hub=hub.url)
    file = write(tmp_path, _PERSON)

    given = run("schema", "set", topic, "--kind", "json-schema", "--file", file, "--json", hub=hub.url)
    fits = run("publish", topic, '{"nombre": "Pepe"}', hub=hub.url)
    does_not = run("publish", topic, '{"apellido": "Gómez"}', "--json", hub=hub.url)
    removed = run("schema", "remove", topic, hub=hub.url)
    anything = run("publish", topic, "anything", hub=hub.url)

    assert (given.row["version"], given.row["kind"], given.row["text"]) == (1, "json-schema", json.dumps(_PERSON))
    assert fits.status == 0
    assert (does_not.status, does_not.error["code"]) == (2, "schema_mismatch")
    assert removed.out == f"{topic} takes any body again\n"
    assert anything.out == f"{topic} 2\n"


def test_a_change_says_whether_it_accepts_all_that_was_accepted_and_why_not(
    hub: HubProcess, topic: str, tmp_path: Path
) -> None:
    run("topic", "create", topic, hub=hub.url)
    stricter = {**_PERSON, "required": ["nombre", "cedula"]}
    command = ["schema", "set", topic, "--kind", "json-schema", "--file"]

    first = run(*command, write(tmp_path, _PERSON), hub=hub.url)
    narrower = run(*command, write(tmp_path, stricter), hub=hub.url)
    wider = run(*command, write(tmp_path, _PERSON), hub=hub.url)
    spanish = run(*command, write(tmp_path, stricter), hub=hub.url, PREGON_LANG="es")
    programs = run("schema", "show", topic, "--json", hub=hub.url).row

    assert first.out.splitlines()[0] == f"{topic} has version 1 of its schema (json-schema)"
    assert narrower.out.splitlines()[1] == "It does not accept all that was accepted before:"
    assert "cedula" in narrower.out.splitlines()[2]
    assert wider.out.splitlines()[1:] == ["It accepts all that was accepted before."]
    assert spanish.out.splitlines()[:2] == [
        f"{topic} tiene la versión 4 de su esquema (json-schema)",
        "No acepta todo lo que se aceptaba antes:",
    ]
    assert (programs["version"], programs["compatible"]) == (4, "no")
    assert any("cedula" in reason for reason in programs["reasons"])


def test_a_schema_and_its_versions_are_shown(hub: HubProcess, topic: str) -> None:
    run("topic", "create", topic, hub=hub.url)
    none = run("schema", "show", topic, "--json", hub=hub.url)
    no_versions = run("schema", "show", topic, "--versions", hub=hub.url, PREGON_LANG="es")

    run("schema", "set", topic, "--kind", "xml", hub=hub.url)
    from_input = run("schema", "set", topic, "--kind", "xsd", "--file", "-", hub=hub.url, stdin=_XSD)
    shown = run("schema", "show", topic, hub=hub.url)
    versions = run("schema", "show", topic, "--versions", hub=hub.url)
    newest = run("schema", "show", topic, "--versions", "--max", "1", "--json", hub=hub.url)
    removed = run("schema", "remove", topic, "--json", hub=hub.url)
    after = run("schema", "show", topic, hub=hub.url)
    again = run("schema", "remove", topic, "--json", hub=hub.url)

    assert (none.status, none.error["code"]) == (3, "not_found")
    assert no_versions.out == "todavía no hay ninguno\n"
    assert from_input.status == 0
    assert shown.out.endswith(_XSD)
    assert [line.split()[:2] for line in versions.out.splitlines()] == [["version", "kind"], ["2", "xsd"], ["1", "xml"]]
    assert newest.row["version"] == 2
    assert (removed.row["version"], removed.row["kind"]) == (3, "none")
    assert (after.status, again.status) == (3, 3)
    assert "takes any body" in after.err


def test_a_schema_that_makes_no_sense_is_refused(hub: HubProcess, topic: str, tmp_path: Path) -> None:
    run("topic", "create", topic, hub=hub.url)
    file, large, latin = tmp_path / "schema", tmp_path / "large", tmp_path / "latin"
    file.write_text("<not-closed>")
    large.write_bytes(b" " * (256 * 1024 + 1))
    latin.write_bytes("<año/>".encode("latin-1"))
    command = ["schema", "set", topic, "--json", "--kind"]

    said: list[tuple[Said, str]] = [
        (run(*command, "xsd", hub=hub.url), "bad_request"),
        (run(*command, "json", "--file", file, hub=hub.url), "bad_request"),
        (run(*command, "xsd", "--file", tmp_path / "absent", hub=hub.url), "bad_request"),
        (run(*command, "xsd", "--file", large, hub=hub.url), "bad_request"),
        (run(*command, "xsd", "--file", latin, hub=hub.url), "bad_request"),
        (run(*command, "xsd", "--file", file, hub=hub.url), "bad_schema"),
        (run(*command, "json-schema", "--file", file, hub=hub.url), "bad_schema"),
    ]
    absent = run("schema", "set", "absent", "--kind", "json", "--json", hub=hub.url)
    unknown = run("schema", "set", topic, "--kind", "yaml", hub=hub.url)

    assert [(one.status, one.error["code"]) for one, _ in said] == [(2, code) for _, code in said]
    assert (absent.status, absent.error["code"]) == (3, "not_found")
    assert unknown.status == 2
    assert run("schema", "show", topic, "--versions", "--json", hub=hub.url).rows == []


def test_what_could_move_a_cursor_is_not_shown_of_a_schema(hub: HubProcess, topic: str, tmp_path: Path) -> None:
    run("topic", "create", topic, hub=hub.url)
    nasty = {"title": "[bold]\u202e over [/]"}
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(nasty, ensure_ascii=False))

    run("schema", "set", topic, "--kind", "json-schema", "--file", file, hub=hub.url)
    shown = run("schema", "show", topic, hub=hub.url)

    assert shown.status == 0
    assert "[bold]\N{REPLACEMENT CHARACTER} over [/]" in shown.out


def test_cancelled_messages_are_given_up(hub: HubProcess, client: Client, topic: str) -> None:
    for number in range(1, 6):
        client.publish(topic, str(number))
    run("subscription", "create", topic, "dgi", hub=hub.url)
    run("subscription", "park", topic, "dgi", "2", hub=hub.url)

    people = run("subscription", "cancel", topic, "dgi", "2", "3", "--reason", "sent by mistake", hub=hub.url)
    programs = run("subscription", "cancel", topic, "dgi", "4", "--json", hub=hub.url)
    spanish = run("subscription", "cancel", topic, "dgi", "5", hub=hub.url, PREGON_LANG="es")
    refused = run("subscription", "cancel", topic, "dgi", "9", "--json", hub=hub.url)
    pulled = run("pull", topic, "--as", "dgi", "--raw", hub=hub.url)
    account = run("subscription", "show", topic, "dgi", "--json", hub=hub.url).row
    traced = run("traces", "--topic", topic, "--kind", "cancelled", "--seq", "3", "--json", hub=hub.url).row

    assert (people.out, spanish.out) == ("2 messages\n", "1 mensaje\n")
    assert programs.row == {"count": 1}
    assert (refused.status, refused.error["code"]) == (2, "not_pending")
    assert pulled.out == "1\n"
    assert [account[name] for name in ("accepted", "acknowledged", "pending", "parked", "expired")] == [5, 1, 0, 0, 4]
    assert (traced["detail"], traced["subscriber"]) == ("sent by mistake", "dgi")
