"""Numbers as ranges and back."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pregon.model.runs import runs_between, runs_of

numbers = st.sets(st.integers(0, 60)).map(sorted)


def numbers_in(runs: list[tuple[int, int]]) -> list[int]:
    """Every number of the ranges, in their order."""
    return [number for first, last in runs for number in range(first, last + 1)]


def are_apart(runs: list[tuple[int, int]]) -> bool:
    """Whether no two ranges could be one."""
    return all(one[1] + 1 < other[0] for one, other in pairwise(runs))


@given(seqs=numbers)
def test_ranges_have_the_same_numbers_and_are_as_few_as_can_be(seqs: list[int]) -> None:
    runs = runs_of(seqs)

    assert numbers_in(runs) == seqs
    assert all(first <= last for first, last in runs)
    assert are_apart(runs)


@given(first=st.integers(0, 60), length=st.integers(0, 30), data=st.data())
def test_what_is_left_out_is_not_in_the_ranges_and_all_else_is(first: int, length: int, data: st.DataObject) -> None:
    last = first + length
    without = sorted(data.draw(st.sets(st.integers(first, last))))

    runs = runs_between(first, last, without)

    assert numbers_in(runs) == [number for number in range(first, last + 1) if number not in without]
    assert all(start <= end for start, end in runs)
    assert are_apart(runs)


@given(first=st.integers(0, 60))
def test_nothing_is_between_a_number_and_one_before_it(first: int) -> None:
    runs = runs_between(first, first - 1, [])

    assert runs == []


@given(seqs=numbers)
def test_ranges_are_what_remains_when_the_others_are_left_out(seqs: list[int]) -> None:
    others = [number for number in range(61) if number not in seqs]

    runs = runs_between(0, 60, others)

    assert runs == runs_of(seqs)
