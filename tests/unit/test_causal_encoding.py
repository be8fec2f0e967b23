"""Control information, byte by byte."""

from __future__ import annotations

import pytest

from pregon.causal.encoding import decode_control, encode_control
from pregon.causal.stamps import Stamp, decode_stamp, decode_stamps
from pregon.errors import BadRequest
from pregon.limits import GROUP_AFTER_MAX, GROUP_NUMBER_MAX

DRAWN = {
    "alone": (Stamp(3, 1), (), 0, "00 03 01  00"),
    "of a kind": (Stamp(3, 1), (), 5, "05 03 01  00"),
    "after one": (Stamp(3, 2), (Stamp(5, 7),), 0, "00 03 02  01 04 07"),
    "after the first": (Stamp(3, 2), (Stamp(1, 7),), 0, "80 03 02  01 07"),
    "after one far away": (Stamp(3, 2), (Stamp(300, 7),), 0, "00 03 02  01 ab 02 07"),
    "a large number": (Stamp(3, 300), (Stamp(1, 1000),), 0, "80 03 ac 02  01 e8 07"),
    "after all from one on": (Stamp(2, 9), (Stamp(1, 5), Stamp(3, 6), Stamp(4, 7)), 0, "80 02 09  04 05 06 07"),
    "after a row": (
        Stamp(2, 9),
        tuple(Stamp(member, 5) for member in (30, 31, 32, 34, 35)),
        0,
        "40 02 09  1d 06 05 05 05 00 05 05",
    ),
    "after two of few": (Stamp(1, 1), (Stamp(2, 1), Stamp(4, 1)), 1, "81 01 01  04 01 00 01"),
}


@pytest.mark.parametrize(("stamp", "after", "kind", "drawn"), DRAWN.values(), ids=DRAWN.keys())
def test_control_information_is_drawn_so(stamp: Stamp, after: tuple[Stamp, ...], kind: int, drawn: str) -> None:
    data = bytes.fromhex(drawn)

    assert encode_control(stamp, after, kind).hex(" ") == data.hex(" ")
    assert decode_control(data) == (kind, stamp, after, len(data))


REFUSED = {
    "nothing": "",
    "only a kind": "00",
    "no number": "00 03",
    "no dependencies": "00 03 01",
    "fewer dependencies than said": "00 03 01 01 00",
    "a form that is none": "c0 03 01 00",
    "a number longer than it must be": "00 83 00 01 00",
    "a number too large": "00 " + "ff " * 9 + "01 01 00",
    "sender 0": "00 00 01 00",
    "number 0": "00 03 00 00",
    "after number 0": "00 03 01 01 00 00",
    "after one's own": "00 03 05 01 02 04",
    "a list where a row is shorter": "00 02 09 03 00 05 01 06 00 07",
    "a row from one on, not so marked": "40 02 09 00 04 05 06 07",
    "a row that ends with nothing": "80 02 09 05 05 06 07 00",
    "a row that begins with nothing": "40 02 09 1c 06 00 05 05 05 05 05",
    "an empty row": "80 02 09 00",
    "more than there can be": "00 02 09 81 20",
    "a row longer than there can be": "80 02 09 81 20",
}


@pytest.mark.parametrize("drawn", REFUSED.values(), ids=REFUSED.keys())
def test_other_bytes_are_refused(drawn: str) -> None:
    with pytest.raises(BadRequest):
        decode_control(bytes.fromhex(drawn))


def test_a_row_is_never_longer_than_what_is_read() -> None:
    # As a row it would be shorter, but nobody would read it: members of an old group have high numbers.
    after = tuple(Stamp(member, 1) for member in range(1, 6_000, 2))

    data = encode_control(Stamp(6_000, 1), after)

    assert decode_control(data)[2] == after
    assert len(data) > 2 * len(after)


def test_a_quiet_group_costs_the_same_however_many_members_it_has() -> None:
    lengths = {len(encode_control(Stamp(count, 7), (Stamp(1, 7),))) for count in (2, 10, 100, 127)}

    assert lengths == {5}
    assert len(encode_control(Stamp(1_000, 7), (Stamp(900, 7),))) == 8


def test_the_largest_numbers_are_written_and_read() -> None:
    stamp, after = Stamp(GROUP_NUMBER_MAX, GROUP_NUMBER_MAX), (Stamp(GROUP_NUMBER_MAX - 1, GROUP_NUMBER_MAX),)

    assert decode_control(encode_control(stamp, after))[1:3] == (stamp, after)


@pytest.mark.parametrize(
    "text", ["", "3", "3:", ":3", "0:1", "1:0", "01:1", "1:1 ", "-1:1", "1:١", f"1:{2**62 + 1}", "9" * 99]
)
def test_a_text_that_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="MEMBER:NUMBER"):
        decode_stamp(text)


def test_more_names_than_there_can_be_are_refused() -> None:
    assert len(decode_stamps(" ".join(["1:1"] * GROUP_AFTER_MAX))) == GROUP_AFTER_MAX
    with pytest.raises(BadRequest, match="at most"):
        decode_stamps(" ".join(["1:1"] * (GROUP_AFTER_MAX + 1)))
    assert decode_stamps("") == ()
