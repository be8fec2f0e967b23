"""Who has no right learns nothing, collects nothing and serves nothing; and what a key opened is closed with it."""

from __future__ import annotations

import json

import pytest
from property.stage import Stage

from pregon.model.service import CurveKey
from pregon.services.keyholders import AsTheHub, Keyholders
from pregon.wire import services as wire
from pregon.wire.services import encode_head

ASKS, SERVES = "portal", "tarificador"


@pytest.fixture
def keys() -> Keyholders:
    """A client that asks for A, and a worker that serves A and B."""
    return Keyholders(
        [
            CurveKey(name=ASKS, public="p" * 40, asks=("A",)),
            CurveKey(name=SERVES, public="s" * 40, serves=("A", "B")),
        ]
    )


def query(stage: Stage, user: str) -> list[str]:
    """The types that somebody is shown."""
    stage.front(b"q", encode_head(wire.QUERY, bytes(8)), user=user)
    return [row["type"] for (body,) in stage.answers(b"q") for row in json.loads(body)]


def test_each_is_shown_what_it_may_ask_for(keys: Keyholders) -> None:
    stage = Stage(rights=keys)
    stage.hello(b"w", "A", "B", user=SERVES)

    assert query(stage, ASKS) == ["A"]
    assert query(stage, SERVES) == []


@pytest.mark.parametrize("kind", [wire.QUERY, wire.COLLECT])
def test_a_key_that_is_known_no_more_neither_looks_nor_collects(keys: Keyholders, kind: int) -> None:
    stage = Stage(rights=keys)
    keys.renew([])

    stage.front(b"q", encode_head(kind, bytes(8), b"some-id"), user="")

    assert stage.errors(b"q") == ["forbidden"]


@pytest.mark.parametrize(("is_free", "told"), [(True, []), (False, ["forbidden"])])
def test_without_curve_it_is_as_the_hub_says(is_free: bool, told: list[str]) -> None:
    stage = Stage(rights=AsTheHub(lambda: is_free))

    stage.front(b"q", encode_head(wire.QUERY, bytes(8)))

    assert stage.errors(b"q") == told


def test_what_a_dismissed_worker_had_goes_to_another_and_is_not_held_against_it(keys: Keyholders) -> None:
    stage = Stage({"attempts_max": 1}, rights=keys)
    stage.hello(b"w", "A", user=SERVES)
    stage.ask(b"c", 1, "A", user=ASKS)
    keys.renew(
        [CurveKey(name=ASKS, public="p" * 40, asks=("A",)), CurveKey(name="new", public="n" * 40, serves=("A",))]
    )

    stage.parts.dismiss_without_right()
    stage.hello(b"v", "A", user="new")
    (work,) = stage.work(b"v")
    stage.back(b"v", encode_head(wire.ANSWER, work.id), b"done", user="new")

    assert stage.answers(b"c") == [[b"done"]]
    assert b"w" not in stage.broker.workers
    assert stage.broker.counts.poisoned == 0
