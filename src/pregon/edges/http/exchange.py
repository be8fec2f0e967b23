"""One HTTP request in hand: its head, its parameters, its body, and who sends it.

Light on purpose: it is made for every publication. Headers and query are taken apart when first asked for.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable, MutableMapping
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec

from pregon.errors import BadRequest, HubBusy, HubStopping, MediaTypeUnknown, TooLarge, Unauthorized
from pregon.limits import REQUEST_JSON_BYTES_MAX, REQUESTS_BYTES_MAX

T = TypeVar("T")
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_PARAMETERS_MAX = 50


class ClientGone(Exception):
    """The client hung up before its request was complete."""


class Budget:
    """The bytes of large requests that are being read and worked on, together. For one thread."""

    def __init__(self) -> None:
        self._taken_bytes = 0

    def take(self, size_bytes: int) -> None:
        """So many more; raises HubBusy when there may be no more."""
        if self._taken_bytes + size_bytes > REQUESTS_BYTES_MAX:
            raise HubBusy("the hub is reading as many large requests as it can: send again after a pause")
        self._taken_bytes += size_bytes

    def give_back(self, size_bytes: int) -> None:
        """They are dealt with."""
        self._taken_bytes -= size_bytes


class Exchange:
    """A request, and what its path matched."""

    __slots__ = ("__dict__", "_budget", "_receive", "_taken_bytes", "method", "params", "path", "scope")

    def __init__(self, scope: Scope, receive: Receive, params: dict[str, str], budget: Budget) -> None:
        self._budget = budget
        self._taken_bytes = 0
        self.scope = scope
        self.method: str = scope.get("method", "GET")
        self.path: str = scope["path"]
        self.params = params
        self._receive = receive

    @cached_property
    def headers(self) -> dict[bytes, bytes]:
        """The headers, names in lower case; the last of several with one name."""
        return dict(self.scope["headers"])

    def header(self, name: bytes) -> str:
        """A header as text, empty if it is not there; raises BadRequest for one that is no text."""
        value = self.headers.get(name)
        if value is None:
            return ""
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise BadRequest(f"the header {name.decode()} is not UTF-8") from error

    @property
    def content_type(self) -> str:
        """The media type of the body with its parameters, as it was sent."""
        return self.header(b"content-type").strip()

    @property
    def media_type(self) -> str:
        """The media type of the body, without parameters, in lower case."""
        return self.content_type.partition(";")[0].strip().lower()

    @property
    def presented(self) -> str:
        """The key or token of who asks, empty if there is none; raises Unauthorized for what is neither."""
        value = self.headers.get(b"authorization")
        if value is None:
            return ""
        scheme, _, rest = value.partition(b" ")
        try:
            if scheme.lower() == b"bearer":
                return rest.strip().decode("ascii")
            if scheme.lower() == b"basic":
                # For tools that only know user and password: the key is the password.
                return base64.b64decode(rest.strip(), validate=True).decode().partition(":")[2]
        except (UnicodeDecodeError, binascii.Error, ValueError) as error:
            raise Unauthorized("the Authorization header cannot be read: send Bearer and the key") from error
        raise Unauthorized("the Authorization header is Bearer and the key, or Basic with the key as password")

    def query(self, kind: type[T]) -> T:
        """The query as a struct; raises BadRequest for parameters that are wrong or unknown."""
        text = self.scope.get("query_string", b"")
        try:
            pairs = parse_qsl(
                text.decode("ascii"), keep_blank_values=True, max_num_fields=_PARAMETERS_MAX, errors="strict"
            )
            return msgspec.convert(dict(pairs), kind, strict=False)
        except (ValueError, msgspec.ValidationError) as error:
            raise BadRequest(f"the query is wrong: {str(error)[:200]}") from error

    def declared_bytes(self) -> int:
        """The length that the request says its body has, 0 if it says none."""
        text = self.headers.get(b"content-length", b"0")
        return int(text) if text.isdigit() else 0

    async def body(self, bytes_max: int) -> bytes:
        """All of the body; raises TooLarge before reading more than may be, ClientGone if it does not come."""
        if self.declared_bytes() > bytes_max:
            raise _too_large(self.declared_bytes(), bytes_max)
        message = await self._receive()
        if message["type"] != "http.request":
            raise ClientGone
        body: bytes = message.get("body", b"")
        if not message.get("more_body", False):
            if len(body) > bytes_max:
                raise _too_large(len(body), bytes_max)
            return body
        chunks, size = [body], len(body)
        while message.get("more_body", False):
            message = await self._receive()
            if message["type"] != "http.request":
                raise ClientGone
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if size > bytes_max:
                raise _too_large(size, bytes_max)
            self._budget.take(len(chunks[-1]))
            self._taken_bytes += len(chunks[-1])
        return b"".join(chunks)

    def give_back(self) -> None:
        """The request is answered: others may be read."""
        if self._taken_bytes:
            self._budget.give_back(self._taken_bytes)
            self._taken_bytes = 0

    async def json(self, kind: type[T], bytes_max: int = REQUEST_JSON_BYTES_MAX) -> T:
        """The body as a struct; an empty one is all defaults. Raises BadRequest, MediaTypeUnknown or TooLarge."""
        body = await self.body(bytes_max)
        if self.media_type not in ("application/json", "application/merge-patch+json") and (body or self.media_type):
            raise MediaTypeUnknown("this body is JSON: send it as Content-Type application/json")
        try:
            return msgspec.json.decode(body or b"{}", type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadRequest(f"the body is wrong: {str(error)[:200]}") from error

    async def unless_gone(self, work: Awaitable[T], stopping: asyncio.Event) -> T:
        """What the work, which may take long, comes to.

        It is given up, with ClientGone, when the client hangs up, and with HubStopping when the door is closed.
        """
        answer = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(self.until_gone())
        stop = asyncio.ensure_future(stopping.wait())
        try:
            await asyncio.wait({answer, gone, stop}, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            if gone.done():
                raise ClientGone
            raise HubStopping("the hub is stopping: connect again in a moment")
        finally:
            for one in (answer, gone, stop):
                one.cancel()

    async def until_gone(self) -> None:
        """Wait until the client hangs up."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


def _too_large(size: int, bytes_max: int) -> TooLarge:
    return TooLarge(f"the request has {size} bytes or more; at most {bytes_max} are taken here")
