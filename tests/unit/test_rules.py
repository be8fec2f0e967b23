"""Pure decisions: acknowledging, accounting, expiring, waiting again, following."""

from __future__ import annotations

import msgspec
import pytest

from pregon.client import calls
from pregon.client.calls import Pulled, PullOptions, retry_delay_ms
from pregon.client.follower import Follower
from pregon.errors import AckBeyondHead, AnswerMalformed, BadRequest, Forbidden, HubBusy
from pregon.hub.retention import expiry_target
from pregon.model.runs import runs_of
from pregon.model.subscription import Cursor, accept_ack, account
from pregon.store.cursors import Place
from pregon.wire import commands as c

CURSOR = Cursor(topic="t", subscriber="s", first_seq=1, acked_seq=10, epoch=2, expired=0, head_seq=50, tail_seq=1)


@pytest.mark.parametrize(
    ("seq", "epoch", "moves"),
    [(11, None, True), (50, 2, True), (10, None, False), (3, None, False), (0, None, False), (20, 1, False)],
)
def test_an_acknowledgement_moves_the_cursor_only_forward_and_in_its_epoch(
    seq: int, epoch: int | None, moves: bool
) -> None:
    assert accept_ack(CURSOR, seq, epoch) is moves


def test_an_acknowledgement_of_what_cannot_be_is_refused() -> None:
    with pytest.raises(BadRequest):
        accept_ack(CURSOR, -1, None)
    with pytest.raises(AckBeyondHead):
        accept_ack(CURSOR, 51, None)


def test_every_message_is_in_one_place() -> None:
    cursor = msgspec.structs.replace(CURSOR, expired=2)

    sums = account(cursor, aside_before=2, aside_after=4, returned=2, done=1)

    assert sums.accepted == sums.acknowledged + sums.pending + sums.parked + sums.expired == 50
    assert (sums.acknowledged, sums.pending, sums.parked, sums.expired) == (7, 38, 3, 2)


@pytest.mark.parametrize(
    ("pending_max", "parked", "seq_of_age", "target"),
    [
        (None, [], None, 10),
        (100, [], None, 10),
        (5, [], None, 45),
        (None, [], 31, 30),
        (5, [], 31, 45),
        (None, [], 4, 10),
        (5, [11, 12, 50], None, 44),
        (38, [11, 12], None, 10),
        (37, [12], None, 13),
    ],
)
def test_a_subscription_gives_up_only_what_passes_its_limits(
    pending_max: int | None, parked: list[int], seq_of_age: int | None, target: int
) -> None:
    assert expiry_target(Place(1, 1, pending_max, None, CURSOR), runs_of(parked), seq_of_age) == target


def test_only_a_busy_hub_is_asked_again_and_ever_more_slowly() -> None:
    delays = [retry_delay_ms(HubBusy(""), attempt) or 0 for attempt in range(20)]

    assert retry_delay_ms(Forbidden(""), 0) is None
    assert delays == sorted(delays)
    assert delays[-1] == 500


def pulled(*, epoch: int = 0, base_seq: int = 0, acked_seq: int = 0, head_seq: int = 0) -> Pulled:
    """An answer; its one batch is never opened."""
    batches = [b""] if base_seq else []
    header = c.Messages(
        epoch=epoch,
        acked_seq=acked_seq,
        head_seq=head_seq,
        base_seqs=[base_seq] if base_seq else [],
        counts=[10] if base_seq else [],
    )
    return Pulled("t", header, batches)


def test_a_follower_reads_ahead_only_where_more_is_known_to_be() -> None:
    follower = Follower("t", "s", PullOptions())

    more = follower.pull_ahead(pulled(base_seq=11, acked_seq=10, head_seq=50, epoch=3))
    everything = follower.pull_ahead(pulled(base_seq=41, acked_seq=10, head_seq=50))
    unparked = follower.pull_ahead(pulled(base_seq=1, acked_seq=30, head_seq=50))

    assert more is not None
    assert more.header == c.Pull(topic="t", subscriber="s", epoch=3, after=20)
    assert everything is None
    assert unparked is None
    assert follower.pull_ahead(pulled()) is None


def test_a_follower_acknowledges_what_was_dealt_with_and_no_more() -> None:
    follower = Follower("t", "s", PullOptions())

    first = follower.next_pull().header
    follower.pulled(pulled(epoch=4))
    follower.dealt_with(7)
    second = follower.next_pull().header

    assert first == c.Pull(topic="t", subscriber="s")
    assert second == c.Pull(topic="t", subscriber="s", ack=7, epoch=4)
    last = follower.last_ack()
    assert last is not None
    assert last.header == c.Ack(topic="t", subscriber="s", seq=7, epoch=4)


def test_a_follower_that_dealt_with_nothing_new_has_nothing_to_acknowledge() -> None:
    follower = Follower("t", "s", PullOptions())
    follower.dealt_with(7)
    follower.next_pull()

    follower.pulled(pulled())

    assert follower.last_ack() is None


def test_a_follower_that_reads_ahead_acknowledges_with_the_pull_after() -> None:
    follower = Follower("t", "s", PullOptions())
    follower.next_pull()
    first = pulled(base_seq=1, head_seq=50)
    follower.pulled(first)
    follower.pull_ahead(first)
    follower.dealt_with(10)

    follower.pulled(pulled(base_seq=11, head_seq=50))
    ahead = follower.pull_ahead(pulled(base_seq=11, head_seq=50))

    assert ahead is not None
    assert ahead.header == c.Pull(topic="t", subscriber="s", ack=10, epoch=0, after=20)


def test_an_answer_that_contradicts_itself_is_malformed() -> None:
    with pytest.raises(AnswerMalformed):
        Pulled("t", c.Messages(base_seqs=[1], counts=[1]), [])
    with pytest.raises(AnswerMalformed):
        calls.status().read(c.Rows(rows=[]), [])
