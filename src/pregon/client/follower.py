"""Follow a subscription: pull, deal with each message, acknowledge with the next pull.

Pure. A message is acknowledged when the one after it is asked for, never before it was dealt with.
"""

from __future__ import annotations

from pregon.client import calls
from pregon.client.calls import Call, Pulled, PullOptions


class Follower:
    """Where a follower is."""

    def __init__(self, topic: str, subscriber: str, options: PullOptions) -> None:
        self._topic = topic
        self._subscriber = subscriber
        self._options = options
        self._done_seq: int | None = None
        self._epoch: int | None = None

    def next_pull(self) -> Call[Pulled]:
        """The next pull, which acknowledges what was dealt with."""
        return calls.pull(self._topic, self._subscriber, self._done_seq, self._epoch, self._options)

    def pulled(self, answer: Pulled) -> None:
        """The pull was answered, and so its acknowledgement taken."""
        self._done_seq = None
        self._epoch = answer.epoch

    def dealt_with(self, seq: int) -> None:
        """The caller came back for the message after this one."""
        self._done_seq = seq

    def last_ack(self) -> Call[int] | None:
        """What to acknowledge at the end, if anything."""
        if self._done_seq is None:
            return None
        return calls.ack(self._topic, self._subscriber, self._done_seq, self._epoch)
