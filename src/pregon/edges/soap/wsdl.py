"""The WSDL 1.1 of each service, with the address at which the client found it.

Publication and reception carry any XML, which WSDL describes badly; their descriptions are shaped so that clients made
from them work (zeep and the npm package soap are tested). Each part of a message that is not in its Body is in its
header. The catalogue and the traces are described from the same fields that read and write them.

Promises:
- The description has a port for SOAP 1.1 and one for SOAP 1.2, at the same address, in this order.
- The address is escaped: whatever the client sent as its host stays a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from pregon.edges.soap.answers import FAULT_ACTION
from pregon.edges.soap.records import Field, Record
from pregon.soap.texts import escape, escape_attribute
from pregon.soap.vocabulary import PS, XSD

_WSDL = "http://schemas.xmlsoap.org/wsdl/"
_BINDINGS = (("Soap11", "soap", f"{_WSDL}soap/"), ("Soap12", "soap12", f"{_WSDL}soap12/"))
_WSAM = "http://www.w3.org/2007/05/addressing/metadata"

# An element for each entry of the header, and the two that hold what a SOAP client wants to send.
_PS_SCHEMA = f"""<xs:schema targetNamespace="{PS}" elementFormDefault="unqualified">
<xs:element name="producer" type="xs:string"/>
<xs:element name="topic" type="xs:string"/>
<xs:element name="accessKey" type="xs:string"/>
<xs:element name="key" type="xs:string"/>
<xs:element name="notificationId" type="xs:long"/>
<xs:element name="matched" type="xs:string"/>
<xs:element name="notification"><xs:complexType><xs:sequence>
<xs:any namespace="##any" processContents="lax" minOccurs="0" maxOccurs="unbounded"/>
</xs:sequence></xs:complexType></xs:element>
<xs:element name="content"><xs:complexType><xs:simpleContent><xs:extension base="xs:string">
<xs:attribute name="contentType" type="xs:string"/>
<xs:attribute name="encoding" default="text"><xs:simpleType><xs:restriction base="xs:string">
<xs:enumeration value="text"/><xs:enumeration value="base64"/>
</xs:restriction></xs:simpleType></xs:attribute>
</xs:extension></xs:simpleContent></xs:complexType></xs:element>
<xs:element name="NotificationRequest"><xs:complexType><xs:sequence>
<xs:element name="subscriber" type="xs:string"/>
<xs:element name="topic" type="xs:string"/>
<xs:element name="ackNotificationId" type="xs:string" minOccurs="0"/>
<xs:element name="waitMs" type="xs:int" minOccurs="0"/>
<xs:element name="wrapped" type="xs:boolean" minOccurs="0"/>
</xs:sequence></xs:complexType></xs:element>
<xs:element name="error"><xs:complexType><xs:sequence>
<xs:element name="code" type="xs:string" form="qualified"/>
<xs:element name="message" type="xs:string" form="qualified"/>
<xs:element name="retryable" type="xs:boolean" form="qualified"/>
</xs:sequence></xs:complexType></xs:element>
</xs:schema>"""


class Described(Protocol):
    """What the description needs of an operation."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def summary(self) -> str:
        """What it does."""
        ...

    @property
    def asks(self) -> tuple[Field, ...]:
        """The fields of its request."""
        ...

    @property
    def answers(self) -> tuple[Field, ...]:
        """The fields of its answer."""
        ...


@dataclass(frozen=True, slots=True)
class _Side:
    """The request or the answer of an operation: elements in the Body, and entries of ours in the header."""

    body: tuple[str, ...]
    header: tuple[str, ...] = ()
    unbound: tuple[str, ...] = ()
    """Parts that are never sent. zeep does not read `parts` of soap:body: it takes the Body to hold all that is not in
    the header, and reads an empty Body, or one of several shapes, only if it expects more than one element."""

    def message(self, name: str) -> str:
        """The abstract message. Its Body comes first: some clients look no further."""
        parts = [(one.partition(":")[2], one) for one in (*self.body, *self._entries(), *self.unbound)]
        written = "".join(f'<part name="{part}" element="{element}"/>' for part, element in parts)
        return f'<message name="{name}">{written}</message>'

    def binding(self, name: str, soap: str) -> str:
        """How the parts of the message travel."""
        in_body = " ".join(one.partition(":")[2] for one in self.body)
        entries = "".join(f'<{soap}:header message="tns:{name}" part="{one}" use="literal"/>' for one in self.header)
        return f'<{soap}:body parts="{in_body}" use="literal"/>{entries}'

    def _entries(self) -> list[str]:
        return [f"ps:{one}" for one in self.header]


@dataclass(frozen=True, slots=True)
class _Sketch:
    """One operation as a WSDL describes it."""

    name: str
    summary: str
    action: str
    request: _Side
    answer: _Side


@dataclass(frozen=True, slots=True)
class _Description:
    """One service: its schema, if it has one besides ours, and its operations."""

    name: str
    namespace: str
    schema: str
    operations: tuple[_Sketch, ...]

    def write(self, address: str) -> bytes:
        """The WSDL."""
        messages = "\n".join(
            side.message(f"{one.name}{end}")
            for one in self.operations
            for side, end in ((one.request, "Request"), (one.answer, "Response"))
        )
        ports = "\n".join(
            f'<port name="{self.name}{version}" binding="tns:{self.name}{version}">'
            f'<{soap}:address location="{escape_attribute(address)}"/></port>'
            for version, soap, _ in _BINDINGS
        )
        spaces = " ".join(f'xmlns:{soap}="{namespace}"' for _, soap, namespace in _BINDINGS)
        text = (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f'<definitions xmlns="{_WSDL}" {spaces} xmlns:xs="{XSD}" xmlns:wsam="{_WSAM}" xmlns:ps="{PS}"\n'
            f'  xmlns:tns="{self.namespace}" targetNamespace="{self.namespace}" name="{self.name}">\n'
            f"<types>\n{_PS_SCHEMA}\n{self.schema}</types>\n"
            f"{messages}\n{self._port_type()}\n"
            f"{''.join(self._binding(version, soap) for version, soap, _ in _BINDINGS)}"
            f'<service name="{self.name}">\n{ports}\n</service>\n</definitions>\n'
        )
        return text.encode()

    def _port_type(self) -> str:
        operations = "\n".join(
            f'<operation name="{one.name}"><documentation>{escape(one.summary)}</documentation>\n'
            f'<input message="tns:{one.name}Request" wsam:Action="{one.action}"/>'
            f'<output message="tns:{one.name}Response" wsam:Action="{one.action}Response"/>\n'
            f'<fault name="error" message="tns:error" wsam:Action="{FAULT_ACTION}"/></operation>'
            for one in self.operations
        )
        error = '<message name="error"><part name="error" element="ps:error"/></message>'
        return f'{error}\n<portType name="{self.name}">\n{operations}\n</portType>'

    def _binding(self, version: str, soap: str) -> str:
        operations = "\n".join(
            f'<operation name="{one.name}"><{soap}:operation soapAction=""/>\n'
            f"<input>{one.request.binding(f'{one.name}Request', soap)}</input>\n"
            f"<output>{one.answer.binding(f'{one.name}Response', soap)}</output>\n"
            f'<fault name="error"><{soap}:fault name="error" use="literal"/></fault></operation>'
            for one in self.operations
        )
        return (
            f'<binding name="{self.name}{version}" type="tns:{self.name}">'
            f'<{soap}:binding style="document" transport="http://schemas.xmlsoap.org/soap/http"/>\n'
            f"{operations}\n</binding>\n"
        )


_PUBLICATION = _Description(
    "Novedades",
    PS,
    "",
    (
        _Sketch(
            "PublishNotification",
            "Publish any XML, or anything else in ps:content, to a topic. The answer says its number there.",
            f"{PS}/novedades/PublishNotification",
            _Side(("ps:notification",), ("producer", "topic", "accessKey", "key")),
            _Side((), ("notificationId",), unbound=("ps:notification", "ps:content")),
        ),
    ),
)
_RECEPTION = _Description(
    "Recepcion",
    PS,
    "",
    (
        _Sketch(
            "ReceiveNotification",
            "The first message that is not acknowledged; an empty Body when there is none. Without `wrapped` the "
            "message stands in the Body by itself, whatever it is; with it, inside ps:notification.",
            f"{PS}/recepcion/ReceiveNotification",
            _Side(("ps:NotificationRequest",), ("accessKey",)),
            _Side(("ps:notification",), ("producer", "notificationId", "matched"), unbound=("ps:content",)),
        ),
    ),
)


def publication_wsdl(address: str) -> bytes:
    """The WSDL of publication."""
    return _PUBLICATION.write(address)


def reception_wsdl(address: str) -> bytes:
    """The WSDL of reception."""
    return _RECEPTION.write(address)


def operations_wsdl(name: str, namespace: str, operations: Sequence[Described], address: str) -> bytes:
    """The WSDL of a service of named operations."""
    sketches = tuple(
        _Sketch(
            one.name,
            one.summary,
            f"{namespace}/{one.name}",
            _Side((f"tns:{one.name}",), ("accessKey",)),
            _Side((f"tns:{one.name}Response",)),
        )
        for one in operations
    )
    return _Description(name, namespace, _schema(namespace, operations), sketches).write(address)


def _schema(namespace: str, operations: Sequence[Described]) -> str:
    elements: list[str] = []
    records: dict[str, Record] = {}
    for one in operations:
        for name, fields in ((one.name, one.asks), (f"{one.name}Response", one.answers)):
            elements.append(
                f'<xs:element name="{name}"><xs:complexType>{_sequence(fields)}</xs:complexType></xs:element>'
            )
            records |= {record.name: record for record in _records_in(fields)}
    types = [
        f'<xs:complexType name="{record.name}">{_sequence(record.fields)}</xs:complexType>'
        for record in records.values()
    ]
    inside = "\n".join(types + elements)
    return f'<xs:schema targetNamespace="{namespace}" elementFormDefault="qualified">\n{inside}\n</xs:schema>\n'


def _records_in(fields: tuple[Field, ...]) -> Iterator[Record]:
    for field in fields:
        if isinstance(field.kind, Record):
            yield field.kind
            yield from _records_in(field.kind.fields)


def _sequence(fields: tuple[Field, ...]) -> str:
    written = []
    for field in fields:
        type_ = f"tns:{field.kind.name}" if isinstance(field.kind, Record) else field.kind.schema_name
        often = "" if field.is_required else ' minOccurs="0"'
        often += ' maxOccurs="unbounded"' if field.is_list else ""
        often += ' nillable="true"' if field.may_be_nil else ""
        written.append(f'<xs:element name="{field.name}" type="{type_}"{often}/>')
    return f"<xs:sequence>{''.join(written)}</xs:sequence>"
