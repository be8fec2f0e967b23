"""Where the SOAP door is found: under /soap/ of the HTTP door, which reads the request and writes the answer."""

from __future__ import annotations

from typing import Protocol

from pregon.edges.http.answers import Answer
from pregon.edges.http.app import Mounted
from pregon.edges.http.exchange import Exchange
from pregon.edges.http.routes import Desk
from pregon.edges.soap.exchange import SoapHttpAnswer, SoapHttpRequest
from pregon.errors import PregonError
from pregon.limits import REQUEST_BYTES_MAX
from pregon.model.message import NO_HEADERS
from pregon.model.trace_context import find_trace

SOAP_PREFIX = "/soap/"
_LONG_POLL = b"waitMs"
"""A request that may take long says so by this element."""


class SoapHandler(Protocol):
    """Who answers SOAP requests."""

    async def handle(self, request: SoapHttpRequest) -> SoapHttpAnswer:
        """Answer one."""
        ...

    def refuse(self, content_type: str, error: PregonError) -> SoapHttpAnswer:
        """The answer to one that could not be read."""
        ...


def mount_soap(door: SoapHandler) -> Mounted:
    """The SOAP door as the HTTP door calls it."""

    async def handle(desk: Desk, exchange: Exchange) -> Answer:
        try:
            request = await _read(desk, exchange)
            if _LONG_POLL not in request.body:
                return _answer(await door.handle(request))
            return _answer(await exchange.unless_gone(door.handle(request), desk.stopping))
        except PregonError as error:
            return _answer(door.refuse(exchange.content_type, error))

    return handle


async def _read(desk: Desk, exchange: Exchange) -> SoapHttpRequest:
    return SoapHttpRequest(
        method=exchange.method,
        path=exchange.path,
        query=exchange.scope.get("query_string", b"").decode("latin-1"),
        soap_action=exchange.header(b"soapaction"),
        content_type=exchange.content_type,
        bearer=exchange.presented,
        base_url=desk.base_url(exchange),
        body=await exchange.body(REQUEST_BYTES_MAX),
        trace=find_trace(exchange.scope["headers"]) if b"traceparent" in exchange.headers else NO_HEADERS,
    )


def _answer(answer: SoapHttpAnswer) -> Answer:
    headers = [(name.lower().encode(), value.encode()) for name, value in answer.headers]
    return Answer(answer.body, answer.status, answer.content_type, headers)
