"""What the pages of subscriptions decide without a hub: states, bars, clocks, and what people write into fields."""

from __future__ import annotations

import pytest

from pregon.edges.admin.parked import CHOSEN_MAX, read_chosen
from pregon.edges.admin.subscription_acts import parse_numbers
from pregon.edges.admin.subscription_state import BAR_WIDTH, countdown, parts_of, state_of
from pregon.edges.admin.subscriptions import read_limits, read_start, write_limits
from pregon.errors import BadName, BadRequest
from pregon.limits import LIST_ROWS_MAX
from pregon.model.catalog import PULL, PUSH, Subscription
from pregon.model.subscription import Accounting
from pregon.store.catalog_search import SubscriptionRow


def row(*, mode: str = PUSH, enabled: bool = True, paused: bool = False, pending: int = 0, since: int = 0) -> str:
    """The state of a subscription like that."""
    return state_of(
        SubscriptionRow(
            subscription=Subscription(topic="t", subscriber="s", paused=paused),
            mode=mode,
            enabled=enabled,
            pending=pending,
            parked=0,
            head_seq=9,
            attempts=0,
            next_try_us=0,
            failing_since_us=since,
            last_failure="",
        )
    )


def test_what_keeps_messages_back_goes_before_how_many_wait() -> None:
    assert row(enabled=False, paused=True, pending=3, since=1) == "disabled"
    assert row(paused=True, pending=3, since=1) == "paused"
    assert row(pending=3, since=1) == "failing"
    assert row(pending=3) == "waits"
    assert row(since=1) == row() == "done"


def test_who_fetches_is_not_disabled_for_pushes() -> None:
    assert row(mode=PULL, enabled=False, pending=1) == "waits"
    assert row(mode=PULL, pending=1, since=1) == "waits"


def accounting(**counts: int) -> Accounting:
    """Counts that add up."""
    whole = {"acknowledged": 0, "pending": 0, "parked": 0, "expired": 0, "filtered": 0} | counts
    total = sum(whole.values())
    return Accounting(topic="t", subscriber="s", accepted=total, first_seq=1, acked_seq=total, head_seq=total, **whole)


def test_the_bar_is_full_and_its_smallest_part_is_seen() -> None:
    parts = parts_of(accounting(acknowledged=10_000_000, parked=1, pending=500))

    assert [part.messages for part in parts] == [10_000_000, 500, 1, 0, 0]
    assert sum(part.width for part in parts) == pytest.approx(BAR_WIDTH, abs=0.1)
    assert all(part.width > 5 for part in parts if part.messages)
    assert all(part.width == 0 for part in parts if not part.messages)
    assert [part.x for part in parts] == sorted(part.x for part in parts)


def test_the_bar_of_nothing_is_empty() -> None:
    assert sum(part.width for part in parts_of(accounting())) == 0


@pytest.mark.parametrize(
    ("ms", "clock"),
    [(-5, "0:00"), (400, "0:00"), (7_000, "0:07"), (299_000, "4:59"), (3_723_000, "1:02:03"), (86_400_000, "24:00:00")],
)
def test_a_wait_is_written_as_a_clock(ms: int, clock: str) -> None:
    assert countdown(ms) == clock


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("17", [17]),
        ("17-19 25", [17, 18, 19, 25]),
        ("3, 1;2", [1, 2, 3]),
        ("5..6\n9 – 10", [5, 6, 9, 10]),
        ("4 4", [4]),
    ],
)
def test_numbers_of_messages_are_read_as_people_write_them(text: str, numbers: list[int]) -> None:
    assert parse_numbers(text) == numbers


@pytest.mark.parametrize(
    "text", ["", "  ", "x", "1 x", "-1", "0", "9-3", "1-1001", "1-999999999999999999", "1-600 700-1200", "1" * 19, "٣"]
)
def test_what_is_no_number_of_a_message_is_refused(text: str) -> None:
    with pytest.raises(BadRequest):
        parse_numbers(text)


def test_as_many_numbers_as_one_request_may_have_are_read() -> None:
    assert len(parse_numbers(f"1-{LIST_ROWS_MAX}")) == LIST_ROWS_MAX


def test_what_is_chosen_is_gathered_by_subscription() -> None:
    chosen = read_chosen(["deaths/bank/3", "deaths/mint/3", "deaths/bank/9"])

    assert chosen == {("deaths", "bank"): [3, 9], ("deaths", "mint"): [3]}


@pytest.mark.parametrize("texts", [[], ["deaths/bank/x"], [f"a/b/{one}" for one in range(1, CHOSEN_MAX + 2)]])
def test_a_choice_of_nothing_or_of_too_much_is_refused(texts: list[str]) -> None:
    with pytest.raises(BadRequest):
        read_chosen(texts)


def test_a_choice_names_what_can_have_a_name() -> None:
    with pytest.raises(BadName):
        read_chosen(["../bank/1"])


def test_the_limits_of_a_form_are_read_and_written_alike() -> None:
    entry = Subscription(topic="t", subscriber="s", pending_max=1_000, pending_age_ms=43_200_000, filter='{"a":1}')

    written = write_limits(entry)

    assert written == {"pending_max": "1000", "pending_age": "12h", "filter": '{\n  "a": 1\n}'}
    assert read_limits({"pending_max": "1 000", "pending_age": "12 h", "filter": ""}) == {
        "pending_max": 1_000,
        "pending_age_ms": 43_200_000,
        "filter": "",
    }
    assert read_limits(dict.fromkeys(written, ""))["pending_max"] is None


def test_a_subscription_begins_at_a_number_only_if_one_is_given() -> None:
    assert read_start({"start": "latest", "start_seq": "9"}) == "latest"
    assert read_start({"start": "number", "start_seq": "9"}) == "9"
    with pytest.raises(BadRequest):
        read_start({"start": "number", "start_seq": ""})
