"""The hub as those who take part in the demo reach it: plain requests over HTTP, REST and SOAP, as anybody's would be.

Every call is one request. Promise: a hub that is not there raises HubUnreachable, whatever was under way, and
`until_answered` asks again until it is: what is published has an id of its own, so that sending it again is harmless.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import httpx

from pregon.demo.news import Person, read_ci, write_noticia
from pregon.errors import HubStopping, HubUnreachable, error_from_code
from pregon.schemas.xml import parse_xml
from pregon.soap.texts import escape
from pregon.soap.vocabulary import PS, SOAP_11, WSA

TOPIC = "fallecidos"
PRODUCER = "DGREC"

_T = TypeVar("_T")
_XML = "text/xml; charset=utf-8"
_TIME_LIMIT_S = 10.0
_ASK_AGAIN_S = 0.2


class Pulled(NamedTuple):
    """A message as the reception gives it."""

    seq: int
    ci: str


class Doors:
    """The doors of a hub; may be used from several threads."""

    def __init__(self, url: str) -> None:
        # What is on this machine is not to be asked of a proxy elsewhere.
        self._http = httpx.Client(base_url=url, timeout=_TIME_LIMIT_S, trust_env=False)
        self._is_over = threading.Event()

    def close(self) -> None:
        """Hang up; whoever still asks gets HubStopping."""
        self._is_over.set()
        self._http.close()

    def until_answered(self, ask: Callable[[], _T], again: Callable[[], None] = lambda: None) -> _T:
        """The answer, however often it takes; `again` is called before each repetition."""
        while True:
            try:
                return ask()
            except HubUnreachable:
                if self._is_over.wait(_ASK_AGAIN_S):
                    raise HubStopping("the demo is over") from None
            again()

    # DGREC.

    def publish_soap(self, of: Person) -> int:
        """Publish as figure 2 of the platform's document does, with an id besides; the notificationId."""
        header = (
            f"<ps:producer>{PRODUCER}</ps:producer><ps:topic>{TOPIC}</ps:topic>"
            f'<wsa:MessageID xmlns:wsa="{WSA}">{_id_of(of)}</wsa:MessageID>'
        )
        answer = parse_xml(self._post_soap("novedades", header, write_noticia(of)))
        return int(answer.findtext(f".//{{{PS}}}notificationId") or 0)

    def publish_rest(self, of: Person) -> int:
        """Publish the same by REST; the number."""
        headers = {"Content-Type": "application/xml", "Pregon-Producer": PRODUCER, "Idempotency-Key": _id_of(of)}
        answer = self._request("POST", f"/v1/topics/{TOPIC}/messages", content=write_noticia(of), headers=headers)
        return int(answer.json()["seq"])

    # Who pulls.

    def pull_soap(self, subscriber: str, ack: int | None = None) -> Pulled | None:
        """The next message that waits, as figure 4 asks for it, acknowledging the one before; None: nothing waits."""
        inside = f"<subscriber>{escape(subscriber)}</subscriber><topic>{TOPIC}</topic>"
        ack_element = f"<ackNotificationId>{ack or ''}</ackNotificationId>"
        body = f"<ps:NotificationRequest>{inside}{ack_element}</ps:NotificationRequest>"
        content = self._post_soap("recepcion", "", body)
        seq = parse_xml(content).findtext(f".//{{{PS}}}notificationId")
        return None if seq is None else Pulled(int(seq), read_ci(content))

    def ack_rest(self, subscriber: str, seq: int) -> int:
        """Acknowledge up to a number; where the subscription stands then."""
        answer = self._request("POST", f"{_subscription(subscriber)}/ack", json={"seq": seq})
        return int(answer.json()["acked_seq"])

    # Who administers and watches.

    def create(self, collection: str, **entry: Any) -> dict[str, Any]:
        """Register something below an address of the catalogue."""
        made: dict[str, Any] = self._request("POST", f"/v1/{collection}", json=entry).json()
        return made

    def account(self, subscriber: str) -> dict[str, int]:
        """Where every message of a subscription is."""
        account: dict[str, int] = self._request("GET", f"{_subscription(subscriber)}/account").json()
        return account

    def push_state(self, subscriber: str) -> dict[str, Any]:
        """How pushing to a subscriber goes."""
        state: dict[str, Any] = self._request("GET", f"{_subscription(subscriber)}/push").json()
        return state

    def traces(self, **wanted: Any) -> list[dict[str, Any]]:
        """Traces of the topic, newest first."""
        answer = self._request("GET", "/v1/traces", params={"topic": TOPIC, "max": 1_000, **wanted})
        traces: list[dict[str, Any]] = answer.json()["items"]
        return traces

    def _post_soap(self, service: str, header: str, body: str) -> bytes:
        spaces = f'xmlns:soapenv="{SOAP_11.namespace}" xmlns:ps="{PS}"'
        inside = f"<soapenv:Header>{header}</soapenv:Header><soapenv:Body>{body}</soapenv:Body>"
        envelope = f"<soapenv:Envelope {spaces}>{inside}</soapenv:Envelope>"
        answer = self._request("POST", f"/soap/{service}", content=envelope, headers={"Content-Type": _XML})
        return answer.content

    def _request(self, method: str, path: str, **more: Any) -> httpx.Response:
        try:
            answer = self._http.request(method, path, **more)
        except (httpx.TransportError, RuntimeError) as error:
            # httpx says by a RuntimeError that it was closed meanwhile.
            raise HubUnreachable(f"the hub does not answer: {error}") from error
        if answer.status_code in (429, 502, 503, 504):
            raise HubUnreachable(f"the hub answers {answer.status_code}")
        if answer.is_error:
            raise _problem(answer)
        return answer


def _problem(answer: httpx.Response) -> Exception:
    try:
        said = answer.json()
        return error_from_code(said["code"], said["detail"])
    except (ValueError, KeyError, TypeError):
        return error_from_code("internal_error", f"{answer.status_code} from {answer.url}: {answer.text[:300]}")


def _id_of(of: Person) -> str:
    return f"urn:dgrec:acta:{of.acta}"


def _subscription(subscriber: str) -> str:
    return f"/v1/topics/{TOPIC}/subscriptions/{subscriber}"
