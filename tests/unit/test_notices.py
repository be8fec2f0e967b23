"""In which words somebody is told, and which settings say so; nothing is sent here."""

from __future__ import annotations

import json
import time
from email.message import EmailMessage
from typing import Any

import pytest

from pregon.delivery.alarms import DISABLED, FAILING, KINDS, PARKED, RECOVERED, Notice
from pregon.delivery.mail import MailOptions, make_letter
from pregon.delivery.notice_senders import Told
from pregon.delivery.notice_texts import LANGUAGES, encode_event, fields_of, subject_of, text_of
from pregon.delivery.notices import Notifier, make_notifier
from pregon.errors import SettingsInvalid
from pregon.settings import Settings

NOW_US = 1_800_000_000_000_000


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_notice_has_words_in_every_language(kind: str, language: str) -> None:
    notice = Notice(
        kind=kind,
        at_us=NOW_US,
        topic="deaths",
        subscriber="bank",
        reason="no answer\r\nBcc: x",
        since_us=NOW_US,
        pending=7,
        seq=9,
        more=17,
    )

    subject, text = subject_of(notice, language), text_of(notice, language)

    assert "bank" in subject and "bank" in text
    assert subject.isprintable() and text.isprintable()
    assert "{" not in subject + text
    assert ("17 more" if language == "en" else "17 más") in text
    assert subject_of(notice, "en") != subject_of(notice, "es")


def test_an_event_says_all_that_the_notice_knows_and_no_more() -> None:
    notice = Notice(kind=PARKED, at_us=NOW_US, topic="deaths", subscriber="bank", reason="HTTP 422", seq=9)

    event: dict[str, Any] = json.loads(encode_event(notice, "id-1", "https://hub.example", "es"))

    text = event["data"].pop("text")
    assert event == {
        "specversion": "1.0",
        "id": "id-1",
        "source": "https://hub.example",
        "type": "pregon.notice.parked",
        "subject": "deaths/bank",
        "time": "2027-01-15T08:00:00.000000Z",
        "datacontenttype": "application/json",
        "data": {"kind": "parked", "topic": "deaths", "subscriber": "bank", "reason": "HTTP 422", "seq": 9},
    }
    assert text == text_of(notice, "es")
    assert set(fields_of(notice)) == {"kind", "topic", "subscriber", "reason", "seq"}


def letter_of(*notices: Notice, language: str = "en") -> EmailMessage:
    told = [Told(f"id{number}", notice) for number, notice in enumerate(notices)]
    return make_letter(
        told, MailOptions("localhost:25", "pregon@hub.example", ("a@x.example", "b@x.example"), language)
    )


def test_a_letter_holds_several_notices() -> None:
    failing = Notice(kind=FAILING, at_us=NOW_US, topic="deaths", subscriber="bank", reason="día", since_us=NOW_US)
    parked = Notice(kind=PARKED, at_us=NOW_US, topic="births", subscriber="city", seq=3)

    alone, both = letter_of(failing), letter_of(failing, parked, language="es")

    assert alone["Subject"] == "[pregon] deaths/bank fails"
    assert both["Subject"] == "[pregon] deaths/bank falla (y 1 más)"
    assert (both["From"], both["To"]) == ("pregon@hub.example", "a@x.example, b@x.example")
    assert both["Auto-Submitted"] == "auto-generated"
    paragraphs = both.get_content().strip().split("\n\n")
    assert paragraphs == [text_of(failing, "es"), text_of(parked, "es")]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"notice_url": "avisos"}, "notice_url"),
        ({"notice_url": "ftp://x.example/"}, "notice_url"),
        ({"notice_url": "http://:80/"}, "notice_url"),
        ({"notice_url": "https://x.example/a b"}, "notice_url"),
        ({"notice_secret": "whsec_" + "A" * 44}, "notice_url"),
        ({"notice_url": "https://x.example/", "notice_secret": "whsec_short"}, "notice_secret"),
        ({"notice_email": "nobody"}, "notice_email"),
        ({"notice_email": "a@x.example, "}, "notice_email"),
        ({"notice_email": "a@x.example\r\nBcc: b@x.example"}, "notice_email"),
        ({"notice_email": "Ana <a@x.example>"}, "notice_email"),
        ({"notice_email": ",".join(["a@x.example"] * 101)}, "notice_email"),
        ({"notice_email": "a@x.example", "notice_from": "x"}, "notice_from"),
        ({"notice_email": "a@x.example", "notice_smtp": "mail"}, "HOST:PORT"),
    ],
)
def test_settings_that_would_tell_nobody_are_refused(values: dict[str, str], told: str) -> None:
    settings = Settings(**values)  # type: ignore[arg-type]

    with pytest.raises(SettingsInvalid) as refused:
        make_notifier(settings, list)

    assert told in str(refused.value)
    assert "short" not in str(refused.value)


def test_nothing_set_only_logs(caplog: pytest.LogCaptureFixture) -> None:
    notifier = make_notifier(Settings(notice_after_s=0), list)

    with caplog.at_level("INFO", "pregon.notices"):
        notifier.push_failed("deaths", "bank", "connection refused", NOW_US)
        notifier.push_delivered("deaths", "bank", NOW_US + 1)
        notifier.disabled("bank", "HTTP 410")
        notifier.parked("deaths", "bank", 7, "HTTP 422")

    lines = [(one.levelname, one.message, one.__dict__["kind"]) for one in caplog.records]
    assert lines == [
        ("WARNING", "notice", FAILING),
        ("INFO", "notice", RECOVERED),
        ("WARNING", "notice", DISABLED),
        ("WARNING", "notice", PARKED),
    ]
    assert caplog.records[0].__dict__["text"] == "deaths/bank fails"
    assert caplog.records[3].__dict__["seq"] == 7


def test_a_delivery_when_nothing_is_wrong_costs_next_to_nothing() -> None:
    notifier = Notifier(list)
    notifier.push_failed("deaths", "city", "refused", NOW_US)

    best_s = min(_time_deliveries(notifier, 10_000) for _ in range(5))

    # Ten times what it takes on a quiet machine: a lock or a line in the log would pass it.
    assert best_s / 10_000 < 3e-6


def _time_deliveries(notifier: Notifier, count: int) -> float:
    begun_s = time.perf_counter()
    for _ in range(count):
        notifier.push_delivered("deaths", "bank", NOW_US)
    return time.perf_counter() - begun_s
