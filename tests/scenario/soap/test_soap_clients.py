"""Programs that are made from our WSDLs, for real: zeep in Python, and the npm package soap in Node.

zeep is given both ports, and in its strict and its lax reading; npm has one way of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import zeep
from lxml import etree
from zeep.wsse.username import UsernameToken

from pregon.testing import RunningHub

from ..soap_clients.plain import PS, canonical

PROJECT = Path(__file__).parents[1] / "soap_clients"
ACTA = b'<n:acta xmlns:n="urn:n"><n:ci>1.111.111-1</n:ci></n:acta>'
BOTH_PORTS = pytest.mark.parametrize("port", ["Soap11", "Soap12"])


def connect(hub: RunningHub, service: str, port: str = "Soap11", *, strict: bool = True, wsse: Any = None) -> Any:
    """A zeep client of a service."""
    return zeep.Client(
        f"{hub.http}/soap/{service.lower()}?wsdl",
        settings=zeep.Settings(strict=strict),
        service_name=service,
        port_name=f"{service}{port}",
        wsse=wsse,
    )


def publish(client: Any, topic: str, *values: Any, **headers: str) -> int:
    """Publish elements, or ps:content, as DGREC; the number."""
    said = {"producer": "DGREC", "topic": topic, **headers}
    answer = client.service.PublishNotification(list(values), _soapheaders=said)
    number: int = answer.header.notificationId
    return number


def content(client: Any, text: str, content_type: str, encoding: str) -> Any:
    """Something that is no XML, as zeep puts it where anything may stand."""
    element = client.get_element(f"{{{PS}}}content")
    return zeep.xsd.AnyObject(element, element(text, contentType=content_type, encoding=encoding))


@BOTH_PORTS
def test_zeep_publishes_xml_and_what_is_none(running: RunningHub, topic: str, port: str) -> None:
    novedades = connect(running, "Novedades", port)

    numbers = [
        publish(novedades, topic, etree.fromstring(ACTA)),
        publish(novedades, topic, content(novedades, '{"a": 1}', "application/json", "text"), key="1"),
        publish(novedades, topic, content(novedades, "iVBORw==", "image/png", "base64")),
    ]

    with running.client() as client:
        stored = list(client.read(topic, 1))
    assert numbers == [1, 2, 3]
    assert canonical(stored[0].body) == ACTA
    assert [(one.body, one.content_type, one.key) for one in stored[1:]] == [
        (b'{"a": 1}', "application/json", "1"),
        (b"\x89PNG", "image/png", None),
    ]
    assert all(one.id.startswith("urn:uuid:") for one in stored), "zeep addresses its messages, as the WSDL says"


@BOTH_PORTS
@pytest.mark.parametrize("strict", [True, False], ids=["wrapped", "bare"])
def test_zeep_receives_until_nothing_is_pending(running: RunningHub, topic: str, port: str, strict: bool) -> None:
    novedades = connect(running, "Novedades")
    publish(novedades, topic, etree.fromstring(ACTA))
    publish(novedades, topic, content(novedades, '{"a": 1}', "application/json", "text"))
    recepcion = connect(running, "Recepcion", port, strict=strict)

    received, ack = [], ""
    while len(received) < 3:
        answer = recepcion.service.ReceiveNotification("BPS", topic, ack, wrapped=strict or None)
        if not answer.header.notificationId:
            break
        ack = str(answer.header.notificationId)
        received.append(answer)

    if strict:
        (acta,), (other,) = [one.body.notification._value_1 for one in received]
    else:
        (acta,), other = received[0].body._raw_elements, received[1].body.content
    assert [one.header.producer for one in received] == ["DGREC", "DGREC"]
    assert canonical(acta) == ACTA
    assert (other._value_1, other.contentType) == ('{"a": 1}', "application/json")


@BOTH_PORTS
def test_zeep_keeps_the_catalogue(running: RunningHub, topic: str, port: str) -> None:
    service = connect(running, "Catalogo", port).service

    made = service.CreateTopic(name=topic, restricted=True, retention={"ageMs": 86_400_000})
    producer = service.CreateProducer(name=topic, description="Gómez", topics={"topic": [topic]})
    service.CreateSubscription(topic=topic, subscriber=topic, pendingMax=5)
    changed = service.UpdateSubscription(topic=topic, subscriber=topic, pendingMax=zeep.xsd.Nil)
    listed = service.ListSubscriptions(topic=topic)
    existed = service.DeleteSubscriber(name=topic)
    with pytest.raises(zeep.exceptions.Fault) as caught:
        service.GetSubscriber(name=topic)

    assert (made.restricted, made.retention.ageMs, made.createdAt.tzinfo is not None) == (True, 86_400_000, True)
    assert (producer.description, producer.topics.topic) == ("Gómez", [topic])
    assert changed.pendingMax is None
    assert [(one.topic, one.subscriber) for one in listed] == [(topic, topic)]
    assert existed is True
    assert caught.value.detail.findtext(f"{{{PS}}}error/{{{PS}}}code") == "not_found"


@BOTH_PORTS
def test_zeep_finds_traces(running: RunningHub, topic: str, port: str) -> None:
    publish(connect(running, "Novedades"), topic, etree.fromstring(ACTA))

    found = connect(running, "Trazas", port).service.SearchTraces(
        topic=topic, producer="DGREC", **{"from": datetime(2020, 1, 1, tzinfo=UTC)}
    )

    (trace,) = found.trace
    assert (trace.kind, trace.firstNotificationId, trace.producer) == ("accepted", 1, "DGREC")


def test_zeep_presents_a_key_in_each_way(running: RunningHub, topic: str) -> None:
    catalogo = connect(running, "Catalogo").service
    catalogo.CreateProducer(name=topic)
    key = catalogo.CreateProducerKey(name=topic).accessKey
    acta = etree.fromstring(ACTA)

    in_header = publish(connect(running, "Novedades"), topic, acta, producer=topic, accessKey=key)
    by_token = publish(connect(running, "Novedades", wsse=UsernameToken(topic, key)), topic, acta, producer=topic)
    with pytest.raises(zeep.exceptions.Fault) as caught:
        publish(connect(running, "Novedades"), topic, acta, producer=topic)

    assert (in_header, by_token) == (1, 2)
    assert key not in str(caught.value)
    assert caught.value.code == "soapenv:Client"


@pytest.fixture(scope="module")
def npm_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the npm project with its packages; without Node the test is skipped on a laptop and fails in CI."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        reason = "this needs node and npm"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    copy = tmp_path_factory.mktemp("npm") / "project"
    shutil.copytree(PROJECT, copy, ignore=shutil.ignore_patterns("__pycache__", "*.py", "node_modules"))
    command = [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return copy


def test_npm_soap_publishes_receives_registers_and_searches(running: RunningHub, npm_project: Path, topic: str) -> None:
    command = ["node", "talk.mjs", running.http, topic]

    done = subprocess.run(command, cwd=npm_project, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["published"] == [1, 2]
    assert [(one["producer"], one["number"]) for one in said["received"]] == [("DGREC", 1), ("DGREC", 2)]
    assert said["received"][0]["result"] == {"acta": {"ci": "1.111.111-1"}}
    assert said["received"][1]["result"]["content"]["$value"] == '{"ci": "<1>"}'
    assert said["created"]["topics"] == {"topic": [topic]}
    assert topic in said["listed"]
    assert (said["fault"], said["publishedWithKey"]) == ("unauthorized", 3)
    acknowledged = [trace for trace in said["traces"] if trace[0] == "acknowledged"]
    assert acknowledged == [["acknowledged", 2], ["acknowledged", 1]]
    with running.client() as client:
        stored = list(client.read(topic, 1))
    assert canonical(stored[0].body) == ACTA
    assert (stored[1].body, stored[1].content_type) == (b'{"ci": "<1>"}', "application/json")


def test_the_lock_of_the_npm_project_names_no_registry() -> None:
    lock = json.loads((PROJECT / "package-lock.json").read_text())

    packages = [one for path, one in lock["packages"].items() if path]

    assert len(packages) > 10
    assert [one for one in packages if "resolved" in one or "integrity" not in one] == []
