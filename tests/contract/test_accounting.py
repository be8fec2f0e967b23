"""Every message is accounted for: accepted = acknowledged + pending + parked + expired, at any moment.

`verbs.account` checks the sum each time that it is asked; here is what each state counts.
"""

import threading

import pytest

from pregon.errors import NotFound
from pregon.hub.hub import Hub
from pregon.model.catalog import Retention, Topic

from .verbs import TOPIC, account, ack, fill, park, pull, replay, say, subscribe, tally, unpark


def test_a_subscription_of_an_empty_topic_counts_nothing(hub: Hub) -> None:
    subscribe(hub)

    found = account(hub)

    assert (found.accepted, found.first_seq, found.acked_seq, found.head_seq) == (0, 1, 0, 0)


@pytest.mark.parametrize(("start", "first"), [("earliest", 1), ("latest", 6), ("3", 3), ("0", 1), ("99", 6)])
def test_a_subscription_counts_from_its_first_message(hub: Hub, start: str, first: int) -> None:
    fill(hub, 5)
    subscribe(hub, start=start)

    say(hub, "6", "7")

    found = account(hub)
    assert (found.first_seq, found.accepted, found.pending) == (first, 8 - first, 8 - first)


def test_every_state_adds_up_along_a_life(hub: Hub) -> None:
    subscribe(hub, pending_max=6)
    fill(hub, 10)
    seen = [tally(hub)]

    hub.maintenance.run_once()
    seen.append(tally(hub))
    park(hub, 6, 8)
    seen.append(tally(hub))
    ack(hub, 7)
    seen.append(tally(hub))
    unpark(hub)
    seen.append(tally(hub))
    pull(hub)
    ack(hub, 6)
    seen.append(tally(hub))
    replay(hub, from_seq=3)
    seen.append(tally(hub))
    ack(hub, 10)
    seen.append(tally(hub))

    assert [tuple(one.values()) for one in seen] == [
        (0, 10, 0, 0),
        (0, 6, 0, 4),
        (0, 4, 2, 4),
        (2, 2, 2, 4),
        (2, 4, 0, 4),
        (3, 3, 0, 4),
        (0, 8, 0, 2),
        (8, 0, 0, 2),
    ]


def test_what_the_log_has_removed_stays_counted(hub: Hub) -> None:
    hub.create(Topic(name=TOPIC, retention=Retention(when_acknowledged=True))).result()
    subscribe(hub, pending_max=4)
    fill(hub, 10)
    park(hub, 9)
    hub.maintenance.run_once()
    before = tally(hub)
    ack(hub, 10)
    hub.maintenance.run_once()

    after = tally(hub)

    assert sum(before.values()) == sum(after.values()) == 10
    assert after == {"acknowledged": before["pending"], "pending": 0, "parked": 1, "expired": before["expired"]}


def test_a_replay_clamped_to_the_log_revives_only_what_the_log_has(hub: Hub) -> None:
    hub.create(Topic(name=TOPIC, retention=Retention(when_acknowledged=True))).result()
    subscribe(hub, "anchor")
    subscribe(hub, pending_max=1)
    for number in range(8):
        say(hub, str(number))
    ack(hub, 3, "anchor")
    hub.maintenance.run_once()

    replay(hub, from_seq=1)

    assert tally(hub) == {"acknowledged": 0, "pending": 5, "parked": 0, "expired": 3}


def test_an_unknown_subscription_has_no_accounting(hub: Hub) -> None:
    say(hub, "x")

    with pytest.raises(NotFound):
        account(hub)

    assert hub.list("subscription").result() == []


def test_the_sum_holds_at_any_moment_of_a_busy_life(hub: Hub) -> None:
    fill(hub, 5)
    subscribe(hub, pending_max=20)
    is_over = threading.Event()
    errors: list[BaseException] = []

    def live() -> None:
        try:
            for number in range(40):
                say(hub, "x", "y", "z")
                park(hub, hub.account(TOPIC, "bank").result().head_seq)
                ack(hub, hub.account(TOPIC, "bank").result().acked_seq + 2)
                if number % 5 == 0:
                    unpark(hub)
                if number % 7 == 0:
                    replay(hub, from_seq=1)
                hub.maintenance.run_once()
        except BaseException as error:
            errors.append(error)
        finally:
            is_over.set()

    life = threading.Thread(target=live)
    life.start()
    looks = 0
    while not is_over.is_set():
        account(hub)
        looks += 1
    life.join()

    assert not errors
    assert looks > 20
