"""A SOAP request and its answer as HTTP carries them: what the HTTP door hands over and gets back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SoapHttpRequest:
    """What came in, already off the socket."""

    method: str
    path: str
    """`/soap/novedades` and the like."""
    query: str = ""
    content_type: str = ""
    soap_action: str = ""
    bearer: str = field(default="", repr=False)
    """The key of the HTTP header Authorization; empty if there was none."""
    base_url: str = ""
    """How the client reached us, `http://host:port`: the WSDL says it."""
    body: bytes = b""
    trace: Mapping[str, str] = field(default_factory=dict)
    """The trace of which the request is a part, as headers of a message."""


@dataclass(frozen=True, slots=True)
class SoapHttpAnswer:
    """What goes out."""

    status: int
    content_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
