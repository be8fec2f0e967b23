"""What an operator can set: in a TOML file, in `PREGON_*` variables, on the command line.

The later of the three wins. Each setting has one name in all of them: `zmq` in the file, `PREGON_ZMQ` in the
environment, `--zmq` on the command line. A name or value that is wrong is refused with what to write.
"""

from __future__ import annotations

import ipaddress
import socket
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from pregon.addresses import (
    DEFAULT_FEED,
    DEFAULT_HTTP,
    DEFAULT_HUB,
    DEFAULT_INGEST,
    DEFAULT_SERVICES_BACK,
    DEFAULT_SERVICES_FRONT,
)
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
    services_front: str = DEFAULT_SERVICES_FRONT
    """Where clients of services connect; empty for no services."""
    services_back: str = DEFAULT_SERVICES_BACK
    """Where workers connect."""
    services_curve: bool = False
    """Whether services are encrypted and only known CURVE keys come in (`pregon keys`)."""
    services_trace: bool = True
    """Whether how each request ended is published to the topic `pregon.requests`."""
    public_url: str = ""
    """How clients reach the HTTP door, if not at the address that they name (behind a proxy)."""
    tls_certificate: str = ""
    """A PEM file with the HTTP door's certificate and its chain; empty for no TLS."""
    tls_key: str = ""
    """A PEM file with the certificate's private key."""
    tls_client_ca: str = ""
    """A PEM file with the authorities whose client certificates are let in; empty asks clients for none."""
    require_keys: bool = False
    """Whether producers and subscribers without a key are refused."""
    open_to_all: bool = False
    """Whether the hub may listen beyond this machine without an administrator."""
    oidc_issuer: str = ""
    """The identity provider whose tokens are accepted; empty for none."""
    oidc_audience: str = ""
    """The audience that its tokens must name."""
    oidc_keys: str = ""
    """Where its keys are, an address or a file; empty asks the issuer."""
    oidc_scopes_claim: str = "scope"
    """The claim with the scopes."""
    admin_oidc_client: str = ""
    """What this hub is called by the identity provider by which people enter the administration pages; empty: none."""
    admin_oidc_secret: str = ""
    """The secret of that client; empty for a public one."""
    admin_oidc_secret_file: str = ""
    """A file with the secret, instead."""
    admin_oidc_issuer: str = ""
    """That provider; empty: the same as `oidc_issuer`."""
    admin_oidc_scopes: str = "openid profile"
    """What is asked of it."""
    admin_oidc_name_claim: str = "preferred_username"
    """The claim with somebody's name; `email` and then `sub` if it is not there."""
    admin_oidc_role_claim: str = "roles"
    """The claim with `pregon:admin`, `pregon:operate` or `pregon:read`; they may also be in `scope`."""
    admin_oidc_title: str = ""
    """What people call that provider; empty for its host."""
    auto_create: bool = True
    """Whether topics, producers, subscribers and subscriptions are made on first use."""
    body_bytes_max: Annotated[int, Meta(ge=1, le=BODY_BYTES_MAX)] = BODY_BYTES_DEFAULT
    """The largest body of a message."""
    dedupe_keep_hours: _Positive = 24 * 7
    """How long a published id or producer session is remembered."""
    traces_keep_days: _Positive = 400
    """How long traces are kept."""
    trace_mark_ms: _Positive = 30 * 24 * 60 * 60 * 1_000
    """How long a mark up to which traces are copied holds without being put again."""
    audit_keep_days: Annotated[int, Meta(ge=1, le=36_500)] = 3_650
    """How long it is kept who changed what."""
    admin_idle_minutes: Annotated[int, Meta(ge=1, le=10_080)] = 120
    """After how long without doing anything somebody must enter the administration pages again."""
    admin_session_hours: Annotated[int, Meta(ge=1, le=720)] = 12
    """After how long somebody must enter them again in any case."""
    pipeline_results: str = "pregon-pipelines"
    """The folder where `pregon pipeline` leaves its results, for the administration pages to show."""
    maintenance_every_ms: _Positive = 5_000
    """How often retention and merging run."""
    reader_threads: Annotated[int, Meta(ge=1, le=64)] = 2
    """Threads that read for pulls."""
    tables_share_percent: Annotated[int, Meta(ge=1, le=100)] = 20
    """How much of the time reading tables may take while somebody publishes; 100 for no limit."""
    push_allow: str = ""
    """Networks and hosts to which a push may go although they are private, separated by commas."""
    push_redirects: bool = False
    """Whether a push follows a redirect (307, 308), to where pushes may go."""
    otel_endpoint: str = ""
    """The OpenTelemetry collector (OTLP over HTTP) that is sent spans; empty for none."""
    notice_url: str = ""
    """A web service that is told when a subscription fails, recovers, is disabled or falls behind; empty for none."""
    notice_secret: str = ""
    """The secret (`whsec_…`) with which those notices are signed; empty for no signature."""
    notice_email: str = ""
    """Addresses that are told by mail, separated by commas; empty for none."""
    notice_smtp: str = "localhost:25"
    """The mail server, HOST:PORT, which takes mail from this machine without a password."""
    notice_from: str = ""
    """The sender of the mails; empty for pregon at this machine."""
    notice_language: Annotated[str, Meta(pattern="^(en|es)$")] = "en"
    """The language of notices."""
    notice_after_s: Annotated[int, Meta(ge=0)] = 60
    """How long pushes of a subscription fail before somebody is told."""
    notice_backlog: Annotated[int, Meta(ge=0)] = 10_000
    """Pending messages of a subscription from which on somebody is told; 0 for never."""
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


def is_loopback(address: str) -> bool:
    """Whether an address (HOST:PORT, tcp://HOST:PORT) can only be reached from this machine."""
    if address.startswith(("ipc://", "inproc://")):
        return True
    host = address.removeprefix("tcp://").rpartition(":")[0].removeprefix("[").removesuffix("]")
    if host in ("localhost", "lo"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_reachable_elsewhere(address: str) -> bool:
    """Whether other machines reach an address to bind; False for what is no address: binding it says so."""
    scheme, separator, rest = address.rpartition("://")
    host, _, port = rest.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if (separator and scheme != "tcp") or not host or not (port.isdecimal() or port == "*"):
        return False
    interfaces = {name for _, name in socket.if_nameindex()}
    if host == "*" or host in interfaces:
        return host != "lo"
    try:
        found = {str(one[4][0]).partition("%")[0] for one in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError:
        return False
    return not all(ipaddress.ip_address(one).is_loopback for one in found)
