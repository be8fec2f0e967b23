"""Strategies: messages with everything that a message may have, and batches of them."""

from hypothesis import strategies as st

from pregon.model.batch import StoredBatch, encode, pack, stamp
from pregon.model.message import Outgoing

PRODUCERS = ("registry", "hospital", "ñandú")
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
outgoing = st.builds(
    Outgoing,
    body=st.binary(max_size=20),
    id=texts.filter(bool),
    key=st.none() | texts,
    content_type=st.sampled_from(["text/plain", "application/xml", "application/octet-stream"]),
    headers=st.dictionaries(texts, texts, max_size=3),
)


@st.composite
def sent_frames(draw: st.DrawFn) -> bytes:
    """A batch as a producer sends it."""
    messages = draw(st.lists(outgoing, min_size=1, max_size=8))
    instants = draw(st.lists(st.integers(0, 2**52), min_size=len(messages), max_size=len(messages)))
    return bytes(encode(pack(messages, instants)))


@st.composite
def stored_batches(draw: st.DrawFn, base_seq: int | None = None) -> StoredBatch:
    """A batch as the hub stores it."""
    messages = draw(st.lists(outgoing, min_size=1, max_size=8))
    producers = draw(st.lists(st.sampled_from(PRODUCERS), min_size=len(messages), max_size=len(messages)))
    rows = stamp(pack(messages, range(len(messages))), producers, draw(st.integers(0, 2**52)))
    base = base_seq if base_seq is not None else draw(st.integers(1, 1_000))
    return StoredBatch(base, len(messages), encode(rows).to_pybytes())


@st.composite
def neighbours(draw: st.DrawFn) -> list[StoredBatch]:
    """Batches that follow one another."""
    batches: list[StoredBatch] = []
    for _ in range(draw(st.integers(1, 5))):
        batches.append(draw(stored_batches(batches[-1].last_seq + 1 if batches else 1)))
    return batches


def contents(*batches: StoredBatch) -> list[tuple[object, ...]]:
    """All that can be seen of the messages of batches."""
    return [
        (m.seq, m.id, m.key, m.content_type, m.headers, m.body, m.producer, m.published_us, m.accepted_us)
        for batch in batches
        for m in batch.messages("topic")
    ]
