"""A hub that is stopped and started again goes on where it was; and a directory has one hub at a time."""

from collections.abc import Callable

import pytest

from pregon.errors import DataDirectoryInUse
from pregon.model.catalog import Retention, Topic
from pregon.model.trace import PULLED, TraceQuery
from pregon.store.database import Database

from .site import Site
from .verbs import (
    TOPIC,
    account,
    ack,
    batch_of,
    fill,
    messages,
    park,
    pending,
    pull,
    read,
    replay,
    say,
    say_as,
    send,
    subscribe,
    unpark,
)


def test_everything_is_there_after_a_restart(site: Site) -> None:
    hub = site.hub
    hub.create(Topic(name=TOPIC, retention=Retention(when_acknowledged=True))).result()
    for name in ("parks", "replays", "expires", "waits"):
        subscribe(hub, name, pending_max=4 if name == "expires" else None)
    fill(hub, 6)
    say_as(hub, "x", "seven")
    send(hub, batch_of("eight"), "s", 1).result()
    park(hub, 2, 8, subscriber="parks")
    ack(hub, 5, "parks")
    unpark(hub, 2, subscriber="parks")
    ack(hub, 8, "replays")
    replay(hub, from_seq=7, subscriber="replays")
    hub.maintenance.run_once()

    def everything() -> list[object]:
        return [
            [(message.seq, message.id, message.body, message.accepted_us) for message in read(site.hub)],
            [account(site.hub, name) for name in ("parks", "replays", "expires", "waits")],
            [pending(site.hub, name) for name in ("parks", "replays", "expires", "waits")],
            [pull(site.hub, name).epoch for name in ("parks", "replays", "expires", "waits")],
            # Looking is traced too, but for that it was the same before and after.
            [one for one in site.hub.traces(TraceQuery(max=1_000)).result() if one.kind != PULLED],
            *(site.hub.list(kind).result() for kind in ("topic", "producer", "subscriber", "subscription")),
        ]

    before = everything()
    site.restart()

    assert everything() == before


def test_numbers_go_on_after_a_restart(site: Site) -> None:
    say(site.hub, "a", "b")

    numbers = [say(site.restart(), "x")[0] for _ in range(3)]

    assert numbers == [3, 4, 5]


def test_a_restart_of_an_empty_hub_is_no_event(site: Site) -> None:
    hub = site.restart()

    assert hub.list("topic").result() == []
    assert say(hub, "a") == [1]


def test_what_a_subscriber_had_not_acknowledged_comes_again(site: Site) -> None:
    say(site.hub, "a", "b", "c")
    first = pull(site.hub)
    ack(site.hub, 1)

    again = pull(site.restart())

    assert [message.text for message in messages(first.batches)] == ["a", "b", "c"]
    assert [message.text for message in messages(again.batches)] == ["b", "c"]


def test_one_place_has_one_hub_at_a_time(site: Site, open_database: Callable[[], Database]) -> None:
    say(site.hub, "a")

    with pytest.raises(DataDirectoryInUse):
        open_database()

    assert say(site.hub, "b") == [2]
    site.stop()
    open_database().close()
