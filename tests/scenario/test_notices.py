"""Notices arrive: at a real web service and a real mail server, whatever else is broken, and never hold anybody up."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from typing import Any

import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_structured_event
from standardwebhooks import Webhook as Verifier

from pregon.clock import wall_us
from pregon.delivery.alarms import AlarmOptions
from pregon.delivery.mail import Mail, MailOptions
from pregon.delivery.notice_senders import Sender
from pregon.delivery.notices import Notifier, make_notifier
from pregon.delivery.webhook import Webhook, WebhookOptions
from pregon.errors import HubBusy
from pregon.model.catalog import PushOptions, Subscriber, Subscription
from pregon.settings import Settings
from pregon.store.backlogs import Backlog, read_backlogs
from pregon.testing import Receiver, Reply, run_hub

from .hub_process import wait_until
from .mail_server import mailing

SECRET = "whsec_" + "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IQ=="
QUICK_S = (0.01,) * 4


def sent_to(receiver: Receiver) -> list[tuple[dict[str, str], bytes]]:
    """The headers and bodies that a web service got."""
    return [(one.headers, one.body) for one in receiver.received]


@contextmanager
def telling(notifier: Notifier) -> Iterator[Notifier]:
    notifier.start()
    try:
        yield notifier
    finally:
        notifier.stop()


def fail(notifier: Notifier, subscriber: str = "bank") -> None:
    notifier.push_failed("deaths", subscriber, "connection refused", wall_us())


def all_well() -> list[Backlog]:
    """The store knows the usual subscriptions, and nothing waits for them."""
    return [Backlog("deaths", name, 0, 0, 0, 0, True, "push") for name in ("bank", *(f"s{n}" for n in range(5)))]


def notifier_with(*senders: Sender, read: Callable[[], list[Backlog]] = all_well, after_us: int = 0) -> Notifier:
    return Notifier(read, AlarmOptions(after_us=after_us), senders, look_every_s=0.02)


def test_a_web_service_gets_a_signed_event() -> None:
    with Receiver() as receiver:
        settings = Settings(
            notice_url=receiver.url, notice_secret=SECRET, notice_after_s=0, public_url="https://h.example"
        )

        with telling(make_notifier(settings, list)) as notifier:
            fail(notifier)
            wait_until(lambda: receiver.received, "the notice is there")

    ((headers, body),) = sent_to(receiver)
    Verifier(SECRET).verify(body, headers)
    with pytest.raises(Exception, match="No matching signature"):
        Verifier(SECRET).verify(body + b" ", headers)
    event = from_structured_event(HTTPMessage(headers=headers, body=body))
    data: Any = event.get_data()
    assert (event.get_type(), event.get_source()) == ("pregon.notice.failing", "https://h.example")
    assert event.get_id() == headers["webhook-id"]
    assert event.get_subject() == "deaths/bank"
    assert (data["topic"], data["subscriber"], data["reason"]) == ("deaths", "bank", "connection refused")
    assert data["text"].startswith("Messages of deaths cannot be delivered to bank since ")


def test_without_a_secret_there_is_no_signature() -> None:
    with Receiver() as receiver:
        with telling(make_notifier(Settings(notice_url=receiver.url), list)) as notifier:
            notifier.disabled("bank", "HTTP 410 Gone")
            wait_until(lambda: receiver.received, "the notice is there")

    ((headers, body),) = sent_to(receiver)
    assert "webhook-signature" not in headers
    assert json.loads(body)["subject"] == "bank"


def test_people_get_a_letter_in_their_language() -> None:
    with mailing() as server:
        settings = Settings(
            notice_email="ana@example.org, luis@example.org",
            notice_smtp=server.address,
            notice_from="pregon@hub.example",
            notice_language="es",
        )

        with telling(make_notifier(settings, list)) as notifier:
            notifier.parked("fallecidos", "bps", 17, "HTTP 422: .cédula\r\n.\r\nQUIT")
            wait_until(lambda: server.letters, "the letter is there")

    ((recipients, letter),) = server.letters
    assert recipients == ["ana@example.org", "luis@example.org"]
    assert (letter["From"], letter["Subject"]) == (
        "pregon@hub.example",
        "[pregon] fallecidos/bps: el mensaje 17 quedó aparte",
    )
    assert "bps rechazó demasiadas veces el mensaje 17" in letter.get_content()
    assert "pregon subscription unpark fallecidos bps 17" in letter.get_content()


def test_both_channels_and_the_log_are_told(caplog: pytest.LogCaptureFixture) -> None:
    with Receiver() as receiver, mailing() as server:
        settings = Settings(notice_url=receiver.url, notice_email="ana@example.org", notice_smtp=server.address)

        with telling(make_notifier(settings, list)) as notifier:
            notifier.disabled("bank", "HTTP 410 Gone")
            wait_until(lambda: receiver.received and server.letters, "both are told")

    (line,) = [one for one in caplog.records if one.message == "notice"]
    assert line.__dict__["id"] == receiver.received[0].headers["webhook-id"]
    assert line.__dict__["id"] in server.letters[0][1]["Message-ID"]


def test_what_is_refused_is_sent_again_with_the_same_id() -> None:
    with Receiver() as receiver:
        receiver.then(Reply(500), Reply.redirect(receiver.url, 302), Reply(404))
        sender = Sender(Webhook(WebhookOptions(receiver.url)), QUICK_S)

        with telling(notifier_with(sender)) as notifier:
            fail(notifier)
            wait_until(lambda: len(receiver.received) == 4, "the fourth is taken")
            notifier.push_delivered("deaths", "bank", wall_us())
            wait_until(lambda: len(receiver.received) == 5, "the next notice follows")

    kinds = [json.loads(body)["data"]["kind"] for _, body in sent_to(receiver)]
    assert kinds == ["failing"] * 4 + ["recovered"]
    assert len({headers["webhook-id"] for headers, _ in sent_to(receiver)[:4]}) == 1
    assert receiver.received[4].headers["webhook-id"] != receiver.received[0].headers["webhook-id"]


def test_what_cannot_be_sent_is_given_up_with_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        senders = [
            Sender(Webhook(WebhookOptions(f"http://127.0.0.1:{port}/")), QUICK_S),
            Sender(Mail(MailOptions(f"127.0.0.1:{port}", "p@h.example", ("a@x.example",))), QUICK_S),
        ]

        with telling(notifier_with(*senders)) as notifier:
            fail(notifier)
            wait_until(lambda: len(_lines(caplog, "notices not sent")) == 2, "both give up")

    lines = _lines(caplog, "notices not sent")
    assert {line["channel"] for line in lines} == {"webhook", "mail"}
    assert {line["count"] for line in lines} == {1}
    assert all("refused" in line["reason"].lower() or "connect" in line["reason"].lower() for line in lines)


def test_a_mail_server_that_comes_back_gets_what_waited_in_one_letter() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
    sender = Sender(Mail(MailOptions(f"127.0.0.1:{port}", "p@h.example", ("a@x.example",))), (0.2,) * 50)

    with telling(notifier_with(sender)) as notifier:
        fail(notifier)
        time.sleep(0.3)
        for number in range(5):
            fail(notifier, f"s{number}")
        with mailing(port) as server:
            wait_until(lambda: len(server.letters) == 2, "two letters come")

    first, second = (letter for _, letter in server.letters)
    assert first["Subject"] == "[pregon] deaths/bank fails"
    assert second["Subject"] == "[pregon] deaths/s0 fails (and 4 more)"
    assert second.get_content().count("cannot be delivered") == 5


def test_a_web_service_that_hangs_holds_up_neither_the_caller_nor_the_mail_nor_the_end() -> None:
    with Receiver() as receiver, mailing() as server:
        receiver.reply = Reply.hang()
        settings = Settings(
            notice_url=receiver.url, notice_email="a@x.example", notice_smtp=server.address, notice_after_s=0
        )
        notifier = make_notifier(settings, list)
        notifier.start()

        begun_s = time.monotonic()
        for number in range(200):
            fail(notifier, f"s{number}")
        called_s = time.monotonic() - begun_s
        wait_until(lambda: sum(_count(letter) for _, letter in server.letters) == 200, "all are mailed")
        begun_s = time.monotonic()
        notifier.stop()
        stopped_s = time.monotonic() - begun_s

        assert len(receiver.received) == 1
    wait_until(lambda: "pregon-notices-webhook" not in {one.name for one in threading.enumerate()}, "it gives up")
    assert called_s < 1
    assert stopped_s < 2
    assert len(server.letters) < 100


def test_what_waits_at_the_end_is_tried_once_more() -> None:
    with Receiver() as receiver:
        receiver.then(Reply(503))
        sender = Sender(Webhook(WebhookOptions(receiver.url)), (60.0,))
        notifier = notifier_with(sender)
        notifier.start()
        fail(notifier)
        wait_until(lambda: receiver.received, "the first attempt is made")
        notifier.parked("deaths", "bank", 9, "HTTP 422")

        notifier.stop()

    assert [json.loads(body)["data"]["kind"] for _, body in sent_to(receiver)] == ["failing", "parked"]


def test_a_hub_tells_that_an_endpoint_fails_that_it_works_again_and_that_it_is_gone() -> None:
    with Receiver() as operator, Receiver() as bank:
        bank.reply = Reply(503)
        with run_hub(push_allow="127.0.0.1", notice_url=operator.url, notice_after_s=0) as running:
            hub = running.server.hub
            push = PushOptions(delay_ms_first=10, delay_ms_max=10)
            hub.create(Subscriber(name="bank", mode="push", endpoint=bank.url, push=push)).result()
            hub.create(Subscription(topic="deaths", subscriber="bank")).result()

            with running.client() as client:
                client.publish("deaths", "x")
            operator.wait_for(1)
            bank.reply = Reply(204)
            operator.wait_for(2)
            bank.reply = Reply(410)
            with running.client() as client:
                client.publish("deaths", "y")
            operator.wait_for(4)

    data = [json.loads(body)["data"] for _, body in sent_to(operator)]
    # With no grace the last push is a failure too, before it is known what it means.
    assert [one["kind"] for one in data] == ["failing", "recovered", "failing", "disabled"]
    assert ("503" in data[0]["reason"], "410" in data[3]["reason"]) == (True, True)
    assert [(one.get("topic"), one["subscriber"]) for one in data] == [("deaths", "bank")] * 3 + [(None, "bank")]


def test_a_backlog_of_a_real_hub_is_told_once() -> None:
    with run_hub() as hub, Receiver() as receiver, hub.client() as client:
        client.pull("deaths", "bank")
        client.pull("deaths", "city")
        sender = Sender(Webhook(WebhookOptions(receiver.url)), QUICK_S)
        looks: list[int] = []

        def look() -> list[Backlog]:
            found = hub.server.hub.read(read_backlogs).result()
            looks.append(len(found))
            return found

        notifier = Notifier(look, AlarmOptions(pending_max=5), [sender], look_every_s=0.02)
        with telling(notifier):
            for _ in range(5):
                client.publish("deaths", "x")
            client.ack("deaths", "city", 5)
            wait_until(lambda: receiver.received, "it is told")
            count = len(looks)
            wait_until(lambda: len(looks) > count + 3, "it is looked at a few times more")

    told_of = [json.loads(body)["data"] for _, body in sent_to(receiver)]
    bank = [one for one in told_of if one["subscriber"] == "bank"]
    assert [(one["kind"], one["pending"]) for one in bank] == [("backlog", 5)]
    assert bank[0]["oldest_pending"]


def test_a_store_that_does_not_answer_keeps_nobody_from_being_told(caplog: pytest.LogCaptureFixture) -> None:
    def busy() -> list[Backlog]:
        raise HubBusy("the hub has more to read than it can queue")

    with Receiver() as receiver:
        sender = Sender(Webhook(WebhookOptions(receiver.url)), QUICK_S)

        with telling(notifier_with(sender, read=busy, after_us=200_000)) as notifier:
            fail(notifier)
            wait_until(lambda: receiver.received, "time alone tells it")

    assert json.loads(receiver.received[0].body)["type"] == "pregon.notice.failing"
    assert _lines(caplog, "backlogs not read")[0]["code"] == "hub_busy"


def _lines(caplog: pytest.LogCaptureFixture, message: str) -> list[dict[str, Any]]:
    return [vars(one) for one in list(caplog.records) if one.message == message]


def _count(letter: EmailMessage) -> int:
    return letter.get_content().count("cannot be delivered")
