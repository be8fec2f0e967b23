"""Settings: where they may be written, which of them wins, and what is said of a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from .command_line import run
from .hub_process import Addresses, HubProcess, end, find_port


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("data = ", "TOML"),
        ("\xff\xfe", "TOML"),
        ("colour = 'red'", "colour"),
        ("reader_threads = 'many'", "reader_threads"),
        ("log_level = 'loud'", "log_level"),
        ("auto_create = 'perhaps'", "auto_create"),
        ("traces_keep_days = 1.5", "traces_keep_days"),
        ("[log_level]\nx = 1", "log_level"),
    ],
)
def test_a_wrong_file_is_refused_and_says_what_is_wrong(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "pregon.toml"
    file.write_bytes(content.encode("latin-1"))

    said = run("serve", "--config", file, "--data", tmp_path / "data", *Addresses().options())

    assert said.status == 2
    assert "settings_invalid" in said.err
    assert told in said.err
    assert not (tmp_path / "data").exists()


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    said = run("serve", "--config", tmp_path / "absent.toml")

    assert said.status == 2
    assert "settings_invalid" in said.err
    assert "absent.toml" in said.err


@pytest.mark.parametrize(
    ("option", "address"),
    [
        ("--zmq", "5570"),
        ("--zmq", "tcp://nowhere.invalid:5570"),
        ("--feed", "udp://127.0.0.1:5571"),
        ("--http", "127.0.0.1:http"),
        ("--http", "nowhere.invalid:5580"),
    ],
)
def test_a_wrong_address_is_refused(tmp_path: Path, option: str, address: str) -> None:
    said = run("serve", "--data", tmp_path / "data", *Addresses().options(), option, address)

    assert said.status == 2
    assert "settings_invalid" in said.err
    assert address.split(":")[0] in said.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--tls-key", "hub.key"], "tls_certificate"),
        (["--tls-client-ca", "ca.pem"], "tls_certificate"),
        (["--tls-certificate", "absent.pem", "--tls-key", "absent.key"], "absent.pem"),
        (["--oidc-issuer", "https://id.example.org"], "oidc_audience"),
        (["--oidc-issuer", "http://id.example.org", "--oidc-audience", "pregon"], "https"),
    ],
)
def test_a_security_that_would_not_work_is_refused(tmp_path: Path, options: list[str], told: str) -> None:
    said = run("serve", "--data", tmp_path / "data", *Addresses().options(), *options, "--log-level", "error")

    assert said.status == 2
    assert said.err.startswith("error settings_invalid")
    assert told in said.err


def test_a_wrong_variable_is_refused(tmp_path: Path) -> None:
    said = run("serve", "--data", tmp_path, *Addresses().options(), PREGON_READER_THREADS="a few")

    assert said.status == 2
    assert "settings_invalid" in said.err
    assert "reader_threads" in said.err


def test_the_command_line_wins_over_variables_and_variables_over_the_file(tmp_path: Path) -> None:
    by_file, by_variable = f"tcp://127.0.0.1:{find_port()}", f"tcp://127.0.0.1:{find_port()}"
    file = tmp_path / "pregon.toml"
    file.write_text(
        f"data = '{tmp_path / 'by-file'}'\nzmq = '{by_file}'\nfeed = '{by_file}'\ningest = ''\nhttp = ''\n"
        "body_bytes_max = 10\n"
    )
    hub = HubProcess(tmp_path / "by-option", feed=by_variable, zmq=by_variable, config=str(file))

    try:
        hub.options = ["--data", str(hub.data), "--zmq", hub.url, "--services-front", ""]
        hub.start()
        status = hub.status()
        with hub.client() as client, pytest.raises(Exception, match="10"):
            client.publish("topic", "longer than ten bytes")
    finally:
        end(hub)

    assert status["addresses"] == {"zmq": hub.url, "feed": by_variable}
    assert status["data"] == str(hub.data)


def test_an_option_that_denies_wins_over_a_variable_that_affirms(tmp_path: Path) -> None:
    hub = HubProcess(tmp_path / "data", open_to_all="true", require_keys="true")
    hub.options += ["--http", "0.0.0.0:0"]

    denied = run("serve", *hub.options, "--no-open-to-all", "--no-require-keys", PREGON_OPEN_TO_ALL="true")
    try:
        affirmed = hub.start().status()
    finally:
        end(hub)

    assert denied.status == 4
    assert "not_secured" in denied.err
    assert affirmed["addresses"]["http"].startswith("http://0.0.0.0:")


def test_an_empty_address_closes_a_door(tmp_path: Path) -> None:
    hub = HubProcess(tmp_path / "data")
    hub.options = ["--data", str(hub.data), "--zmq", hub.url, "--feed", "", "--ingest", "", "--http", ""]
    hub.options += ["--services-front", ""]

    try:
        status = hub.start().status()
    finally:
        end(hub)

    assert list(status["addresses"]) == ["zmq"]


def test_a_hub_that_may_not_create_refuses_what_was_not_registered(tmp_path: Path) -> None:
    hub = HubProcess(tmp_path / "data", auto_create="false").start()

    try:
        refused = run("publish", "novedades", "hello", hub=hub.url)
        run("topic", "create", "novedades", hub=hub.url)
        run("producer", "create", "local", hub=hub.url)
        taken = run("publish", "novedades", "hello", hub=hub.url)
        unknown = run("pull", "novedades", hub=hub.url)
    finally:
        end(hub)

    assert (refused.status, taken.status, unknown.status) == (3, 0, 3)
    assert "pregon topic create novedades" in refused.err
    assert "pregon subscription create novedades local" in unknown.err


def test_a_data_directory_may_have_any_name(tmp_path: Path) -> None:
    (tmp_path / "datos del [").mkdir()
    hub = HubProcess(tmp_path / "datos del [/b] año")

    try:
        status = hub.start().status()
        ended = hub.stop()
    finally:
        end(hub)

    assert status["data"] == str(hub.data)
    assert hub.bugs() == []
    assert ended == 0
