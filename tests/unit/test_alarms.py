"""When somebody is told: not of a blip, not again and again, and that it is well again."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregon.delivery import alarms as deciding
from pregon.delivery.alarms import (
    BACKLOG,
    DISABLED,
    FAILING,
    NOTICES_AN_HOUR_MAX,
    PARKED,
    RECOVERED,
    AlarmOptions,
    Alarms,
    Notice,
)
from pregon.store.backlogs import Backlog

NOW_US = 1_800_000_000_000_000
SECOND_US = 1_000_000
HOUR_US = 3_600 * SECOND_US
GRACE_US = 60 * SECOND_US


def backlog(pending: int = 0, *, subscriber: str = "bank", failing_since_us: int = 0, enabled: bool = True) -> Backlog:
    return Backlog("deaths", subscriber, pending, NOW_US if pending else 0, 0, failing_since_us, enabled, "push")


def fail(alarms: Alarms, now_us: int, subscriber: str = "bank") -> list[Notice]:
    return alarms.push_failed("deaths", subscriber, "connection refused", now_us)


def deliver(alarms: Alarms, now_us: int) -> list[Notice]:
    return alarms.push_delivered("deaths", "bank", now_us)


def kinds(notices: list[Notice]) -> list[str]:
    return [notice.kind for notice in notices]


def test_a_blip_is_no_alarm() -> None:
    alarms = Alarms()

    told = fail(alarms, NOW_US) + fail(alarms, NOW_US + GRACE_US - 1) + deliver(alarms, NOW_US + GRACE_US)
    told += alarms.passed(NOW_US + HOUR_US)

    assert told == []


def test_what_fails_for_longer_than_the_grace_is_told_once_with_its_beginning_and_reason() -> None:
    alarms = Alarms()
    fail(alarms, NOW_US)

    told = [fail(alarms, NOW_US + seconds * SECOND_US) for seconds in range(1, 200)]

    (notice,) = [one for notices in told for one in notices]
    assert told[59] == [notice]
    assert (notice.kind, notice.topic, notice.subscriber) == (FAILING, "deaths", "bank")
    assert (notice.reason, notice.since_us, notice.at_us) == ("connection refused", NOW_US, NOW_US + GRACE_US)


def test_time_alone_tells_when_nothing_is_tried_for_a_while() -> None:
    alarms = Alarms()
    fail(alarms, NOW_US)

    early, late = alarms.passed(NOW_US + GRACE_US - 1), alarms.passed(NOW_US + GRACE_US)

    assert early == []
    assert kinds(late) == [FAILING]


def test_a_recovery_is_told_if_the_failure_was() -> None:
    alarms = Alarms()
    fail(alarms, NOW_US)
    alarms.passed(NOW_US + GRACE_US)

    told = deliver(alarms, NOW_US + 2 * GRACE_US)
    again = deliver(alarms, NOW_US + 3 * GRACE_US)

    assert kinds(told) == [RECOVERED]
    assert (told[0].since_us, told[0].at_us) == (NOW_US, NOW_US + 2 * GRACE_US)
    assert again == []
    assert alarms.failing == {}


def test_subscriptions_fail_and_recover_apart() -> None:
    alarms = Alarms(AlarmOptions(after_us=0))
    first = fail(alarms, NOW_US) + fail(alarms, NOW_US, "city")

    told = deliver(alarms, NOW_US)

    assert [(one.kind, one.subscriber) for one in first] == [(FAILING, "bank"), (FAILING, "city")]
    assert [(one.kind, one.subscriber) for one in told] == [(RECOVERED, "bank")]


def test_what_fails_since_before_the_hub_was_started_is_told() -> None:
    alarms = Alarms()

    told = alarms.looked([backlog(1, failing_since_us=NOW_US - HOUR_US)], NOW_US)
    recovered = deliver(alarms, NOW_US + 1)

    assert [(one.kind, one.since_us) for one in told] == [(FAILING, NOW_US - HOUR_US)]
    assert kinds(recovered) == [RECOVERED]


def test_a_disabled_subscriber_is_told_of_and_fails_no_more() -> None:
    alarms = Alarms()
    fail(alarms, NOW_US)

    told = alarms.disabled("bank", "HTTP 410 Gone", NOW_US + 1)
    later = alarms.looked([backlog(1, failing_since_us=NOW_US, enabled=False)], NOW_US + HOUR_US - 1)

    assert [(one.kind, one.topic, one.reason) for one in told] == [(DISABLED, "", "HTTP 410 Gone")]
    assert later == []


def test_a_paused_subscription_fails_no_more_and_what_was_told_of_it_recovers_when_it_is_pushed_again() -> None:
    alarms, told_of = Alarms(), Alarms()
    fail(alarms, NOW_US)
    fail(told_of, NOW_US)
    told_of.passed(NOW_US + GRACE_US)
    paused = [replace(backlog(1, failing_since_us=NOW_US), paused=True)]

    untold = alarms.looked(paused, NOW_US + HOUR_US - 1)
    told_of.looked(paused, NOW_US + HOUR_US - 1)
    restarted = Alarms().looked(paused, NOW_US + HOUR_US)
    recovered = deliver(told_of, NOW_US + HOUR_US)

    assert (untold, alarms.failing, restarted) == ([], {}, [])
    assert kinds(recovered) == [RECOVERED]


def test_a_deleted_subscription_is_told_of_no_more() -> None:
    alarms = Alarms()
    fail(alarms, NOW_US)

    told = alarms.looked([backlog(subscriber="city")], NOW_US + GRACE_US)

    assert told == []
    assert alarms.failing == {}


def test_what_was_parked_or_pulled_meanwhile_fails_no_more() -> None:
    alarms = Alarms()
    alarms.looked([], NOW_US)
    fail(alarms, NOW_US)

    told = alarms.looked([backlog(0, failing_since_us=NOW_US)], NOW_US + 1)
    told += alarms.looked([backlog(1, failing_since_us=NOW_US)], NOW_US + GRACE_US)

    assert told == []


def test_a_failure_that_was_told_and_then_pulled_away_is_told_over_at_the_next_delivery() -> None:
    alarms = Alarms()
    fail(alarms, NOW_US)
    alarms.passed(NOW_US + GRACE_US)

    between = alarms.looked([backlog(0)], NOW_US + 2 * GRACE_US)
    told = deliver(alarms, NOW_US + 3 * GRACE_US)

    assert between == []
    assert kinds(told) == [RECOVERED]


def test_a_long_backlog_is_told_once_and_again_only_after_it_was_half_as_long() -> None:
    alarms = Alarms(AlarmOptions(pending_max=100))
    lengths = [99, 100, 500, 51, 100, 50, 100, 49, 99, 100]

    told = [kinds(alarms.looked([backlog(length)], NOW_US)) for length in lengths]

    assert told == [[], [BACKLOG], [], [], [], [], [], [], [], [BACKLOG]]


def test_backlogs_may_be_of_no_interest() -> None:
    alarms = Alarms(AlarmOptions(pending_max=0))

    told = alarms.looked([backlog(10**9)], NOW_US)

    assert told == []


def test_an_hour_has_only_so_many_notices_about_a_subscription_and_then_how_many_more() -> None:
    alarms = Alarms()
    parked = [alarms.parked("deaths", "bank", seq, "HTTP 422", NOW_US + seq) for seq in range(1, 24)]
    other = alarms.parked("deaths", "city", 1, "HTTP 422", NOW_US)

    within = alarms.passed(NOW_US + HOUR_US)
    after = alarms.passed(NOW_US + HOUR_US + 1)
    nothing = alarms.passed(NOW_US + 3 * HOUR_US)

    assert [len(notices) for notices in parked] == [1] * NOTICES_AN_HOUR_MAX + [0] * (23 - NOTICES_AN_HOUR_MAX)
    assert kinds(other) == [PARKED]
    assert within == nothing == []
    assert [(one.kind, one.seq, one.more) for one in after] == [(PARKED, 23, 23 - NOTICES_AN_HOUR_MAX - 1)]


def test_the_last_that_is_heard_of_what_comes_and_goes_is_how_it_is() -> None:
    alarms = Alarms(AlarmOptions(after_us=0))
    for number in range(20):
        fail(alarms, NOW_US + number)
        deliver(alarms, NOW_US + number)

    told = alarms.passed(NOW_US + HOUR_US)

    assert [(one.kind, one.more) for one in told] == [(RECOVERED, 40 - NOTICES_AN_HOUR_MAX - 1)]


def test_only_so_many_subscriptions_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciding, "SUBSCRIPTIONS_WATCHED_MAX", 10)
    alarms = Alarms(AlarmOptions(after_us=0, pending_max=1))
    many = [backlog(5, subscriber=f"s{number}", failing_since_us=1) for number in range(50)]

    told = [notice for number in range(50) for notice in fail(alarms, NOW_US, f"s{number}")]
    told += alarms.looked(many, NOW_US)

    assert len(alarms.failing) == 10
    assert len({notice.subscriber for notice in told}) == 10


Step = tuple[str, int, int]
steps = st.lists(
    st.tuples(st.sampled_from(["fail", "deliver", "park", "look"]), st.integers(0, 2), st.integers(0, 1_200)),
    max_size=120,
)


@given(steps)
def test_whatever_happens_nobody_is_flooded_and_every_recovery_follows_a_failure(history: list[Step]) -> None:
    alarms = Alarms(AlarmOptions(pending_max=50))
    now_us, told = NOW_US, list[Notice]()
    for step, number, seconds in history:
        now_us += seconds * SECOND_US
        name = f"s{number}"
        if step == "fail":
            told += alarms.push_failed("deaths", name, "refused", now_us)
        elif step == "deliver":
            told += alarms.push_delivered("deaths", name, now_us)
        elif step == "park":
            told += alarms.parked("deaths", name, 1, "", now_us)
        else:
            told += alarms.looked([backlog(seconds, subscriber=f"s{one}") for one in range(3)], now_us)

    by_name: dict[str, list[Notice]] = defaultdict(list)
    for notice in told:
        by_name[notice.subscriber].append(notice)
    for notices in by_name.values():
        # Hours begin with a notice, so any sixty minutes touch two of them at most.
        assert max(Counter(one.at_us // HOUR_US for one in notices).values()) <= 2 * NOTICES_AN_HOUR_MAX
        if len(notices) < NOTICES_AN_HOUR_MAX:
            states = [one.kind for one in notices if one.kind in (FAILING, RECOVERED)]
            assert states == ([FAILING, RECOVERED] * len(states))[: len(states)]
