"""The names of SOAP as Pregón speaks it: namespaces, elements, and the two versions.

Only names: what they mean is in the modules that read and write them.
"""

from __future__ import annotations

from dataclasses import dataclass

PS = "http://ps.agesic.gub.uy"
CATALOGO = f"{PS}/catalogo"
TRAZAS = f"{PS}/trazas"
WSSE = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"
WSU = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
PASSWORD_TEXT = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordText"
WSA = "http://www.w3.org/2005/08/addressing"
WSA_2004 = "http://schemas.xmlsoap.org/ws/2004/08/addressing"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
XSD = "http://www.w3.org/2001/XMLSchema"

MESSAGE_ID = "MessageID"
ADDRESSING_NAMES = (MESSAGE_ID, "To", "Action", "From", "ReplyTo", "FaultTo", "RelatesTo")
SOAP_ACTION_HEADER = "soap-action"
"""The header of a message in which the SOAPAction is kept with which it was published."""
HEADER_NAMES = ("producer", "topic", "accessKey", "key")


def split_tag(tag: str) -> tuple[str, str]:
    """The namespace, empty if there is none, and the name; lxml's `QName` refuses names that its parser lets pass."""
    namespace, _, name = tag.rpartition("}")
    return namespace.removeprefix("{"), name


@dataclass(frozen=True, slots=True, eq=False)
class SoapVersion:
    """How one version of SOAP spells what both have. Tags and attributes are as lxml writes them. There are two."""

    namespace: str
    media_type: str
    sender: str
    """The code of a fault that the client can mend."""
    receiver: str
    """The code of a fault that it cannot."""
    role: str
    """The attribute that says for whom a header entry is."""
    own_roles: frozenset[str]
    """Roles of header entries that are for us; no role is for us too."""
    envelope: str
    header: str
    body: str
    must_understand: str


def _version(namespace: str, media_type: str, codes: tuple[str, str], role: str, own_roles: set[str]) -> SoapVersion:
    return SoapVersion(
        namespace=namespace,
        media_type=media_type,
        sender=codes[0],
        receiver=codes[1],
        role=f"{{{namespace}}}{role}",
        own_roles=frozenset({"", *own_roles}),
        envelope=f"{{{namespace}}}Envelope",
        header=f"{{{namespace}}}Header",
        body=f"{{{namespace}}}Body",
        must_understand=f"{{{namespace}}}mustUnderstand",
    )


SOAP_11 = _version(
    "http://schemas.xmlsoap.org/soap/envelope/",
    "text/xml",
    ("Client", "Server"),
    "actor",
    {"http://schemas.xmlsoap.org/soap/actor/next"},
)
SOAP_12 = _version(
    "http://www.w3.org/2003/05/soap-envelope",
    "application/soap+xml",
    ("Sender", "Receiver"),
    "role",
    {
        "http://www.w3.org/2003/05/soap-envelope/role/next",
        "http://www.w3.org/2003/05/soap-envelope/role/ultimateReceiver",
    },
)
