"""Services of named operations, document/literal wrapped: the catalogue and the traces are such.

The element in the body names the operation and holds its fields; the answer is an element of the same name and
`Response`. What each operation does is in `catalog` and `traces`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pregon import limits
from pregon.edges.soap import answers
from pregon.edges.soap.exchange import SoapHttpAnswer
from pregon.edges.soap.records import Field, decode_fields, encode_fields
from pregon.edges.soap.services import Desk, sole_element
from pregon.edges.soap.wsdl import operations_wsdl
from pregon.errors import BadRequest
from pregon.soap.envelope import Envelope
from pregon.soap.vocabulary import split_tag

Values = dict[str, Any]
CarryOut = Callable[[Desk, Values], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: what it asks for, what it answers, and how it is done."""

    name: str
    summary: str
    asks: tuple[Field, ...]
    answers: tuple[Field, ...]
    carry_out: CarryOut


class OperationsService:
    """One address with its operations."""

    request_bytes_max = limits.REQUEST_JSON_BYTES_MAX

    def __init__(self, name: str, namespace: str, operations: tuple[Operation, ...]) -> None:
        self.name = name
        self.namespace = namespace
        self.operations = operations
        self._by_tag = {f"{{{namespace}}}{operation.name}": operation for operation in operations}

    async def carry_out(self, desk: Desk, envelope: Envelope, soap_action: str) -> SoapHttpAnswer:
        """Do what the body's element says."""
        element = sole_element(envelope)
        operation = self._by_tag.get(str(element.tag))
        if operation is None:
            name = split_tag(element.tag)[1]
            raise BadRequest(f"{name[:100]!r} is no operation of {self.namespace}: the WSDL at ?wsdl has them all")
        values = decode_fields(operation.asks, element, self.namespace)
        answered = encode_fields(operation.answers, await operation.carry_out(desk, values))
        entries = answers.addressing_entries(envelope.addressing, f"{self.namespace}/{operation.name}Response")
        # The fields are in the default namespace of their answer, which no element of the envelope shares.
        tag = f"{operation.name}Response"
        body = f'<{tag} xmlns="{self.namespace}">{answered}</{tag}>'
        return answers.answer(envelope.version, entries, body.encode())

    def describe(self, address: str) -> bytes:
        """The WSDL."""
        return operations_wsdl(self.name, self.namespace, self.operations, address)
