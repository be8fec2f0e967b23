"""A request on its way through the broker: who asked, what, and what became of it so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pregon.errors import PregonError
from pregon.wire.services import NO_ID, PRIORITY_DEFAULT, RequestOptions, body_bytes

if TYPE_CHECKING:
    from pregon.services.line import Line
    from pregon.services.worker import Worker

Body = list[bytes]
Turn = bytes | tuple[bytes, ...]
Key = tuple[Turn, bytes]
Told = Callable[[Body | PregonError], None]
"""Who asked from inside the hub is called with the answer."""


class Asker:
    """Where an answer goes: a client's identity, what stands between it and us, and how it speaks."""

    __slots__ = ("envelope", "identity", "is_plain", "tell", "turn", "user")

    def __init__(
        self,
        identity: bytes,
        envelope: Sequence[bytes] = (),
        *,
        is_plain: bool = False,
        tell: Told | None = None,
        user: str = "",
    ) -> None:
        self.identity = identity
        self.envelope = envelope
        """The frames between the identity and the head or body, the delimiter included; none for a bare DEALER."""
        self.is_plain = is_plain
        self.tell = tell
        self.user = user
        """Who it is by its CURVE key; empty for nobody known."""
        self.turn: Turn = identity if len(envelope) < 2 else (identity, *envelope)
        """Whose turn it is: clients behind a common proxy are told apart. No identity that a client gives itself is
        another's turn: it is bytes, that of one behind a proxy a tuple, and that of the hub itself an empty one."""
        if tell is not None:
            self.turn = ()


_WEIGHT_BYTES = 500
"""What a request takes besides its body: without that, empty ones would weigh nothing, and be without number."""


class Request:
    """One request. It is given to one worker at a time, and finished once."""

    __slots__ = (
        "arrived_ms", "asker", "attempts", "body", "deadline_ms", "durable_id", "ended_ms", "id", "is_done",
        "is_queued", "key", "killed", "line", "load", "outcome", "policy", "priority", "queued_ms", "sent_ms", "size",
        "work_id", "worker",
    )  # fmt: skip

    def __init__(self, asker: Asker, id: bytes, line: Line, body: Body, now_ms: float) -> None:
        self.asker = asker
        self.id = id
        self.key: Key | None = None if asker.is_plain else (asker.turn, id)
        """By which its client and the broker know it; None for one without a number."""
        self.line = line
        self.body = body
        self.size = _WEIGHT_BYTES + (len(body[0]) if len(body) == 1 else body_bytes(body))
        """What it takes of the bytes that a broker may hold."""
        self.priority = PRIORITY_DEFAULT
        self.deadline_ms: float | None = None
        self.durable_id = ""
        self.arrived_ms = self.queued_ms = now_ms
        self.attempts = 0
        """Workers that were lost with it."""
        self.killed: list[str] | None = None
        """Their names."""
        self.worker: Worker | None = None
        self.work_id = NO_ID
        """The number under which its worker has it."""
        self.sent_ms = 0.0
        self.load = 0.0
        """Of the worker that was chosen, when it was."""
        self.policy = ""
        """By which that worker was chosen."""
        self.is_queued = False
        self.is_done = False
        """Answered, or nobody waits any more: what its worker still says is dropped."""
        self.ended_ms = 0.0
        self.outcome = ""
        """`answered`, or the code of an error."""

    def take_options(self, options: RequestOptions) -> None:
        """As its client wishes."""
        self.priority = options.priority
        if options.deadline_ms is not None:
            self.deadline_ms = self.arrived_ms + options.deadline_ms
