"""Settings from three sources, and logs that nothing from outside can forge."""

from __future__ import annotations

import io
import json
import logging
from pathlib import Path

import pytest

from pregon.addresses import DEFAULT_HUB
from pregon.cli.connect import parse_bytes, parse_duration_ms
from pregon.errors import BadRequest, SettingsInvalid
from pregon.logs import JsonFormatter, TerminalFormatter, configure_logs
from pregon.settings import Settings, load_settings, parse_host_port


def test_options_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "pregon.toml"
    file.write_text('data = "file"\nhttp = "file:1"\nzmq = "tcp://file:1"\nreader_threads = 3\n')

    settings = load_settings(
        file, {"PREGON_HTTP": "env:1", "PREGON_ZMQ": "tcp://env:1", "PREGON_AUTO_CREATE": "false"}, {"zmq": "tcp://o:1"}
    )

    assert (settings.data, settings.http, settings.zmq) == ("file", "env:1", "tcp://o:1")
    assert settings.reader_threads == 3
    assert settings.auto_create is False


def test_nothing_said_is_the_local_hub_on_loopback() -> None:
    settings = load_settings(None, {}, {"data": None})

    assert settings == Settings()
    assert settings.zmq == DEFAULT_HUB
    assert all("127.0.0.1" in address for address in (settings.zmq, settings.feed, settings.ingest, settings.http))


@pytest.mark.parametrize(
    "text", ["data = ", "invented = 1", "reader_threads = 0", 'reader_threads = "x"', 'log_level = "loud"', "data = 3"]
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "pregon.toml"
    file.write_text(text)

    with pytest.raises(SettingsInvalid):
        load_settings(file, {}, {})


def test_a_missing_file_and_a_wrong_variable_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid):
        load_settings(tmp_path / "none.toml", {}, {})
    with pytest.raises(SettingsInvalid):
        load_settings(None, {"PREGON_READER_THREADS": "many"}, {})


@pytest.mark.parametrize(
    ("text", "parts"), [("127.0.0.1:80", ("127.0.0.1", 80)), ("[::1]:0", ("::1", 0)), ("host:65535", ("host", 65_535))]
)
def test_an_address_has_a_host_and_a_port(text: str, parts: tuple[str, int]) -> None:
    assert parse_host_port(text) == parts


@pytest.mark.parametrize("text", ["", "80", ":80", "host:", "host:http", "host:65536"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(SettingsInvalid):
        parse_host_port(text)


def test_durations_and_sizes_are_written_with_their_unit() -> None:
    assert [parse_duration_ms(text) for text in ("500ms", "2s", "3m", "1h", "30d", None)] == [
        500, 2_000, 180_000, 3_600_000, 2_592_000_000, None,
    ]  # fmt: skip
    assert [parse_bytes(text) for text in ("10", "1KiB", "2MiB", "1GiB", None)] == [10, 1_024, 2_097_152, 1 << 30, None]
    for wrong in ("", "5", "5w", "-1s", "1.5h"):
        with pytest.raises(BadRequest):
            parse_duration_ms(wrong)
    for wrong in ("", "x", "1MB", "-1"):
        with pytest.raises(BadRequest):
            parse_bytes(wrong)


def record(**fields: object) -> logging.LogRecord:
    return logging.makeLogRecord({"name": "pregon.x", "levelname": "INFO", "msg": "event", **fields})


def test_a_log_line_is_one_line_whatever_is_in_it() -> None:
    forged = record(reason="x\n{}\x1b[2J")

    as_json, as_text = JsonFormatter().format(forged), TerminalFormatter().format(forged)

    assert json.loads(as_json)["reason"] == "x\n{}\x1b[2J"
    assert "\n" not in as_json
    assert "\n" not in as_text
    assert "\x1b" not in as_text


def test_logs_go_where_they_are_sent_and_no_further_than_their_level() -> None:
    stream = io.StringIO()
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    try:
        configure_logs("warning", stream)
        logging.getLogger("pregon.x").info("quiet")
        logging.getLogger("pregon.x").warning("loud", extra={"why": "because"})
    finally:
        root.handlers = handlers
        root.setLevel(level)
        logging.getLogger("pregon").setLevel(logging.NOTSET)

    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["why"] == "because"
