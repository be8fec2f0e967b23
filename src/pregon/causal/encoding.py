"""Control information in bytes.

    byte 0          form (2 high bits), kind of message (6 low bits; 0 is an ordinary one)
    varint          sender
    varint          number: this is the sender's 1st, 2nd, 3rd … message
    form 0, list    varint  how many dependencies
                    each    varint  member, less the one before it, less 1 (the first: less 1)
                            varint  number
    form 1, row     varint  lowest member, less 1
                    varint  how many members, from the lowest to the highest: GROUP_AFTER_MAX at most
                    each    varint  number, 0 for no dependency; the sender has no place in it
    form 2, row     the same from member 1 on, without the lowest

A varint is seven bits a byte, low ones first, the high bit set in all but the last (LEB128), in as few bytes as it can
be. The form is the shortest of the three: so a message of which everything is concurrent is no longer than one with
the vector clock of its group, and one of a quiet group has two or three bytes, however many members there are.

Promises:
- What is decoded is checked: any bytes give control information that `check_control` accepts, or BadRequest.
- One way to write each: bytes that decode are those that `encode_control` gives.
"""

from __future__ import annotations

from collections.abc import Sequence

from pregon.causal.message import check_control
from pregon.causal.stamps import Stamp
from pregon.errors import BadRequest
from pregon.limits import GROUP_AFTER_MAX, GROUP_NUMBER_MAX

KIND_MAX = 63
_LIST, _ROW, _ROW_FROM_ONE = 0, 1, 2
_VARINT_BYTES_MAX = 9


def append_varint(out: bytearray, value: int) -> None:
    """Write a number from 0 on."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A number and where it ends; raises BadRequest."""
    value = shift = 0
    for count in range(_VARINT_BYTES_MAX):
        if at >= len(data):
            raise BadRequest("the control information ends in the middle of a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if byte == 0 and count:
                raise BadRequest("a number of the control information is longer than it needs to be")
            return value, at
        shift += 7
    raise BadRequest(f"a number of the control information is larger than {GROUP_NUMBER_MAX}")


def encode_control(stamp: Stamp, after: Sequence[Stamp], kind: int = 0) -> bytes:
    """The control information of a message, in the shortest form."""
    form, dependencies = _LIST, _encode_list(after)
    # A row has a byte at least for every member from the lowest to the highest: worth a look only if that is short.
    if after and after[-1].member - after[0].member < min(GROUP_AFTER_MAX, 2 * len(dependencies)):
        row = _encode_row(stamp.member, after, after[0].member)
        if len(row) < len(dependencies):
            form, dependencies = _ROW, row
        if after[-1].member <= min(GROUP_AFTER_MAX, len(dependencies)):
            row = _encode_row(stamp.member, after, 1)[1:]
            if len(row) < len(dependencies):
                form, dependencies = _ROW_FROM_ONE, row
    out = bytearray((form << 6 | kind,))
    append_varint(out, stamp.member)
    append_varint(out, stamp.number)
    return bytes(out + dependencies)


def _encode_list(after: Sequence[Stamp]) -> bytearray:
    out = bytearray()
    append_varint(out, len(after))
    before = 0
    for member, number in after:
        append_varint(out, member - before - 1)
        append_varint(out, number)
        before = member
    return out


def _encode_row(sender: int, after: Sequence[Stamp], lowest: int) -> bytearray:
    numbers = dict(after)
    highest = after[-1].member
    out = bytearray()
    append_varint(out, lowest - 1)
    append_varint(out, highest - lowest + 1)
    for member in range(lowest, highest + 1):
        if member != sender:
            append_varint(out, numbers.get(member, 0))
    return out


def decode_control(data: bytes, at: int = 0) -> tuple[int, Stamp, tuple[Stamp, ...], int]:
    """Kind, name and dependencies of a message, and where its control information ends; raises BadRequest."""
    if at >= len(data):
        raise BadRequest("the control information is empty")
    begin, form, kind = at, data[at] >> 6, data[at] & KIND_MAX
    sender, at = read_varint(data, at + 1)
    number, at = read_varint(data, at)
    stamp = Stamp(sender, number)
    if form == _LIST:
        after, at = _decode_list(data, at)
    elif form in (_ROW, _ROW_FROM_ONE):
        lowest = 0
        if form == _ROW:
            lowest, at = read_varint(data, at)
        after, at = _decode_row(data, at, sender, lowest + 1)
    else:
        raise BadRequest(f"{form} is not a form of control information: there are 0, 1 and 2")
    check_control(stamp, after)
    if data[begin:at] != encode_control(stamp, after, kind):
        raise BadRequest("the control information is not in its shortest form")
    return kind, stamp, after, at


def _decode_list(data: bytes, at: int) -> tuple[tuple[Stamp, ...], int]:
    count, at = read_varint(data, at)
    _require_count(count)
    after: list[Stamp] = []
    member = 0
    for _ in range(count):
        step, at = read_varint(data, at)
        number, at = read_varint(data, at)
        member += step + 1
        after.append(Stamp(member, number))
    return tuple(after), at


def _decode_row(data: bytes, at: int, sender: int, lowest: int) -> tuple[tuple[Stamp, ...], int]:
    count, at = read_varint(data, at)
    _require_count(count)
    after: list[Stamp] = []
    for member in range(lowest, lowest + count):
        if member != sender:
            number, at = read_varint(data, at)
            if number:
                after.append(Stamp(member, number))
    return tuple(after), at


def _require_count(count: int) -> None:
    if count > GROUP_AFTER_MAX:
        raise BadRequest(f"a message names at most {GROUP_AFTER_MAX} members that it depends on")
