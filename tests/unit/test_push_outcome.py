"""What an HTTP status means for a push, how long to wait, and answers that are faults: all without a socket."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregon.delivery.outcome import (
    DELIVERED,
    GONE,
    KINDS,
    REASON_CHARACTERS_MAX,
    REFUSED,
    UNREACHABLE,
    Outcome,
    classify,
    describe_status,
    read_retry_after,
    shorten_reason,
)
from pregon.delivery.soap_answers import find_fault
from pregon.limits import PUSH_DELAY_MS_MAX
from pregon.soap.vocabulary import SOAP_11, SOAP_12, SoapVersion

NOW_S = 1_763_000_000


def expected(status: int) -> str:
    """The table, said in another way than the code has it."""
    if status == 410:
        return GONE
    if status in (408, 425, 429):
        return UNREACHABLE
    if status in (500, 501, 505):
        return REFUSED
    return {2: DELIVERED, 3: REFUSED, 4: REFUSED}.get(status // 100, UNREACHABLE)


@pytest.mark.parametrize("status", range(1_000))
def test_every_status_has_its_kind(status: int) -> None:
    assert classify(status) == expected(status)
    assert classify(status) in KINDS


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (200, DELIVERED),
        (202, DELIVERED),
        (204, DELIVERED),
        (301, REFUSED),
        (307, REFUSED),
        (400, REFUSED),
        (401, REFUSED),
        (404, REFUSED),
        (408, UNREACHABLE),
        (410, GONE),
        (413, REFUSED),
        (422, REFUSED),
        (425, UNREACHABLE),
        (429, UNREACHABLE),
        (500, REFUSED),
        (501, REFUSED),
        (502, UNREACHABLE),
        (503, UNREACHABLE),
        (504, UNREACHABLE),
        (505, REFUSED),
        (507, UNREACHABLE),
        (520, UNREACHABLE),
        (999, UNREACHABLE),
        (101, UNREACHABLE),
    ],
)
def test_the_statuses_that_people_meet_mean_what_the_manual_says(status: int, kind: str) -> None:
    assert classify(status) == kind


def test_a_status_is_described_with_our_words() -> None:
    assert describe_status(503) == "HTTP 503 Service Unavailable"
    assert describe_status(599) == "HTTP 599"


@pytest.mark.parametrize(
    ("text", "wait_ms"),
    [
        (None, None),
        ("0", 0),
        ("7", 7_000),
        (" 120 ", 120_000),
        ("99999999999999999999999999", PUSH_DELAY_MS_MAX),
        ("9" * 5_000, PUSH_DELAY_MS_MAX),
        ("86401", PUSH_DELAY_MS_MAX),
        ("-5", None),
        ("1.5", None),
        ("", None),
        ("soon", None),
        ("٣", None),
        ("Thu, 13 Nov 2025 02:13:30 GMT", 10_000),
        ("Thu, 13 Nov 2025 02:13:30", 10_000),
        ("Thu, 13 Nov 2025 02:13:10 GMT", 0),
        ("Thursday, 13-Nov-25 02:13:30 GMT", 10_000),
        ("Thu, 01 Jan 9999 00:00:00 GMT", PUSH_DELAY_MS_MAX),
        ("Thu, 99 Nov 2025 02:13:30 GMT", None),
        ("Thu, 13 Nov 2025 02:13:30 +9999999999", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_within_bounds(text: str | None, wait_ms: int | None) -> None:
    assert read_retry_after(text, NOW_S) == wait_ms


@given(st.text(max_size=300))
def test_no_retry_after_does_harm(text: str) -> None:
    wait_ms = read_retry_after(text, NOW_S)

    assert wait_ms is None or 0 <= wait_ms <= PUSH_DELAY_MS_MAX


@given(st.text())
def test_a_reason_is_one_printable_line_of_bounded_length(text: str) -> None:
    reason = shorten_reason(text)

    assert len(reason) <= REASON_CHARACTERS_MAX
    assert reason.isprintable()


def test_an_outcome_cannot_be_changed() -> None:
    outcome = Outcome(DELIVERED, "HTTP 200 OK", 200)

    with pytest.raises(dataclasses.FrozenInstanceError):
        outcome.kind = REFUSED  # type: ignore[misc]
    assert outcome.is_delivered


def faulty(version: SoapVersion, text: str) -> str:
    inside = (
        f"<faultcode>s:Server</faultcode><faultstring>{text}</faultstring>"
        if version is SOAP_11
        else f"<s:Code><s:Value>s:Receiver</s:Value></s:Code><s:Reason><s:Text xml:lang='es'>{text}</s:Text></s:Reason>"
    )
    return f"<s:Envelope xmlns:s='{version.namespace}'><s:Body><s:Fault>{inside}</s:Fault></s:Body></s:Envelope>"


@pytest.mark.parametrize("version", [SOAP_11, SOAP_12])
@pytest.mark.parametrize(
    ("codec", "content_type"),
    [
        ("utf-8", "text/xml; charset=utf-8"),
        ("utf-8", ""),
        ("utf-8", "text/html"),
        ("utf-8-sig", "text/xml"),
        ("utf-16", "text/xml"),
        ("utf-16", "text/xml; charset=utf-16"),
        ("iso-8859-1", "text/xml; charset=ISO-8859-1"),
        ("iso-8859-1", "text/xml"),
        ("iso-8859-1", "text/xml; charset=utf-8"),
    ],
)
def test_a_fault_is_found_in_either_version_however_it_is_encoded(
    version: SoapVersion, codec: str, content_type: str
) -> None:
    answer = faulty(version, "no quedó lugar").encode(codec)

    assert find_fault(answer, content_type) == "no quedó lugar"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"OK",
        b"No Fault of ours",
        b"<Fault/>",
        b"<html><body>Fault</body></html>",
        b'{"Fault": 1}',
        b"<s:Envelope xmlns:s='http://schemas.xmlsoap.org/soap/envelope/'><s:Body/></s:Envelope>",
        b"<s:Envelope xmlns:s='http://schemas.xmlsoap.org/soap/envelope/'><s:Body><Fault/></s:Body></s:Envelope>",
        b"<s:Envelope xmlns:s='http://schemas.xmlsoap.org/soap/envelope/'><s:Header><s:Fault/></s:Header></s:Envelope>",
        b"<s:Envelope xmlns:s='urn:other'><s:Body><s:Fault/></s:Body></s:Envelope>",
        b"<!DOCTYPE x [<!ENTITY Fault SYSTEM 'file:///etc/passwd'>]><x>&Fault;</x>",
        b"\xff\xfe\x00",
        b"\xff\xfeF\x00",
    ],
)
def test_an_answer_that_holds_no_fault_is_none(answer: bytes) -> None:
    assert find_fault(answer, "text/xml") is None


def test_a_fault_that_says_nothing_is_still_one() -> None:
    answer = f"<s:Envelope xmlns:s='{SOAP_11.namespace}'><s:Body><s:Fault/></s:Body></s:Envelope>".encode()

    assert find_fault(answer, "text/xml") == ""


@given(st.binary(max_size=200), st.text(max_size=60))
def test_whatever_comes_back_reading_it_never_fails(data: bytes, content_type: str) -> None:
    found = find_fault(b"<s:Fault>" + data, content_type)

    assert found is None
