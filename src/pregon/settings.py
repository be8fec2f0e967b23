"""What an operator can set: in a TOML file, in `PREGON_*` variables, on the command line.

The later of the three wins. Each setting has one name in all of them: `zmq` in the file, `PREGON_ZMQ` in the
environment, `--zmq` on the command line. A name or value that is wrong is refused with what to write.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from pregon.addresses import DEFAULT_FEED, DEFAULT_HTTP, DEFAULT_HUB, DEFAULT_INGEST
from pregon.errors import SettingsInvalid
from pregon.limits import BODY_BYTES_DEFAULT, BODY_BYTES_MAX

PREFIX = "PREGON_"
CONFIG_VARIABLE = "PREGON_CONFIG"

_Positive = Annotated[int, Meta(ge=1)]


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every setting of `pregon serve`, with its default."""

    data: str = "pregon-data"
    """The data directory."""
    zmq: str = DEFAULT_HUB
    """Where the fast lane listens."""
    feed: str = DEFAULT_FEED
    """Where the live feed listens; empty for none."""
    ingest: str = DEFAULT_INGEST
    """Where the ingest listens; empty for none."""
    http: str = DEFAULT_HTTP
    """Where the HTTP door listens; empty for none."""
    auto_create: bool = True
    """Whether topics, producers, subscribers and subscriptions are made on first use."""
    body_bytes_max: Annotated[int, Meta(ge=1, le=BODY_BYTES_MAX)] = BODY_BYTES_DEFAULT
    """The largest body of a message."""
    dedupe_keep_hours: _Positive = 24 * 7
    """How long a published id or producer session is remembered."""
    traces_keep_days: _Positive = 400
    """How long traces are kept."""
    maintenance_every_ms: _Positive = 5_000
    """How often retention and merging run."""
    reader_threads: Annotated[int, Meta(ge=1, le=64)] = 2
    """Threads that read for pulls."""
    log_level: Annotated[str, Meta(pattern="^(debug|info|warning|error)$")] = "info"
    """How much is logged."""


def load_settings(file: Path | None, environment: Mapping[str, str], options: Mapping[str, Any]) -> Settings:
    """The settings of all three sources together; raises SettingsInvalid."""
    values: dict[str, Any] = {}
    if file is not None:
        values.update(_read_file(file))
    for field in msgspec.structs.fields(Settings):
        text = environment.get(PREFIX + field.name.upper())
        if text is not None:
            values[field.name] = text
    values.update((name, value) for name, value in options.items() if value is not None)
    try:
        return msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsInvalid(f"a setting is wrong: {error}") from error


def _read_file(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsInvalid(f"{file} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsInvalid(f"{file} is not TOML: {error}") from error


def parse_host_port(text: str) -> tuple[str, int]:
    """HOST:PORT as its two parts (an IPv6 host in brackets); raises SettingsInvalid."""
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise SettingsInvalid(f"{text!r} is not HOST:PORT, such as 127.0.0.1:5580")
    return host.removeprefix("[").removesuffix("]"), int(port)
