"""CURVE keys from a file: found, completed by discovery, checked, and never shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import zmq

from pregon.client.services.broker_socket import broker_of
from pregon.client.services.curve import CURVE_VARIABLE, find_curve
from pregon.errors import SettingsInvalid

PUBLIC, SECRET = (key.decode() for key in zmq.curve_keypair())
SERVER, OTHER = (zmq.curve_keypair()[0].decode() for _ in range(2))
KEYS = {"name": "sums", "public": PUBLIC, "secret": SECRET, "server": SERVER}


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CURVE_VARIABLE, raising=False)


def written(path: Path, **changes: Any) -> str:
    file = path / "keys.json"
    file.write_text(json.dumps({**KEYS, **changes}))
    return str(file)


def test_without_a_file_and_without_a_broker_key_nothing_is_encrypted() -> None:
    assert find_curve(None) is None


def test_the_file_is_named_by_the_caller_or_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path)
    monkeypatch.setenv(CURVE_VARIABLE, file)

    found = [find_curve(file), find_curve(None), find_curve("")]

    assert [keys and keys.public for keys in found] == [PUBLIC, PUBLIC, None]


def test_the_key_in_the_file_goes_before_the_one_of_the_hub(tmp_path: Path) -> None:
    pinned = find_curve(written(tmp_path), OTHER)
    discovered = find_curve(written(tmp_path, server=""), OTHER)

    assert pinned is not None
    assert discovered is not None
    assert (pinned.server, discovered.server) == (SERVER, OTHER)


def test_who_has_no_keys_gets_passing_ones_where_the_broker_encrypts() -> None:
    broker = broker_of({"front": "tcp://x:1", "curve_key": SERVER}, "front", None)

    assert broker.curve is not None
    assert broker.curve.server == SERVER


def test_keys_that_were_given_are_used_even_if_the_hub_tells_of_no_encryption(tmp_path: Path) -> None:
    broker = broker_of({"back": "tcp://x:1", "curve_key": ""}, "back", written(tmp_path))

    assert broker.curve is not None


@pytest.mark.parametrize(
    "changes", [{"public": "short"}, {"secret": "x" * 40 + " "}, {"server": "é" * 40}, {"public": 5}]
)
def test_what_is_no_key_is_refused_without_being_shown(tmp_path: Path, changes: dict[str, Any]) -> None:
    file = written(tmp_path, **changes)

    with pytest.raises(SettingsInvalid) as caught:
        find_curve(file)

    assert SECRET not in str(caught.value)


def test_a_file_that_is_not_there_or_is_no_json_or_has_no_server_is_refused(tmp_path: Path) -> None:
    garbage = tmp_path / "garbage"
    garbage.write_text("{" + SECRET)

    for path, words in ((str(tmp_path / "none"), "cannot be read"), (str(garbage), "no file of CURVE keys")):
        with pytest.raises(SettingsInvalid, match=words):
            find_curve(path)
    with pytest.raises(SettingsInvalid, match="`server`"):
        find_curve(written(tmp_path, server=""))


def test_the_secret_is_in_no_repr(tmp_path: Path) -> None:
    keys = find_curve(written(tmp_path))

    assert SECRET not in repr(keys)
    assert SECRET not in repr(broker_of({"front": "tcp://x:1"}, "front", written(tmp_path)))


@pytest.mark.parametrize("shown", [{}, {"front": ""}, {"front": 5}])
def test_a_hub_without_a_broker_is_said_to_have_none(shown: dict[str, Any]) -> None:
    with pytest.raises(SettingsInvalid, match="no broker"):
        broker_of(shown, "front", None)


@pytest.mark.parametrize(
    ("told", "hub", "reached"),
    [
        ("tcp://0.0.0.0:5573", "tcp://hub.gub.uy:5570", "tcp://hub.gub.uy:5573"),
        ("tcp://0.0.0.0:5573", "https://hub.gub.uy/", "tcp://hub.gub.uy:5573"),
        ("tcp://[::]:5573", "tcp://[2001:db8::1]:5570", "tcp://[2001:db8::1]:5573"),
        ("tcp://10.0.0.7:5573", "tcp://hub.gub.uy:5570", "tcp://10.0.0.7:5573"),
        ("tcp://127.0.0.1:5573", "tcp://localhost:5570", "tcp://127.0.0.1:5573"),
        ("ipc:///run/pregon", "tcp://127.0.0.1:5570", "ipc:///run/pregon"),
    ],
)
def test_a_broker_that_listens_everywhere_is_where_the_hub_is(told: str, hub: str, reached: str) -> None:
    assert broker_of({"front": told}, "front", None, hub).address == reached


def test_a_broker_that_listens_on_another_machine_only_is_told_so() -> None:
    with pytest.raises(SettingsInvalid, match="its own machine only"):
        broker_of({"front": "tcp://127.0.0.1:5573"}, "front", None, "tcp://hub.gub.uy:5570")
