"""Plans of merges: only neighbours that are small, never too much together, and everything comes to rest."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pregon.hub.merging import (
    MERGED_BYTES_MAX,
    MERGED_MESSAGES_MAX,
    SMALL_BYTES,
    WAITING_MIN,
    plan_merges,
)
from pregon.store.log import BatchSize

sizes = st.lists(
    st.tuples(
        st.sampled_from([1, 1, 1, 2, 500, 5_000, MERGED_MESSAGES_MAX, 10_000]),
        st.sampled_from([900, 1_200, SMALL_BYTES - 1, SMALL_BYTES, 100_000, 4 * 1024 * 1024]),
    ),
    max_size=12,
)
repeated = st.tuples(sizes, st.integers(1, 40)).map(lambda pair: pair[0] * pair[1])


def log_of(pairs: list[tuple[int, int]], base_seq: int = 1) -> list[BatchSize]:
    """Batches of so many messages and bytes, one after the other."""
    batches = []
    last_seq = base_seq - 1
    for messages, size in pairs:
        last_seq += messages
        batches.append(BatchSize(last_seq, messages, size, 0, 0))
    return batches


def members(batches: list[BatchSize], run: tuple[int, int]) -> list[BatchSize]:
    """The batches that a run covers."""
    return [one for one in batches if run[0] <= one.last_seq <= run[1]]


def merged(batches: list[BatchSize], runs: list[tuple[int, int]]) -> list[BatchSize]:
    """The batches after the merges; a merged one takes at most what its members took."""
    after: list[BatchSize] = []
    for one in batches:
        run = next((run for run in runs if run[0] <= one.last_seq <= run[1]), None)
        if run is None:
            after.append(one)
        elif one.last_seq == run[1]:
            together = members(batches, run)
            total = sum(member.bytes for member in together)
            after.append(BatchSize(run[1], sum(member.messages for member in together), total, 0, 0))
    return after


@given(pairs=repeated, base_seq=st.integers(1, 1_000))
def test_runs_are_whole_small_neighbours_and_stay_below_the_limits(pairs: list[tuple[int, int]], base_seq: int) -> None:
    batches = log_of(pairs, base_seq)

    runs, _ = plan_merges(batches)

    for run in runs:
        together = members(batches, run)
        assert len(together) > 1
        assert (together[0].last_seq - together[0].messages + 1, together[-1].last_seq) == run
        assert all(one.bytes < SMALL_BYTES for one in together)
        assert sum(one.bytes for one in together) <= MERGED_BYTES_MAX
        assert sum(one.messages for one in together) <= MERGED_MESSAGES_MAX
    assert all(one[1] < other[0] for one, other in pairwise(runs))


@given(pairs=repeated)
def test_what_is_settled_ends_a_batch_and_needs_no_other_look(pairs: list[tuple[int, int]]) -> None:
    batches = log_of(pairs)

    runs, settled = plan_merges(batches)

    after = merged(batches, runs)
    assert settled in {0, *(one.last_seq for one in after)}
    assert all(run[1] <= settled or run[1] == batches[-1].last_seq for run in runs)


@given(pairs=repeated)
def test_merging_again_and_again_comes_to_rest(pairs: list[tuple[int, int]]) -> None:
    batches, settled_before, rounds = log_of(pairs), 0, 0

    while True:
        waiting = [one for one in batches if one.last_seq > settled_before]
        runs, settled = plan_merges(waiting)
        settled_before = max(settled_before, settled)
        if not runs:
            break
        batches = merged(batches, runs)
        rounds += 1
        assert rounds < 20

    small = 0
    for one in batches:
        small = small + 1 if one.bytes < SMALL_BYTES and one.last_seq > settled_before else 0
        assert small < WAITING_MIN


@given(count=st.integers(0, 200))
def test_a_run_that_may_still_grow_is_merged_only_when_it_is_worth_it(count: int) -> None:
    batches = log_of([(1, 100)] * count)

    runs, settled = plan_merges(batches)

    assert runs == ([(1, count)] if count >= WAITING_MIN else [])
    assert settled == 0
