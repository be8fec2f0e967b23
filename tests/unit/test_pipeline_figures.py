"""Figures: what is written is read back, and what is not figures is refused."""

from __future__ import annotations

import json

import pytest

from pregon.errors import BadRequest
from pregon.model.pipeline_figures import (
    RECONCILIATION,
    STEPS,
    SUBSCRIPTIONS_MAX,
    TEXT_MAX,
    decode_figures,
    encode_figures,
    tidy_ms,
    tidy_text,
)

from .pipeline_figures import all_figures, levels, reconciled


@pytest.mark.parametrize("step", STEPS)
def test_figures_are_read_back_as_they_were(step: str) -> None:
    _, figures = all_figures(is_right=False)[step]

    read = decode_figures(step, encode_figures(figures))

    assert read == figures


def test_a_class_of_service_is_called_class_for_programs() -> None:
    (first, *_) = json.loads(encode_figures(levels()))["subscriptions"]

    assert first["class"] == "acceptable"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"\xff",
        b'{"subscriptions": "many"}',
        encode_figures(reconciled()).replace(b'"verified": 12', b'"verified": -1'),
        encode_figures(reconciled(is_right=False)).replace(b"nacidos", b"n" * (TEXT_MAX + 1)),
    ],
    ids=["empty", "nothing in it", "not UTF-8", "of the wrong type", "a count below zero", "too long a text"],
)
def test_what_is_not_figures_is_refused_with_what_to_do(text: bytes) -> None:
    with pytest.raises(BadRequest, match="pregon pipeline run reconciliation"):
        decode_figures(RECONCILIATION, text)


def test_more_rows_than_figures_have_are_refused() -> None:
    figures = json.loads(encode_figures(levels()))
    figures["subscriptions"] *= SUBSCRIPTIONS_MAX

    with pytest.raises(BadRequest, match="service-levels"):
        decode_figures("service-levels", json.dumps(figures).encode())


def test_long_texts_are_cut_and_times_that_are_none_left_out() -> None:
    assert tidy_text("x" * (TEXT_MAX + 1)) == "x" * (TEXT_MAX - 1) + "…"
    assert tidy_text(None) == ""
    assert [tidy_ms(value) for value in (None, float("nan"), 1.23456)] == [None, None, 1.235]
