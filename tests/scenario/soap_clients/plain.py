"""A SOAP client of a few lines: it posts what it is given, and reads what comes back without knowing our schema."""

from __future__ import annotations

from dataclasses import dataclass

import httpx
from lxml import etree

SOAP_11 = "http://schemas.xmlsoap.org/soap/envelope/"
SOAP_12 = "http://www.w3.org/2003/05/soap-envelope"
PS = "http://ps.agesic.gub.uy"
CATALOGO = f"{PS}/catalogo"
TRAZAS = f"{PS}/trazas"
WSA = "http://www.w3.org/2005/08/addressing"
WSA_2004 = "http://schemas.xmlsoap.org/ws/2004/08/addressing"
WSSE = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"
WSU = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
MEDIA_TYPES = {SOAP_11: "text/xml", SOAP_12: "application/soap+xml"}


@dataclass(frozen=True)
class Fault:
    """A fault of either version, read."""

    code: str
    """Without its prefix: Client, Sender and so on."""
    sentence: str
    error_code: str
    is_retryable: bool


class Reply:
    """An answer that was well-formed XML and an envelope, or this raises."""

    def __init__(self, status: int, content_type: str, content: bytes) -> None:
        self.status = status
        self.content_type = content_type
        self.content = content
        self.root = etree.fromstring(content)
        self.namespace = etree.QName(self.root).namespace
        assert etree.QName(self.root).localname == "Envelope", content
        (self._body,) = self.root.findall(f"{{{self.namespace}}}Body")
        self.body = list(self._body)

    def header(self, name: str, namespace: str = PS) -> str | None:
        """The text of a header entry."""
        return self.root.findtext(f"{{{self.namespace}}}Header/{{{namespace}}}{name}")

    @property
    def notification_id(self) -> int:
        """The number that the header says."""
        said = self.header("notificationId")
        assert said is not None, self.content
        return int(said)

    @property
    def content_element(self) -> etree._Element:
        """The only element of the body."""
        (only,) = self.body
        return only

    def fields(self, *path: str) -> list[str | None]:
        """The texts of elements of the answer by their local names, wherever they are from."""
        steps = "/".join(f"*[local-name()='{name}']" for name in path)
        return [one.text for one in self._body.xpath(f"*/{steps}")]

    @property
    def fault(self) -> Fault:
        """The fault, in either version."""
        (fault,) = self._body.findall(f"{{{self.namespace}}}Fault")
        if self.namespace == SOAP_11:
            code, sentence, detail = fault.findtext("faultcode"), fault.findtext("faultstring"), fault.find("detail")
        else:
            soap = {"s": SOAP_12}
            code = fault.findtext("s:Code/s:Value", namespaces=soap)
            sentence = fault.findtext("s:Reason/s:Text", namespaces=soap)
            detail = fault.find("s:Detail", namespaces=soap)
        assert code and sentence and detail is not None, self.content
        prefix, _, local_name = code.partition(":")
        assert fault.nsmap[prefix] == self.namespace
        (error,) = detail
        said = [error.findtext(f"{{{PS}}}{name}") for name in ("code", "message", "retryable")]
        assert said[1] == sentence
        return Fault(local_name, sentence, said[0] or "", said[2] == "true")


def envelope(body: str = "", header: str = "", version: str = SOAP_11) -> bytes:
    """An envelope; the prefixes ps, wsa and wsse are declared."""
    spaces = f'xmlns:e="{version}" xmlns:ps="{PS}" xmlns:wsa="{WSA}" xmlns:wsse="{WSSE}" xmlns:wsu="{WSU}"'
    return f"<e:Envelope {spaces}><e:Header>{header}</e:Header><e:Body>{body}</e:Body></e:Envelope>".encode()


def publication(body: str, topic: str, producer: str = "DGREC", header: str = "", version: str = SOAP_11) -> bytes:
    """An envelope that publishes a body."""
    said = f"<ps:producer>{producer}</ps:producer><ps:topic>{topic}</ps:topic>"
    return envelope(body, said + header, version)


def request(
    topic: str, subscriber: str = "BPS", ack: int | str = "", more: str = "", header: str = "", version: str = SOAP_11
) -> bytes:
    """An envelope that asks for the next message."""
    inside = f"<subscriber>{subscriber}</subscriber><topic>{topic}</topic><ackNotificationId>{ack}</ackNotificationId>"
    return envelope(f"<ps:NotificationRequest>{inside}{more}</ps:NotificationRequest>", header, version)


def operation(
    name: str, inside: str = "", namespace: str = CATALOGO, header: str = "", version: str = SOAP_11
) -> bytes:
    """An envelope that asks for an operation of the catalogue or of the traces."""
    return envelope(f'<{name} xmlns="{namespace}">{inside}</{name}>', header, version)


class PlainClient:
    """Posts envelopes to the services of a hub."""

    def __init__(self, base_url: str) -> None:
        self._http = httpx.Client(base_url=base_url, timeout=30)

    def close(self) -> None:
        """Hang up."""
        self._http.close()

    def get(self, path: str) -> httpx.Response:
        """What HTTP gives for an address."""
        return self._http.get(path)

    def post(
        self, service: str, content: bytes, content_type: str | None = None, headers: dict[str, str] | None = None
    ) -> Reply:
        """Post these bytes, as the media type of the envelope that they are unless another is said."""
        said = MEDIA_TYPES[SOAP_12 if SOAP_12.encode() in content else SOAP_11] + "; charset=utf-8"
        sent = {"Content-Type": said if content_type is None else content_type, **(headers or {})}
        answer = self._http.post(f"/soap/{service}", content=content, headers=sent)
        return Reply(answer.status_code, answer.headers["content-type"], answer.content)


def canonical(element: etree._Element | bytes | str) -> bytes:
    """The canonical form of an element by itself."""
    if not isinstance(element, etree._Element):
        element = etree.fromstring(element)
    return etree.tostring(element, method="c14n", exclusive=True, with_tail=False)
