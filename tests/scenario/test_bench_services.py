"""The contenders of the services' benchmark that need nothing installed: they answer, and leave nothing running."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pregon.bench.peers import PeerFailed
from pregon.bench.services import library, majordomo, pregon_broker, raw_zmq
from pregon.bench.services.actors import Actor
from pregon.bench.services.asking import Ask
from pregon.bench.services.contender import Contender

CONTENDERS = (
    raw_zmq.c_proxy,
    pregon_broker.by_heads,
    pregon_broker.by_plain_form,
    library.by_map,
    library.by_await,
    majordomo.majordomo,
)


def children() -> set[str]:
    """The processes that this one has started and that still run."""
    return set(Path("/proc/self/task").joinpath(str(Path("/proc/self").resolve().name), "children").read_text().split())


@pytest.mark.parametrize("make", CONTENDERS, ids=lambda make: make.__name__)
def test_a_contender_answers_every_request_and_leaves_nothing_running(
    make: Callable[[], Contender], tmp_path: Path
) -> None:
    contender, before = make(), children()

    contender.start(tmp_path)
    try:
        alone, together = contender.ask(Ask(seconds=0.1, in_flight=1)), contender.ask(Ask(seconds=0.1, in_flight=50))
    finally:
        contender.stop()

    assert alone.requests >= 1 and alone.p50_us > 0
    assert together.requests >= 50
    assert children() <= before


def test_an_actor_that_cannot_start_is_told_with_its_log(tmp_path: Path) -> None:
    with Actor(tmp_path / "actor.log", "majordomo", "no-such-role") as actor, pytest.raises(PeerFailed) as told:
        actor.wait_until_ready()

    assert "no-such-role" in str(told.value)
    assert "KeyError" in str(told.value)
