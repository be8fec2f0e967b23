"""A service broker by itself, without a hub's doors.

With a data directory it keeps durable requests and CURVE keys, in a store like a hub's.

Promises:
- When the constructor returns, both addresses are bound; if it raises, everything is given back.
"""

from __future__ import annotations

import logging
import os
import tomllib
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pregon.edges.zmq.services import ServicesDoor
from pregon.errors import BadName, BadRequest, NotSecured, SettingsInvalid
from pregon.model.names import check_name
from pregon.services.options import ServiceOptions, changed_options
from pregon.services.parts import Parts
from pregon.settings import is_reachable_elsewhere
from pregon.version import __version__

if TYPE_CHECKING:
    from pregon.hub.hub import Hub
    from pregon.server.services_joined import JoinedServices

log = logging.getLogger("pregon.services")


@dataclass(frozen=True, slots=True, kw_only=True)
class AloneSettings:
    """What an operator can set of a broker that runs by itself."""

    front: str
    back: str
    data: Path | None = None
    config: Path | None = None
    curve: bool = False
    open_to_all: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    """Of every service, unless the file says otherwise of one."""


class ServicesServer:
    """A running broker."""

    def __init__(self, settings: AloneSettings) -> None:
        beyond = [one for one in (settings.front, settings.back) if is_reachable_elsewhere(one)]
        if beyond and not settings.curve and not settings.open_to_all:
            raise NotSecured(
                f"{', '.join(beyond)} is reached from other machines, and anybody could ask and serve: "
                "say --curve, or --open-to-all if that is what you want"
            )
        if settings.curve and settings.data is None:
            raise SettingsInvalid("--curve needs --data: that is where the keys are")
        common, own = _load_options(settings)
        self._hub: Hub | None = None
        self._services = self._join(settings, common) if settings.data is not None else None
        if self._services is not None:
            self.door, parts = self._services.door, self._services.parts
        else:
            parts = Parts(common)
            self.door = ServicesDoor(settings.front, settings.back, parts)
        for name, options in own.items():
            parts.broker.lines.set_options(name, options)
        self.front, self.back = self.door.front_address, self.door.back_address

    def _join(self, settings: AloneSettings, common: ServiceOptions) -> JoinedServices:
        """A broker on a store of its own."""
        # Imported here: a broker that keeps nothing starts in half the time without them.
        from pregon.hub.gate import Gate
        from pregon.hub.hub import Hub
        from pregon.server.services_joined import JoinedServices, Place
        from pregon.store.database import SqliteDatabase

        assert settings.data is not None
        with ExitStack() as undo:
            database = SqliteDatabase(settings.data)
            undo.callback(database.close)
            self._hub = Hub(database)
            place = Place(
                front=settings.front,
                back=settings.back,
                data=settings.data,
                is_curve=settings.curve,
                # There is no door by which anybody could read it.
                is_traced=False,
            )
            joined = JoinedServices(place, Gate(self._hub), common)
            undo.pop_all()
        return joined

    def __enter__(self) -> ServicesServer:
        if self._hub is not None and self._services is not None:
            self._hub.start()
            self._services.start()
        else:
            self.door.start()
        ready = {"version": __version__, "pid": os.getpid(), "front": self.front, "back": self.back}
        log.info("services ready", extra=ready)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._hub is not None and self._services is not None:
            self._services.stop()
            self._hub.stop()
        else:
            self.door.stop()
        log.info("services stopped")


def _load_options(settings: AloneSettings) -> tuple[ServiceOptions, dict[str, ServiceOptions]]:
    """The options of all services, and those of some; raises SettingsInvalid."""
    values: dict[str, Any] = {}
    if settings.config is not None:
        try:
            values = tomllib.loads(settings.config.read_text(encoding="utf-8"))
        except OSError as error:
            raise SettingsInvalid(f"{settings.config} cannot be read: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SettingsInvalid(f"{settings.config} is not TOML: {error}") from error
    own = values.pop("service", {})
    if not isinstance(own, dict) or not all(isinstance(one, dict) for one in own.values()):
        raise SettingsInvalid("write the options of one service in a table [service.NAME]")
    try:
        common = changed_options(ServiceOptions(), {**values, **settings.options})
        return common, {check_name("job type", name): changed_options(common, one) for name, one in own.items()}
    except (BadRequest, BadName) as error:
        raise SettingsInvalid(str(error)) from error
