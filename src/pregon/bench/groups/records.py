"""The messages of a group as a raw client reads them: control information out of the columns of whole batches.

`client.groups.records` does the same one message at a time, for whatever may come. The hub writes the headers of its
own in one order, so that in the usual batch they stand at even distances in one column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import chain

import msgspec

from pregon.causal.message import CausalMessage
from pregon.causal.stamps import Stamp
from pregon.client.calls import Pulled
from pregon.errors import AnswerMalformed
from pregon.limits import GROUP_NUMBER_MAX
from pregon.model.batch import StoredBatch
from pregon.model.group import AFTER_HEADER, KIND_HEADER, STAMP_HEADER
from pregon.model.message import Message

_HEADERS = [KIND_HEADER, STAMP_HEADER, AFTER_HEADER]
_STAMPS = re.compile(r"[1-9][0-9]{0,18}:[1-9][0-9]{0,18}(?: [1-9][0-9]{0,18}:[1-9][0-9]{0,18})*", re.ASCII)
_make_stamp = partial(tuple.__new__, Stamp)


class Arrived(msgspec.Struct, frozen=True, gc=False):
    """What a causal message says here: its kind, and the message of the log."""

    kind: str
    message: Message


def read_records(pulled: Pulled) -> Iterator[list[CausalMessage]]:
    """The messages of an answer, batch by batch; raises AnswerMalformed for what the hub does not write."""
    for batch in pulled.batches:
        yield _records_of(batch, pulled.topic)


def _records_of(batch: StoredBatch, topic: str) -> list[CausalMessage]:
    headers = batch.rows().column("headers")
    if headers.keys.to_pylist() != _HEADERS * batch.count:
        raise AnswerMalformed("a message of the group has other headers than this benchmark sends")
    values = headers.items.to_pylist()
    stamps, afters = _decode_names(" ".join(values[1::3])), values[2::3]
    # Messages that are sent at once name the same ones: each name is read once.
    names = {text: tuple(text.split(" ")) if text else () for text in set(afters)}
    words = list(set(chain.from_iterable(names.values())))
    read = dict(zip(words, _decode_names(" ".join(words)), strict=True)) if words else {}
    decoded = {text: tuple(map(read.__getitem__, of)) for text, of in names.items()}
    bodies = map(Arrived, values[0::3], batch.messages(topic))
    return list(map(CausalMessage, stamps, map(decoded.__getitem__, afters), bodies))


def _decode_names(text: str) -> list[Stamp]:
    """The stamps of a batch, all at once."""
    if _STAMPS.fullmatch(text) is None:
        raise AnswerMalformed("a message of the group has no name")
    numbers = list(map(int, text.replace(":", " ").split(" ")))
    if max(numbers) > GROUP_NUMBER_MAX:
        raise AnswerMalformed("a message of the group has a number that is too large")
    return list(map(_make_stamp, zip(numbers[::2], numbers[1::2], strict=True)))
