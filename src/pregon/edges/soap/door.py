"""The SOAP door: an HTTP request in, an HTTP answer out. The HTTP door mounts it under `/soap/`.

Promises:
- A POST is always answered with a well-formed envelope of the version that was spoken: the answer, or a fault.
- Nothing is parsed before its size, its media type and its charset are known to be acceptable.
- A bug is logged here once and answered as internal_error; no fault and no line of the log has a key in it.
"""

from __future__ import annotations

import dataclasses
import logging
from http import HTTPStatus
from urllib.parse import parse_qsl

from pregon import limits
from pregon.edges.soap import answers
from pregon.edges.soap.catalog import catalog_service
from pregon.edges.soap.exchange import SoapHttpAnswer, SoapHttpRequest
from pregon.edges.soap.publication import Publication
from pregon.edges.soap.reception import Reception
from pregon.edges.soap.services import Desk, Service
from pregon.edges.soap.traces import traces_service
from pregon.errors import (
    BadRequest,
    InternalError,
    MediaTypeUnknown,
    MethodUnknown,
    NotFound,
    PregonError,
    TooLarge,
)
from pregon.hub.bridge import Bridge
from pregon.hub.gate import Gate
from pregon.soap.envelope import Envelope, open_envelope, read_content_type, read_envelope
from pregon.soap.vocabulary import SOAP_11, SOAP_12, SoapVersion

log = logging.getLogger("pregon.soap")

PREFIX = "/soap/"
_TEXT = "text/plain; charset=utf-8"
_BEFORE_SOAP: dict[type[PregonError], HTTPStatus] = {
    NotFound: HTTPStatus.NOT_FOUND,
    MethodUnknown: HTTPStatus.METHOD_NOT_ALLOWED,
    MediaTypeUnknown: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
}
"""What HTTP itself refuses, before there is an envelope. Reading an envelope raises none of these."""


class SoapDoor:
    """The four services at their addresses."""

    def __init__(self, gate: Gate, bridge: Bridge, body_bytes_max: int = limits.BODY_BYTES_DEFAULT) -> None:
        self._gate = gate
        self._bridge = bridge
        self._services: dict[str, Service] = {
            f"{PREFIX}novedades": Publication(body_bytes_max),
            f"{PREFIX}recepcion": Reception(),
            f"{PREFIX}catalogo": catalog_service(),
            f"{PREFIX}trazas": traces_service(),
        }

    async def handle(self, request: SoapHttpRequest) -> SoapHttpAnswer:
        """Answer one request; never raises but when it is cancelled."""
        is_soap_12 = request.content_type.lower().startswith(SOAP_12.media_type)
        version = SOAP_12 if is_soap_12 else SOAP_11
        try:
            service = self._services.get(request.path)
            if service is None:
                raise NotFound(f"there is no such service: {' '.join(self._services)} are there")
            if request.method != "POST":
                return _describe(service, request)
            if len(request.body) > service.request_bytes_max:
                raise TooLarge(
                    f"the request has {len(request.body)} bytes; at most {service.request_bytes_max} are read here"
                )
            content_type = read_content_type(request.content_type)
            version, root = open_envelope(request.body, content_type.charset)
            envelope = read_envelope(version, root)
        except MethodUnknown as error:
            refusal = answers.fault(version, error, status=_BEFORE_SOAP.get(type(error)))
            return dataclasses.replace(refusal, headers=(*refusal.headers, ("Allow", "GET, HEAD, POST")))
        except PregonError as error:
            return answers.fault(version, error, status=_BEFORE_SOAP.get(type(error)))
        except Exception:  # Whatever the bytes did, the client gets an envelope and the hub goes on.
            return _bug(version, request)
        soap_action = (request.soap_action or content_type.action).strip().strip('"')
        return await self._carry_out(service, request, envelope, soap_action)

    def refuse(self, content_type: str, error: PregonError) -> SoapHttpAnswer:
        """The fault for a request that could not be read at all."""
        is_soap_12 = content_type.lower().startswith(SOAP_12.media_type)
        return answers.fault(SOAP_12 if is_soap_12 else SOAP_11, error, status=_BEFORE_SOAP.get(type(error)))

    async def _carry_out(
        self, service: Service, request: SoapHttpRequest, envelope: Envelope, soap_action: str
    ) -> SoapHttpAnswer:
        if envelope.not_understood:
            names = ", ".join(envelope.not_understood)[:500]
            return answers.fault_not_understood(envelope, BadRequest(f"not understood in the header: {names}"))
        try:
            caller = self._gate.identify(envelope.presented(request.bearer))
            desk = Desk(self._gate, self._bridge, caller, request.trace)
            return await service.carry_out(desk, envelope, soap_action)
        except PregonError as error:
            return answers.fault(envelope.version, error, addressing=envelope.addressing)
        except Exception:  # A bug of ours is no reason to leave the client without an answer.
            return _bug(envelope.version, request)


def _describe(service: Service, request: SoapHttpRequest) -> SoapHttpAnswer:
    """The WSDL, or where it is; raises MethodUnknown."""
    if request.method not in ("GET", "HEAD"):
        raise MethodUnknown("send SOAP requests with POST, and ask for the WSDL with GET and ?wsdl")
    address = f"{request.base_url}{request.path}"
    asked = {name.lower() for name, _ in parse_qsl(request.query[:1_000], keep_blank_values=True)}
    if "wsdl" in asked:
        return SoapHttpAnswer(HTTPStatus.OK, "text/xml; charset=utf-8", service.describe(address))
    page = f"A SOAP service: POST envelopes here. Its WSDL is at {address}?wsdl\n"
    return SoapHttpAnswer(HTTPStatus.METHOD_NOT_ALLOWED, _TEXT, page.encode(), (("Allow", "POST"),))


def _bug(version: SoapVersion, request: SoapHttpRequest) -> SoapHttpAnswer:
    log.exception("soap request failed", extra={"path": request.path, "bytes": len(request.body)})
    return answers.fault(version, InternalError("a bug in the hub: its log has the details"))
