"""`pregon doctor`: what it finds wrong with a machine, a database, keys, a certificate, a hub, and its advice."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from .command_line import run
from .conftest import MakeHub
from .hub_process import HubProcess, find_port


def findings(*arguments: str | Path, **more: str) -> dict[str, dict[str, Any]]:
    """What the doctor finds, by check."""
    return {row["check"]: row for row in run("doctor", "--json", *arguments, **more).rows}


def test_the_doctor_finds_nothing_wrong_with_a_healthy_hub(hub: HubProcess) -> None:
    people = run("doctor", "--data", hub.data, "--full", hub=hub.url)
    programs = run("doctor", "--json", hub=hub.url, PREGON_DATA=str(hub.data))

    findings = {row["check"]: row for row in programs.rows}
    assert (people.status, programs.status) == (0, 0), people.out
    assert list(findings) == ["versions", "space", "sync", "database", "access", "keys", "hub"]
    assert all(finding["is_well"] for finding in findings.values())
    assert "integrity: ok" in people.out
    assert people.out.count("✓") == 7


def test_the_doctor_says_what_is_wrong_and_what_to_do(tmp_path: Path) -> None:
    nowhere = f"tcp://127.0.0.1:{find_port()}"
    (tmp_path / "pregon.db").write_bytes(b"no database at all" * 100)

    said = run("doctor", "--data", tmp_path, "--json", hub=nowhere)
    before_the_first_start = run("doctor", "--data", tmp_path / "absent", hub=nowhere, PREGON_LANG="es")

    findings = {row["check"]: row for row in said.rows}
    assert said.status == 1
    assert [name for name, finding in findings.items() if not finding["is_well"]] == ["database", "hub"]
    assert "backup" in findings["database"]["advice"]
    assert "pregon serve" in findings["hub"]["advice"]
    assert before_the_first_start.status == 1
    assert "no existe todavía" in before_the_first_start.out
    assert "inicie uno con" in before_the_first_start.out


# Who may do what.


def test_the_doctor_tells_an_open_hub_from_one_with_an_administrator(make_hub: MakeHub) -> None:
    hub = make_hub().start()
    hub.stop()
    data = ["--data", hub.data]

    open_ = findings(*data)["access"]
    spanish = run("doctor", *data, PREGON_LANG="es")
    shown_to_others = findings(*data, PREGON_HTTP="0.0.0.0:5580")["access"]
    on_purpose = findings(*data, PREGON_HTTP="0.0.0.0:5580", PREGON_OPEN_TO_ALL="true")["access"]
    run(*open_["advice"].partition("`pregon ")[2].partition("`")[0].split())
    administered = findings(*data, PREGON_HTTP="0.0.0.0:5580")["access"]
    keys_required = findings(*data, PREGON_REQUIRE_KEYS="true")["access"]

    assert open_["is_well"]
    assert open_["found"].startswith("open: anybody")
    assert "abierto: quien llegue al servidor puede todo" in spanish.out
    assert "cree un administrador con" in spanish.out
    assert (shown_to_others["is_well"], on_purpose["is_well"]) == (False, True)
    assert administered["is_well"]
    assert administered["found"] == "administered by admin; names without a key are for anybody"
    assert keys_required["found"] == "administered by admin"


def test_the_doctor_knows_an_identity_provider_from_the_settings(make_hub: MakeHub, tmp_path: Path) -> None:
    hub = make_hub().start()
    hub.stop()
    file = tmp_path / "pregon.toml"
    file.write_text(f"data = '{hub.data}'\noidc_issuer = 'https://id.example.org'\noidc_audience = 'pregon'\n")

    by_option = findings("--config", file)
    by_variable = findings(PREGON_CONFIG=str(file))
    file.write_text("colour = 'red'")
    wrong = findings("--config", file)

    assert by_option["access"] == by_variable["access"]
    assert "administered by https://id.example.org" in by_option["access"]["found"]
    assert not wrong["settings"]["is_well"]
    assert "colour" in wrong["settings"]["found"]


def test_the_doctor_warns_of_keys_that_expire_soon_and_says_whose(make_hub: MakeHub) -> None:
    hub = make_hub().start()
    for name in ("dgrec", "mides", "ute"):
        run("producer", "create", name, hub=hub.url)
    create = ["key", "create", "producer"]
    dgrec = run(*create, "dgrec", "--lifetime", "13d", "--json", hub=hub.url).row
    mides = run(*create, "mides", "--json", hub=hub.url).row
    run(*create, "ute", "--lifetime", "15d", hub=hub.url)
    rotated = run(*create, "mides", "--overlap", "24h", "--json", hub=hub.url).row

    ill = findings("--data", hub.data, hub=hub.url)["keys"]
    spanish = run("doctor", "--data", hub.data, hub=hub.url, PREGON_LANG="es")
    run("key", "revoke", "producer", "dgrec", dgrec["id"], hub=hub.url)
    rotation = findings("--data", hub.data, hub=hub.url)["keys"]
    run("key", "revoke", "producer", "mides", mides["id"], hub=hub.url)
    well = findings("--data", hub.data, hub=hub.url)["keys"]

    assert not ill["is_well"]
    assert f"producer dgrec {dgrec['id']}" in ill["found"]
    assert ill["advice"].endswith("to: producer dgrec"), "mides has a key that lasts"
    assert "estas vencen antes de 14 días" in spanish.out
    assert spanish.status == 1
    assert rotation["is_well"]
    assert f"producer mides {mides['id']}" in rotation["found"]
    assert (well["is_well"], well["found"]) == (True, "2, none expires within 14 days")
    for made in (dgrec, mides, rotated):
        assert made["secret"].split("_", 2)[2] not in str(ill) + spanish.out


@pytest.mark.parametrize(("days", "is_well"), [(365, True), (13, False)])
def test_the_doctor_says_until_when_the_certificate_is_valid(tmp_path: Path, days: int, is_well: bool) -> None:
    (tmp_path / "data").mkdir()
    certificate, key = tmp_path / "hub.pem", tmp_path / "hub.key"
    request = f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=hub -days {days}"
    subprocess.run([*request.split(), "-out", certificate, "-keyout", key], check=True, capture_output=True)
    settings = {"PREGON_TLS_CERTIFICATE": str(certificate), "PREGON_TLS_KEY": str(key)}

    found = findings("--data", tmp_path / "data", **settings)["certificate"]
    spanish = run("doctor", "--data", tmp_path / "data", PREGON_LANG="es", **settings)
    key.write_text("no key")
    broken = findings("--data", tmp_path / "data", **settings)["certificate"]

    assert found["is_well"] is is_well
    assert "valid until 20" in found["found"]
    assert "válido hasta 20" in spanish.out
    assert ("restart the hub" in found["advice"]) is not is_well
    assert not broken["is_well"]
    assert "hub.key" in broken["found"]


def test_the_doctor_does_not_advise_to_start_a_hub_that_refuses_the_key(hub: HubProcess) -> None:
    found = findings("--data", hub.data, hub=hub.url, key="pgn_0123456789ab_wrong")["hub"]

    assert not found["is_well"]
    assert "the key is unknown" in found["found"]
    assert found["advice"] == ""
