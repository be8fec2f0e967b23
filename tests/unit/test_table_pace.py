"""Who reads tables has its share of the time while somebody publishes, and all of it while nobody does."""

import asyncio

import pytest

from pregon.clock import monotonic_ms
from pregon.edges.http import turns
from pregon.edges.http.turns import TableTurns
from pregon.errors import HubBusy, HubStopping
from pregon.hub.pacing import REST_MS_MAX, TablePace

PART_MS = 2.0


def publish_all_the_time(pace: TablePace, from_ms: float, until_ms: float) -> None:
    """Publications that keep the hub storing half of the time."""
    for step in range(int(until_ms - from_ms)):
        pace.published(0.5, from_ms + step)


def read_at_full_speed(pace: TablePace, *, loaded: float, for_ms: float = 1_000.0) -> float:
    """Milliseconds of a time that were spent on parts, the next one begun as soon as it may."""
    now_ms, spent_ms = 1_000.0, 0.0
    while now_ms < 1_000.0 + for_ms:
        if loaded:
            pace.published(loaded * PART_MS, now_ms)
        rest_ms = pace.rest_ms(now_ms)
        if rest_ms:
            now_ms += min(rest_ms, PART_MS)
            continue
        now_ms += PART_MS
        spent_ms += PART_MS
        pace.served(PART_MS, now_ms)
    return spent_ms


def test_nobody_rests_while_nobody_publishes() -> None:
    pace = TablePace(20)

    spent_ms = read_at_full_speed(pace, loaded=0.0)

    assert spent_ms == 1_000.0
    assert pace.parts == 500


@pytest.mark.parametrize("share", [5, 20, 50, 90])
def test_reading_has_its_share_while_somebody_publishes(share: int) -> None:
    pace = TablePace(share)
    publish_all_the_time(pace, 0.0, 1_000.0)

    spent_ms = read_at_full_speed(pace, loaded=0.5, for_ms=10_000.0)

    assert spent_ms == pytest.approx(share * 100.0, rel=0.03)


def test_a_share_of_all_never_rests() -> None:
    pace = TablePace(100)

    spent_ms = read_at_full_speed(pace, loaded=1.0)

    assert spent_ms == 1_000.0


def test_two_readers_at_once_have_one_share_together() -> None:
    pace = TablePace(20)
    publish_all_the_time(pace, 0.0, 1_000.0)

    for _ in range(2):
        pace.served(PART_MS, 1_000.0)

    assert pace.rest_ms(1_000.0) == pytest.approx(2 * 4 * PART_MS)


def test_a_message_now_and_then_costs_a_reader_little() -> None:
    often, seldom = TablePace(20), TablePace(20)
    publish_all_the_time(often, 0.0, 1_000.0)
    seldom.published(0.5, 1_000.0)

    often.served(PART_MS, 1_000.0)
    seldom.served(PART_MS, 1_000.0)

    assert 0 < seldom.rest_ms(1_000.0) < often.rest_ms(1_000.0) / 5


def test_a_rest_ends_when_who_published_has_stopped() -> None:
    pace = TablePace(1)
    publish_all_the_time(pace, 0.0, 1_000.0)
    pace.served(500.0, 1_000.0)

    rests = [pace.rest_ms(1_000.0 + later_ms) for later_ms in (0.0, 700.0)]

    assert rests == [REST_MS_MAX, 0.0]


@pytest.mark.parametrize("took_ms", [-5.0, 1e12])
def test_what_a_clock_says_by_mistake_means_no_endless_rest(took_ms: float) -> None:
    pace = TablePace(1)

    pace.published(took_ms, 1_000.0)
    pace.published(1.0, 10.0)
    pace.served(took_ms, 1_000.0)

    assert 0.0 <= pace.load(1_000.0) <= 1.0
    assert 0.0 <= pace.rest_ms(1_000.0) <= REST_MS_MAX


def test_parts_are_made_in_the_order_in_which_they_were_asked_for() -> None:
    made: list[int] = []

    async def part(table: TableTurns, number: int) -> None:
        async with table.turn():
            made.append(number)
            await asyncio.sleep(0)

    async def all_of_them() -> None:
        table = TableTurns(TablePace(20), asyncio.Event())
        await asyncio.gather(*(part(table, number) for number in range(20)))

    asyncio.run(all_of_them())

    assert made == list(range(20))


def test_a_part_that_fails_or_is_given_up_leaves_its_turn_to_the_next() -> None:
    pace = TablePace(20)

    async def fail(table: TableTurns) -> None:
        async with table.turn():
            raise ZeroDivisionError

    async def stay(table: TableTurns) -> None:
        async with table.turn():
            await asyncio.Event().wait()

    async def run() -> bool:
        table = TableTurns(pace, asyncio.Event())
        with pytest.raises(ZeroDivisionError):
            await fail(table)
        given_up = [asyncio.ensure_future(stay(table)) for _ in range(3)]
        await asyncio.sleep(0)
        for one in reversed(given_up):
            one.cancel()
        await asyncio.gather(*given_up, return_exceptions=True)
        async with asyncio.timeout(5), table.turn():
            return True

    assert asyncio.run(run())
    assert pace.waiting == 0


def test_more_than_may_wait_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "STREAMS_MAX", 2)

    async def stay(table: TableTurns) -> None:
        async with table.turn():
            await asyncio.Event().wait()

    async def run() -> None:
        table = TableTurns(TablePace(20), asyncio.Event())
        staying = [asyncio.ensure_future(stay(table)) for _ in range(3)]
        await asyncio.sleep(0)
        try:
            await stay(table)
        finally:
            for one in staying:
                one.cancel()

    with pytest.raises(HubBusy, match="come back later"):
        asyncio.run(run())


def test_nobody_gets_a_turn_of_a_hub_that_stops_however_long_it_was_to_rest() -> None:
    pace, stopping = TablePace(1), asyncio.Event()
    now_ms = monotonic_ms()
    publish_all_the_time(pace, now_ms - 1_000.0, now_ms)
    pace.served(500.0, now_ms)

    async def run() -> None:
        asyncio.get_running_loop().call_soon(stopping.set)
        async with TableTurns(pace, stopping).turn():
            pass

    with pytest.raises(HubStopping):
        asyncio.run(run())

    assert pace.parts == 1
