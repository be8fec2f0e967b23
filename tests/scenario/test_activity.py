"""A hub's activity, with its own thread: what flows is told, and known after a restart."""

from __future__ import annotations

from pathlib import Path

from pregon.model.catalog import PUSH, RAW, Subscriber, Subscription
from pregon.testing import Receiver, run_hub

from .hub_process import wait_until


def test_what_was_published_pushed_and_acknowledged_is_told_also_after_a_restart(tmp_path: Path) -> None:
    with run_hub(tmp_path, push_allow="127.0.0.1", feed="", ingest="", http="") as running, Receiver() as receiver:
        hub, activity = running.server.hub, running.server.activity
        hub.create(Subscriber(name="bps", mode=PUSH, endpoint=receiver.url, format=RAW)).result()
        hub.create(Subscription(topic="fallecidos", subscriber="bps")).result()
        hub.create(Subscription(topic="fallecidos", subscriber="imm")).result()
        with running.client() as client:
            for number in range(20):
                client.publish("fallecidos", str(number))
            client.ack("fallecidos", "imm", 15)
        wait_until(lambda: sum(one.out for one in activity.series("hour")) == 35, "all that got out is counted")
        wait_until(lambda: activity.now().p95_ms is not None, "the thread has taken a sample")
        now = activity.now()
        waiting = {one.subscriber: one.pending for one in activity.backlogs()}

    with run_hub(tmp_path, feed="", ingest="", http="") as running:
        hour, day = (running.server.activity.series(span) for span in ("hour", "day"))

    assert now.in_per_s > 0
    assert [one.topic for one in now.topics] == ["fallecidos"]
    assert waiting["imm"] == 5
    assert [sum(point.accepted for point in series) for series in (hour, day)] == [20, 20]
    assert sum(point.out for point in hour) == 35
    assert any(point.p95_ms is not None for point in hour)
