"""What pushes leave behind: traces of every attempt, and signatures that an independent verifier accepts."""

from __future__ import annotations

import time
from collections import Counter

from standardwebhooks import Webhook, WebhookVerificationError

from pregon.hub.hub import Hub
from pregon.model.message import Outgoing

from ..hub_process import wait_until
from .receiver import Answer, Arrival, Station, first_times
from .subscriber_hub import (
    BPS,
    BUSY,
    FINE,
    TOPIC,
    pull,
    ranges,
    register,
    say,
    settled,
    traces,
)

FILTER = '{"header":"r","equals":"a"}'


# Traces.


def test_a_message_that_failed_was_deferred_pulled_and_delivered_has_all_that_in_its_traces(
    hub: Hub, station: Station
) -> None:
    station.answer = lambda _: BUSY
    register(hub, station)
    say(hub, 4)
    station.wait_for(3)
    pull(hub, messages_max=2)
    hub.ack(TOPIC, BPS, 1).result()
    wait_until(lambda: ranges(hub, "pulled"), "the pull is traced")
    station.answer = lambda _: FINE

    settled(hub)

    assert ranges(hub, "pulled") == [(1, 2)]
    assert ranges(hub, "acknowledged") == [(1, 1)]
    assert [seq for first, last in ranges(hub, "delivered") for seq in range(first, last + 1)] == [2, 3, 4]
    failed = traces(hub, "failed")
    assert [one.attempt for one in failed if one.first_seq == 1] == list(
        range(1, 1 + sum(one.first_seq == 1 for one in failed))
    )
    assert all("HTTP 503" in one.detail and "next try in" in one.detail for one in failed)


def test_deferred_is_traced_once_for_each_message_and_outage(hub: Hub, station: Station) -> None:
    station.answer = lambda _: BUSY
    register(hub, station)
    say(hub, 3)
    station.wait_for(3)
    say(hub, 2)
    station.wait_for(len(station.arrivals) + 3)
    wait_until(lambda: len(traces(hub, "deferred")) >= 2, "what came later is deferred too")
    station.answer = lambda _: FINE
    settled(hub)
    station.answer = lambda _: BUSY
    say(hub, 1)
    wait_until(lambda: len(traces(hub, "deferred")) >= 3, "the second outage is traced")

    deferred = Counter(seq for first, last in ranges(hub, "deferred") for seq in range(first, last + 1))

    assert deferred == Counter(range(1, 7))


def test_every_delivery_is_traced_once_with_its_latency(hub: Hub, station: Station) -> None:
    station.answer = lambda _: Answer(wait_s=0.03)
    register(hub, station)

    say(hub, 10)

    settled(hub)
    found = traces(hub, "delivered")
    assert [seq for one in found for seq in range(one.first_seq, one.last_seq + 1)] == list(range(1, 11))
    assert all(one.latency_ms >= 25 and one.attempt == 1 for one in found)


def test_what_a_filter_does_not_want_is_traced_and_never_pushed(hub: Hub, station: Station) -> None:
    register(hub, station, filter=FILTER)

    for letter in "abbaab":
        say(hub, 1, headers={"r": letter})

    found = settled(hub)
    assert (found.acknowledged, found.filtered) == (3, 3)
    assert station.sent() == [1, 4, 5]
    assert [seq for first, last in ranges(hub, "filtered") for seq in range(first, last + 1)] == [2, 3, 6]
    assert station.arrivals[0].headers["pregon-matched"] == "header r = a"


# Signatures.


def is_signed(arrival: Arrival, secret: str) -> bool:
    """Whether the independent verifier finds the secret's signature."""
    try:
        Webhook(secret).verify(arrival.body, arrival.headers)
    except WebhookVerificationError:
        return False
    return True


def test_secrets_are_rotated_while_pushing_and_every_push_fits_one_that_is_valid(hub: Hub, station: Station) -> None:
    register(hub, station)
    say(hub, 5)
    settled(hub)
    first = hub.create_secret(BPS).result().secret
    hub.publish(TOPIC, "dgrec", Outgoing(b"{}")).result()
    station.wait_for_taken(6)

    second = hub.create_secret(BPS, overlap_ms=1_500).result().secret
    for _ in range(30):
        hub.publish(TOPIC, "dgrec", Outgoing(b"{}")).result()
    settled(hub)
    time.sleep(1.7)
    hub.publish(TOPIC, "dgrec", Outgoing(b"{}")).result()
    settled(hub)

    unsigned, one, *both, last = station.arrivals[4:]
    assert "webhook-signature" not in unsigned.headers
    assert is_signed(one, first)
    assert all(is_signed(arrival, second) for arrival in both[2:])
    assert all(is_signed(arrival, first) for arrival in both)
    assert is_signed(last, second)
    assert not is_signed(last, first)


def test_a_revoked_secret_signs_nothing_any_more(hub: Hub, station: Station) -> None:
    register(hub, station)
    made = hub.create_secret(BPS).result()

    hub.revoke_secret(BPS, made.id).result()
    time.sleep(0.1)
    hub.publish(TOPIC, "dgrec", Outgoing(b"{}")).result()
    settled(hub)

    assert not is_signed(station.arrivals[-1], made.secret)
    assert first_times(station.sent()) == [1]
