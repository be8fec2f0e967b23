"""Envelopes are split at the first delimiter, limits are limits, and the table of patterns is whole."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregon import patterns
from pregon.errors import BadRequest, SettingsInvalid
from pregon.limits import SERVICE_ENVELOPE_FRAMES_MAX
from pregon.patterns import PATTERNS, Options, join_envelope, split_envelope


@pytest.mark.parametrize(
    ("frames", "envelope", "body"),
    [
        ([b"", b"100"], [], [b"100"]),
        ([b"id234", b"", b"100"], [b"id234"], [b"100"]),
        ([b"broker", b"client", b"", b"a", b"", b"b"], [b"broker", b"client"], [b"a", b"", b"b"]),
        ([b"client", b""], [b"client"], []),
    ],
)
def test_an_envelope_ends_at_the_first_empty_frame(
    frames: list[bytes], envelope: list[bytes], body: list[bytes]
) -> None:
    found = split_envelope(frames)

    assert found == (envelope, body)
    assert join_envelope(*found) == frames


@pytest.mark.parametrize(
    "frames",
    [[], [b"100"], [b"client", b"100"], [b"hop"] * (SERVICE_ENVELOPE_FRAMES_MAX + 1) + [b"", b"100"]],
)
def test_a_message_whose_envelope_does_not_end_is_refused_with_what_to_do(frames: list[bytes]) -> None:
    with pytest.raises(BadRequest, match="put an empty frame before the body"):
        split_envelope(frames)


@given(
    st.lists(st.binary(min_size=1, max_size=8), max_size=SERVICE_ENVELOPE_FRAMES_MAX),
    st.lists(st.binary(max_size=8), max_size=5),
)
def test_what_was_joined_is_split_again(envelope: list[bytes], body: list[bytes]) -> None:
    frames = join_envelope(envelope, body)

    found = split_envelope(frames)

    assert found == (envelope, body)


@pytest.mark.parametrize(
    "wrong",
    [
        {"queue_messages_max": 0},
        {"queue_messages_max": 10**9},
        {"frame_bytes_max": -1},
        {"frame_bytes_max": 2**40},
        {"linger_ms": -1},
        {"wait_ms": -1},
    ],
)
def test_a_limit_that_is_none_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsInvalid) as refused:
        Options(**wrong)

    assert next(iter(wrong)) in str(refused.value)


def test_every_pattern_says_what_it_guarantees_and_what_its_traps_are() -> None:
    names = [pattern.name for pattern in PATTERNS]

    sentences = [
        sentence for pattern in PATTERNS for sentence in (pattern.purpose, *pattern.guarantees, *pattern.traps)
    ]

    assert len(set(names)) == len(names)
    assert all(pattern.guarantees and pattern.traps for pattern in PATTERNS)
    assert all(sentence.endswith(".") for sentence in sentences)


def test_every_name_that_the_package_promises_can_be_imported() -> None:
    promised = patterns.__all__

    missing = [name for name in promised if not hasattr(patterns, name)]

    assert missing == []
