"""A broker by itself: its options, its file, its directory, and what it does not do without being told."""

from __future__ import annotations

from pathlib import Path

import pytest

from pregon import errors
from pregon.client.services.clients import ServiceClient

from ..command_line import run
from .conftest import MakeBroker
from .staff import Staff

PATIENCE_MS = 10_000


def options_of(client: ServiceClient, service: str) -> dict[str, object]:
    """How a service is run."""
    (row,) = [row for row in client.services() if row["type"] == service]
    options: dict[str, object] = row["options"]
    return options


def test_a_file_says_how_all_services_are_run_and_how_some_are(tmp_path: Path, start_broker: MakeBroker) -> None:
    file = tmp_path / "services.toml"
    file.write_text('answer_ms = 30000\n[service.echo]\npolicy = "least-loaded"\n')
    broker = start_broker("--config", str(file), "--patience", "5")

    with ServiceClient(broker.front, timeout_ms=PATIENCE_MS) as client, Staff(broker.back, tmp_path, "echo") as staff:
        staff.hire("ana")
        echo, others = options_of(client, "echo"), options_of(client, "default")

    assert (others["policy"], others["answer_ms"], others["patience"]) == ("longest-idle", 30_000, 5)
    assert (echo["policy"], echo["answer_ms"], echo["patience"]) == ("least-loaded", 30_000, 5)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("policy = 'fastest'", "policy"),
        ("colour = 'red'", "colour"),
        ("service = 3", "[service.NAME]"),
        ("[service.echo]\nanswer_ms = -1", "answer_ms"),
        ("= =", "is not TOML"),
    ],
)
def test_a_file_that_is_wrong_stops_the_start_in_words(tmp_path: Path, text: str, wrong: str) -> None:
    file = tmp_path / "services.toml"
    file.write_text(text)

    said = run("services", "--config", file, "--front", "tcp://127.0.0.1:*", "--back", "tcp://127.0.0.1:*")

    assert said.status == 2
    assert "settings_invalid" in said.err
    assert wrong in said.err


def test_a_broker_does_not_listen_beyond_this_machine_by_accident() -> None:
    said = run("services", "--front", "tcp://0.0.0.0:*", "--back", "tcp://127.0.0.1:*")

    assert said.status == 4
    assert "not_secured" in said.err
    assert "--curve" in said.err


def test_an_address_that_is_taken_is_told(start_broker: MakeBroker) -> None:
    broker = start_broker()

    said = run("services", "--front", broker.front, "--back", "tcp://127.0.0.1:*")

    assert said.status == 4
    assert "address_in_use" in said.err


def test_a_broker_without_a_directory_keeps_nothing_and_says_so(start_broker: MakeBroker) -> None:
    broker = start_broker()

    with ServiceClient(broker.front, timeout_ms=PATIENCE_MS) as client, pytest.raises(errors.BadRequest) as refused:
        client.submit("echo", "x")

    assert "--data" in str(refused.value)


def test_with_a_directory_durable_requests_outlive_the_broker(tmp_path: Path, start_broker: MakeBroker) -> None:
    broker = start_broker("--data", str(tmp_path / "data"))
    with ServiceClient(broker.front, timeout_ms=PATIENCE_MS) as client:
        left = client.submit("echo", "x", key="one")

    broker.kill()
    broker.start()
    with ServiceClient(broker.front, timeout_ms=PATIENCE_MS) as client, Staff(broker.back, tmp_path, "echo") as staff:
        staff.hire("ana")
        found = client.collect_frames(left, wait_ms=PATIENCE_MS)

    assert left == "one"
    assert found[0].startswith(b"x")
