"""The messages of a group as a raw client reads them: control information out of the columns of whole batches.

The body of a causal message is the message of the log, or None for one that only says who joins or leaves.
`client.groups.records` does the same for whatever may come, checks it, and remembers what it has read. Here nothing is
remembered from one answer to the next: members that share a process would share that, and be faster than real ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import chain

import pyarrow as pa

from pregon.causal.message import CausalMessage
from pregon.causal.stamps import Stamp
from pregon.client.calls import Pulled
from pregon.errors import AnswerMalformed
from pregon.limits import GROUP_NUMBER_MAX
from pregon.model.batch import StoredBatch
from pregon.model.group import AFTER_HEADER, KIND_HEADER, MESSAGE, STAMP_HEADER
from pregon.model.message import Message

_HEADERS = [KIND_HEADER, STAMP_HEADER, AFTER_HEADER]
_STAMPS = re.compile(r"[1-9][0-9]{0,18}:[1-9][0-9]{0,18}(?: [1-9][0-9]{0,18}:[1-9][0-9]{0,18})*", re.ASCII)
_make_stamp = partial(tuple.__new__, Stamp)


@lru_cache(maxsize=1_024)
def _usual_names(count: int) -> pa.Array:
    """The names of the headers of so many messages."""
    return pa.array(_HEADERS * count, pa.string())


def read_records(pulled: Pulled) -> Iterator[CausalMessage]:
    """The messages of an answer, in their order; raises AnswerMalformed for what the hub does not write."""
    return chain.from_iterable(_records_of(batch, pulled.topic) for batch in pulled.batches)


def _records_of(batch: StoredBatch, topic: str) -> list[CausalMessage]:
    headers = batch.rows().column("headers")
    if not headers.keys.equals(_usual_names(batch.count)):
        raise AnswerMalformed("a message of the group has other headers than this benchmark sends")
    values = headers.items.to_pylist()
    kinds, names, afters = values[0::3], values[1::3], values[2::3]
    messages: list[Message | None] = [*batch.messages(topic)]
    if kinds.count(MESSAGE) < batch.count:
        messages = [one if kind == MESSAGE else None for kind, one in zip(kinds, messages, strict=True)]
    return list(map(CausalMessage, _decode_names(" ".join(names)), _decode_afters(afters), messages))


def _decode_afters(texts: list[str]) -> Iterator[tuple[Stamp, ...]]:
    """What each depends on. Messages that are sent at once name the same ones: each name is read once."""
    words_of = {text: text.split(" ") if text else [] for text in set(texts)}
    words = list(set(chain.from_iterable(words_of.values())))
    stamps = dict(zip(words, _decode_names(" ".join(words)), strict=True)) if words else {}
    decoded = {text: tuple(map(stamps.__getitem__, of)) for text, of in words_of.items()}
    return map(decoded.__getitem__, texts)


def _decode_names(text: str) -> list[Stamp]:
    """The stamps of a batch, all at once."""
    if _STAMPS.fullmatch(text) is None:
        raise AnswerMalformed("a message of the group has no name")
    numbers = list(map(int, text.replace(":", " ").split(" ")))
    if max(numbers) > GROUP_NUMBER_MAX:
        raise AnswerMalformed("a message of the group has a number that is too large")
    return list(map(_make_stamp, zip(numbers[::2], numbers[1::2], strict=True)))
