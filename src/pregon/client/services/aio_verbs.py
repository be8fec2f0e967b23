"""What can be asked of services, with asyncio: `AsyncClient` and `AsyncServiceClient` have it from here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Any, TypeVar, Unpack, overload

from pregon.client.services.aio_talk import AsyncTalk
from pregon.client.services.arguments import encode_arguments
from pregon.client.services.ask import (
    Ask,
    AskOptions,
    as_frames,
    ask_collect,
    ask_request,
    ask_services,
    ask_submit,
)
from pregon.client.services.mapping import Mapping, result_of
from pregon.client.services.progress import MapProgress
from pregon.client.services.verbs import IN_FLIGHT_DEFAULT

T = TypeVar("T")


class AsyncServiceVerbs(ABC):
    """Asks services through a broker; every verb is as in `ServiceVerbs`."""

    timeout_ms: float

    @abstractmethod
    async def _talk(self) -> AsyncTalk:
        """The connection to the broker, opened when it is first needed."""

    async def _ask_service(self, ask: Ask) -> Ask:
        return await (await self._talk()).run(ask)

    @overload
    async def request(self, service: str, /, *arguments: Any, returns: type[T], **options: Unpack[AskOptions]) -> T: ...
    @overload
    async def request(
        self, service: str, /, *arguments: Any, returns: None = None, **options: Unpack[AskOptions]
    ) -> Any: ...
    async def request(
        self, service: str, /, *arguments: Any, returns: Any = None, **options: Unpack[AskOptions]
    ) -> Any:
        """Ask a service and wait for its answer, of the type `returns`; raises the error that comes in its place."""
        ask = ask_request(service, encode_arguments(arguments), self.timeout_ms, options)
        return (await self._ask_service(ask)).result(returns)

    async def request_frames(
        self, service: str, frames: Sequence[bytes | str], **options: Unpack[AskOptions]
    ) -> list[bytes]:
        """The same, frames for frames."""
        ask = ask_request(service, as_frames(frames), self.timeout_ms, options)
        return (await self._ask_service(ask)).result_frames()

    def map(
        self,
        service: str,
        inputs: Iterable[Any],
        *,
        returns: Any = None,
        in_flight: int = IN_FLIGHT_DEFAULT,
        progress: bool = False,
        return_errors: bool = False,
        **options: Unpack[AskOptions],
    ) -> AsyncGenerator[Any, None]:
        """Ask for every input, `in_flight` at once; the results come in the order of the inputs, as they are there."""
        mapping = Mapping(service, inputs, in_flight, self.timeout_ms, options)
        return self._map(mapping, MapProgress(service, inputs, is_wanted=progress), returns, return_errors)

    async def _map(
        self, mapping: Mapping, progress: MapProgress, returns: Any, return_errors: bool
    ) -> AsyncGenerator[Any, None]:
        talk, window = await self._talk(), mapping.window
        with progress:
            try:
                while True:
                    talk.start(mapping.next_asks())
                    while (ask := window.take()) is not None:
                        progress.step()
                        yield result_of(ask, returns, return_errors=return_errors)
                        if window.has_much_room:
                            talk.start(mapping.next_asks())
                    if mapping.is_over:
                        return
                    if not mapping.is_ready:
                        await talk.news(window)
            finally:
                talk.give_up(window.rest())

    async def submit(self, service: str, /, *arguments: Any, key: str = "", **options: Unpack[AskOptions]) -> str:
        """Leave a durable request; returns its id when it is on the hub's disk. The same `key` is the same request."""
        ask = ask_submit(service, encode_arguments(arguments), key, self.timeout_ms, options)
        return str((await self._ask_service(ask)).result(str))

    async def collect(self, id: str, *, returns: Any = None, wait_ms: int = 0) -> Any:
        """The result of a durable request; raises AnswerTimeout while there is none, or what it ended with."""
        return (await self._ask_service(ask_collect(id, wait_ms, self.timeout_ms))).result(returns)

    async def collect_frames(self, id: str, *, wait_ms: int = 0) -> list[bytes]:
        """The same, as frames."""
        return (await self._ask_service(ask_collect(id, wait_ms, self.timeout_ms))).result_frames()

    async def services(self) -> Any:
        """Who serves what, now."""
        return (await self._ask_service(ask_services(self.timeout_ms))).result()
