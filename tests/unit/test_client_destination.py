"""Which hub a client talks to, and what it refuses before it sends anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from pregon.addresses import DEFAULT_HUB, HUB_VARIABLE, KEY_VARIABLE
from pregon.client.destination import find_destination
from pregon.client.http_talk import find_endpoint
from pregon.errors import SettingsInvalid


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (HUB_VARIABLE, KEY_VARIABLE):
        monkeypatch.delenv(variable, raising=False)


def test_what_is_said_wins_over_the_environment_and_that_over_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    default = find_destination(None)
    monkeypatch.setenv(HUB_VARIABLE, "http://there:1")
    monkeypatch.setenv(KEY_VARIABLE, "from-there")

    found = find_destination(None)
    said = find_destination("tcp://here:2", key="said")
    none = find_destination(None, key="")

    assert (default.hub, default.key) == (DEFAULT_HUB, "")
    assert (found.hub, found.key) == ("http://there:1", "from-there")
    assert (said.hub, said.key) == ("tcp://here:2", "said")
    assert none.key == ""


def test_the_way_is_chosen_by_the_address() -> None:
    addresses = ["tcp://a:1", "ipc:///a", "nonsense", "http://a", "https://a", "HTTP://a:5"]

    ways = [find_destination(address).is_http for address in addresses]

    assert ways == [False, False, False, True, True, True]


@pytest.mark.parametrize("key", ["two words", "two\nlines", "a\r\nHost: other", "ñandú", "tab\t"])
def test_a_key_that_could_not_travel_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(SettingsInvalid, match="characters that no key has") as raised:
        find_destination("http://a", key=key)

    assert key not in str(raised.value)


def test_the_key_is_in_the_request_and_in_no_repr() -> None:
    destination = find_destination("http://a", key="pgn_secret")

    endpoint = find_endpoint(destination)

    assert b"\r\nAuthorization: Bearer pgn_secret\r\n" in endpoint.asking([b"x" * 16, b"y"], 0).request
    assert "pgn_secret" not in repr(destination) + repr(endpoint)


def test_without_a_key_there_is_no_authorization() -> None:
    request = find_endpoint(find_destination("http://a")).asking([b"x" * 16, b"y"], 0).request

    assert b"Authorization" not in request


@pytest.mark.parametrize(
    ("address", "host", "port", "head"),
    [
        ("http://hub.example", "hub.example", 80, b"POST /v1/frames HTTP/1.1\r\nHost: hub.example\r\n"),
        ("http://hub:5580/", "hub", 5580, b"POST /v1/frames HTTP/1.1\r\nHost: hub:5580\r\n"),
        ("https://hub/behind/it/", "hub", 443, b"POST /behind/it/v1/frames HTTP/1.1\r\nHost: hub\r\n"),
        ("http://[::1]:5580", "::1", 5580, b"POST /v1/frames HTTP/1.1\r\nHost: [::1]:5580\r\n"),
    ],
)
def test_an_address_is_taken_apart(address: str, host: str, port: int, head: bytes) -> None:
    endpoint = find_endpoint(find_destination(address))

    assert (endpoint.host, endpoint.port) == (host, port)
    assert endpoint.head.startswith(head)


@pytest.mark.parametrize(
    "address",
    [
        "http://",
        "http://:5580",
        "http://hub:port",
        "http://hub:70000",
        "http://hub/?query",
        "http://hub/#part",
        "http://hub/with space",
        "http://user:secret@hub",
        f"http://{'a' * 64}.example",
        "http://[::1",
    ],
)
def test_what_is_no_address_is_refused_without_repeating_a_password(address: str) -> None:
    with pytest.raises(SettingsInvalid) as raised:
        find_endpoint(find_destination(address))

    assert "secret" not in str(raised.value)


def test_certificates_are_refused_where_nothing_is_encrypted(tmp_path: Path) -> None:
    for address in ("tcp://hub:5570", "http://hub:5580"):
        with pytest.raises(SettingsInvalid, match="https://"):
            find_destination(address, ca=str(tmp_path / "ca.pem"))
        with pytest.raises(SettingsInvalid, match="https://"):
            find_destination(address, certificate=("a", "b"))


def test_certificates_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("nothing")

    with pytest.raises(SettingsInvalid, match=r"ca: .*absent\.pem"):
        find_destination("https://hub", ca=str(tmp_path / "absent.pem"))
    with pytest.raises(SettingsInvalid, match=r"ca: .*empty\.pem"):
        find_destination("https://hub", ca=str(empty))
    with pytest.raises(SettingsInvalid, match=r"certificate: .*empty\.pem"):
        find_destination("https://hub", certificate=str(empty))
    with pytest.raises(SettingsInvalid, match=r"certificate: .*a and b"):
        find_destination("https://hub", certificate=("a", "b"))
