"""What was said before a member joined, in causal order.

The log of one hub is in causal order by itself. The logs of several are merged: the first message of each log may be
shown as soon as those of the other logs that it depends on have been. Where none may, because what they depend on is
no longer kept anywhere, the one that was stored first goes on.

Pure. Promises:
- Every message that is added comes out once; those of one log in their order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from pregon.causal.message import CausalMessage


class Past:
    """The merge. `path_of` says in which log a member's messages are, None if that is not known."""

    def __init__(self, paths: int, path_of: Callable[[int], int | None]) -> None:
        self._queues: Sequence[deque[CausalMessage]] = [deque() for _ in range(paths)]
        self._is_whole = [False] * paths
        self._path_of = path_of
        self._clock: dict[int, int] = {}

    @property
    def is_over(self) -> bool:
        """Whether all of it was taken."""
        return all(self._is_whole) and not any(self._queues)

    def waiting(self, path: int) -> int:
        """How many of a log wait to be taken."""
        return len(self._queues[path])

    def add(self, path: int, message: CausalMessage) -> None:
        """One more of a log."""
        self._queues[path].append(message)

    def mark(self, path: int, *, is_whole: bool) -> None:
        """Whether a log has no more of it than was added."""
        self._is_whole[path] = is_whole

    def take(self) -> CausalMessage | None:
        """The next one; None if it is not known yet, or there is none."""
        heads = [(path, queue[0]) for path, queue in enumerate(self._queues) if queue]
        for path, message in heads:
            if self._may_go(path, message):
                return self._go(path)
        is_known = all(queue or whole for queue, whole in zip(self._queues, self._is_whole, strict=True))
        if not heads or not is_known:
            return None
        return self._go(min(heads, key=lambda head: head[1].body.message.accepted_us)[0])

    def _may_go(self, path: int, message: CausalMessage) -> bool:
        # Those of its own log are before it there.
        return all(
            self._clock.get(member, 0) >= number or self._path_of(member) in (path, None)
            for member, number in message.after
        )

    def _go(self, path: int) -> CausalMessage:
        message = self._queues[path].popleft()
        self._clock[message.stamp.member] = message.stamp.number
        return message
