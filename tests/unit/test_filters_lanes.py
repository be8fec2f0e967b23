"""Lanes and suspensions of filters, the cache of compiled ones, and the frames that go to their processes."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import msgspec
import pytest

from pregon.errors import BadFilter
from pregon.filters import lanes as rules
from pregon.filters.cache import FilterCache
from pregon.filters.expression import Verdict
from pregon.filters.lanes import QUICK, SLOW, Lanes
from pregon.filters.pipe import Row, Task, Wire
from pregon.model.batch import StoredBatch, encode, pack, stamp
from pregon.model.message import Outgoing

NOW = 5_000_000.0


def slow_lanes(failures: int = 0) -> Lanes:
    """Lanes in which filter "f" failed once in the quick lane, and then so many times in the slow one, at NOW."""
    lanes = Lanes()
    lanes.failed("f", QUICK, NOW, "it took more than 200 ms")
    for _ in range(failures):
        lanes.failed("f", SLOW, NOW, "it took more than 1000 ms")
    return lanes


def test_a_filter_is_quick_until_it_fails() -> None:
    lanes = Lanes()

    lanes.passed("f")

    assert (lanes.lane_of("f", NOW), lanes.find_suspension("f", NOW), len(lanes)) == (QUICK, None, 0)


def test_one_failure_makes_a_filter_slow_for_ten_minutes_and_no_other() -> None:
    lanes = slow_lanes()

    assert lanes.lane_of("f", NOW + rules.SLOW_FOR_MS - 1) == SLOW
    assert lanes.lane_of("another", NOW) == QUICK
    assert lanes.lane_of("f", NOW + rules.SLOW_FOR_MS) == QUICK
    assert len(lanes) == 0


def test_a_failure_in_the_slow_lane_keeps_it_there_for_longer() -> None:
    lanes = slow_lanes()

    lanes.failed("f", SLOW, NOW + 1_000, "why")

    assert lanes.lane_of("f", NOW + rules.SLOW_FOR_MS) == SLOW
    assert lanes.lane_of("f", NOW + rules.SLOW_FOR_MS + 1_000) == QUICK


def test_three_failures_in_a_row_suspend_a_filter_for_a_minute() -> None:
    two, three = slow_lanes(2), slow_lanes(3)

    assert (two.find_suspension("f", NOW), two.lane_of("f", NOW)) == (None, SLOW)
    assert three.find_suspension("f", NOW) == "it took more than 1000 ms"
    assert three.lane_of("f", NOW) == QUICK
    assert three.find_suspension("f", NOW + rules.SUSPENDED_FOR_MS - 1) is not None
    assert three.find_suspension("f", NOW + rules.SUSPENDED_FOR_MS) is None
    assert three.lane_of("f", NOW + rules.SUSPENDED_FOR_MS) == SLOW


def test_a_message_in_time_makes_the_failures_begin_anew() -> None:
    lanes = slow_lanes(2)

    lanes.passed("f")
    lanes.failed("f", SLOW, NOW, "why")
    lanes.failed("f", SLOW, NOW, "why")

    assert lanes.find_suspension("f", NOW) is None


def test_after_a_suspension_one_failure_suspends_again_and_one_success_forgives() -> None:
    fails, works = slow_lanes(3), slow_lanes(3)
    later = NOW + rules.SUSPENDED_FOR_MS

    fails.failed("f", SLOW, later, "again")
    works.passed("f")
    works.failed("f", SLOW, later, "again")

    assert fails.find_suspension("f", later + rules.SUSPENDED_FOR_MS - 1) == "again"
    assert works.find_suspension("f", later) is None


def test_the_filter_that_failed_longest_ago_is_forgotten_first() -> None:
    lanes = slow_lanes()

    for number in range(rules.REMEMBERED_MAX - 1):
        lanes.failed(f"f{number}", QUICK, NOW, "why")
    lanes.failed("f", SLOW, NOW, "why")
    lanes.failed("one more", QUICK, NOW, "why")

    assert len(lanes) == rules.REMEMBERED_MAX
    assert [lanes.lane_of(text, NOW) for text in ("f0", "f1", "f", "one more")] == [QUICK, SLOW, SLOW, SLOW]


def test_the_cache_keeps_what_was_used_last_and_counts_characters() -> None:
    texts = [json.dumps({"header": "h", "equals": letter * 60}) for letter in "abc"]
    cache = FilterCache(characters_max=2 * len(texts[0]))

    first, second = cache.require(texts[0]), cache.require(texts[1])
    cache.require(texts[0])
    cache.require(texts[2])

    assert len(cache) == 2
    assert cache.require(texts[0]) is first
    assert cache.require(texts[1]) is not second


def test_a_filter_larger_than_the_cache_works_and_is_not_kept() -> None:
    cache = FilterCache(characters_max=10)

    found = cache.require('{"header": "h", "exists": true}')

    assert (found.needs_body, len(cache)) == (False, 0)


def test_a_wrong_filter_is_refused_by_the_cache_every_time() -> None:
    cache = FilterCache()

    for _ in range(2):
        with pytest.raises(BadFilter):
            cache.require("{}")


@pytest.fixture
def ends() -> Iterator[tuple[Wire, Wire]]:
    one, other = map(Wire, socket.socketpair())
    yield one, other
    one.close()
    other.close()


def test_frames_arrive_as_they_were_sent_however_they_were_joined(ends: tuple[Wire, Wire]) -> None:
    hub, child = ends
    sent = Outgoing("año".encode(), key="k", content_type="text/plain", headers={"a": "b"})
    (message,) = StoredBatch(1, 1, encode(stamp(pack([sent], [5]), "BPS", 6))).messages("t")
    task = Task("{}", 200, 99.5, [Row.of(message)] * 2)

    hub.send(task)
    child.send(Verdict(True, "why"), Verdict(False, "not"), None)

    assert msgspec.msgpack.decode(child.receive(1_000) or b"", type=Task) == task
    assert task.rows[0] == Row("k", "text/plain", "BPS", {"a": "b"}, sent.body)
    frames = [msgspec.msgpack.decode(hub.receive(1_000) or b"", type=Verdict | None) for _ in range(3)]
    assert frames == [Verdict(True, "why"), Verdict(False, "not"), None]


def test_an_end_reads_as_none_between_frames_and_inside_one(ends: tuple[Wire, Wire]) -> None:
    hub, child = ends
    half, other = socket.socketpair()
    half.sendall(b"\0\0\0\x09abc")
    half.close()

    hub.close()

    assert child.receive(1_000) is None
    broken = Wire(other)
    assert broken.receive(1_000) is None
    broken.close()


def test_a_frame_longer_than_any_of_ours_is_not_waited_for() -> None:
    one, other = socket.socketpair()
    one.sendall(b"\xff\xff\xff\xff")
    wire = Wire(other)

    received = wire.receive(1_000)

    assert received is None
    wire.close()
    one.close()


def test_waiting_for_a_frame_ends_in_time(ends: tuple[Wire, Wire]) -> None:
    hub, child = ends

    with pytest.raises(TimeoutError):
        hub.receive(1)

    child.send(None)
    assert hub.receive(1_000) == msgspec.msgpack.encode(None)
