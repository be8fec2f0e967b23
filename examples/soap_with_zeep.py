"""Publish a death by SOAP and receive it as BPS, with zeep (`pip install zeep`), from the hub's own WSDLs.

With a hub running (`make run`):

    .venv/bin/python examples/soap_with_zeep.py

Run it twice: the second time nothing is stored, because the message has the same id, and nothing is pending, because
BPS has acknowledged what it received.
"""

from lxml import etree
from zeep import Client, Plugin


class Id(Plugin):
    """Gives a message an id of ours instead of zeep's random one, so that sending it again is harmless."""

    def __init__(self, message_id: str) -> None:
        self._message_id = message_id

    def egress(self, envelope, http_headers, operation, binding_options):
        envelope.find(".//{http://www.w3.org/2005/08/addressing}MessageID").text = self._message_id
        return envelope, http_headers


HUB = "http://127.0.0.1:5580"
TOPIC = "fallecidos"
ACTA = etree.fromstring('<n:acta xmlns:n="http://dgrec.example/actas"><n:nombre>Pepe Gómez</n:nombre></n:acta>')

novedades = Client(f"{HUB}/soap/novedades?wsdl", plugins=[Id("urn:acta:1861")])
answer = novedades.service.PublishNotification([ACTA], _soapheaders={"producer": "DGREC", "topic": TOPIC})
print(f"the acta is message {answer.header.notificationId}")

recepcion = Client(f"{HUB}/soap/recepcion?wsdl")
ack = ""
while True:
    answer = recepcion.service.ReceiveNotification("BPS", TOPIC, ack, wrapped=True)
    if answer.header is None or not answer.header.notificationId:
        print("nothing is pending")
        break
    (acta,) = answer.body.notification._value_1
    ack = str(answer.header.notificationId)
    print(f"BPS got {ack} from {answer.header.producer}: {acta.findtext('{*}nombre')}")
