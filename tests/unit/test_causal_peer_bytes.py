"""The bytes that the reference draws are those that are sent."""

from pathlib import Path

import pytest

from pregon.causal.message import CausalMessage
from pregon.causal.peer_bytes import encode_frame, encode_gone, encode_introduction, encode_message
from pregon.causal.peer_frames import (
    AskFrame,
    Card,
    Introduction,
    JoinFrame,
    LeavingFrame,
    LostFrame,
    NeverFrame,
    ReportFrame,
    StartFrame,
)
from pregon.causal.stamps import Stamp

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "groups-peers.md"
CARDS = (Card(1, 0, Stamp(1, 1), "ana", ""), Card(2, 3, Stamp(1, 4), "luis", ""))
EVA = Introduction(1, "eva", "")
DRAWN = {
    "an ordinary message": encode_message(CausalMessage(Stamp(3, 17), (Stamp(2, 5), Stamp(4, 9))), 0, b"hola"),
    "joined": encode_message(CausalMessage(Stamp(3, 1), (Stamp(1, 5), Stamp(2, 2))), 1, encode_introduction(EVA)),
    "gone": encode_message(CausalMessage(Stamp(1, 6), (Stamp(2, 9),)), 3, encode_gone(2, 9)),
    "join": encode_frame(JoinFrame(3, 0, "eva", "", {})),
    "start": encode_frame(StartFrame(1, 1, 3, {1: 5, 2: 2}, CARDS)),
    "report": encode_frame(ReportFrame(1, 1, True, {1: 5, 2: 2, 3: 300})),
    "ask": encode_frame(AskFrame(1, 2, 3, 4)),
    "lost": encode_frame(LostFrame(2, 3, 1, 7, ())),
    "never": encode_frame(NeverFrame(2, 6)),
    "leaving": encode_frame(LeavingFrame(2)),
}


def drawn_bytes(text: str) -> str:
    """The bytes at the beginning of each line of a page, one after the other."""
    found: list[str] = []
    for line in text.splitlines():
        for word in line.split():
            if len(word) != 2 or not all(letter in "0123456789abcdef" for letter in word):
                break
            found.append(word)
    return " ".join(found)


@pytest.mark.parametrize("name", DRAWN)
def test_the_reference_draws_the_bytes_that_are_sent(name: str) -> None:
    assert DRAWN[name].hex(" ") in drawn_bytes(PAGE.read_text())
