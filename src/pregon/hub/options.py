"""How a hub behaves, who listens to it, and what a look at its log answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from pregon import limits
from pregon.model.batch import StoredBatch
from pregon.store.transaction import Accepted, Transaction

_DAY_MS = 24 * 60 * 60 * 1_000


@dataclass(frozen=True, slots=True)
class HubOptions:
    """How the hub behaves; `settings` says what each means to an operator."""

    auto_create: bool = True
    body_bytes_max: int = limits.BODY_BYTES_DEFAULT
    dedupe_keep_ms: int = 7 * _DAY_MS
    traces_keep_ms: int = 400 * _DAY_MS
    maintenance_every_ms: int = 5_000
    reader_threads: int = 2
    push_allow: str = ""
    tables_share_percent: int = 20
    trace_mark_ms: int = 30 * _DAY_MS
    audit_keep_ms: int = 3_650 * _DAY_MS
    admin_idle_ms: int = 120 * 60 * 1_000
    admin_session_ms: int = 12 * 60 * 60 * 1_000


class AcceptedListener(Protocol):
    """Who shows accepted messages live; called in the committer's thread, so it must be quick."""

    def accepted(self, batches: Sequence[Accepted]) -> None:
        """These are on disk."""
        ...


class TransactionFollower(Protocol):
    """Who acts on what was written; called in the committer's thread, so it must be quick."""

    def committed(self, transaction: Transaction) -> None:
        """The transaction is on disk."""
        ...


class LogRead(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a topic's log."""

    topic_id: int
    """Another when the topic was deleted and made again."""
    batches: Sequence[StoredBatch]
    head_seq: int
    tail_seq: int
