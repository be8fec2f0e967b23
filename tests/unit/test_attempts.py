"""How often somebody may fail to enter: by name, by address, in a window that slides, in bounded memory."""

from __future__ import annotations

import pytest

from pregon.errors import RateLimited
from pregon.limits import (
    ENTRY_ADDRESS_FAILURES_MAX,
    ENTRY_NAME_FAILURES_MAX,
    ENTRY_REMEMBERED_MAX,
    ENTRY_WINDOW_MS,
)
from pregon.security.attempts import Attempts

HOME, AWAY = "192.0.2.1", "198.51.100.7"


def fail(attempts: Attempts, times: int, name: str = "ana", address: str = AWAY, now_ms: float = 0.0) -> None:
    """So many failures."""
    for _ in range(times):
        attempts.begin(name, address, now_ms)


def test_a_name_that_failed_too_often_waits_wherever_the_attempts_come_from() -> None:
    attempts = Attempts()
    for number in range(ENTRY_NAME_FAILURES_MAX):
        fail(attempts, 1, address=f"198.51.100.{number}")

    with pytest.raises(RateLimited, match="in 10 minutes"):
        attempts.begin("ana", HOME, 1.0)

    attempts.begin("luis", HOME, 1.0)


def test_an_address_that_failed_too_often_waits_whatever_it_calls_itself() -> None:
    attempts = Attempts()
    for number in range(ENTRY_ADDRESS_FAILURES_MAX):
        fail(attempts, 1, name=f"name{number}")

    with pytest.raises(RateLimited):
        attempts.begin("another", AWAY, 1.0)

    attempts.begin("another", HOME, 1.0)


def test_it_says_when_to_come_back_and_lets_in_then() -> None:
    attempts = Attempts()
    fail(attempts, ENTRY_NAME_FAILURES_MAX, now_ms=1_000.0)

    with pytest.raises(RateLimited, match="in 30 s"):
        attempts.begin("ana", AWAY, 1_000.0 + ENTRY_WINDOW_MS - 30_000)
    begun = attempts.begin("ana", AWAY, 1_001.0 + ENTRY_WINDOW_MS)

    assert begun


def test_what_succeeds_does_not_count_and_what_failed_before_it_still_does() -> None:
    attempts = Attempts()
    fail(attempts, ENTRY_NAME_FAILURES_MAX - 1)
    for _ in range(50):
        attempts.succeed(attempts.begin("ana", AWAY, 0.0))

    fail(attempts, 1)

    with pytest.raises(RateLimited):
        attempts.begin("ana", AWAY, 0.0)


def test_who_entered_from_an_address_before_is_not_locked_out_there_by_somebody_elsewhere() -> None:
    attempts = Attempts()
    attempts.succeed(attempts.begin("ana", HOME, 0.0), "ana", HOME)
    fail(attempts, ENTRY_NAME_FAILURES_MAX)

    begun = attempts.begin("ana", HOME, 1.0)

    assert begun
    with pytest.raises(RateLimited):
        attempts.begin("ana", AWAY, 1.0)


def test_an_address_where_somebody_entered_has_a_limit_of_its_own() -> None:
    attempts = Attempts()
    attempts.succeed(attempts.begin("ana", HOME, 0.0), "ana", HOME)

    fail(attempts, ENTRY_NAME_FAILURES_MAX, address=HOME)

    with pytest.raises(RateLimited):
        attempts.begin("ana", HOME, 1.0)


def test_addresses_of_one_line_count_as_one() -> None:
    attempts = Attempts()
    for number in range(ENTRY_ADDRESS_FAILURES_MAX):
        fail(attempts, 1, name=f"name{number}", address=f"2001:db8::{number:x}")

    with pytest.raises(RateLimited):
        attempts.begin("another", "2001:db8:0:0:ffff::1", 1.0)

    attempts.begin("another", "2001:db8:0:1::1", 1.0)


def test_an_address_of_both_families_counts_as_one_and_none_counts_by_name_only() -> None:
    attempts = Attempts()
    for number in range(ENTRY_ADDRESS_FAILURES_MAX):
        fail(attempts, 1, name=f"name{number}", address=f"::ffff:{AWAY}" if number % 2 else AWAY)

    for number in range(ENTRY_ADDRESS_FAILURES_MAX + 1):
        fail(attempts, 1, name=f"nowhere{number}", address="")

    with pytest.raises(RateLimited):
        attempts.begin("another", AWAY, 1.0)


def test_memory_is_bounded_and_the_newest_failures_stay() -> None:
    attempts = Attempts()
    for number in range(ENTRY_REMEMBERED_MAX + 100):
        fail(attempts, 1, name=f"name{number}", address="")
        attempts.succeed([], f"name{number}", HOME)
    fail(attempts, ENTRY_NAME_FAILURES_MAX, address="")

    assert len(attempts._failures) == len(attempts._succeeded) == ENTRY_REMEMBERED_MAX
    with pytest.raises(RateLimited):
        attempts.begin("ana", "", 1.0)
