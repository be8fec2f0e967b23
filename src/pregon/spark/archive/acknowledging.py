"""Telling the hub what is archived, as soon as it is: it may forget it then.

Spark itself tells a source that a batch is done when the next one begins, which for the last batch of a run is never.

Promises:
- Nothing is acknowledged that is not in a commit of the archive; the same is not acknowledged twice in a row.
- A topic that was deleted meanwhile has nothing to acknowledge, and is no error.
"""

from __future__ import annotations

from functools import partial
from urllib.parse import quote

from pregon.errors import AckBeyondHead, NotFound
from pregon.spark.hub_door import HubDoor, patiently, topic_path
from pregon.spark.logs import TOPIC_OF
from pregon.spark.offsets import Offset, Place
from pregon.spark.options import SourceOptions


class Acknowledger:
    """Acknowledges as the options' subscriber, or moves their mark; does nothing if they have neither."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._said: dict[str, Place] = {}

    def acknowledge(self, end: Offset) -> None:
        """Everything before this is archived."""
        changed = {name: place for name, place in end.items() if place.next > 1 and self._said.get(name) != place}
        if not changed or not (self._options.subscriber or self._options.mark):
            return
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
        subscription = (
            f"{topic_path(TOPIC_OF.get(name, name))}/subscriptions/{quote(self._options.subscriber, safe='')}"
        )
        try:
            door.send("POST", f"{subscription}/ack", {"seq": place.next - 1})
        except (NotFound, AckBeyondHead):
            # It was deleted, or deleted and made again: what is archived is of the old one.
            pass
