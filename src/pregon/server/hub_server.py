"""A hub with its doors.

Promises:
- When the constructor returns, every address is bound and the database is at the schema of this version; if
  it raises, everything is given back.
- `stop` answers who waits, writes what was taken, and returns in less than two seconds.
"""

from __future__ import annotations

import logging
import os
import shlex
import ssl
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import zmq

from pregon.clock import monotonic_ms
from pregon.delivery.activity import Activity
from pregon.delivery.figures import Figures
from pregon.delivery.notices import make_notifier
from pregon.delivery.pusher import Pusher
from pregon.delivery.rehearsals import Rehearsals
from pregon.edges.admin.desk import AdminDesk
from pregon.edges.admin.door import AdminDoor
from pregon.edges.admin_over_http import ADMIN_PREFIX, MountedAdmin
from pregon.edges.dispatch import Dispatcher
from pregon.edges.http.answers import status_of
from pregon.edges.http.api import make_app
from pregon.edges.http.door import HttpDoor
from pregon.edges.http.routes import Desk
from pregon.edges.soap.door import SoapDoor
from pregon.edges.soap_over_http import SOAP_PREFIX, mount_soap
from pregon.edges.zmq.fast_lane import FastLane
from pregon.edges.zmq.feed import Feed
from pregon.edges.zmq.ingest import Ingest
from pregon.errors import NotSecured, SettingsInvalid
from pregon.groups.desk import GroupsDesk
from pregon.hub.bridge import Bridge
from pregon.hub.gate import Gate
from pregon.hub.hub import Hub
from pregon.hub.keyring import Keyring
from pregon.hub.options import HubOptions
from pregon.model.catalog import is_http_url
from pregon.security.callers import Rules
from pregon.server.people_provider import make_provider
from pregon.server.services_joined import JoinedServices, Place
from pregon.settings import Settings, is_reachable_elsewhere, parse_host_port
from pregon.store.backlogs import read_backlogs
from pregon.store.database import SqliteDatabase
from pregon.version import __version__

if TYPE_CHECKING:
    from pregon.delivery.telemetry import Telemetry
    from pregon.security.oidc import OidcVerifier

log = logging.getLogger("pregon.server")


def require_secured(settings: Settings, rules: Rules) -> None:
    """Raises NotSecured for a hub that would listen beyond this machine while anybody could administer it."""
    beyond = [
        f"{name} = {address}"
        for name in ("zmq", "feed", "ingest", "http", "services_front", "services_back")
        if (address := getattr(settings, name)) and is_reachable_elsewhere(address)
    ]
    if beyond and rules.is_open and not settings.open_to_all:
        first = f"pregon token create admin --scope admin --data {shlex.quote(settings.data)}"
        raise NotSecured(
            f"{', '.join(beyond)} is reached from other machines, and this hub has no administrator: anybody could do "
            f"anything. Make one with `{first}` (it shows a token, once), or name an identity provider (oidc_issuer), "
            "or say --open-to-all if that is what you want"
        )


def require_services_secured(settings: Settings) -> None:
    """Raises NotSecured for services that would listen beyond this machine while anybody could serve."""
    if not settings.services_front or settings.services_curve or settings.require_keys or settings.open_to_all:
        return
    doors = {"services_front": settings.services_front, "services_back": settings.services_back}
    beyond = [f"{name} = {address}" for name, address in doors.items() if is_reachable_elsewhere(address)]
    if beyond:
        raise NotSecured(
            f"{', '.join(beyond)} is reached from other machines, and anybody could ask and serve there: say "
            "--services-curve, or --open-to-all if that is what you want"
        )


def _nothing() -> None:
    """There is nothing to give back."""


def _make_verifier(settings: Settings) -> OidcVerifier | None:
    if not settings.oidc_issuer:
        return None
    if not settings.oidc_audience:
        raise SettingsInvalid("oidc_issuer needs oidc_audience: tokens for other programs must not open this one")
    # Imported here: who uses no identity provider need not wait for it.
    from pregon.security.oidc import OidcOptions, OidcVerifier

    return OidcVerifier(
        OidcOptions(
            issuer=settings.oidc_issuer,
            audience=settings.oidc_audience,
            keys=settings.oidc_keys,
            scopes_claim=settings.oidc_scopes_claim,
        )
    )


def _tls_context(settings: Settings) -> ssl.SSLContext | None:
    if not settings.tls_certificate:
        if settings.tls_key or settings.tls_client_ca:
            raise SettingsInvalid("tls_key and tls_client_ca need tls_certificate")
        return None
    from pregon.security.tls import TlsOptions, check_tls, make_ssl_context

    options = TlsOptions(certificate=settings.tls_certificate, key=settings.tls_key, client_ca=settings.tls_client_ca)
    check_tls(options)
    return make_ssl_context(options)


def _make_telemetry(settings: Settings) -> Telemetry | None:
    if not settings.otel_endpoint:
        return None
    if not is_http_url(settings.otel_endpoint):
        raise SettingsInvalid("otel_endpoint is the http or https URL of a collector, such as http://127.0.0.1:4318")
    from pregon.delivery.telemetry import Telemetry

    return Telemetry(settings.otel_endpoint)


def _make_services(settings: Settings, gate: Gate) -> JoinedServices | None:
    if not settings.services_front:
        return None
    place = Place(
        front=settings.services_front,
        back=settings.services_back,
        data=Path(settings.data),
        is_curve=settings.services_curve,
        is_traced=settings.services_trace,
    )
    return JoinedServices(place, gate)


class Server:
    """A running hub with its doors."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._started_ms = monotonic_ms()
        with ExitStack() as undo:
            self._verifier = _make_verifier(settings)
            database = SqliteDatabase(Path(settings.data))
            undo.callback(database.close)
            self.hub = Hub(
                database,
                HubOptions(
                    auto_create=settings.auto_create,
                    body_bytes_max=settings.body_bytes_max,
                    dedupe_keep_ms=settings.dedupe_keep_hours * 3_600_000,
                    traces_keep_ms=settings.traces_keep_days * 86_400_000,
                    maintenance_every_ms=settings.maintenance_every_ms,
                    reader_threads=settings.reader_threads,
                    push_allow=settings.push_allow,
                    tables_share_percent=settings.tables_share_percent,
                    trace_mark_ms=settings.trace_mark_ms,
                    audit_keep_ms=settings.audit_keep_days * 86_400_000,
                    admin_idle_ms=settings.admin_idle_minutes * 60_000,
                    admin_session_ms=settings.admin_session_hours * 3_600_000,
                ),
                Keyring(require_keys=settings.require_keys, verifier=self._verifier),
            )
            require_secured(settings, self.hub.keyring.rules)
            require_services_secured(settings)
            self.gate = Gate(self.hub)
            self._figures = Figures()
            self._notifier = make_notifier(settings, lambda: self.hub.read(read_backlogs).result())
            self.activity = Activity(self.hub, self._figures)
            self._telemetry = _make_telemetry(settings)
            self.pusher = Pusher(
                self.hub,
                self._figures,
                self._notifier,
                telemetry=self._telemetry,
                may_redirect=settings.push_redirects,
            )
            self.rehearsals = Rehearsals(self.pusher, self.gate)
            dispatcher = Dispatcher(self.gate, self.status)
            dispatcher.rehearsals = self.rehearsals
            self._zmq = zmq.Context()
            undo.callback(lambda: self._zmq.destroy(linger=0))
            self.fast_lane = FastLane(self._zmq, settings.zmq, dispatcher, self.hub.committer)
            undo.callback(self.fast_lane.give_back)
            self.feed = Feed(self._zmq, settings.feed, self.gate) if settings.feed else None
            undo.callback(self.feed.give_back if self.feed else _nothing)
            self.ingest = Ingest(self._zmq, settings.ingest, self.gate) if settings.ingest else None
            undo.callback(self.ingest.give_back if self.ingest else _nothing)
            self.services = _make_services(settings, self.gate)
            undo.callback(self.services.give_back if self.services else _nothing)
            dispatcher.services = self.services.desk if self.services else None
            self.groups = dispatcher.groups = GroupsDesk(self.gate)
            self._admin: MountedAdmin | None = None
            self._provider = make_provider(settings)
            self.http = self._make_http(dispatcher) if settings.http else None
            undo.pop_all()

    def _make_http(self, dispatcher: Dispatcher) -> HttpDoor:
        settings, bridge = self.settings, Bridge(self.hub.committer)
        desk = Desk(self.gate, bridge, self.status, settings.public_url, settings.open_to_all, figures=self._figures)
        desk.services = self.services.desk if self.services else None
        desk.groups = self.groups
        desk.rehearsals = self.rehearsals
        soap = SoapDoor(self.gate, bridge, settings.body_bytes_max)
        self._admin = MountedAdmin(AdminDoor(self._make_admin_desk()))
        app = make_app(desk, dispatcher, {SOAP_PREFIX: mount_soap(soap), ADMIN_PREFIX: self._admin})
        tls = _tls_context(settings)
        return HttpDoor(*parse_host_port(settings.http), app, tls)

    def _make_admin_desk(self) -> AdminDesk:
        return AdminDesk(
            gate=self.gate,
            activity=self.activity,
            rehearsals=self.rehearsals,
            settings=self.settings,
            status=self.status,
            status_of=status_of,
            services=self.services.desk if self.services else None,
            groups=self.groups,
            provider=self._provider,
        )

    def start(self) -> None:
        """Open the doors."""
        if self.feed is not None:
            self.hub.listen(self.feed)
        self.hub.listen(self._figures)
        if self._telemetry is not None:
            self.hub.listen(self._telemetry)
            self._telemetry.start()
        self.hub.start()
        self.activity.start()
        self._notifier.start()
        self.pusher.start()
        self.groups.start()
        if self._verifier is not None:
            self._verifier.start()
        if self.services is not None:
            self.services.start()
        for door in (self.fast_lane, self.feed, self.ingest, self.http):
            if door is not None:
                door.start()
        log.info(
            "hub ready",
            extra={"version": __version__, "pid": os.getpid(), "data": self.settings.data, **self.addresses},
        )

    @property
    def addresses(self) -> dict[str, str]:
        """Where each door listens."""
        doors = {"zmq": self.fast_lane, "feed": self.feed, "ingest": self.ingest, "http": self.http}
        found = {name: door.address for name, door in doors.items() if door is not None}
        if self.services is not None:
            found |= {f"services_{name}": address for name, address in self.services.addresses.items()}
        return found

    def status(self) -> dict[str, Any]:
        """How the hub is, for the command of that name."""
        counters = self.hub.counters
        return {
            "version": __version__,
            "pid": os.getpid(),
            "data": str(Path(self.settings.data).resolve()),
            "uptime_s": round((monotonic_ms() - self._started_ms) / 1_000, 1),
            "addresses": self.addresses,
            "commits": self.hub.committer.commits,
            "queued": self.hub.committer.queued,
            "waiting": self.hub.waiting.count,
            "counters": {name: getattr(counters, name) for name in counters.__slots__},
        }

    def stop(self) -> None:
        """Close the doors, write what was taken, answer it, and give everything back."""
        begun_ms = monotonic_ms()
        self.fast_lane.stop_taking()
        for door in (self.ingest, self.http):
            if door is not None:
                door.stop()
        if self._provider is not None:
            self._provider.stop()
        if self._admin is not None:
            self._admin.stop()
        if self._verifier is not None:
            self._verifier.stop()
        if self.services is not None:
            self.services.stop()
        self.groups.stop()
        self.pusher.stop()
        self._notifier.stop()
        self.activity.stop()
        self.hub.stop()
        if self._telemetry is not None:
            self._telemetry.stop()
        # Last, because the answers to what the hub has just written go out through it.
        self.fast_lane.stop()
        if self.feed is not None:
            self.feed.stop()
        self._zmq.destroy(linger=0)
        log.info("hub stopped", extra={"took_ms": round(monotonic_ms() - begun_ms)})

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
