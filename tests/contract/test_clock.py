"""Acceptance times follow the numbers, even when someone sets the machine's clock back."""

from .site import Clock, Site
from .verbs import ack, fill, pending, read, replay, say, say_batch, subscribe


def times(site: Site) -> list[int]:
    """When each message was accepted."""
    return [message.accepted_us for message in read(site.hub)]


def test_a_message_has_the_time_at_which_it_was_accepted(clock: Clock, site: Site) -> None:
    site.restart()
    first = clock.move_ms(1_000)
    say(site.hub, "a")
    second = clock.move_ms(1_000)

    say_batch(site.hub, "b", "c")

    assert times(site) == [first, second, second]


def test_acceptance_times_do_not_go_back_with_the_clock(clock: Clock, site: Site) -> None:
    site.restart()
    say(site.hub, "a")
    noon = clock.now_us
    clock.move_ms(-3_600_000)
    say(site.hub, "b")
    say_batch(site.hub, "c", "d")
    later = clock.move_ms(7_200_000)

    say(site.hub, "e")

    assert times(site) == [noon, noon, noon, noon, later]


def test_acceptance_times_do_not_go_back_across_a_restart(clock: Clock, site: Site) -> None:
    site.restart()
    say(site.hub, "a")
    noon = clock.now_us
    clock.move_ms(-3_600_000)

    say(site.restart(), "b")

    assert times(site) == [noon, noon]


def test_acceptance_times_do_not_go_back_in_another_topic_either(clock: Clock, site: Site) -> None:
    site.restart()
    say(site.hub, "a", topic="deaths")
    noon = clock.now_us
    clock.move_ms(-3_600_000)

    say(site.restart(), "b")

    assert times(site) == [noon]


def test_a_replay_by_time_is_right_after_the_clock_went_back(clock: Clock, site: Site) -> None:
    site.restart()
    say(site.hub, "1")
    noon = clock.now_us
    clock.move_ms(-3_600_000)
    site.restart()
    say(site.hub, "2")
    clock.move_ms(3_600_001)
    say(site.hub, "3")
    subscribe(site.hub)
    ack(site.hub, 3)

    replay(site.hub, from_us=noon + 1)

    assert pending(site.hub) == [3]
    replay(site.hub, from_us=noon)
    assert pending(site.hub) == [1, 2, 3]


def test_a_clock_set_back_expires_nothing_early(clock: Clock, site: Site) -> None:
    hub = site.restart()
    subscribe(hub, pending_age_ms=1_000)
    fill(hub, 3)
    clock.move_ms(-3_600_000)

    hub.maintenance.run_once()

    assert pending(hub) == [1, 2, 3]
