"""What a service of the door is, and what it works with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from lxml import etree

from pregon.edges.soap.exchange import SoapHttpAnswer
from pregon.errors import BadRequest
from pregon.hub.bridge import Bridge
from pregon.hub.gate import Gate
from pregon.security.callers import Caller
from pregon.soap.envelope import Envelope, elements_of
from pregon.store.ticket import Ticket

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Desk:
    """One request at the gate: who asks, and how to wait for the answer."""

    gate: Gate
    bridge: Bridge
    caller: Caller
    trace: Mapping[str, str]
    """The trace of which the request is a part, as headers of a message."""

    async def answer(self, ticket: Ticket[T]) -> T:
        """The ticket's value; raises its error."""
        return await self.bridge.answer(ticket)


class Service(Protocol):
    """One address of the door."""

    request_bytes_max: int
    """A longer request is refused before it is parsed."""

    async def carry_out(self, desk: Desk, envelope: Envelope, soap_action: str) -> SoapHttpAnswer:
        """Do what the envelope says; raises a PregonError, which becomes a fault."""
        ...

    def describe(self, address: str) -> bytes:
        """The WSDL, for a service at this address."""
        ...


def sole_element(envelope: Envelope) -> etree._Element:
    """The one element of a body that says what to do; raises BadRequest."""
    elements = elements_of(envelope.body)
    if len(elements) != 1:
        raise BadRequest(f"the Body holds one element that says what to do, not {len(elements)}: see the WSDL")
    return elements[0]
