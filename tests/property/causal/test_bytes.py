"""Control information in bytes: one way to write each, none that harms, and never more than a vector clock."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import example, given, settings
from hypothesis import strategies as st

from pregon.causal.encoding import KIND_MAX, decode_control, encode_control
from pregon.causal.message import check_control
from pregon.causal.stamps import Stamp, decode_stamps, encode_stamps
from pregon.causal.vector import VectorMessage, encode_vector
from pregon.errors import BadRequest
from pregon.limits import GROUP_AFTER_MAX, GROUP_NUMBER_MAX

from .histories import counts, histories
from .trial import Action, Trial

numbers = st.integers(1, GROUP_NUMBER_MAX) | st.integers(1, 300)
members = st.integers(1, GROUP_NUMBER_MAX) | st.integers(1, 40)
kinds = st.integers(0, KIND_MAX)


@st.composite
def controls(draw: st.DrawFn) -> tuple[Stamp, tuple[Stamp, ...]]:
    """A name and dependencies that a member who follows the rules could send."""
    stamp = Stamp(draw(members), draw(numbers))
    others = draw(st.sets(members, max_size=30)) - {stamp.member}
    return stamp, tuple(Stamp(member, draw(numbers)) for member in sorted(others))


@given(controls(), kinds, st.binary(max_size=4), st.binary(max_size=4))
def test_what_is_encoded_is_decoded_as_it_was(
    control: tuple[Stamp, tuple[Stamp, ...]], kind: int, before: bytes, rest: bytes
) -> None:
    data = encode_control(*control, kind)

    assert decode_control(before + data + rest, len(before)) == (kind, *control, len(before) + len(data))


@given(controls())
def test_the_names_as_text_are_decoded_as_they_were(control: tuple[Stamp, tuple[Stamp, ...]]) -> None:
    assert decode_stamps(encode_stamps(control[1])) == control[1]


@given(st.binary(max_size=60) | st.lists(st.integers(0, 3), max_size=40).map(bytes))
@example(b"\x40\x01\x01" + b"\xff" * 8 + b"\x7f\x01\x05")
@example(b"\x00\x01\x01\xff\xff\xff\x0f")
def test_any_bytes_are_control_information_or_a_bad_request(data: bytes) -> None:
    with suppress(BadRequest):
        kind, stamp, after, end = decode_control(data)
        check_control(stamp, after)
        assert encode_control(stamp, after, kind) == data[:end]


@given(controls(), kinds, st.data())
def test_bytes_that_were_tampered_with_are_another_control_or_a_bad_request(
    control: tuple[Stamp, tuple[Stamp, ...]], kind: int, data: st.DataObject
) -> None:
    sent = encode_control(*control, kind)
    place = data.draw(st.integers(0, len(sent) - 1))
    byte = data.draw(st.integers(0, 255))
    tampered = sent[:place] + bytes((byte,)) + sent[place + 1 :]

    with suppress(BadRequest):
        said, stamp, after, end = decode_control(tampered)
        assert encode_control(stamp, after, said) == tampered[:end]
        assert tampered == sent or (said, stamp, after) != (kind, *control)


@given(st.text(max_size=60) | st.from_regex(r"[0-9]{1,20}:[0-9]{1,20}( [0-9]{1,20}:[0-9]{1,20}){0,3}"))
def test_any_text_is_names_or_a_bad_request(text: str) -> None:
    with suppress(BadRequest):
        assert encode_stamps(decode_stamps(text)) == text


@given(counts, histories)
def test_never_more_entries_nor_bytes_than_the_vector_clock_of_the_same_history(
    count: int, history: list[Action]
) -> None:
    trial = Trial(count)
    clocks: dict[Stamp, tuple[int, ...]] = {}
    for what, who, which in history:
        trial.run([(what, who, which)])
        if what == "send":
            member = trial.members[1 + who % count]
            clock = tuple(member.clock.get(one, 0) for one in range(1, count + 1))
            clocks[Stamp(member.me, member.clock[member.me])] = clock

    for stamp, message in trial.sent.items():
        vector = encode_vector(VectorMessage(stamp.member, clocks[stamp]))
        assert len(message.after) < len(clocks[stamp])
        assert len(encode_control(stamp, message.after)) <= len(vector)


@given(st.integers(1, GROUP_AFTER_MAX), st.data())
def test_a_whole_group_of_concurrent_messages_costs_no_more_than_its_vector_clock(
    count: int, data: st.DataObject
) -> None:
    sender = data.draw(st.integers(1, count))
    number = data.draw(numbers)
    step = data.draw(st.integers(1, 50))
    low = data.draw(st.integers(0, count))
    clock = [number if member == sender else number // (1 + member % step) for member in range(1, count + 1)]

    after = tuple(
        Stamp(member, clock[member - 1])
        for member in range(low + 1, count + 1, step)
        if member != sender and clock[member - 1]
    )
    data_ = encode_control(Stamp(sender, number), after)

    assert len(data_) <= len(encode_vector(VectorMessage(sender, tuple(clock))))
    assert decode_control(data_) == (0, Stamp(sender, number), after, len(data_))


@settings(max_examples=10)
@given(st.integers(1, 9_000), st.integers(1, 4), st.integers(1, 300))
@example(1, 2, 1)
def test_members_of_high_numbers_are_named_in_a_form_that_is_read(low: int, step: int, number: int) -> None:
    after = tuple(Stamp(member, number) for member in range(low, low + step * 3_000, step))

    data = encode_control(Stamp(30_000, 1), after)

    assert decode_control(data)[2] == after
