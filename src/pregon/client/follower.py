"""Follow a subscription: pull, deal with each message, acknowledge with a later pull.

Pure. A message is acknowledged after it was dealt with, never before. While there is more in the hub than the
last answer held, the next answer is asked for ahead, so that the hub reads while the caller works.
"""

from __future__ import annotations

from collections import deque

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
        self._asked: deque[int | None] = deque()
        """What the pulls under way acknowledge."""

    def next_pull(self) -> Call[Pulled]:
        """The next pull, which acknowledges what was dealt with."""
        self._asked.append(self._done_seq)
        return calls.pull(self._topic, self._subscriber, self._done_seq, self._epoch, self._options)

    def pull_ahead(self, answer: Pulled) -> Call[Pulled] | None:
        """The pull after this answer, to send before dealing with it; None if nothing is known to be there.

        Of unparked messages behind the cursor nothing is asked ahead; of those after it the hub knows that they
        came alone.
        """
        last_seq = answer.last_seq
        if last_seq is None or not answer.acked_seq < last_seq < answer.head_seq:
            return None
        self._asked.append(self._done_seq)
        return calls.pull(self._topic, self._subscriber, self._done_seq, answer.epoch, self._options, after=last_seq)

    def pulled(self, answer: Pulled) -> None:
        """The oldest pull under way was answered, and so its acknowledgement taken."""
        if self._done_seq == self._asked.popleft():
            self._done_seq = None
        self._epoch = answer.epoch

    def dealt_with(self, seq: int) -> None:
        """The caller came back for what comes after this number."""
        self._done_seq = seq

    def last_ack(self) -> Call[int] | None:
        """What to acknowledge at the end, if anything."""
        if self._done_seq is None:
            return None
        return calls.ack(self._topic, self._subscriber, self._done_seq, self._epoch)
