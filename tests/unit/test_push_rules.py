"""When a push is tried again, when an endpoint may be tried, and how fast: rules that read no clock."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregon.delivery.endpoint import Endpoint
from pregon.delivery.outcome import DELIVERED, GONE, REFUSED, UNREACHABLE, Outcome
from pregon.delivery.pace import Pace
from pregon.delivery.retry import delay_ms, describe_delay
from pregon.limits import PUSH_DELAY_MS_MAX
from pregon.model.catalog import PushOptions

OPTIONS = PushOptions(delay_ms_first=100, delay_ms_max=5_000)
DOWN = Outcome(UNREACHABLE, "connection refused")
FINE = Outcome(DELIVERED, "HTTP 200 OK", 200)

chances = st.floats(0, 1)
options = st.builds(
    lambda first, more: PushOptions(delay_ms_first=first, delay_ms_max=min(first + more, PUSH_DELAY_MS_MAX)),
    st.integers(10, PUSH_DELAY_MS_MAX),
    st.integers(0, PUSH_DELAY_MS_MAX),
)


def busy_for(ms: int) -> Outcome:
    """The endpoint answers that it wants to be left alone."""
    return Outcome(UNREACHABLE, "HTTP 429 Too Many Requests", 429, retry_after_ms=ms)


# Retries.


def test_the_wait_doubles_up_to_the_longest() -> None:
    waits = [delay_ms(OPTIONS, failures, 1.0) for failures in range(1, 9)]

    assert waits == [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]


def test_chance_spreads_the_waits_over_half_of_them() -> None:
    waits = [delay_ms(OPTIONS, 3, chance) for chance in (0.0, 0.25, 0.5, 1.0)]

    assert waits == [200, 250, 300, 400]


@given(options, st.integers(0, 10_000), chances)
def test_a_wait_is_between_half_and_all_of_the_doubling_whatever_the_options(
    options: PushOptions, failures: int, chance: float
) -> None:
    whole = min(options.delay_ms_first * 2 ** min(max(failures, 1) - 1, 60), options.delay_ms_max)

    wait_ms = delay_ms(options, failures, chance)

    assert whole // 2 <= wait_ms <= whole


@given(options, st.integers(1, 100), chances)
def test_with_the_same_chance_the_wait_never_shrinks(options: PushOptions, failures: int, chance: float) -> None:
    before, after = (delay_ms(options, failures + more, chance) for more in (0, 1))

    assert before <= after


@given(st.integers(0, 10**15), st.integers(1, 30), chances)
def test_who_asks_for_a_longer_wait_gets_it_but_never_more_than_a_day(asked: int, failures: int, chance: float) -> None:
    wait_ms = delay_ms(OPTIONS, failures, chance, asked)

    assert wait_ms == min(max(delay_ms(OPTIONS, failures, chance), asked), PUSH_DELAY_MS_MAX)


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "0 ms"), (999, "999 ms"), (1_000, "1 s"), (12_345, "12.3 s"), (119_999, "120 s"), (120_000, "2 min")],
)
def test_a_wait_is_told_as_people_say_it(ms: int, text: str) -> None:
    assert describe_delay(ms) == text


# The endpoint.


def failing(now_ms: float = 0.0, times: int = 1) -> Endpoint:
    """An endpoint that has failed so many times in a row, the last time now."""
    endpoint = Endpoint(OPTIONS)
    for _ in range(times):
        endpoint.begin()
        endpoint.next_try_ms = 0.0
        endpoint.end(DOWN, now_ms, 1.0)
    return endpoint


def test_an_endpoint_that_answers_is_open_to_everybody() -> None:
    endpoint = Endpoint(OPTIONS)

    endpoint.begin()
    endpoint.begin()

    assert endpoint.wait_ms(0.0) == 0
    assert not endpoint.is_failing


def test_after_a_failure_nobody_goes_before_the_wait_is_over() -> None:
    endpoint = failing(now_ms=1_000.0)

    waits = [endpoint.wait_ms(now_ms) for now_ms in (1_000.0, 1_050.0, 1_100.0, 9_999.0)]

    assert waits == [100, 50, 0, 0]


def test_while_it_fails_there_is_one_push_at_a_time() -> None:
    endpoint = failing()
    assert endpoint.wait_ms(200.0) == 0

    endpoint.begin()

    assert endpoint.wait_ms(200.0) > 1_000
    assert endpoint.wait_ms(10_000.0) > 1_000


def test_the_next_failure_doubles_the_wait() -> None:
    endpoint = Endpoint(OPTIONS)
    now_ms, waits = 0.0, []

    for _ in range(4):
        endpoint.begin()
        waits.append(endpoint.end(DOWN, now_ms, 1.0))
        now_ms += waits[-1]

    assert waits == [100, 200, 400, 800]


def test_pushes_that_fell_together_count_once() -> None:
    endpoint = Endpoint(OPTIONS)
    for _ in range(20):
        endpoint.begin()

    waits = [endpoint.end(DOWN, float(now_ms), 1.0) for now_ms in range(20)]

    assert endpoint.failures == 1
    assert waits == [100 - now_ms for now_ms in range(20)]
    assert endpoint.wait_ms(100.0) == 0


def test_a_longer_wait_that_is_asked_for_counts_also_when_pushes_fell_together() -> None:
    endpoint = Endpoint(OPTIONS)
    endpoint.begin()
    endpoint.begin()
    endpoint.end(DOWN, 0.0, 1.0)

    wait_ms = endpoint.end(busy_for(60_000), 10.0, 1.0)

    assert wait_ms == 60_000
    assert endpoint.wait_ms(5_000.0) == 55_010


def test_a_shorter_wait_that_is_asked_for_does_not_shorten_a_longer_one() -> None:
    endpoint = Endpoint(OPTIONS)
    endpoint.begin()
    endpoint.begin()
    endpoint.end(busy_for(60_000), 0.0, 1.0)

    endpoint.end(busy_for(1_000), 10.0, 1.0)

    assert endpoint.wait_ms(10.0) == 59_990


def test_what_it_asks_for_is_waited_for() -> None:
    endpoint = Endpoint(OPTIONS)
    endpoint.begin()

    wait_ms = endpoint.end(busy_for(120_000), 0.0, 0.3)

    assert wait_ms == 120_000
    assert endpoint.wait_ms(119_000.0) == 1_000


@pytest.mark.parametrize("kind", [DELIVERED, REFUSED, GONE])
def test_an_answer_of_its_own_opens_it(kind: str) -> None:
    endpoint = failing(times=5)
    endpoint.begin()

    wait_ms = endpoint.end(Outcome(kind, "it answered", 400), 100.0, 1.0)

    assert wait_ms == 0
    assert not endpoint.is_failing
    assert endpoint.wait_ms(100.0) == 0


def test_after_a_recovery_the_waits_begin_anew() -> None:
    endpoint = failing(times=6)
    endpoint.begin()
    endpoint.end(FINE, 10_000.0, 1.0)

    endpoint.begin()
    wait_ms = endpoint.end(DOWN, 10_001.0, 1.0)

    assert wait_ms == OPTIONS.delay_ms_first


def test_a_push_that_was_given_up_says_nothing_of_it_and_frees_the_way() -> None:
    endpoint = failing()
    endpoint.begin()

    endpoint.end(None, 150.0, 1.0)

    assert endpoint.failures == 1
    assert endpoint.wait_ms(150.0) == 0


@given(st.lists(st.tuples(st.sampled_from(["begin", "down", "fine", "given up"]), st.integers(0, 300), chances)))
def test_while_it_fails_there_is_never_room_for_two(steps: list[tuple[str, int, float]]) -> None:
    endpoint, now_ms, on_their_way = Endpoint(OPTIONS), 0.0, 0

    for step, ms, chance in steps:
        now_ms += ms
        if step == "begin" and endpoint.wait_ms(now_ms) == 0:
            assert not endpoint.is_failing or on_their_way == 0
            endpoint.begin()
            on_their_way += 1
        elif step != "begin" and on_their_way:
            endpoint.end({"down": DOWN, "fine": FINE, "given up": None}[step], now_ms, chance)
            on_their_way -= 1

        assert endpoint.in_flight == on_their_way
        assert endpoint.next_try_ms - now_ms <= OPTIONS.delay_ms_max


# The pace.


def test_without_a_rate_every_turn_is_now() -> None:
    pace = Pace(None)

    assert [pace.take_turn(5.0) for _ in range(1_000)] == [0.0] * 1_000


def test_turns_are_spread_evenly() -> None:
    pace = Pace(10)

    waits = [pace.take_turn(1_000.0) for _ in range(4)]

    assert waits == [0, 100, 200, 300]


def test_a_rest_gives_no_right_to_a_burst() -> None:
    pace = Pace(10)
    pace.take_turn(0.0)

    waits = [pace.take_turn(60_000.0) for _ in range(3)]

    assert waits == [0, 100, 200]


@given(st.integers(1, 200), st.lists(st.integers(0, 500), min_size=1, max_size=300))
def test_in_any_second_there_are_at_most_the_rate_and_one_more(rate: int, gaps_ms: list[int]) -> None:
    pace, now_ms, turns = Pace(rate), 0.0, []

    for gap_ms in gaps_ms:
        now_ms += gap_ms
        turns.append(now_ms + pace.take_turn(now_ms))

    assert turns == sorted(turns)
    for begin in turns:
        assert sum(begin <= turn < begin + 1_000 for turn in turns) <= rate + 1
