"""Telling the hub what is archived, as soon as it is: it may forget it then.

Spark itself tells a source that a batch is done when the next one begins, which for the last batch of a run is never.

Promises:
- Nothing is acknowledged that is not in a commit of the archive; the same is not acknowledged twice in a row.
- A topic that was deleted meanwhile, or deleted and made again, has nothing to acknowledge, and is no error.
- A subscription that somebody deleted is told of, once: until it is there again, the hub keeps nothing for the archive.
"""

from __future__ import annotations

import logging
from functools import partial
from urllib.parse import quote

from pregon.errors import AckBeyondHead, NotFound
from pregon.spark.archive.commits import Life
from pregon.spark.hub_door import HubDoor, patiently, topic_path
from pregon.spark.logs import TOPIC_OF, Logs
from pregon.spark.offsets import Offset, Place
from pregon.spark.options import SourceOptions

log = logging.getLogger("pregon.spark")


class Acknowledger:
    """Acknowledges as the options' subscriber, or moves their mark; does nothing if they have neither."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._said: dict[str, Place] = {}
        self._warned: set[str] = set()

    def acknowledge(self, end: Offset) -> None:
        """Everything before this is archived."""
        changed = {name: place for name, place in end.items() if place.next > 1 and self._said.get(name) != place}
        if not changed or not (self._options.subscriber or self._options.mark):
            return
        if self._options.subscriber:
            there = _lives_now(self._options)
            # What has the same numbers in a topic that was made again is not archived.
            changed = {name: place for name, place in changed.items() if there.get(name) == place.since}
        door = HubDoor(self._options.destination())
        try:
            for name, place in changed.items():
                patiently(partial(self._say, door, name, place), self._options.timeout_ms)
                self._said[name] = place
        finally:
            door.close()

    def _say(self, door: HubDoor, name: str, place: Place) -> None:
        if self._options.mark:
            door.send("PUT", f"/v1/traces/marks/{quote(self._options.mark, safe='')}", {"id": place.next - 1})
            return
        topic, subscriber = TOPIC_OF.get(name, name), self._options.subscriber
        try:
            door.send(
                "POST", f"{topic_path(topic)}/subscriptions/{quote(subscriber, safe='')}/ack", {"seq": place.next - 1}
            )
        except AckBeyondHead:
            # It was made again just now: what is archived is of the old one.
            pass
        except NotFound:
            if name not in self._warned:
                self._warned.add(name)
                log.warning(
                    "%s is not subscribed to %s any more: its retention does not wait for the archive. Start the "
                    "archive again, or create the subscription",
                    subscriber,
                    topic,
                )


def is_gone(options: SourceOptions, life: Life) -> bool:
    """Whether a topic is not there any more, or is another of the same name."""
    topic, since = life
    return _lives_now(options).get(topic) != since


def _lives_now(options: SourceOptions) -> dict[str, int]:
    """When each log was made that is there."""
    logs = Logs(options)
    try:
        return {name: end.since for name, end in logs.ends().items()}
    finally:
        logs.close()
