"""What may be tried again, later: nothing was lost."""

from __future__ import annotations

from pregon.errors.branches import Unavailable


class HubBusy(Unavailable):
    """A queue of the hub is full: send again after a pause."""

    code = "hub_busy"


class RateLimited(Unavailable):
    """This key asks more often than it may: send again after a pause."""

    code = "rate_limited"


class KeysUnavailable(Unavailable):
    """The identity provider's keys could not be fetched yet, so its tokens cannot be checked."""

    code = "keys_unavailable"


class HubStopping(Unavailable):
    """The hub is shutting down; what it had acknowledged is on disk."""

    code = "hub_stopping"


class HubUnreachable(Unavailable):
    """No answer in time; the request may or may not have been carried out, and may be repeated."""

    code = "hub_unreachable"


class BatchOutOfOrder(Unavailable):
    """An earlier batch of the producer session is missing: send from there on again."""

    code = "batch_out_of_order"


class ServiceUnserved(Unavailable):
    """No worker that serves this job type came in time: start one, or ask for another type."""

    code = "service_unserved"


class QueueFull(Unavailable):
    """As many requests wait in this service as may: ask again after a pause."""

    code = "queue_full"


class AnswerTimeout(Unavailable):
    """No answer came in the time that the client gave; the request may or may not have been worked on."""

    code = "answer_timeout"


class StoreFull(Unavailable):
    """The disk is full: nothing of this request was stored."""

    code = "store_full"


class StoreFailed(Unavailable):
    """The database refused the transaction: nothing of this request was stored."""

    code = "store_failed"


class OutOfTurn(Unavailable):
    """A message of a member came before the member's earlier ones: send those first."""

    code = "out_of_turn"


class WrittenMeanwhile(Unavailable):
    """Another attempt of the same task is writing, or has written, in this one's place: try the task again."""

    code = "written_meanwhile"
