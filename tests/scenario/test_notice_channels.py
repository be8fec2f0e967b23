"""One channel of notices alone: what it refuses to wait for, and what it drops."""

from __future__ import annotations

import json
import time

import pytest

from pregon.clock import wall_us
from pregon.delivery import notice_senders, webhook
from pregon.delivery.alarms import Notice
from pregon.delivery.mail import Mail, MailOptions
from pregon.delivery.notice_senders import Sender, Told
from pregon.delivery.webhook import Webhook, WebhookOptions
from pregon.testing import Receiver, Reply

from .hub_process import wait_until
from .mail_server import mailing


def told(seq: int = 1) -> Told:
    return Told(f"id-{seq}", Notice(kind="parked", at_us=wall_us(), topic="deaths", subscriber="bank", seq=seq))


def test_a_recipient_that_is_refused_does_not_keep_the_letter_from_the_others() -> None:
    with mailing() as server:
        server.refused = ("gone@example.org",)
        mail = Mail(MailOptions(server.address, "p@h.example", ("gone@example.org", "ana@example.org")))
        nobody = Mail(MailOptions(server.address, "p@h.example", ("gone@example.org",)))

        mail.send([told()])

        with pytest.raises(OSError, match="nobody of that name"):
            nobody.send([told()])
    assert [recipients for recipients, _ in server.letters] == [["ana@example.org"]]


def test_an_answer_that_never_comes_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "_TIME_LIMIT_S", 0.3)
    with Receiver() as receiver:
        receiver.reply = Reply.hang()
        channel = Webhook(WebhookOptions(receiver.url))

        begun_s = time.monotonic()
        with pytest.raises(OSError, match="no answer"):
            channel.send([told()])

        assert time.monotonic() - begun_s < 5


def test_a_full_queue_drops_and_says_how_many(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(notice_senders, "QUEUE_MAX", 3)
    with Receiver() as receiver:
        receiver.then(Reply(wait_s=1.0))
        sender = Sender(Webhook(WebhookOptions(receiver.url)), (0.01,))
        sender.start()
        sender.put(told(0))
        wait_until(lambda: receiver.received, "the first is on its way")

        for seq in range(1, 11):
            sender.put(told(seq))
        wait_until(lambda: len(receiver.received) == 4, "what was queued is sent")
        sender.put(told(11))
        wait_until(lambda: len(receiver.received) == 5, "what comes later is sent")
        sender.stop_soon()
        sender.join(5)

    sent = [json.loads(one.body)["data"].get("seq", 0) for one in receiver.received]
    assert sent == [0, 1, 2, 3, 11]
    assert sum(vars(one)["count"] for one in caplog.records if one.message == "notices dropped") == 7
