"""A function that is a service: what it is called, and how it is run.

    @service("sqrt", version="2", slots=4)
    def sqrt(x: float) -> float:
        return x ** 0.5

The decorated function is still called like any other; `worker.serve` offers it to a broker.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar

from pregon.client.services.arguments import Parameters, encode_result
from pregon.errors import BadRequest, PregonError, SettingsInvalid
from pregon.limits import SERVICE_SLOTS_MAX, SERVICE_WAIT_MS_MAX
from pregon.model.names import check_name
from pregon.wire.services import Failure

P = ParamSpec("P")
R = TypeVar("R")
Outcome = list[bytes] | Failure
"""The frames of an answer, or why there is none."""

_MESSAGE_CHARACTERS_MAX = 500
log = logging.getLogger("pregon.worker")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a service is run."""

    version: str = ""
    slots: int = 1
    """Calls at once."""
    time_limit_ms: int | None = None
    """A call that takes longer has failed; None for no limit of its own."""
    processes: bool = False
    """In processes, one for each slot: for what computes, and for what may crash."""
    inline: bool = False
    """In the thread that receives: for what takes microseconds."""

    def check(self, name: str, *, is_async: bool) -> None:
        """Raises SettingsInvalid for what cannot be."""
        if not 1 <= self.slots <= SERVICE_SLOTS_MAX:
            raise SettingsInvalid(f"{name}: slots is 1 to {SERVICE_SLOTS_MAX}, not {self.slots}")
        if self.time_limit_ms is not None and not 1 <= self.time_limit_ms <= SERVICE_WAIT_MS_MAX:
            raise SettingsInvalid(f"{name}: time_limit_ms is 1 to {SERVICE_WAIT_MS_MAX}, not {self.time_limit_ms}")
        if self.processes and self.inline:
            raise SettingsInvalid(f"{name}: either inline or in processes")
        if is_async and (self.processes or self.inline):
            raise SettingsInvalid(f"{name}: an `async def` runs on an event loop: leave `processes` and `inline` out")
        if self.inline and self.time_limit_ms is not None:
            raise SettingsInvalid(f"{name}: what runs inline cannot be given up: leave `time_limit_ms` or `inline` out")


class Service(Generic[P, R]):
    """A function with a name under which it is asked for. Calling it calls the function."""

    def __init__(self, function: Callable[P, R], name: str, manner: Manner) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name
        self.manner = manner
        self.is_async = inspect.iscoroutinefunction(function)
        check_name("job type", name)
        if manner.version:
            check_name("version", manner.version)
        manner.check(name, is_async=self.is_async)

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> R:
        return self.function(*arguments, **named)

    def __repr__(self) -> str:
        return f"<service {self.type}>"

    def __reduce__(self) -> str:
        """As functions are pickled: by name, for the processes that run it to import."""
        return str(getattr(self.function, "__qualname__", self.name))

    def serve(self, **options: Any) -> None:
        """Serve this one alone, as `serve` does."""
        # Here, because a worker knows services, and not the other way round.
        from pregon.client.services.worker import serve

        serve(self, **options)

    @property
    def type(self) -> str:
        """As it is told to the broker: `sqrt`, or `sqrt@2`."""
        return f"{self.name}@{self.manner.version}" if self.manner.version else self.name


def service(
    name: str,
    *,
    version: str = "",
    slots: int = 1,
    time_limit_ms: int | None = None,
    processes: bool = False,
    inline: bool = False,
) -> Callable[[Callable[P, R]], Service[P, R]]:
    """Make a function a service, of which `slots` calls run at once.

    A plain function runs in threads, in processes of its own with `processes`, or with `inline` in the thread that
    receives (for what takes microseconds); an `async def` runs on an event loop. Raises SettingsInvalid or BadName.
    """
    manner = Manner(version=version, slots=slots, time_limit_ms=time_limit_ms, processes=processes, inline=inline)
    return lambda function: Service(function, name, manner)


class Prepared:
    """A service that is ready to be called with frames. Raises SettingsInvalid for a function that cannot be."""

    def __init__(self, of: Service[..., Any]) -> None:
        self.service = of
        self.name = of.name
        self.manner = of.manner
        self._function = of.function
        self._parameters = Parameters(of.function, of.name)

    def call(self, body: list[bytes]) -> Outcome:
        """Call the function; never raises."""
        try:
            return encode_result(self._function(*self._parameters.decode(body)))
        except BaseException as error:  # A function may raise anything, even SystemExit: only its own call fails.
            return failure_of(self.name, error)

    async def call_async(self, body: list[bytes]) -> Outcome:
        """Call the coroutine function; raises nothing but CancelledError."""
        try:
            return encode_result(await self._function(*self._parameters.decode(body)))
        except Exception as error:  # A coroutine may raise anything: only its own call fails.
            return failure_of(self.name, error)


def failure_of(name: str, error: BaseException) -> Failure:
    """What the client is told of an exception: its type and message; where it happened is only logged."""
    if isinstance(error, BadRequest):
        return Failure(code=error.code, message=_shortened(str(error)))
    log.error("%s failed", name, exc_info=error)
    if isinstance(error, PregonError):
        return Failure(message=_shortened(f"{error.code}: {error}"))
    return Failure(message=_shortened(f"{type(error).__name__}: {error}"))


def _shortened(text: str) -> str:
    # Lone surrogates cannot travel.
    whole = text.encode("utf-8", "replace").decode()
    return whole if len(whole) <= _MESSAGE_CHARACTERS_MAX else whole[: _MESSAGE_CHARACTERS_MAX - 1] + "…"
